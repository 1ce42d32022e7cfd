"""Bins between round numbers, for amounts: even ones, or ever wider ones where few are large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 30  # at most, of one width
_HEAVY = 2.5  # how many times as far as nine in ten do all numbers reach
_SKEW = 8  # how many times the median even bins reach
_STEPS = (1.0, 0.5, 0.25, 0.1)
_OWN_BIN = ", with one of its own for zero"
_LEAST = (1.0, 0.1, 0.01, 0.001)


def binned(
    numbers: NDArray[np.float64], counts: NDArray[np.int64], *, whole: bool, clipped: bool
) -> tuple[dict[str, Any], str]:
    """Bins or edges that fit numbers, and what they are, in words.

    Where numbers outside are clipped, the last bins need not reach as far as the last of them.
    """
    low, high = float(numbers.min()), float(numbers.max())
    step = _own_step(numbers)
    if step is not None:
        first, last, width = low, high + step, step
    elif _is_heavy(numbers, counts):
        edges = _wide_edges(numbers, counts, 0.995 if clipped else 1.0)
        why = "bins that widen where few are" + _OWN_BIN * _has_zeros(numbers, counts)
        return {"edges": edges}, why + "; larger ones count in the last" * clipped
    else:
        if clipped:
            low, high = _quantiles(numbers, counts, (0.002, 0.998))
        first, last, width = _round_ends(low, high)
        if whole:  # bins are half-open: the last number is in the bin that it begins
            last = (math.floor(high / width) + 1) * width
    bins = {"first": _number(first), "last": _number(last), "width": _number(width)}
    return {"bins": bins}, f"bins of width {_number(width)}"


def _is_heavy(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether bins of one width, up from zero, would hold most numbers in a few of them.

    Zero alone may be most of them.
    """
    above = numbers > 0
    small, usual = _quantiles(numbers, counts, (0.05, 0.95))
    if not above.any() or small > usual / 2:  # far from zero, for their spread
        return False
    typical, large = _quantiles(numbers[above], counts[above], (0.5, 0.95))
    far = float(np.ptp(numbers)) > _HEAVY * (usual - small) or large > _SKEW * typical
    return far or _has_zeros(numbers, counts)


def _has_zeros(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether zero is frequent, and stands for none of something."""
    return bool(counts[numbers == 0].sum() > 0.05 * counts.sum())


def _own_step(numbers: NDArray[np.float64]) -> float | None:
    """The step that a few numbers are multiples of, as ratings in halves are."""
    if len(numbers) > BINS:
        return None
    step = next((step for step in _STEPS if _are_multiples(numbers, step)), None)
    return step if step is not None and np.ptp(numbers) < 2 * BINS * step else None


def _are_multiples(numbers: NDArray[np.float64], step: float) -> bool:
    times = numbers / step
    return bool((np.abs(times - np.round(times)) < 1e-6).all())


def _quantiles(
    numbers: NDArray[np.float64], counts: NDArray[np.int64], shares: tuple[float, ...]
) -> list[float]:
    order = np.argsort(numbers)
    below = np.cumsum(counts[order])
    places = np.searchsorted(below, np.array(shares) * below[-1])
    return [float(n) for n in numbers[order][np.minimum(places, len(numbers) - 1)]]


def _round_ends(low: float, high: float) -> tuple[float, float, float]:
    """Multiples of a round width that include both ends, and that width."""
    span = (high - low) or abs(high) or 1.0
    width = 10.0 ** math.floor(math.log10(span / BINS))
    width *= next(factor for factor in (1, 2, 5, 10) if span / (width * factor) <= BINS)
    first, last = math.floor(low / width), math.ceil(high / width)
    return first * width, max(last, first + 1) * width, width


def _wide_edges(
    numbers: NDArray[np.float64], counts: NDArray[np.int64], reach: float
) -> list[int | float]:
    """Edges up from zero to a share of the numbers, and down where there are numbers below.

    Zero has a bin of its own where it is frequent.
    """
    above = numbers > 0
    up = _upwards(numbers[above], counts[above], reach)
    down = _widening(up[0], -float(numbers.min())) if numbers.min() < 0 else []
    zeros = _has_zeros(numbers, counts)
    least = [step for step in _LEAST if step < up[0] and _are_multiples(numbers, step)]
    edges = [*(-edge for edge in reversed(down)), 0.0, *(least[:1] if zeros else ()), *up]
    return [_number(edge) for edge in edges]


def _upwards(numbers: NDArray[np.float64], counts: NDArray[np.int64], reach: float) -> list[float]:
    """Edges above zero: of one width for the usual numbers, then ever further apart."""
    small, typical, usual, most = _quantiles(numbers, counts, (0.05, 0.5, 0.95, reach))
    if usual > _SKEW * typical:
        return _widening(_round_down(small), most)
    _, last, width = _round_ends(0.0, usual)
    even = [width * i for i in range(1, round(last / width))]
    return [*even, *_widening(last, most)]


def _widening(first: float, last: float) -> list[float]:
    """A first edge, then 1, 2, 5, 10, … up to the first that is not below the last."""
    edges = [first]
    while edges[-1] < last:
        edges.append(_next_round(edges[-1]))
    return edges


def _round_down(number: float) -> float:
    """The last of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … that is not above a number."""
    decade = 10.0 ** math.floor(math.log10(number))
    return decade * next(factor for factor in (5, 2, 1) if decade * factor <= number * (1 + 1e-12))


def _next_round(number: float) -> float:
    """The next of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … above a number."""
    decade = 10.0 ** math.floor(math.log10(number) + 1e-12)
    return decade * next(f for f in (1, 2, 5, 10) if decade * f > number * (1 + 1e-12))


def round_up(number: int) -> int:
    """A number of one digit and zeros that is not below another.

    >>> round_up(7), round_up(17), round_up(128)
    (7, 20, 200)
    """
    decade = 10 ** (len(str(number)) - 1)
    return int(-(-number // decade) * decade)


def _number(value: float) -> int | float:
    value = float(f"{value:.12g}")
    return int(value) if value == int(value) else value

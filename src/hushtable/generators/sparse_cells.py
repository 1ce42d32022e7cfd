"""Sparse counts, as in the experiments on summaries of sparse data: few of many cells are occupied.

*G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012.* Of m cells n are occupied, at uniform or skewed places; the count of an occupied cell is
normal, rounded to the nearest positive integer.

| paper | here |
|---|---|
| m, density n/m | `cells`, `density` |
| mean and standard deviation of the non-zero values | `mean`, `deviation` |
| uniform, or skewed and close together | `places="uniform"`, `"skewed"` |

Skewed places follow the 80/20 rule: of every half of the domain, and again of every half of that,
one gets four fifths of the occupied cells, unless they do not fit. The defaults of the sizes, of
the law of the values and of the skew are ours. Memory goes with the occupied cells, not with m.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.generators.made_up import MAX_ROWS, MadeUpTable, check_seed, table_of_cells
from hushtable.kernel.counting import Counts
from hushtable.schema import IntegerRange, Schema, ordinal

PLACES = ("uniform", "skewed")
MAX_CELLS = 2**52
MAX_OCCUPIED = 10**8
_SKEW = 0.8


def sparse(
    rows: int | None = None,
    *,
    cells: int = 10**6,
    density: float | None = None,
    mean: float = 100.0,
    deviation: float = 20.0,
    places: str = "uniform",
    dimensions: int = 1,
    seed: int = 1,
) -> MadeUpTable:
    """Occupied cells with normal counts; as many as `rows` or `density` (a tenth) says.

    With several dimensions every axis has the same size, the nearest to the root of `cells`.
    """
    check_seed(seed)
    _check(rows, cells, density, mean, deviation, places, dimensions)
    shape = (round(cells ** (1 / dimensions)),) * dimensions
    size = math.prod(shape)
    expected = (0.1 if density is None else density) * size if rows is None else rows / mean
    if expected > MAX_OCCUPIED:
        raise OptionError(f"at most {MAX_OCCUPIED:,} cells can be occupied: ask for fewer")
    random = np.random.default_rng([seed, 0])
    if rows is None:
        values = _values(max(1, round(expected)), mean, deviation, random)
    else:
        values = _values_that_sum(rows, mean, deviation, random)
    if len(values) > size:
        raise OptionError(f"{rows:,} rows fill more than {size:,} cells: ask for more cells")
    placed = _uniform if places == "uniform" else _skewed
    codes = np.sort(placed(len(values), shape, np.random.default_rng([seed, 1])))
    return table_of_cells(_schema(shape), Counts(shape, codes, values))


def _check(
    rows: int | None,
    cells: int,
    density: float | None,
    mean: float,
    deviation: float,
    places: str,
    dimensions: int,
) -> None:
    if rows is not None and density is not None:
        raise OptionError("give the rows or the density: one follows from the other")
    if rows is not None and not 1 <= rows <= MAX_ROWS:
        raise OptionError(f"rows must be a whole number from 1 to {MAX_ROWS:,}")
    if density is not None and not 0 < density <= 1:
        raise OptionError("density must be above 0 and at most 1")
    if not 1 <= cells <= MAX_CELLS:
        raise OptionError("cells must be a whole number from 1 to 2^52")
    if not (0 < mean <= 10**9 and 0 <= deviation <= 10**9):
        raise OptionError("mean must be above 0, deviation 0 or more, both at most 10^9")
    if places not in PLACES:
        raise OptionError(f"places must be {' or '.join(PLACES)}")
    if not 1 <= dimensions <= 4:
        raise OptionError("dimensions must be 1, 2, 3 or 4")


def _schema(shape: tuple[int, ...]) -> Schema:
    names = ("x", "y", "z", "w")[: len(shape)]
    return Schema(
        name="sparse",
        budget=Fraction(10),
        attributes=tuple(
            ordinal(name, IntegerRange(0, size - 1))
            for name, size in zip(names, shape, strict=True)
        ),
    )


def _values(
    cells: int, mean: float, deviation: float, random: np.random.Generator
) -> NDArray[np.int64]:
    return np.maximum(np.rint(random.normal(mean, deviation, cells)), 1).astype(np.int64)


def _values_that_sum(
    rows: int, mean: float, deviation: float, random: np.random.Generator
) -> NDArray[np.int64]:
    """Values until there are so many rows; the last cell has what is left."""
    values = np.zeros(0, np.int64)
    while (held := int(values.sum())) < rows:
        more = int((rows - held) / max(mean, 1)) + 1
        values = np.concatenate([values, _values(more, mean, deviation, random)])
    ends = np.cumsum(values)
    needed = int(np.searchsorted(ends, rows, side="left"))
    values = values[: needed + 1]
    values[-1] -= ends[needed] - rows
    return values


def _uniform(
    occupied: int, shape: tuple[int, ...], random: np.random.Generator
) -> NDArray[np.int64]:
    chosen = random.choice(math.prod(shape), occupied, replace=False, shuffle=False)
    return np.asarray(chosen, np.int64)


def _skewed(
    occupied: int, shape: tuple[int, ...], random: np.random.Generator
) -> NDArray[np.int64]:
    """Halve the longest side of every box until boxes are cells; empty boxes are let go."""
    lows = np.zeros((1, len(shape)), np.int64)
    highs = np.array([shape], np.int64)
    held = np.array([occupied], np.int64)
    while (sides := highs - lows).max() > 1:
        axis = sides.argmax(axis=1)
        each = np.arange(len(held))
        middle = lows.copy()
        middle[each, axis] += sides[each, axis] // 2  # a side of one cell has no lower half
        ends_below, starts_above = highs.copy(), lows.copy()
        ends_below[each, axis] = starts_above[each, axis] = middle[each, axis]
        below = _share(held, _volume(lows, ends_below), _volume(starts_above, highs), random)
        lows, highs = np.concatenate([lows, starts_above]), np.concatenate([ends_below, highs])
        held = np.concatenate([below, held - below])
        lows, highs, held = lows[held > 0], highs[held > 0], held[held > 0]
    return np.asarray(np.ravel_multi_index(tuple(lows.T), shape), np.int64)


def _share(
    held: NDArray[np.int64],
    room_below: NDArray[np.int64],
    room_above: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """How many of the occupied cells of each box are in its lower half."""
    share = np.where(random.random(len(held)) < 0.5, _SKEW, 1 - _SKEW)
    below = np.floor(held * share + random.random(len(held))).astype(np.int64)
    return np.clip(below, np.maximum(held - room_above, 0), np.minimum(held, room_below))


def _volume(lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.prod(highs - lows, axis=1), np.int64)

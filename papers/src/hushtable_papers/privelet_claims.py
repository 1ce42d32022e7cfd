"""What the Privelet paper says of its Figures 9–12 (§8.1).

Words become numbers here: *linear* is an exponent of 0.8 to 1.2 of error against coverage;
*insensitive* one of at most 0.1, a quarter more error for ten times the coverage; *two orders of
magnitude* a factor of 10^1.5 or more; *comparable* within a factor of 1.5, *considerably smaller*
at most two thirds. Exponents and factors do not depend on ε, so their mean over all ε is judged: a
single release has but one noisy total. What is said of subsets of questions must hold of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats
from hushtable_papers.claims import Claim, Look, NotMeasuredError, Results

LINEAR = (0.8, 1.2)
INSENSITIVE = 0.1
TWO_ORDERS = 10**1.5
COMPARABLE = 1.5
SMALL_COVERAGE, SMALL_SELECTIVITY = 0.01, 0.001
SMALLEST_SELECTIVITY = 1e-7
SMALL_ERROR, LARGE_ERROR = 0.25, 0.7
BASIC_FAILS = "basic fails"
"""The group of questions of which Basic is to be expected to have a large error."""
_WAVELETS = ("privelet+", "privelet*")
_ERRORS = {"coverage": "absolute_error", "selectivity": "relative_error"}


class ErrorRatio(NamedTuple):
    """How two errors compare in a fifth of the questions."""

    group: str
    place: float
    """The mean coverage or selectivity of these questions."""
    value: float


def claims(coverage: int, selectivity: int) -> tuple[Claim, ...]:
    """The claims, in the paper's order, by the numbers of the two figures of a census."""
    earlier = f"ICDE, Figure {coverage - 1}"  # the version that has square errors
    within = {"least": 1 / COMPARABLE, "most": COMPARABLE}
    return (
        Claim(
            "The average absolute error of Basic increases linearly with the coverage"
            f" (Figure {coverage})",
            partial(_basic_grows, "absolute_error"),
            "noise of k cells has a variance ∝ k: the square error grows linearly, this as its"
            " root",
        ),
        Claim(
            f"The average square error of Basic increases linearly with the coverage ({earlier})",
            partial(_basic_grows, "square_error"),
        ),
        Claim(
            "The average absolute error of Privelet+ is insensitive to the coverage"
            f" (Figure {coverage})",
            _plus_is_flat,
        ),
        Claim(
            "The highest average absolute error of Privelet+ is smaller than that of Basic by two"
            f" orders of magnitude (Figure {coverage})",
            partial(_plus_is_far_below, "absolute_error"),
            "two orders of magnitude of the square error are one of the absolute error",
        ),
        Claim(
            "The highest average square error of Privelet+ is smaller than that of Basic by two"
            f" orders of magnitude ({earlier})",
            partial(_plus_is_far_below, "square_error"),
            "large ranges share most of their noise: a few releases scatter about the stated",
        ),
        Claim("The error decreases as ε increases (ICDE, §VII-A)", _more_epsilon_less_error),
        Claim(
            "The error of Privelet* is considerably smaller than that of Privelet+ when the"
            f" coverage is below {SMALL_COVERAGE:g} (Figure {coverage})",
            _star("coverage", lambda place: place < SMALL_COVERAGE, most=1 / COMPARABLE),
        ),
        Claim(
            "The error of Privelet* is comparable to that of Privelet+ when the coverage is"
            f" larger than {SMALL_COVERAGE:g} (Figure {coverage})",
            _star("coverage", lambda place: place >= SMALL_COVERAGE, **within),
        ),
        Claim(
            "The relative error of Privelet* is lower than that of Privelet+ when the selectivity"
            f" is below {SMALL_SELECTIVITY:g} (Figure {selectivity})",
            _star("selectivity", lambda place: place < SMALL_SELECTIVITY, most=1.0),
        ),
        Claim(
            "The relative error of Privelet* is comparable to that of Privelet+ when the"
            f" selectivity is larger than {SMALL_SELECTIVITY:g} (Figure {selectivity})",
            _star("selectivity", lambda place: place >= SMALL_SELECTIVITY, **within),
        ),
        Claim(
            f"The relative error of Privelet+ and Privelet* is no more than {SMALL_ERROR:.0%} in"
            f" all cases (Figure {selectivity})",
            _wavelets_are_within_a_quarter,
        ),
        Claim(
            f"Basic has more than {LARGE_ERROR:.0%} relative error in several subsets of the"
            f" questions (Figure {selectivity})",
            _basic_is_beyond,
            "where the error is large depends on which questions select few rows, and so on the"
            " people, who are made up here",
        ),
        Claim(
            f"Privelet+ and Privelet* have no more than {SMALL_ERROR:.0%} relative error where"
            f" Basic has more than {LARGE_ERROR:.0%} (Figure {selectivity})",
            _wavelets_where_basic_fails,
            "they select few rows, and noise does not know that",
        ),
        Claim(
            "The error of Privelet+ is smaller than that of Basic whenever the coverage is larger"
            f" than 1 % or the selectivity at least 10^-7 (Figures {coverage} and {selectivity})",
            _plus_beats_basic,
        ),
        Claim("In summary, Privelet* outperforms Privelet+ (§8.1)", _star_beats_plus),
    )


def _means(results: Results, measure: str, mechanism: str, group: str = "coverage") -> Floats:
    """The mean of a measure: a row for each ε, in it the fifths of a group of questions."""
    held = results.only(mechanism=mechanism, group=group)
    if not held.rows:
        raise NotMeasuredError("there are no such questions here")
    found = [
        list(held.curve(f"mean_{measure}", "fifth", epsilon=epsilon).means.values())
        for epsilon in held.values("epsilon")
    ]
    return np.array(found)


def _exponents(results: Results, mechanism: str, measure: str) -> list[float]:
    """k of error ∝ coverage^k, at every ε."""
    along, errors = (np.log(_means(results, name, mechanism)) for name in ("coverage", measure))
    return [float(np.polyfit(x, y, 1)[0]) for x, y in zip(along, errors, strict=True)]


def _basic_grows(measure: str, results: Results) -> Look:
    exponents = _exponents(results, "basic", measure)
    holds = LINEAR[0] <= float(np.mean(exponents)) <= LINEAR[1]
    return Look(f"error ∝ coverage^k with k = {_span(exponents)}", holds)


def _plus_is_flat(results: Results) -> Look:
    plus, basic = (_exponents(results, m, "absolute_error") for m in ("privelet+", "basic"))
    errors = [_means(results, "absolute_error", m) for m in ("privelet+", "basic")]
    apart = [_span(found.max(axis=1) / found.min(axis=1)) for found in errors]
    seen = (
        f"error ∝ coverage^k with k = {_span(plus)}, Basic {_span(basic)}; from the best to the"
        f" worst fifth × {apart[0]}, Basic {apart[1]}"
    )
    return Look(seen, float(np.mean(plus)) <= INSENSITIVE)


def _plus_is_far_below(measure: str, results: Results) -> Look:
    """By the worst fifths, at every ε."""
    factors, stated = (
        _means(results, name, "basic").max(axis=1) / _means(results, name, "privelet+").max(axis=1)
        for name in (measure, "variance")
    )
    expected = stated if measure == "square_error" else np.sqrt(stated)
    middle = float(np.exp(np.log(factors).mean()))
    seen = f"by a factor of {_span(factors)}; by their stated variances {_span(expected)}"
    return Look(seen, middle >= TWO_ORDERS)


def _more_epsilon_less_error(results: Results) -> Look:
    epsilons = results.values("epsilon")
    low, high = epsilons[0], epsilons[-1]
    factors = {}
    for mechanism in ("basic", *_WAVELETS):
        errors = _means(results, "absolute_error", mechanism, "all")[:, 0]
        factors[mechanism] = float(errors[0] / errors[-1])
    shown = ", ".join(f"{mechanism} {_short(factor)}" for mechanism, factor in factors.items())
    seen = f"from ε = {low:g} to {high:g} by a factor of: {shown}; 1/ε by {_short(high / low)}"
    return Look(seen, min(factors.values()) > 1)


def _wavelets_are_within_a_quarter(results: Results) -> Look:
    worst = {m: _means(results, "relative_error", m, "selectivity").max(axis=1) for m in _WAVELETS}
    shown = ", ".join(f"{m} at most {max(errors):.2%}" for m, errors in worst.items())
    if max(map(max, worst.values())) <= SMALL_ERROR:
        return Look(shown, True)
    by_epsilon = zip(results.values("epsilon"), worst["privelet+"], strict=True)
    beyond = [f"{epsilon:g}" for epsilon, error in by_epsilon if error > SMALL_ERROR]
    why = (
        f"more at ε = {', '.join(beyond) or 'none'} for Privelet+, whose noise is the same for"
        " all people, where few rows are selected and it is held against 0.1 % of all rows"
    )
    return Look(shown, False, why)


def _wavelets_where_basic_fails(results: Results) -> Look:
    """The questions of which Basic is to be expected to err by more, at each ε."""
    found = {m: _means(results, "relative_error", m, BASIC_FAILS) for m in ("basic", *_WAVELETS)}
    shown = ", ".join(f"{m} {e.min():.1%} to {e.max():.1%}" for m, e in found.items())
    return Look(
        f"of the questions that Basic's noise makes so, at {len(found['basic'])} ε: {shown}",
        all(found[mechanism].max() <= SMALL_ERROR for mechanism in _WAVELETS),
    )


def _basic_is_beyond(results: Results) -> Look:
    found = _means(results, "relative_error", "basic", "selectivity")
    beyond = int((found > LARGE_ERROR).sum())
    return Look(f"in {beyond} of {found.size}; at most {found.max():.1%}", beyond > 1)


def _star_beats_plus(results: Results) -> Look:
    """Over all questions."""
    shown, beyond = [], []
    for measure in _ERRORS.values():
        star, plus = (_means(results, measure, m, "all")[:, 0] for m in ("privelet*", "privelet+"))
        shown.append(f"{measure.replace('_', ' ')} × {_span(star / plus)}")
        by_epsilon = zip(results.values("epsilon"), star / plus, strict=True)
        beyond += [f"{epsilon:g}" for epsilon, ratio in by_epsilon if ratio >= 1]
    why = (
        f"not at ε = {', '.join(beyond)}: shrunk coefficients leave large ranges off by more than"
        " the noise that they save"
    )
    return Look(f"over all questions: {'; '.join(shown)}", not beyond, why if beyond else "")


# ── ratios in subsets of the questions ───────────────────────────────────────────────────────────


def _ratios(results: Results, group: str, one: str, other: str) -> list[ErrorRatio]:
    """The error of each fifth by one mechanism relative to that by another."""
    over, under = (_means(results, _ERRORS[group], mechanism, group) for mechanism in (one, other))
    places = _means(results, group, one, group)
    found = zip(places.flat, (over / under).flat, strict=True)
    return [ErrorRatio(group, float(place), float(value)) for place, value in found]


def _star(
    group: str, there: Callable[[float], bool], *, least: float = 0.0, most: float
) -> Callable[[Results], Look]:
    """Privelet* beside Privelet+, where questions cover few cells or select few rows, or many."""

    def look(results: Results) -> Look:
        ratios = _ratios(results, group, "privelet*", "privelet+")
        return _about_ratios([r for r in ratios if there(r.place)], least=least, most=most)

    return look


def _plus_beats_basic(results: Results) -> Look:
    covering, selecting = (_ratios(results, group, "privelet+", "basic") for group in _ERRORS)
    ratios = [r for r in covering if r.place > SMALL_COVERAGE]
    return _about_ratios(
        ratios + [r for r in selecting if r.place >= SMALLEST_SELECTIVITY], most=1.0
    )


def _about_ratios(ratios: Sequence[ErrorRatio], *, least: float = 0.0, most: float) -> Look:
    """Whether all ratios lie within bounds; if not, where they do not."""
    if not ratios:
        raise NotMeasuredError("no fifth of the questions lies there")
    outside = [ratio for ratio in ratios if not least <= ratio.value <= most]
    seen = f"errors × {_span([ratio.value for ratio in ratios])}"
    if not outside:
        return Look(seen, True)
    wanted = f"× {least:.2g} to {most:.2g}" if least else f"× {most:.2g} or less"
    share = f"{wanted} in {len(ratios) - len(outside)} of {len(ratios)} subsets"
    return Look(seen, False, f"{share}; not at a mean {_places(outside)}")


def _places(ratios: Sequence[ErrorRatio]) -> str:
    found: dict[str, dict[str, None]] = {}
    for ratio in sorted(ratios):
        found.setdefault(ratio.group, {})[f"{ratio.place:.1g}"] = None
    return "; ".join(f"{group} of {', '.join(places)}" for group, places in found.items())


def _span(values: Sequence[float] | Floats) -> str:
    low, high = _short(min(values)), _short(max(values))
    return low if low == high else f"{low} to {high}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.2g}"

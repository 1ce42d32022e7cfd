"""What the Privelet paper says of its Figures 9–12, held against the results.

Words become numbers here: *linear* is an exponent of 0.8 to 1.2 of error against coverage;
*insensitive* one of at most 0.1, a quarter more error for ten times the coverage; *two orders of
magnitude* a factor of 10^1.5 or more; *comparable* within a factor of 1.5, *considerably smaller*
at most two thirds. Exponents and factors do not depend on ε, so their mean over all ε is judged: a
single release has but one noisy total. What is said of subsets of questions must hold of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hushtable.arrays import Floats
from hushtable_papers.figure import Statement

LINEAR = (0.8, 1.2)
INSENSITIVE = 0.1
TWO_ORDERS = 10**1.5
COMPARABLE = 1.5
SMALL_COVERAGE, SMALL_SELECTIVITY = 0.01, 0.001
SMALLEST_SELECTIVITY = 1e-7
SMALL_ERROR, LARGE_ERROR = 0.25, 0.7
BASIC_FAILS = "basic fails"
"""The group of questions of which Basic is to be expected to have a large error."""
_NO_SUCH = "no fifth of the questions lies there"


@dataclass(frozen=True)
class PaperFigures:
    """The paper's numbers of the two figures of a census."""

    coverage: int
    selectivity: int


@dataclass(frozen=True)
class Ratio:
    """How two errors compare in a fifth of the questions."""

    group: str
    place: float
    """The mean coverage or selectivity of these questions."""
    value: float


@dataclass(frozen=True, repr=False)
class Errors:
    """The means of errors, by mechanism, ε and fifth."""

    rows: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, results: pa.Table) -> Errors:
        """Mean over what else there may be: repetitions."""
        keys = ["mechanism", "epsilon", "group", "fifth"]
        measures = [name for name in results.column_names if name.startswith("mean_")]
        means = results.group_by(keys).aggregate([(name, "mean") for name in measures])
        means = means.rename_columns([*keys, *measures])
        return cls(means.sort_by([(name, "ascending") for name in keys]).to_pylist())

    @property
    def epsilons(self) -> list[float]:
        return sorted({row["epsilon"] for row in self.rows})

    def along(self, group: str, mechanism: str, epsilon: float, measure: str) -> list[float]:
        """A measure of the first to the last fifth of a group."""
        wanted = {"group": group, "mechanism": mechanism, "epsilon": epsilon}
        return [row[f"mean_{measure}"] for row in self.rows if wanted.items() <= row.items()]

    def exponents(self, mechanism: str, measure: str) -> list[float]:
        """k of error ∝ coverage^k, at every ε."""
        return [
            _exponent(
                self.along("coverage", mechanism, epsilon, "coverage"),
                self.along("coverage", mechanism, epsilon, measure),
            )
            for epsilon in self.epsilons
        ]

    def worst(self, mechanism: str, measure: str) -> Floats:
        """The error of the worst fifth by coverage, at every ε."""
        found = [max(self.along("coverage", mechanism, e, measure)) for e in self.epsilons]
        return np.array(found)

    def best(self, mechanism: str, measure: str) -> Floats:
        """The error of the best fifth by coverage, at every ε."""
        found = [min(self.along("coverage", mechanism, e, measure)) for e in self.epsilons]
        return np.array(found)

    def ratios(self, group: str, measure: str, one: str, other: str) -> list[Ratio]:
        """The error of each fifth by one mechanism relative to that by another."""
        found = []
        for epsilon in self.epsilons:
            places = self.along(group, one, epsilon, group)
            over, under = (self.along(group, m, epsilon, measure) for m in (one, other))
            found += [Ratio(group, x, a / b) for x, a, b in zip(places, over, under, strict=True)]
        return found


def verdict(figures: PaperFigures, results: pa.Table) -> list[Statement]:
    """The statements of §8.1, in the paper's order."""
    errors, about = Errors.of(results), COMPARABLE
    return [
        _basic_grows(errors, figures, "absolute"),
        _basic_grows(errors, figures, "square"),
        _plus_is_flat(errors, figures),
        _plus_is_far_below(errors, figures, "absolute"),
        _plus_is_far_below(errors, figures, "square"),
        _more_epsilon_less_error(errors),
        _star(errors, figures, "coverage", "considerably smaller than", few=True, most=1 / about),
        _star(errors, figures, "coverage", "comparable to", few=False, least=1 / about, most=about),
        _star(errors, figures, "selectivity", "lower than", few=True, most=1.0),
        _star(
            errors, figures, "selectivity", "comparable to", few=False, least=1 / about, most=about
        ),
        _wavelets_are_within_a_quarter(errors, figures),
        _basic_is_beyond(errors, figures),
        _wavelets_where_basic_fails(errors, figures),
        _plus_beats_basic(errors, figures),
        _star_beats_plus(errors),
    ]


def _basic_grows(errors: Errors, figures: PaperFigures, measure: str) -> Statement:
    exponents = errors.exponents("basic", f"{measure}_error")
    holds = LINEAR[0] <= float(np.mean(exponents)) <= LINEAR[1]
    root = "noise of k cells has a variance ∝ k: the square error grows linearly, this as its root"
    return Statement(
        f"The average {measure} error of Basic increases linearly with the coverage"
        f" ({_source(figures.coverage, measure)})",
        f"error ∝ coverage^k with k = {_span(exponents)}",
        holds,
        root if measure == "absolute" and not holds else "",
    )


def _plus_is_flat(errors: Errors, figures: PaperFigures) -> Statement:
    plus, basic = (errors.exponents(m, "absolute_error") for m in ("privelet+", "basic"))
    apart = [
        errors.worst(m, "absolute_error") / errors.best(m, "absolute_error")
        for m in ("privelet+", "basic")
    ]
    return Statement(
        "The average absolute error of Privelet+ is insensitive to the coverage"
        f" (Figure {figures.coverage})",
        f"error ∝ coverage^k with k = {_span(plus)}, Basic {_span(basic)}; from the best to the"
        f" worst fifth × {_span(apart[0])}, Basic {_span(apart[1])}",
        float(np.mean(plus)) <= INSENSITIVE,
    )


def _plus_is_far_below(errors: Errors, figures: PaperFigures, measure: str) -> Statement:
    factors = errors.worst("basic", f"{measure}_error") / errors.worst(
        "privelet+", f"{measure}_error"
    )
    stated = errors.worst("basic", "variance") / errors.worst("privelet+", "variance")
    expected = stated if measure == "square" else np.sqrt(stated)
    holds = _middle(factors) >= TWO_ORDERS
    halved = "two orders of magnitude of the square error are one of the absolute error"
    scattered = "large ranges share most of their noise: a few releases scatter about the stated"
    return Statement(
        f"The highest average {measure} error of Privelet+ is smaller than that of Basic by two"
        f" orders of magnitude ({_source(figures.coverage, measure)})",
        f"by a factor of {_span(factors)}; by their stated variances {_span(expected)}",
        holds,
        "" if holds else halved if measure == "absolute" else scattered,
    )


def _more_epsilon_less_error(errors: Errors) -> Statement:
    low, high = errors.epsilons[0], errors.epsilons[-1]
    mechanisms = ("basic", "privelet+", "privelet*")
    factors = [
        errors.along("all", m, low, "absolute_error")[0]
        / errors.along("all", m, high, "absolute_error")[0]
        for m in mechanisms
    ]
    shown = ", ".join(f"{m} {_short(f)}" for m, f in zip(mechanisms, factors, strict=True))
    return Statement(
        "The error decreases as ε increases (ICDE, §VII-A)",
        f"from ε = {low:g} to {high:g} by a factor of: {shown}; 1/ε by {_short(high / low)}",
        all(factor > 1 for factor in factors),
    )


def _star(
    errors: Errors,
    figures: PaperFigures,
    group: Literal["coverage", "selectivity"],
    says: str,
    *,
    few: bool,
    least: float = 0.0,
    most: float,
) -> Statement:
    """Privelet* beside Privelet+, where questions cover few cells or select few rows, or many."""
    what, figure, bound = ("error", figures.coverage, SMALL_COVERAGE)
    if group == "selectivity":
        what, figure, bound = ("relative error", figures.selectivity, SMALL_SELECTIVITY)
    measure = "absolute_error" if what == "error" else "relative_error"
    ratios = errors.ratios(group, measure, "privelet*", "privelet+")
    return _about_ratios(
        f"The {what} of Privelet* is {says} that of Privelet+ when the {group} is"
        f" {'below' if few else 'larger than'} {bound:g} (Figure {figure})",
        [ratio for ratio in ratios if (ratio.place < bound) == few],
        least=least,
        most=most,
    )


def _wavelets_are_within_a_quarter(errors: Errors, figures: PaperFigures) -> Statement:
    worst = {
        mechanism: max(_relative(errors, mechanism)) for mechanism in ("privelet+", "privelet*")
    }
    holds = max(worst.values()) <= SMALL_ERROR
    beyond = [
        f"{epsilon:g}"
        for epsilon in errors.epsilons
        if max(errors.along("selectivity", "privelet+", epsilon, "relative_error")) > SMALL_ERROR
    ]
    return Statement(
        f"The relative error of Privelet+ and Privelet* is no more than {SMALL_ERROR:.0%} in all"
        f" cases (Figure {figures.selectivity})",
        ", ".join(f"{m} at most {error:.2%}" for m, error in worst.items()),
        holds,
        ""
        if holds
        else f"more at ε = {', '.join(beyond) or 'none'} for Privelet+, whose noise is the same for"
        " all people, where few rows are selected and it is held against 0.1 % of all rows",
    )


def _wavelets_where_basic_fails(errors: Errors, figures: PaperFigures) -> Statement:
    """The questions of which Basic is to be expected to err by more, at each ε."""
    paper = (
        f"Privelet+ and Privelet* have no more than {SMALL_ERROR:.0%} relative error where Basic"
        f" has more than {LARGE_ERROR:.0%} (Figure {figures.selectivity})"
    )
    found: dict[str, list[float]] = {
        mechanism: [
            error
            for epsilon in errors.epsilons
            for error in errors.along(BASIC_FAILS, mechanism, epsilon, "relative_error")
        ]
        for mechanism in ("basic", "privelet+", "privelet*")
    }
    if not found["basic"]:
        return Statement(paper, "", None, "there are no such questions here")
    shown = ", ".join(f"{m} {min(e):.1%} to {max(e):.1%}" for m, e in found.items())
    worst = max(max(found["privelet+"]), max(found["privelet*"]))
    return Statement(
        paper,
        f"of the questions that Basic's noise makes so, at {len(found['basic'])} ε: {shown}",
        worst <= SMALL_ERROR,
        "" if worst <= SMALL_ERROR else "they select few rows, and noise does not know that",
    )


def _basic_is_beyond(errors: Errors, figures: PaperFigures) -> Statement:
    found = _relative(errors, "basic")
    beyond = sum(error > LARGE_ERROR for error in found)
    holds = beyond > 1
    return Statement(
        f"Basic has more than {LARGE_ERROR:.0%} relative error in several subsets of the questions"
        f" (Figure {figures.selectivity})",
        f"in {beyond} of {len(found)}; at most {max(found):.1%}",
        holds,
        ""
        if holds
        else "where the error is large depends on which questions select few rows, and so on the"
        " people, who are made up here",
    )


def _plus_beats_basic(errors: Errors, figures: PaperFigures) -> Statement:
    by_coverage = errors.ratios("coverage", "absolute_error", "privelet+", "basic")
    by_rows = errors.ratios("selectivity", "relative_error", "privelet+", "basic")
    return _about_ratios(
        "The error of Privelet+ is smaller than that of Basic whenever the coverage is larger than"
        f" 1 % or the selectivity at least 10^-7 (Figures {figures.coverage} and"
        f" {figures.selectivity})",
        [r for r in by_coverage if r.place > SMALL_COVERAGE]
        + [r for r in by_rows if r.place >= SMALLEST_SELECTIVITY],
        most=1.0,
    )


def _star_beats_plus(errors: Errors) -> Statement:
    ratios = {
        measure: [
            errors.along("all", "privelet*", epsilon, measure)[0]
            / errors.along("all", "privelet+", epsilon, measure)[0]
            for epsilon in errors.epsilons
        ]
        for measure in ("absolute_error", "relative_error")
    }
    shown = "; ".join(f"{m.replace('_', ' ')} × {_span(r)}" for m, r in ratios.items())
    beyond = [
        f"{epsilon:g}"
        for found in ratios.values()
        for epsilon, ratio in zip(errors.epsilons, found, strict=True)
        if ratio >= 1
    ]
    return Statement(
        "In summary, Privelet* outperforms Privelet+ (§8.1)",
        f"over all questions: {shown}",
        not beyond,
        f"not at ε = {', '.join(beyond)}: shrunk coefficients leave large ranges off by more than"
        " the noise that they save"
        if beyond
        else "",
    )


def _about_ratios(paper: str, ratios: list[Ratio], *, least: float = 0.0, most: float) -> Statement:
    """Whether all ratios lie within bounds; if not, where they do not."""
    if not ratios:
        return Statement(paper, "", None, _NO_SUCH)
    outside = [ratio for ratio in ratios if not least <= ratio.value <= most]
    seen = f"errors × {_span([ratio.value for ratio in ratios])}"
    if not outside:
        return Statement(paper, seen, True)
    wanted = f"× {least:.2g} to {most:.2g}" if least else f"× {most:.2g} or less"
    share = f"{wanted} in {len(ratios) - len(outside)} of {len(ratios)} subsets"
    return Statement(paper, seen, False, f"{share}; not at a mean {_places(outside)}")


def _places(ratios: list[Ratio]) -> str:
    found: dict[str, dict[str, None]] = {}
    for ratio in sorted(ratios, key=lambda ratio: (ratio.group, ratio.place)):
        found.setdefault(ratio.group, {})[f"{ratio.place:.1g}"] = None
    return "; ".join(f"{group} of {', '.join(places)}" for group, places in found.items())


def _relative(errors: Errors, mechanism: str) -> list[float]:
    return [
        error
        for epsilon in errors.epsilons
        for error in errors.along("selectivity", mechanism, epsilon, "relative_error")
    ]


def _source(figure: int, measure: str) -> str:
    """Figures 9 and 10 are Figures 8 and 9 of the earlier version, which has square errors."""
    return f"Figure {figure}" if measure == "absolute" else f"ICDE, Figure {figure - 1}"


def _exponent(x: Iterable[float], y: Iterable[float]) -> float:
    return float(np.polyfit(np.log(list(x)), np.log(list(y)), 1)[0])


def _middle(factors: Floats) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(factors).mean()))


def _span(values: Sequence[float] | Floats) -> str:
    low, high = _short(min(values)), _short(max(values))
    return low if low == high else f"{low} to {high}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.2g}"

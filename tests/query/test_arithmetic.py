"""Arithmetic of answers of one release, whose noise they share: errors beside those of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.answer import Answer, Source
from hushtable.query.law import NoiseSum
from hushtable.query.law.gathered import Sizes
from hushtable.query.law.normal import normal_quantile
from hushtable.query.statistics.combined import CombinedLaw
from hushtable.release import Release
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "99",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [10, 39]},
            {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
            {"name": "pay", "kind": "ordinal", "edges": [0, 1, 5, 20]},
        ],
    }
)
F, M = "sex = 'F'", "sex = 'M'"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    random, folder = np.random.default_rng(1), tmp_path_factory.mktemp("arithmetic")
    rows = 30_000
    columns = {
        "age": random.integers(10, 40, rows),
        "sex": random.choice(["F", "M"], rows),
        "pay": random.uniform(0, 19, rows),
    }
    with pytest.MonkeyPatch.context() as patch:  # a state folder of its own: it outlives a test
        patch.setenv("HUSHTABLE_STATE", str(folder / "state"))
        return ht.publish(
            pa.table(columns), SCHEMA, epsilon="1", mechanism="basic",
            out=folder / "r", ledger=folder / "ledger", entropy=SeededEntropy(7),
        )  # fmt: skip


Numbers = tuple[np.ndarray, ...]


def weights() -> dict[str, np.ndarray]:
    """What each cell counts in each linear question."""
    age, sex, _ = np.meshgrid(np.arange(10, 40), [1, 0], np.ones(3), indexing="ij")
    found = {"all": np.ones(age.shape), "F": sex, "M": 1 - sex, "young": 1.0 * (age < 20)}
    found |= {"age": age, "age F": age * sex, "age M": age * (1 - sex)}
    return found | {"young F": found["young"] * sex}


# What is asked, and the same of the vector of all noisy cells, written out.
Question = tuple[Callable[[Release], ht.Answer], Callable[..., float]]
QUESTIONS: dict[str, Question] = {
    "count - count": (lambda r: r.count(F) - r.count(), lambda q: q("F") - q("all")),
    "2 * mean": (lambda r: 2 * r.mean("age"), lambda q: 2 * q("age") / q("all")),
    "share - share": (lambda r: r.share(F) - r.share(M), lambda q: (q("F") - q("M")) / q("all")),
    "mean + share": (
        lambda r: r.mean("age") + r.share(F), lambda q: (q("age") + q("F")) / q("all"),
    ),
    "mean - mean": (
        lambda r: r.mean("age", F) - r.mean("age"),
        lambda q: q("age F") / q("F") - q("age") / q("all"),
    ),
    "mean - mean of others": (
        lambda r: r.mean("age", F) - r.mean("age", M),
        lambda q: q("age F") / q("F") - q("age M") / q("M"),
    ),
    "share - share of some": (
        lambda r: r.share("age < 20") - r.share("age < 20", F),
        lambda q: q("young") / q("all") - q("young F") / q("F"),
    ),
    "mean / mean": (
        lambda r: r.mean("age", F) / r.mean("age"),
        lambda q: q("age F") / q("F") / (q("age") / q("all")),
    ),
    "1 / mean": (lambda r: 1 / r.mean("age"), lambda q: q("all") / q("age")),
    "mean + count": (lambda r: r.mean("age") + r.count(F), lambda q: q("age") / q("all") + q("F")),
    "mean * count": (lambda r: r.mean("age") * r.count(), lambda q: q("age") / q("all") * q("all")),
    "(mean - mean) - mean": (
        lambda r: (r.mean("age", F) - r.mean("age")) - r.mean("age", M),
        lambda q: q("age F") / q("F") - q("age") / q("all") - q("age M") / q("M"),
    ),
}  # fmt: skip
EXACT = ("count - count", "2 * mean", "share - share", "mean + share")
"""Linear questions and ratios of them, whose intervals come from their own law."""


def of_cells(formula: Callable[..., float], cells: np.ndarray) -> float:
    known = weights()
    return formula(lambda name: float((known[name] * cells).sum()))


def deviation(formula: Callable[..., float], cells: np.ndarray, variance: float) -> float:
    """From the derivative by each cell, whose noises are independent."""
    slopes = []
    for place in np.ndindex(cells.shape):
        step = np.zeros(cells.shape)
        step[place] = 1e-3
        slopes.append((of_cells(formula, cells + step) - of_cells(formula, cells - step)) / 2e-3)
    return math.sqrt(variance * sum(slope**2 for slope in slopes))


@pytest.mark.parametrize("name", QUESTIONS)
def test_errors_of_what_shares_noise_are_those_of_the_cells(release: Release, name: str) -> None:
    asked, formula = QUESTIONS[name]
    answer, cells = asked(release), release.cells().astype(float)
    assert answer.value == pytest.approx(of_cells(formula, cells))
    wanted = deviation(formula, cells, release.cell_stderr**2)
    assert answer.stderr == pytest.approx(wanted, rel=1e-3)
    low, high = answer.interval(0.95)
    half = normal_quantile(0.05) * wanted  # so many noises are nearly normal
    assert min(answer.value - low, high - answer.value) > 0.97 * half
    if name in EXACT:
        assert max(answer.value - low, high - answer.value) < 1.06 * half


def test_intervals_of_ratios_with_other_denominators_hold_at_once(release: Release) -> None:
    """Their difference is what any two values of intervals make that each miss half as often."""
    one, other = release.mean("age", F), release.mean("age")
    each = 1 - 0.05 / 2
    (low, high), (least, most) = one.interval(each), other.interval(each)
    assert (one - other).interval(0.95) == pytest.approx((low - most, high - least))
    assert (one / other).interval(0.95) == pytest.approx((low / most, high / least))


STATISTICS: dict[str, Callable[[Release], ht.Answer]] = {
    "count": lambda r: r.count(F),
    "sum": lambda r: r.sum("age", F),
    "sum of bins": lambda r: r.sum("pay"),
    "mean": lambda r: r.mean("age"),
    "mean of bins": lambda r: r.mean("pay", F),
    "share": lambda r: r.share("age < 20", F),
    "median": lambda r: r.quantile("age"),
    "median of bins": lambda r: r.quantile("pay", 0.9, F),
    "difference": lambda r: r.mean("age", F) - r.mean("age", M),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_an_answer_less_itself_is_exactly_nothing(release: Release, name: str) -> None:
    answer = STATISTICS[name](release)
    for nothing in (answer - answer, (2 * answer - 2 * answer)):
        if nothing.interval() != (0, 0):
            assert name in ("median", "median of bins", "difference")  # twice: two answers
            continue
        assert (nothing.value, nothing.stderr) == (0, 0)
        assert str(nothing) == "0 ± 0 (95 %)"
    assert (answer - answer).interval() == (0, 0)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "difference"])
def test_what_is_asked_twice_differs_by_nothing(release: Release, name: str) -> None:
    nothing = STATISTICS[name](release) - STATISTICS[name](release)
    assert (nothing.value, nothing.stderr, nothing.interval()) == (0, 0, (0, 0))


def test_other_bins_do_not_cancel(release: Release) -> None:
    some = release.sum("pay", F) - release.sum("pay", M)
    assert some.stderr > 0 and some.interval()[1] - some.interval()[0] > 10_000
    for other in (release.quantile("age", 0.6), release.quantile("age", 0.5, F)):
        assert isinstance((release.quantile("age", 0.5) - other).law, CombinedLaw)


def test_medians_may_share_all_their_noise(release: Release) -> None:
    """What they share is not known: the standard error is the largest that there can be."""
    one, other = release.quantile("pay", 0.25, F), release.quantile("pay", 0.9, F)
    assert one.stderr > 1 and other.stderr > 1
    wanted = one.stderr + other.stderr
    assert (one - other).stderr == pytest.approx(wanted)
    assert (one + other).stderr == pytest.approx(wanted)


def test_answers_of_two_draws_add_up_all_their_noise() -> None:
    """A law may list the same weight twice."""
    noise = DiscreteLaplace(Fraction(4))
    law = NoiseSum.gathered([(noise, Sizes.of(np.ones(5000)))])
    assert len(law.terms) > len({(weight, noise) for weight, noise, _ in law.terms})
    sources = (Source(object(), (), frozenset({(name,)})) for name in "ab")
    one, other = (Answer(7.0, law, source=source) for source in sources)
    assert (one - other).stderr ** 2 == pytest.approx(2 * law.variance)


def test_a_quotient_of_tiny_answers_has_an_error(release: Release) -> None:
    assert (1 / (release.mean("age") * 1e-170)).stderr > 0

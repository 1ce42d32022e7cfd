"""Answers from summaries: sums over what was kept, unbiased where they say so, bars that cover."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sparse_laws import held, kept_chance, laplace, seeded

from hushtable.errors import QueryError
from hushtable.families.sparse.expected import moments
from hushtable.families.sparse.kept import CellNoise, Errors, KeptPlaces
from hushtable.families.sparse.read.cells import CellSummary
from hushtable.families.sparse.read.nodes import NodeSummary
from hushtable.kernel.maps.rules import Filter, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.sparse_draws import summarise
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.answer import Answer
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum

SHAPE = (6, 5, 7)
SCALE = Fraction(3)
RANDOM = np.random.default_rng(4)
COUNTS = {int(c): int(RANDOM.integers(1, 60)) for c in RANDOM.choice(210, 40, replace=False)}
RULES: dict[str, Rule] = {
    "geometric": Filter(1),
    "filter": Filter(6),
    "one-sided": Filter(6, two_sided=False),
    "threshold": Threshold(25),
    "priority": Priority(60),
    "filter-threshold": Threshold(25, 6),
    "filter-priority": Priority(30, 6),
}
BOXES = (
    Box((CodeSet.of((1, 4)), CodeSet.full(5), CodeSet.of((0, 2), (5, 7)))),
    Box((CodeSet.of((5, 6)), CodeSet.of((2, 4)), CodeSet.full(7))),
)
GROUPS = [(2, [(0, 3), (3, 4), (6, 7)]), (0, [(0, 2), (2, 6)])]


def read(
    rule: Rule, on: Any = "cells", seed: int = 1, scale: Fraction = SCALE, shape: Any = SHAPE
) -> Any:
    structure = Structure(on, shape)
    kept = summarise(held(structure, COUNTS), rule, scale, seeded(seed))
    sided = not isinstance(rule, Filter) or rule.two_sided
    errors = Errors(
        DiscreteLaplace(scale), rule.theta, sided, kept.tau, priority=isinstance(rule, Priority)
    )
    if on == "cells":
        return CellSummary(shape, KeptPlaces(lambda: kept.places, lambda: kept.values), errors)
    return NodeSummary(structure, KeptPlaces(lambda: kept.places, lambda: kept.values), errors)


def weights(reader: Any) -> Any:
    """What every place stands for, from the definition."""
    found = np.zeros(reader.kept.places.max() + 1 if len(reader.kept.places) else 1)
    for place, v in zip(reader.kept.places.tolist(), reader.kept.values.tolist(), strict=True):
        found[place] = math.copysign(max(abs(v), reader.errors.tau), v)
    return found


def brute(cells: Any, box: Box) -> Any:
    inside = np.zeros(SHAPE, bool)
    ranges = [[c for a, b in codes.intervals for c in range(a, b)] for codes in box.sets]
    inside[np.ix_(*ranges)] = True
    return inside


@pytest.mark.parametrize("rule", RULES)
def test_counts_and_groups_are_sums_over_the_kept_cells(rule: str) -> None:
    reader = read(RULES[rule])
    cells = np.zeros(210)
    found = weights(reader)
    cells[: len(found)] = found
    cells = cells.reshape(SHAPE)
    assert np.array_equal(reader.cells(), cells)
    inside = brute(cells, BOXES[0]) | brute(cells, BOXES[1])
    assert reader.count(BOXES)[0] == pytest.approx(cells[inside].sum())
    grouped = reader.group(BOXES, GROUPS)
    place = 0
    for low, high in GROUPS[0][1]:
        for first, last in GROUPS[1][1]:
            part = np.zeros(SHAPE, bool)
            part[first:last, :, low:high] = True
            assert grouped.values[place] == pytest.approx(cells[inside & part].sum())
            place += 1
    assert reader.count((Box.full(SHAPE),))[0] == pytest.approx(cells.sum())
    assert reader.count(())[0] == 0


@pytest.mark.parametrize("on", ["dyadic", "haar"])
@pytest.mark.parametrize("rule", RULES)
def test_nodes_and_coefficients_answer_as_the_explicit_sum(rule: str, on: str) -> None:
    """One question at a time, groups, and several boxes: the weights of all places written out."""
    reader = read(RULES[rule], on)
    found = weights(reader)
    for boxes in ((BOXES[0],), (BOXES[1],), BOXES, (Box.full(SHAPE),)):
        asked = reader._asked(boxes, ())
        assert len(set(asked.places.tolist())) == len(asked.places)
        whole = sum(
            w * (found[p] if p < len(found) else 0.0)
            for p, w in zip(asked.places.tolist(), asked.weights.tolist(), strict=True)
        )
        assert reader.count(boxes)[0] == pytest.approx(whole)
    grouped = reader.group(BOXES, GROUPS)
    place = 0
    for low, high in GROUPS[0][1]:
        for first, last in GROUPS[1][1]:
            cut = Box((CodeSet.of((first, last)), CodeSet.full(5), CodeSet.of((low, high))))
            value, law = reader.count(tuple(box.intersection(cut) for box in BOXES))
            assert grouped.values[place] == pytest.approx(value)
            assert grouped.laws[grouped.law_of_row[place]].variance == pytest.approx(law.variance)
            place += 1


@pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
def test_without_noise_every_answer_is_the_truth(on: str) -> None:
    reader = read(Filter(1), on, scale=Fraction(1, 1000))
    truth = np.zeros(210)
    truth[list(COUNTS)] = list(COUNTS.values())
    truth = truth.reshape(SHAPE)
    assert np.allclose(reader.cells(), truth)
    random = np.random.default_rng(2)
    low = random.integers(0, np.array(SHAPE) + 1, (50, 3))
    high = np.maximum(low, random.integers(0, np.array(SHAPE) + 1, (50, 3)))
    values, variances = reader.ranges(low, high)
    wanted = [
        truth[tuple(slice(a, b) for a, b in zip(*ends, strict=True))].sum()
        for ends in zip(low, high, strict=True)
    ]
    assert np.allclose(values, wanted)
    assert (variances <= 1e-9).all() and np.allclose(reader.range_variances(low, high), variances)


@pytest.mark.parametrize("tau", [4, 25, 1000])
@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_a_sampled_count_is_unbiased(count: int, tau: int) -> None:
    """In expectation over noise and sampling, exactly: Σ P[v]·P[kept]·weight = count."""
    rule = Threshold(tau)
    errors = Errors(DiscreteLaplace(SCALE), 1, True, float(tau))
    values = np.arange(count - 200, count + 201)
    stands = errors.weights(values)
    chances = [laplace(3.0, int(v) - count) * kept_chance(rule, int(v)) for v in values]
    assert np.dot(chances, stands) == pytest.approx(count, abs=1e-9)
    # The estimated variance is unbiased too: noise, and what sampling adds.
    true = np.dot(chances, stands.astype(float) ** 2) - count**2
    noise = errors.noise.variance
    assert noise + np.dot(chances, errors.spread(values)) == pytest.approx(true, rel=1e-9)


def test_priority_sums_are_unbiased() -> None:
    boxes, total = (Box.full(SHAPE),), sum(COUNTS.values())
    answers = [read(Priority(50), seed=seed).count(boxes) for seed in range(200)]
    errors = np.array([value - total for value, _ in answers])
    spread = math.sqrt(np.mean([law.variance for _, law in answers]))
    assert abs(errors.mean()) < 5 * spread / math.sqrt(200)
    assert errors.std() == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize(
    ("rule", "on"),
    [
        ("geometric", "cells"),
        ("threshold", "cells"),
        pytest.param("priority", "cells", marks=pytest.mark.thorough),
        ("priority", "dyadic"),
        pytest.param("threshold", "haar", marks=pytest.mark.thorough),
    ],
)
def test_intervals_cover(rule: str, on: str) -> None:
    """At 90 %, over many releases; with bars of a quarter of the width they do not."""
    truth = np.zeros(210)
    truth[list(COUNTS)] = list(COUNTS.values())
    inside = brute(truth, BOXES[0])
    hits = narrow = 0
    runs = 80
    for seed in range(runs):
        value, law = read(RULES[rule], on, seed).count((BOXES[0],))
        off = abs(value - truth.reshape(SHAPE)[inside].sum())
        hits += off <= law.half_width(0.9)
        narrow += off <= 0.4 * math.sqrt(law.variance)
    assert hits >= 0.9 * runs - 5 * math.sqrt(runs * 0.09)
    assert narrow < 0.7 * runs


class TestOneCell:
    """A single cell is answered by its noisy count, or by 0."""

    @pytest.mark.parametrize("rule", [Threshold(40), Priority(30), Threshold(40, 10)])
    def test_by_its_noisy_count(self, rule: Rule) -> None:
        reader = read(rule)
        kept = dict(zip(reader.kept.places.tolist(), reader.kept.values.tolist(), strict=True))
        for code in range(0, 210, 7):
            cell = Box(tuple(CodeSet.single(int(c)) for c in np.unravel_index(code, SHAPE)))
            value, law = reader.count((cell,))
            assert value == kept.get(code, 0)
            assert isinstance(law, CellNoise) and law.there == (code in kept)
        every = reader.group(
            (Box.full(SHAPE),), [(i, [(c, c + 1) for c in range(n)]) for i, n in enumerate(SHAPE)]
        )
        assert {i: v for i, v in enumerate(every.values) if v} == kept

    @pytest.mark.parametrize("count", [0, 1, 5, 20, 39, 60])
    @pytest.mark.parametrize(("theta", "tau"), [(1, 40), (8, 40), (8, 20)])
    def test_its_interval_covers_whatever_the_count(self, count: int, theta: int, tau: int) -> None:
        """Exactly: the chance of each noisy value and of being kept, added up."""
        confidence, missed = 0.9, 0.0
        errors = Errors(DiscreteLaplace(SCALE), theta, True, float(tau))
        there, gone = (CellNoise(errors, b).margins(confidence) for b in (True, False))
        assert gone[0] == 0 < gone[1]
        for v in range(count - 150, count + 151):
            kept = kept_chance(Threshold(tau, theta), v)
            p = laplace(3.0, v - count)
            missed += p * kept * (not v - there[0] <= count <= v + there[1])
            missed += p * (1 - kept) * (count > gone[1])
        assert missed <= 1 - confidence + 1e-12

    def test_nearer_than_what_it_stands_for(self) -> None:
        """The reason for it: the mean square error is smaller for every count below τ."""
        for count in (0, 3, 10, 30):
            values = np.arange(count - 150, count + 151)
            p = np.array([laplace(3.0, int(v) - count) for v in values])
            kept = np.array([kept_chance(Threshold(50), int(v)) for v in values])
            plain = p @ (kept * (values - count) ** 2 + (1 - kept) * count**2)
            adjusted = moments(float(count), SCALE, 1, 50.0, True)[1] - count**2
            assert plain < adjusted


class TestWhatTheySay:
    """Filters are biased and their intervals hold it; what cannot promise says so."""

    @pytest.mark.parametrize("rule", [Filter(6), Threshold(25, 6), Priority(30, 6)])
    @pytest.mark.parametrize("on", ["cells", "dyadic"])
    def test_filters_are_biased(self, rule: Rule, on: str) -> None:
        reader = read(rule, on)
        value, law = reader.count((BOXES[0],))
        answer = Answer(value, law, reader.note)
        assert "bias" not in answer.to_dict()
        assert "biased" in answer.note and "up to 5" in answer.note and "interval" in answer.note

    @pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
    @pytest.mark.parametrize("rule", RULES)
    def test_only_priorities_and_sampled_coefficients_are_estimates(
        self, rule: str, on: str
    ) -> None:
        estimate = "priority" in rule
        if on == "haar":
            estimate |= "threshold" in rule or rule == "one-sided"
        reader = read(RULES[rule], on)
        assert reader.estimate == estimate
        assert {reader.count((box,))[1].estimate for box in BOXES} == {estimate}

    @pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
    @pytest.mark.parametrize("theta", [1, 6])
    def test_a_priority_sample_is_one_though_everything_fits(self, on: str, theta: int) -> None:
        """That everything fits is told by the noisy values alone, so it tells of the noise."""
        reader = read(Priority(10**6, theta), on)
        assert reader.errors.tau == 0
        rooted = replace(reader, errors=replace(reader.errors, consistent=on == "dyadic"))
        for one in (reader, rooted):
            assert one.estimate
            assert all(one.count((box,))[1].estimate for box in BOXES)

    @pytest.mark.parametrize("on", ["dyadic", "haar"])
    def test_all_nodes_have_the_law_of_their_noise(self, on: str) -> None:
        reader = read(Filter(1), on)
        asked = reader._asked((BOXES[0],), ())
        law = reader.count((BOXES[0],))[1]
        noise = DiscreteLaplace(SCALE).variance * (asked.weights**2).sum()
        assert isinstance(law, NoiseSum)
        assert law.variance == pytest.approx(noise)


def test_an_empty_summary_answers_zero_with_a_bar() -> None:
    none = np.zeros(0, np.int64)
    errors = Errors(DiscreteLaplace(SCALE), 50, True, 100.0)
    for reader in (
        CellSummary((4, 4), KeptPlaces(lambda: none, lambda: none), errors),
        NodeSummary(Structure("dyadic", (4, 4)), KeptPlaces(lambda: none, lambda: none), errors),
    ):
        value, law = reader.count((Box.full((4, 4)),))
        assert value == 0 and law.variance > 0
        assert not reader.cells().any()
        assert (reader.cell_variances([np.array([1]), np.array([2])]) > 0).all()


def test_a_vast_domain_is_not_laid_out() -> None:
    places, values = np.array([5, 10**17, 10**18 - 1]), np.array([3, 4, 5])
    errors = Errors(DiscreteLaplace(SCALE), 1, True, 0.0)
    kept = KeptPlaces(lambda: places, lambda: values)
    cells = CellSummary((10**9, 10**9), kept, errors)
    assert cells.count((Box.full((10**9, 10**9)),))[0] == 12
    assert cells.count((Box((CodeSet.of((0, 10**8)), CodeSet.full(10**9))),))[0] == 3
    last = CodeSet.single(10**9 - 1)
    assert cells.count((Box((last, last)),))[0] == 5
    for on in ("cells", "dyadic"):
        reader: Any = cells
        if on == "dyadic":
            reader = NodeSummary(Structure("dyadic", (10**9, 10**8)), kept, errors)
        with pytest.raises(QueryError, match="too many to lay out"):
            reader.cells()

"""What one row changes in a score, over all small tables, and how a choice follows the scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.shared_sizes import some_of

from hushtable.auditing.transcript import ChoiceDraw, NoNoise, Recorder, log_sum
from hushtable.errors import OptionError
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import (
    Assignment,
    Candidate,
    CandidateScores,
    Curator,
    Distance,
    Information,
    View,
)
from hushtable.kernel.curator.network_scores import UNIT
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import NEIGHBOURS, Exposure

SHAPES = some_of([(2, 2), (2, 3), (3, 2), (3, 3)], [(2, 2), (2, 3), (3, 2)])
MOST = 6  # rows


@cache
def tables(shape: tuple[int, int], rows: int) -> list[np.ndarray]:
    """Every table of so many rows."""
    cells = math.prod(shape)
    found = []
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        ends = (-1, *bars, rows + cells - 1)
        found.append(np.diff(ends).reshape(shape) - 1)
    return found


def with_a_row(table: np.ndarray) -> Iterator[np.ndarray]:
    for place in range(table.size):
        more = table.copy()
        more.flat[place] += 1
        yield more


@cache
def largest_changes(measure: Any, shape: tuple[int, int]) -> tuple[int, int]:
    """Over all tables: when a row enters, and when a row moves."""
    entering = moving = 0
    for rows in range(MOST):
        for table in tables(shape, rows):
            before, after = measure.of(table), [measure.of(more) for more in with_a_row(table)]
            entering = max(entering, *(abs(score - before) for score in after))
            moving = max(moving, max(after) - min(after))
    return entering, moving


def measures(shape: tuple[int, int]) -> list[Any]:
    found: list[Any] = [Distance()]
    found += [Information(limit, binary=min(shape) == 2) for limit in (2, 6)]
    return found + ([Assignment(), Assignment(3)] if shape[1] == 2 else [])


@pytest.mark.parametrize("shape", SHAPES)
def test_no_row_changes_a_score_by_more_than_its_bound(shape: tuple[int, int]) -> None:
    for measure in measures(shape):
        entering, moving = largest_changes(measure, shape)
        assert 0 < entering <= measure.entering, measure
        assert 0 < moving <= measure.moving, measure


@pytest.mark.parametrize("shape", SHAPES)
def test_halving_a_bound_is_caught(shape: tuple[int, int]) -> None:
    """The bounds are not all attained, but none of them has a factor of two to spare."""
    for measure in measures(shape):
        entering, moving = largest_changes(measure, shape)
        assert max(2 * entering, 2 * moving) > measure.entering, measure
        assert 2 * max(entering, moving) > measure.moving, measure


def test_a_move_can_cost_nearly_three_rows_of_distance() -> None:
    """Small tables do not show it; this one does. Two rows would not be enough."""
    table = np.array([[0, 0, 0], [0, 6, 0], [6, 35, 0]])
    after = [Distance().of(more) for more in with_a_row(table)]
    assert 2.68 * UNIT < max(after) - min(after) <= Distance().moving == 3 * UNIT


def test_information_attains_its_bounds() -> None:
    for limit in (3, 5):
        binary = Information(limit, binary=True)
        assert binary.moving - 4 <= largest_changes(binary, (2, 2))[1]
    # Only beyond binary tables does a move cost more than an arrival.
    wide = Information(3, binary=False)
    entering, moving = largest_changes(wide, (3, 3))
    assert 0 < entering <= wide.entering and moving <= wide.moving
    assert moving >= 2 * math.log(2) * UNIT * 1.9
    assert moving > Information(3, True).moving


def test_information_without_its_limit_would_break_the_bound() -> None:
    """Rows beyond the limit are dropped: with them, one more row changes more than promised."""
    promised = Information(2, binary=True)
    unlimited = Information(1000, binary=True)
    assert largest_changes(unlimited, (2, 2))[0] > promised.entering
    assert largest_changes(promised, (2, 2))[0] <= promised.entering


def test_normalised_information_would_break_every_bound() -> None:
    """I divided by the entropy of the child goes from 0 to 1 with one row, whatever n."""

    class Normalised(Information):
        def of(self, table: np.ndarray) -> int:
            rows, child = table.sum(), table.sum(axis=0)
            shares = child[child > 0] / max(rows, 1)
            entropy = -float(np.sum(shares * np.log(shares)))
            return math.floor(super().of(table) / entropy) if entropy else 0

    few = np.array([[5, 0], [0, 0]])
    with_one = np.array([[5, 0], [0, 1]])
    measure = Normalised(100, binary=True)
    assert measure.of(with_one) - measure.of(few) == pytest.approx(6 * UNIT, rel=1e-3)
    many, one = np.array([[10**6, 0], [0, 0]]), np.array([[10**6, 0], [0, 1]])
    huge = Normalised(2**30, binary=True)
    assert huge.of(one) - huge.of(many) > 1000 * huge.moving


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_what_their_formulas_say(shape: tuple[int, int]) -> None:
    for table in tables(shape, 4)[::3]:
        p = table / 4
        a, b = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
        assert Distance().of(table) == math.floor(UNIT * 2 * np.abs(p - a * b).sum() + 1e-9)
        logs = np.where(p > 0, p * np.log(np.maximum(p, 1e-300) / np.maximum(a * b, 1e-300)), 0)
        assert abs(Information(4, binary=False).of(table) - UNIT * 4 * logs.sum()) <= 1


def test_f_is_the_best_assignment() -> None:
    random = np.random.default_rng(2)
    for _ in range(200):
        table = random.integers(0, 6, (random.integers(1, 6), 2))
        rows = int(table.sum())
        best = min(
            sum(max(Fraction(rows, 2) - int(table[assigned == v, v].sum()), 0) for v in (0, 1))
            for assigned in map(np.array, itertools.product((0, 1), repeat=len(table)))
        )
        assert Assignment().of(table) == -UNIT * best


def test_f_takes_no_memory_for_people_that_a_table_of_counts_names() -> None:
    """Such a table of two rows may name thousands of millions."""
    rows = Assignment().limit
    assert Assignment().of(np.array([[2**50, 0], [0, 2**50]])) == -UNIT // 2 * rows
    assert Assignment().of(np.array([[rows // 2, 0], [0, 2**50]])) == 0


def test_scores_of_huge_tables_do_not_overflow() -> None:
    table = np.array([[2**40, 0], [0, 2**40]])
    assert Distance().of(table) == UNIT * 2**40
    assert Information(2**31 - 1, binary=True).of(table) >= 0


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────

SHAPE = (2, 3, 4)
VIEWS = (
    View(0, np.arange(2)),
    View(1, np.arange(3)),
    View(2, np.arange(4)),
    View(2, np.array([0, 0, 1, 1])),
)
CANDIDATES = [
    Candidate(0, (1,)),
    Candidate(0, (1, 3)),
    Candidate(1, (2,)),
    Candidate(1, ()),
    Candidate(0, (2, 1)),
]


def columns(rows: int = 50, seed: int = 3) -> CodedColumns:
    random = np.random.default_rng(seed)
    first = random.integers(0, 2, rows)
    second = (first + random.integers(0, 2, rows)) % 3
    third = random.integers(0, 4, rows)
    return CodedColumns(SHAPE, tuple(c.astype(np.uint8) for c in (first, second, third)))


def as_counts(data: CodedColumns) -> Counts:
    codes, counts = np.unique(
        np.ravel_multi_index(tuple(map(np.int64, data.columns)), SHAPE), return_counts=True
    )
    return Counts(SHAPE, codes, counts)


def scores(measure: Any = None, handicaps: Any = None) -> CandidateScores:
    return CandidateScores(SHAPE, VIEWS, CANDIDATES, measure or Distance(), handicaps)


def recorded(data: Any, score: CandidateScores, neighbours: Any, max_rows: int = 1) -> ChoiceDraw:
    recorder = Recorder(NoNoise())
    curator = Curator(
        data,
        exposure=Exposure(neighbours, max_rows),
        account=Account(Fraction(1)),
        noise=recorder,
    )
    curator.select(score, epsilon=Fraction(1, 3))
    (draw,) = recorder.draws
    assert isinstance(draw, ChoiceDraw)
    return draw


def slow_table(data: CodedColumns, candidate: Candidate) -> np.ndarray:
    views = [VIEWS[place] for place in (*candidate.parents, candidate.child)]
    table = np.zeros([view.size for view in views], np.int64)
    for row in zip(*data.columns, strict=True):
        table[tuple(int(view.groups[row[view.axis]]) for view in views)] += 1
    return table.reshape(-1, views[-1].size)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("held", ["columns", "counts"])
def test_exponents_are_the_scores_over_twice_the_sensitivity(neighbours: Any, held: str) -> None:
    data = columns()
    for max_rows in (1, 3):
        draw = recorded(
            data if held == "columns" else as_counts(data), scores(), neighbours, max_rows
        )
        change = (2 if neighbours == "add-remove" else 3) * UNIT * max_rows
        expected = [
            Fraction(Distance().of(slow_table(data, candidate)), 3 * 2 * change)
            for candidate in CANDIDATES
        ]
        assert list(draw.exponents) == expected
        total = log_sum(draw.exponents)
        probabilities = [math.exp(float(e - total)) for e in draw.exponents]
        assert sum(probabilities) == pytest.approx(1)


def test_a_handicap_is_taken_off_the_score() -> None:
    data = columns()
    plain = recorded(data, scores(), "add-remove").exponents
    less = recorded(data, scores(handicaps=[0, 7, 0, 10**9, 1]), "add-remove").exponents
    unit = Fraction(1, 3) / (4 * UNIT)
    taken = [p - h for p, h in zip(plain, less, strict=True)]
    assert taken == [0, 7 * unit, 0, 10**9 * unit, unit]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(
    "measure", [Distance(), Information(64, binary=False), Information(5, binary=False)]
)
def test_no_neighbour_loses_more_than_epsilon_in_a_choice(neighbours: Any, measure: Any) -> None:
    """Probabilities themselves, between tables that differ by one person of two rows."""
    base = columns(12)
    mine = recorded(base, scores(measure), neighbours, max_rows=2)
    worst = Fraction(0)
    for first, second in itertools.combinations(range(0, 24, 5), 2):
        rows = [np.unravel_index(code, SHAPE) for code in (first, second)]
        kept = 0 if neighbours == "add-remove" else 2
        changed = tuple(
            np.concatenate([column[kept:], [row[axis] for row in rows]]).astype(np.uint8)
            for axis, column in enumerate(base.columns)
        )
        other = recorded(CodedColumns(SHAPE, changed), scores(measure), neighbours, max_rows=2)
        worst = max(worst, mine.loss(other.exponents))
    assert 0 < worst <= Fraction(1, 3)


def test_scores_with_huge_exponents_do_not_overflow() -> None:
    """Ten million rows that say one thing, at a large ε: exact fractions, no exp of anything."""
    from hushtable.evaluation.seeded_entropy import SeededEntropy
    from hushtable.kernel.noise.bulk import EntropyNoise

    data = Counts(SHAPE, np.array([0, 23]), np.array([10**7, 10**7]))
    curator = Curator(
        data,
        exposure=Exposure("add-remove"),
        account=Account(Fraction(10**6)),
        noise=EntropyNoise(SeededEntropy(1)),
    )
    assert curator.select(scores(), epsilon="100000").choice in (0, 1, 4)


def test_a_score_is_counted_once() -> None:
    """A second choice by the same candidates looks at no row."""
    from hushtable.kernel.counting import joint

    curator = Curator(
        columns(), exposure=Exposure("add-remove"), account=Account(Fraction(9)), noise=NoNoise()
    )
    counted = []
    original = joint.JointCounter.tables
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            joint.JointCounter,
            "tables",
            lambda self, *args: (counted.append(1), original(self, *args))[1],
        )
        first = curator.select(scores(), epsilon="1")
        passes = len(counted)
        assert curator.select(scores(), epsilon="1").choice == first.choice
    assert passes == len({candidate.parents for candidate in CANDIDATES}) == len(counted)


class TestRefusals:
    def test_measures_of_ones_own(self) -> None:
        class Mine(Distance):
            entering = 1  # type: ignore[assignment]

        with pytest.raises(OptionError, match="measures"):
            scores(Mine())

    @pytest.mark.parametrize(
        ("candidates", "measure"),
        [
            ([], Distance()),
            ([Candidate(2, (3,))], Distance()),
            ([Candidate(1, (0,))], Assignment()),
            ([Candidate(1, (2,))], Information(9, binary=True)),
        ],
    )
    def test_candidates_that_do_not_fit(self, candidates: Any, measure: Any) -> None:
        with pytest.raises(OptionError):
            CandidateScores(SHAPE, VIEWS, candidates, measure)

    def test_nothing_is_changed_after_it_was_checked(self) -> None:
        candidates = list(CANDIDATES)
        mine = CandidateScores(SHAPE, VIEWS, candidates, Distance())
        candidates.clear()
        assert list(mine.candidates) == list(CANDIDATES)
        with pytest.raises(FrozenInstanceError):
            mine.measure = Assignment()  # type: ignore[misc]

    def test_views_of_another_domain(self) -> None:
        with pytest.raises(OptionError, match="every code"):
            CandidateScores((3, 3, 4), VIEWS, CANDIDATES, Distance())
        with pytest.raises(OptionError):
            View(0, np.array([0, -1]))
        with pytest.raises(OptionError):
            Information(1, binary=True)

    def test_another_domain_is_refused_before_it_costs(self) -> None:
        curator = Curator(
            CodedColumns((2, 3), (np.zeros(1, np.uint8), np.zeros(1, np.uint8))),
            exposure=Exposure("add-remove"),
            account=Account(Fraction(1)),
            noise=NoNoise(),
        )
        with pytest.raises(OptionError, match="shape"):
            curator.select(scores(), epsilon="1")
        assert curator.spent == 0

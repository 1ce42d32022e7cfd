"""Trees of boxes: what the curator draws for, and the boxes that decisions leave."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from split_cases import Span, halves, single, tables

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import Curator, Pace, SharedRanges, Whole
from hushtable.kernel.curator.shared_ranges import MOST_RANGES
from hushtable.kernel.maps.splits import AxisSplits, SplitBoxes, Splits
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.closeness import laplace_eta
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure

ADD = Exposure("add-remove")


class Scripted(EntropyNoise):
    """Decides by a list of numbers, and notes what it is asked about."""

    def __init__(self, script: list[int]) -> None:
        super().__init__()
        self.script, self.asked = script, list[tuple[list[int], int, Fraction]]()
        self.scales: list[tuple[int, Fraction]] = []

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        self.asked.append((values.tolist(), threshold, scale))
        told, self.script = self.script[: len(values)], self.script[len(values) :]
        return np.array(told + [0] * (len(values) - len(told)), bool), Fraction(0)

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        self.scales.append((values.size, scale))
        return Fraction(0)


def curator_of(dense: Any, noise: Any, exposure: Exposure = ADD, epsilon: int = 1) -> Curator:
    dense = np.asarray(dense, np.int64)
    codes = np.flatnonzero(dense)
    counts = Counts(dense.shape, codes, dense.reshape(-1)[codes])
    return Curator(counts, exposure=exposure, account=Account(Fraction(epsilon)), noise=noise)


def plain(shape: tuple[int, ...]) -> Splits:
    return Splits(tuple(AxisSplits(size) for size in shape))


def expected(table: Any, pace: Pace, theta: int, script: list[int]) -> list[list[int]]:
    """What must be drawn for, level by level: every visited box of more than one cell."""
    level: list[Span] = [tuple((0, size) for size in table.shape)]
    asked, script = [], list(script)
    for depth in itertools.count():
        open_boxes = [box for box in level if not single(box)]
        if not level:
            return asked
        held = [int(table[tuple(slice(*side) for side in box)].sum()) for box in open_boxes]
        asked.append([max(theta - pace.step, count - depth * pace.step) for count in held])
        level = [half for box in open_boxes if script and script.pop(0) for half in halves(box)]
    raise AssertionError


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (2, 3), (4, 1, 3)])
def test_every_visited_box_draws_for_its_biased_count_and_empty_ones_do(
    shape: tuple[int, ...],
) -> None:
    random, pace = np.random.default_rng(1), Pace.of(Fraction(1), plain(shape).fanout, ADD)
    for table in itertools.islice(tables(shape, 2), 12):
        for theta in (0, 2):
            script = random.integers(0, 2, 12).tolist()
            noise = Scripted(script)
            told = curator_of(table * 20, noise).noisy_splits(
                plain(shape), theta=theta, most=1000, epsilon=1
            )
            assert [asked for asked, _, _ in noise.asked] == expected(
                table * 20, pace, theta, script
            )
            assert {(t, s) for _, t, s in noise.asked} == {(theta, pace.scale)}
            used = len(told.values)
            assert told.values.tolist() == (script + [0] * used)[:used]
            assert (told.scale, told.step) == (pace.scale, pace.step)


def test_the_cap_ends_a_tree_by_what_was_decided_alone() -> None:
    for rows in (0, 5):
        noise = Scripted([1] * 100)
        told = curator_of([rows] * 8, noise).noisy_splits(plain((8,)), theta=0, most=7, epsilon=1)
        assert told.values.tolist() == [1, 1, 1, 0, 0, 0, 0]
        assert SplitBoxes(plain((8,)), told.values, 7).parts == 4


def test_splits_are_charged_for_before_they_are_drawn() -> None:
    curator = curator_of([1, 2], Scripted([]))
    curator.noisy_splits(plain((2,)), theta=0, most=3, epsilon="0.75")
    assert curator.spent == Fraction(3, 4) and 0 < curator.eta < Fraction(1, 2**90)
    noise = Scripted([])
    with pytest.raises(BudgetError):
        curator_of([1, 2], noise).noisy_splits(plain((2,)), theta=0, most=3, epsilon=2)
    assert not noise.asked


def test_a_curator_refuses_trees_that_are_none() -> None:
    curator = curator_of([1, 2], Scripted([]))
    for splits, theta, most in (
        (plain((3,)), 0, 3),
        ("tree", 0, 3),
        (plain((2,)), True, 3),
        (plain((2,)), 2**50, 3),
        (plain((2,)), 0, 0),
        (plain((2,)), 0, 2**40),
    ):
        with pytest.raises(OptionError):
            curator.noisy_splits(splits, theta=theta, most=most, epsilon=1)  # type: ignore[arg-type]
    columns = CodedColumns((2,), (np.zeros(1, np.uint8),))
    coded = Curator(columns, exposure=ADD, account=Account(Fraction(1)), noise=Scripted([]))
    with pytest.raises(OptionError):
        coded.noisy_splits(plain((2,)), theta=0, most=3, epsilon=1)
    assert coded.spent == curator.spent == 0


# ── boxes ────────────────────────────────────────────────────────────────────────────────────────

GROUPS = AxisSplits(9, ((0, 9), (0, 2), (2, 7), (3, 6)))


def random_boxes(splits: Splits, seed: int) -> SplitBoxes:
    """A tree as coins have it: decisions are added until no box is left to decide on."""
    random, decisions = np.random.default_rng(seed), list[int]()
    while True:
        try:
            return SplitBoxes(splits, np.array(decisions, np.int64), 10**6)
        except OptionError:
            decisions.append(int(random.random() < 0.8))


@pytest.mark.parametrize(
    "splits",
    [
        plain((13,)),
        plain((4, 6)),
        plain((3, 1, 5)),
        Splits((GROUPS,)),
        Splits((AxisSplits(4), GROUPS)),
    ],
    ids=lambda splits: str(splits.shape),
)
def test_leaves_tile_the_domain_and_inner_boxes_are_runs_of_leaves(splits: Splits) -> None:
    cells = np.indices(splits.shape).reshape(len(splits.shape), -1)
    for seed in range(8):
        boxes = random_boxes(splits, seed)
        held = [
            ((cells >= start[:, None]) & (cells < stop[:, None])).all(axis=0)
            for start, stop in zip(boxes.leaves.starts, boxes.leaves.stops, strict=True)
        ]
        assert (np.sum(held, axis=0) == 1).all()
        assert boxes.parts == len(held)
        assert np.argmax(held, axis=0).tolist() == boxes.part_of(tuple(cells)).tolist()
        starts = np.concatenate([level.starts for level in boxes.levels])
        stops = np.concatenate([level.stops for level in boxes.levels])
        for node in range(boxes.tree.nodes):
            inside = ((starts[node] <= cells.T) & (stops[node] > cells.T)).all(axis=1)
            leaves = held[boxes.tree.start[node] : boxes.tree.stop[node]]
            assert (np.sum(leaves, axis=0).astype(bool) == inside).all()


def test_groups_of_a_hierarchy_are_boxes() -> None:
    splits = Splits((GROUPS,))
    boxes = random_boxes(splits, 0)
    while boxes.parts < 9:
        everything = np.ones(8, np.int64)
        boxes = SplitBoxes(splits, everything, 100)
    spans = {
        (int(a), int(b))
        for level in boxes.levels
        for a, b in zip(level.starts[:, 0], level.stops[:, 0], strict=True)
    }
    assert {(0, 9), (0, 2), (2, 7), (3, 6)} <= spans


@pytest.mark.parametrize("decisions", [[], [2], [1], [0, 0], [1, 0, 0, 1], [-1]])
def test_decisions_that_are_no_tree_are_refused(decisions: list[int]) -> None:
    with pytest.raises(OptionError):
        SplitBoxes(plain((4,)), np.array(decisions, np.int64), 100)
    with pytest.raises(OptionError):
        SplitBoxes(plain((4,)), np.array([1, 1, 1]), 6)


def test_domains_of_10_to_the_18_cells_are_split() -> None:
    splits = plain((2**30, 2**30))
    rows = np.array([5, 2**59 + 3, 2**60 - 1], np.int64)
    counts = Counts(splits.shape, rows, np.array([900, 800, 700], np.int64))
    curator = Curator(counts, exposure=ADD, account=Account(Fraction(10)), noise=EntropyNoise())
    told = curator.noisy_splits(splits, theta=0, most=10**5, epsilon=10)
    boxes = SplitBoxes(splits, told.values, 10**5)
    sizes = np.prod((boxes.leaves.stops - boxes.leaves.starts).astype(object), axis=1)
    assert sum(sizes) == 2**60
    codes = np.unravel_index(rows, splits.shape)
    assert len(set(boxes.part_of(codes).tolist())) == 3
    for shape in ((2**62, 2), (0,), (2,) * 5):
        with pytest.raises(OptionError):
            plain(shape)


# ── ranges of parts ──────────────────────────────────────────────────────────────────────────────


def ranges(*rows: tuple[int, int, int], whole: int = 10) -> SharedRanges:
    starts, stops, shares = np.array(rows, np.int64).reshape(-1, 3).T
    return SharedRanges(starts, stops, shares, whole)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_each_range_has_noise_of_its_share(neighbours: str) -> None:
    exposure = Exposure(neighbours, 3)  # type: ignore[arg-type]
    noise = Scripted([])
    curator = curator_of([1, 2, 3, 4], noise, exposure)
    boxes = SplitBoxes(plain((4,)), np.array([1, 1, 1]), 7)
    asked = ranges((0, 4, 1), (0, 2, 4), (2, 4, 4), (0, 1, 5), (1, 2, 5), (2, 3, 5), (3, 4, 5))
    told = curator.noisy_ranges(boxes, asked, epsilon=1)
    assert told.values.tolist() == [10, 3, 7, 1, 2, 3, 4]
    whole = 3 if neighbours == "add-remove" else 6
    assert told.scale == whole
    assert sorted(noise.scales) == sorted(
        [(1, whole * Fraction(10)), (2, whole * Fraction(10, 4)), (4, whole * Fraction(2))]
    )


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 4, 6), (1, 2, 5)],
        [(0, 5, 1)],
        [(-1, 2, 1)],
        [(2, 2, 1)],
        [(0, 1, 0)],
        [(0, 1, 11)],
        [(0, 1, 6), (0, 1, 6)],
    ],
)
def test_ranges_that_cost_more_than_epsilon_are_refused(rows: list[tuple[int, int, int]]) -> None:
    curator = curator_of([1, 2, 3, 4], Scripted([]))
    boxes = SplitBoxes(plain((4,)), np.array([1, 1, 1]), 7)
    with pytest.raises(OptionError):
        curator.noisy_ranges(boxes, ranges(*rows), epsilon=1)
    assert curator.spent == 0


def test_ranges_of_one_part_are_counted_too() -> None:
    told = curator_of([1, 2], Scripted([])).noisy_ranges(Whole((2,)), ranges((0, 1, 10)), epsilon=1)
    assert told.values.tolist() == [3]


def test_ranges_bring_no_price_of_their_own() -> None:
    class Cheap(SharedRanges):
        def check(self, parts: int) -> None: ...

        def blocks(self) -> list[tuple[np.ndarray, Fraction]]:
            return [(np.arange(len(self.starts)), Fraction(1, 10**6))]

    curator = curator_of([1, 2, 3, 4], Scripted([]))
    boxes = SplitBoxes(plain((4,)), np.array([1, 1, 1]), 7)
    cheap = Cheap(np.arange(4), np.arange(4) + 1, np.ones(4, np.int64), 1)
    for wrong in (cheap, "ranges", ranges()):
        with pytest.raises(OptionError):
            curator.noisy_ranges(boxes, wrong, epsilon=1)  # type: ignore[arg-type]
    assert curator.spent == 0


def test_ranges_are_drawn_as_closely_as_is_stated() -> None:
    """Counted as if there were the most ranges, at the scale whose draws are least close."""
    curator = curator_of([1, 2, 3, 4], Scripted([]))
    boxes = SplitBoxes(plain((4,)), np.array([1, 1, 1]), 7)
    curator.noisy_ranges(boxes, ranges((0, 4, 1), (0, 2, 4)), epsilon=1)
    worst = max(laplace_eta(Fraction(10)), laplace_eta(Fraction(10, 4)))
    assert curator.eta == MOST_RANGES * worst
    with pytest.raises(OptionError, match="at most"):
        ranges(*[(0, 1, 1)] * (MOST_RANGES + 1)).most_shared(1)


def test_nobody_changes_boxes_that_rows_are_counted_by() -> None:
    boxes = SplitBoxes(plain((4,)), np.array([1, 1, 1]), 7)
    given = np.zeros(1, np.int64)
    kept = SharedRanges(given, given + 1, given + 1, 1)
    given[0] = 7
    assert kept.starts.tolist() == [0]
    levels = (array for level in boxes.levels for array in (level.starts, level.stops))
    tree = (boxes.tree.start, boxes.tree.stop, boxes.tree.parent, boxes.leaves.starts)
    for array in (*levels, *boxes.split, *tree):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0

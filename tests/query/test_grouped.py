"""Sums, means and shares of all groups at once are those of one group after the other."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared_regions import code_sets
from tests.shared_sizes import some_of

import hushtable as ht
from hushtable.errors import QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.query.answering import GroupedRows
from hushtable.query.cutting import kinds_by_codes
from hushtable.query.result import Measure
from hushtable.query.sql import parse_query
from hushtable.query.statistics import RowLaw, grouped, statistic
from hushtable.query.statistics.grouped import GroupedRatios
from hushtable.query.statistics.ladder import Ladder
from hushtable.query.statistics.ratio import FOR_COUNT
from hushtable.query.weighing import counted, summed, weigh, weighed_laws
from hushtable.release import Release
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "99",
        "attribute": [
            {"name": "town", "kind": "ordinal", "range": [0, 10]},
            {"name": "age", "kind": "ordinal", "range": [10, 17], "outside": "other"},
            {"name": "pay", "kind": "ordinal", "edges": [0, 1, 5, 20]},
        ],
    }
)
MECHANISMS = {
    "basic": {},
    "privelet": {},
    "privelet+": {},
    "privelet*": {"identity": ""},
    "hierarchical": {},
    "mixed": {"town": "tree:4x3", "age": "tree:3x3"},
    "marginals": {"tables": "town+age+pay, town+age"},
}
LEVEL = 0.9
AVERAGES = (
    "AVG(age)",
    "AVG(pay)",
    "AVG(age) - AVG(age) FILTER (WHERE TRUE)",
    "100.0 * COUNT(*) FILTER (WHERE age < 12 OR pay < 1) / COUNT(*)",
    "SUM(age) FILTER (WHERE town < 6) / COUNT(age) + 3",
)
SUMS = ("SUM(age)", "SUM(pay)", "COUNT(*) - 2 * COUNT(*) FILTER (WHERE age > 12) + 1")
WHERE = ("", "WHERE pay < 5", "WHERE town < 4 OR age >= 13")


@pytest.fixture(
    scope="module",
    params=some_of(MECHANISMS, ("basic", "privelet*", "mixed", "marginals")),
)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Towns of many people, of few and of nobody."""
    random, folder = np.random.default_rng(3), tmp_path_factory.mktemp("grouped")
    rows = 6000
    town = np.minimum(random.exponential(2.5, rows), 8).astype(int)
    age = np.where(random.random(rows) < 0.1, 99, 10 + random.binomial(7, 0.2 + town / 20))
    pay = random.exponential(4, rows).clip(0, 19)
    with pytest.MonkeyPatch.context() as patch:  # a state folder of its own: it outlives a test
        patch.setenv("HUSHTABLE_STATE", str(folder / "state"))
        return ht.publish(
            pa.table({"town": town, "age": age, "pay": pay}),
            SCHEMA,
            epsilon="1",
            mechanism=request.param,
            settings=MECHANISMS[request.param],
            out=folder / "r",
            ledger=folder / "ledger",
            entropy=SeededEntropy(7),
        )


def rows_of(release: Release, aggregate: str, where: str, group: str = "town") -> GroupedRows:
    query = parse_query(f"SELECT {group}, {aggregate} AS y FROM t {where} GROUP BY {group}", SCHEMA)
    return GroupedRows.of(release.reader, SCHEMA, query, query.sets[0])


def one_by_one(rows: GroupedRows) -> Measure:
    aggregate = rows.query.aggregates[0].aggregate
    every = rows.query.boxes
    return Measure.of(
        [statistic(rows.reader, SCHEMA, aggregate, boxes, every) for boxes in rows.boxes()]
    )


def at_once(rows: GroupedRows) -> Measure:
    found = rows._at_once(rows.query.aggregates[0].aggregate)
    assert found is not None
    return found


@pytest.mark.parametrize("where", some_of(WHERE, WHERE[1:]))
@pytest.mark.parametrize("aggregate", SUMS)
def test_sums_of_groups_are_those_of_one_after_the_other(
    release: Release, aggregate: str, where: str
) -> None:
    rows = rows_of(release, aggregate, where)
    slow, fast = one_by_one(rows), at_once(rows)
    assert fast.values == pytest.approx(slow.values)
    assert fast.stderr == pytest.approx(slow.stderr)
    for mine, theirs in zip(fast.bounds(LEVEL), slow.bounds(LEVEL), strict=True):
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("where", some_of(WHERE, WHERE[2:]))
@pytest.mark.parametrize("aggregate", AVERAGES)
def test_ratios_of_groups_are_those_of_one_after_the_other(
    release: Release, aggregate: str, where: str
) -> None:
    """Their ends are further out by about a hundredth, of groups with hardly more rows than noise
    by more; and nearer by no more than the search of one group's end gives away."""
    rows = rows_of(release, aggregate, where)
    slow, fast = one_by_one(rows), at_once(rows)
    assert fast.values == pytest.approx(slow.values, nan_ok=True)
    assert fast.stderr == pytest.approx(slow.stderr, abs=1e-9)
    (low, high), (least, most) = fast.bounds(LEVEL), slow.bounds(LEVEL)
    open_ended = ~np.isfinite(most - least)
    assert np.array_equal(np.isfinite(low), np.isfinite(least))
    assert np.array_equal(np.isfinite(high), np.isfinite(most))
    halves = np.where(open_ended, 1.0, most - least) / 2 + 1e-9
    near = ~open_ended
    assert np.all((least - low)[near] <= 0.06 * halves[near] + 0.01)
    assert np.all((low - least)[near] <= 0.002 * halves[near])
    assert np.all((high - most)[near] <= 0.06 * halves[near] + 0.01)
    assert np.all((most - high)[near] <= 0.002 * halves[near])


@pytest.mark.parametrize("aggregate", AVERAGES)
def test_the_ends_of_every_group_are_as_far_as_noise_goes(release: Release, aggregate: str) -> None:
    """A tenth nearer, or a hundredth, S − r·C would be within its noise."""
    rows = rows_of(release, aggregate, "")
    assert rows.cuts is not None
    asked = rows.query.aggregates[0].aggregate
    found = grouped(rows.reader, SCHEMA, asked, rows.query.boxes, rows.cuts, rows.shown)
    assert isinstance(found, GroupedRatios)
    tried, bottom = 0, found.ratio.bottom
    for row, (low, high) in enumerate(zip(*found.ends(LEVEL), strict=True)):
        law, top = found._kinds[found.groups.which[row]], found.ratio.top
        for side, end, weighing in ((-1, low, top.low), (1, high, top.high)):
            ratio, bound = end - found.ratio.offset, law.possible[side > 0]
            if not math.isfinite(ratio) or abs(ratio - bound) < 1e-9:
                continue
            total = found.groups.values(weighing)[row]
            kind = int(found.groups.which[row])
            noise = law.difference(ratio, found.groups.of_kind(kind, weighing))
            half = noise.half_width(1 - (1 - FOR_COUNT) * (1 - LEVEL))
            top_shift, shift = (found.groups.shifts(of)[row] for of in (weighing, bottom))
            half += abs(top_shift - ratio * shift)
            assert side * (ratio * found.counts[row] - total) >= half * (1 - 1e-9)
            tried += 1
    assert tried >= 4 or "FILTER (WHERE TRUE)" in aggregate


def test_intervals_of_bins_hold_their_values_where_nobody_is(release: Release) -> None:
    """Below zero, the least sum that bins allow is more than the largest."""
    rows = rows_of(release, "SUM(pay)", "WHERE town > 4 AND age > 11")
    for found in (one_by_one(rows), at_once(rows)):
        for level in (0.1, 0.5, 0.95):
            low, high = found.bounds(level)
            assert np.all((low <= found.values) & (found.values <= high))


def test_ratios_that_noise_leaves_alone_hold_the_truth(tmp_path: Path) -> None:
    """Of a small group beside a large one, the last bits are rounded: the truth is not outside for
    that."""
    random, rows = np.random.default_rng(5), 200_000
    town, age = random.integers(0, 8, rows), random.integers(10, 18, rows)
    town[1000:] = 0
    release = ht.publish(
        pa.table({"town": town, "age": age, "pay": np.zeros(rows, int)}),
        SCHEMA,
        epsilon="99",
        mechanism="marginals",
        settings={"tables": "town+age"},
        out=tmp_path / "r",
        ledger=tmp_path / "ledger",
        entropy=SeededEntropy(7),
    )
    people = [age[town == code] for code in range(8)]
    means, shares = [of.mean() for of in people], [(of < 13).mean() for of in people]
    share = "COUNT(*) FILTER (WHERE age < 13) / COUNT(*)"
    for aggregate, truth in (("AVG(age)", means), (share, shares)):
        asked = rows_of(release, aggregate, "")
        for found in (one_by_one(asked), at_once(asked)):
            low, high = (ends[:8] for ends in found.bounds(0.95))
            assert np.all((low <= truth) & (truth <= high)) and np.all(high - low < 1e-9)


def test_sums_of_bins_that_noise_leaves_alone_hold_the_truth(tmp_path: Path) -> None:
    """Nobody is in a group: least squares makes almost nothing of it."""
    random, rows = np.random.default_rng(5), 20_000
    release = ht.publish(
        pa.table(
            {
                "town": random.integers(0, 4, rows),
                "age": random.integers(10, 18, rows),
                "pay": random.integers(0, 5, rows),
            }
        ),
        SCHEMA,
        epsilon="99",
        mechanism="marginals",
        settings={"tables": "town+pay, town+age, age+pay"},
        out=tmp_path / "r",
        ledger=tmp_path / "ledger",
        entropy=SeededEntropy(7),
    )
    asked = rows_of(release, "SUM(pay)", "")
    for found in (one_by_one(asked), at_once(asked)):
        low, high = (ends[4:11] for ends in found.bounds(0.5))
        assert np.all((low <= 0) & (high >= 0)) and np.all(high - low < 0.01)


@pytest.mark.parametrize("factors", [(1.0, -2.5, 0.25), (0.0, 3.0, -1.0)])
def test_a_question_with_other_factors_has_the_noise_of_that_question(
    release: Release, factors: tuple[float, ...]
) -> None:
    rows = rows_of(release, "COUNT(*)", "WHERE town < 4 OR age >= 13")
    parts = (*counted(rows.query.boxes), *summed(rows.query.boxes[:1], 1, np.arange(9.0)))
    assert len(parts) == len(factors)
    asked = tuple(replace(part, factor=f) for part, f in zip(parts, factors, strict=True))
    found = weighed_laws(release.reader, parts)(np.array(factors))
    _, law = weigh(release.reader, asked)
    assert found.variance == pytest.approx(law.variance) and found.variance > 0
    assert found.half_width(LEVEL) == pytest.approx(law.half_width(LEVEL))


def test_a_table_by_group_is_answered_at_once(release: Release) -> None:
    found = release.sql("SELECT town, AVG(age) FROM t GROUP BY town")
    assert isinstance(found.only.laws[0], RowLaw)
    assert found[3]["value"] == pytest.approx(release.mean("age", where="town = 3").value)


@pytest.mark.parametrize("aggregate", ["AVG(age)", "SUM(pay)"])
def test_rows_keep_their_error_bars_wherever_they_stand(release: Release, aggregate: str) -> None:
    asked = f"SELECT town, {aggregate} AS y FROM t GROUP BY town"
    rows = {row["town"]: row for row in release.sql(asked)}
    turned = release.sql(f"{asked} ORDER BY town DESC")
    assert [row["town"] for row in turned] == sorted(rows, reverse=True)
    for row in turned:
        assert row == rows[row["town"]]
    assert len({tuple(row["interval"]) for row in turned}) > 3


@pytest.mark.parametrize("aggregate", ["AVG(age)", "SUM(pay)"])
def test_all_rows_together_have_the_errors_of_each(release: Release, aggregate: str) -> None:
    every = at_once(rows_of(release, aggregate, ""))
    assert every.stderr.tolist() == [math.sqrt(law.variance) for law in every.held_laws]
    ends = [law.ends(LEVEL) for law in every.held_laws]  # type: ignore[attr-defined]
    assert list(zip(*(side.tolist() for side in every.bounds(LEVEL)), strict=True)) == ends
    assert not every.estimates.any() and not every.note
    with pytest.raises(QueryError, match="confidence"):
        every.bounds(1.5)


def test_groups_of_what_is_summed_are_asked_one_by_one(release: Release) -> None:
    rows = rows_of(release, "AVG(age)", "", "age")
    assert rows._at_once(rows.query.aggregates[0].aggregate) is None


@given(st.data())
def test_groups_of_one_kind_have_as_many_codes_of_every_combination(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    sets = data.draw(st.lists(code_sets(size), min_size=1, max_size=3))
    ends = sorted(data.draw(st.sets(st.integers(0, size), min_size=2)) | {0, size})
    ranges = list(itertools.pairwise(ends))
    kinds = kinds_by_codes(sets, ranges).tolist()

    def combinations(start: int, stop: int) -> list[tuple[bool, ...]]:
        found = (tuple(code in codes for codes in sets) for code in range(start, stop))
        return sorted(combination for combination in found if any(combination))

    listed = [combinations(*ends) for ends in ranges]
    for one, kind in zip(listed, kinds, strict=True):
        for other, another in zip(listed, kinds, strict=True):
            assert (one == other) == (kind == another)


@pytest.mark.parametrize("side", [-1, 1])
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(11, 90)), min_size=1, max_size=9))
def test_a_ladder_finds_where_a_straight_line_leaves_the_noise(
    side: int, asked: list[tuple[int, int]]
) -> None:
    """Against the noise itself at a finer step, and as near as a ladder is."""

    def noise(ratio: float) -> float:
        return math.hypot(3.0, 9.0 * (ratio - 0.3)) + 0.1 * math.floor(ratio * 7 % 2)

    totals, counts = (np.array(column, float) for column in zip(*asked, strict=True))
    ladder = Ladder(noise, 10.0, (-math.inf, math.inf))
    for total, count, end in zip(
        totals, counts, ladder.excluded(totals, counts, (-1, 1))[side], strict=True
    ):
        assert side * (end * count - total) >= noise(end) - 0.1 - 1e-9
        inside = end - side * 0.05 * abs(end - total / count)
        assert side * (inside * count - total) <= noise(inside) + 0.1


def test_a_ladder_without_noise_ends_at_the_ratio_itself() -> None:
    """What is left of rounding is no reason to go as far as ratios can."""
    totals, counts = (
        np.array([1833.0, 1.0, 22.0, 1831.0, 70.0, 7.0]),
        np.array([412.0, 49, 7, 409, 97, 11]),
    )
    ends = Ladder(lambda ratio: 0.0, 0.0, (0.0, 9.0)).excluded(totals, counts, (-1, 1))
    for side in (-1, 1):
        assert ends[side] == pytest.approx(totals / counts)


def test_a_ladder_is_as_fine_where_ratios_are_far_from_zero() -> None:
    """Of a million and a few the ends are as near as of a few."""
    far = 1_000_000.0

    def noise(ratio: float) -> float:
        return math.hypot(3.0, 9.0 * (ratio - far))

    counts = np.linspace(100.0, 400.0, 20)
    totals = counts * (far + np.linspace(0.0, 3.0, 20))
    ladder = Ladder(noise, 10.0, (far - 5.0, far + 10.0))
    for side, ends in ladder.excluded(totals, counts, (-1, 1)).items():
        for total, count, end in zip(totals, counts, ends, strict=True):
            gone = side * (end * count - total)
            assert noise(end) * (1 - 1e-6) <= gone <= noise(end) * 1.02

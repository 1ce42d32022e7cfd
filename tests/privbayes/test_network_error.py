"""How far a network's answers may be off: promises where a table tells, estimates elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_cases import NETWORKS, SCHEMA, network_of, random_fit, reader_of
from scipy import stats
from tables import measured, mixed, mixed_schema
from tests.shared_sizes import some_of

from hushtable.families.network.error import MeasuredLaw, ModelError, NoisyRows, missed_part
from hushtable.families.network.fit import fit
from hushtable.families.network.network import MOST_ROWS, Link, Network
from hushtable.families.network.read import NetworkReader
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum, margins_of, simultaneous
from hushtable.query.sql import parse_where
from hushtable.schema import IntegerRange, Schema, ordinal
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import CodedTable

ADULT = Path(__file__).parents[3] / "shared/data/adult"
every_network = pytest.mark.parametrize("name", NETWORKS)


def discrete_laplace(random: np.random.Generator, scale: int, shape: tuple[int, ...]) -> np.ndarray:
    chance = -math.expm1(-1 / scale)
    return random.geometric(chance, shape) - random.geometric(chance, shape)


def box_of(*ranges: tuple[int, int]) -> Box:
    return Box(tuple(CodeSet.of(ends) for ends in ranges))


# ── where a table tells ──────────────────────────────────────────────────────────────────────────


def ranges_of(size: int) -> st.SearchStrategy[tuple[int, int]]:
    ends = st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted)
    return st.one_of(st.just((0, size)), ends.map(tuple))


@every_network
@settings(max_examples=20)
@given(ranges=st.tuples(*map(ranges_of, SCHEMA.shape)))
def test_a_table_tells_what_its_cells_add_up_to(
    name: str, ranges: tuple[tuple[int, int], ...]
) -> None:
    """Every cell of every table by itself: of all that tell a count the mean, by precision."""
    network = network_of(name)
    fitted = random_fit(network)
    inside = np.zeros(SCHEMA.shape, bool)
    inside[tuple(slice(*ends) for ends in ranges)] = True
    told = []
    for i, table in enumerate(network.measured):
        found = _cells_of(network, table, inside)
        if found:
            total = sum(int(fitted.noisy.tables[i][cell]) for cell in found)
            told.append((total, len(found) * fitted.variances[i]))
    _, law = reader_of(fitted).count((box_of(*ranges),))
    if not inside.any():
        assert law.variance == 0 and law.half_width(0.99) == 0
    elif not told:
        assert law.estimate
    else:
        weights = [1 / variance for _, variance in told]
        assert isinstance(law, MeasuredLaw) and not law.estimate
        assert law.measured == pytest.approx(np.average([t for t, _ in told], weights=weights))
        assert law.noise.variance == pytest.approx(1 / sum(weights))
        rows = NoisyRows(fitted.noisy.rows, DiscreteLaplace(Fraction(3)))
        assert law.rows == (rows if inside.all() else None)


def _cells_of(network: Network, table: tuple[tuple[int, int], ...], inside: np.ndarray) -> object:
    """The cells of a table that make up a box, or None where it cuts one."""
    found = {}
    for cell in np.ndindex(inside.shape):
        place = tuple(int(network.levels[a][level][cell[a]]) for a, level in table)
        found.setdefault(place, set()).add(bool(inside[cell]))
    if any(len(kinds) > 1 for kinds in found.values()):
        return None
    return [place for place, kinds in found.items() if True in kinds]


def test_disjoint_boxes_of_several_tables_have_independent_noise() -> None:
    fitted = random_fit(network_of("independent"))
    law = reader_of(fitted).count(parse_where("age < 3 OR age > 5", SCHEMA))[1]
    assert isinstance(law, MeasuredLaw)
    assert law.measured == fitted.noisy.tables[0][[0, 1, 2, 6]].sum()
    assert law.noise.variance == pytest.approx(4 * fitted.variances[0])


def test_an_interval_reaches_both_the_table_and_the_value() -> None:
    noise = MeasuredLaw(0.0, 50.0, _noise()).noise
    half = noise.half_width(0.95)
    assert margins_of(MeasuredLaw(50.25, 50.0, noise), 0.95) == pytest.approx(
        (half + 0.25, half - 0.25)
    )
    far = MeasuredLaw(500.0, 50.0, noise)
    assert margins_of(far, 0.95) == pytest.approx((450 + half, 0)) and far.variance == 450**2
    below, above = margins_of(MeasuredLaw(3.0, -40.0, noise), 0.95)
    assert below == pytest.approx(3) and above == 0  # no count is negative


class TestTotals:
    """The number of rows was drawn before the tables, and may have chosen them."""

    def test_the_interval_is_what_the_tables_and_the_number_of_rows_leave_room_for(self) -> None:
        noise, rows = _noise(), NoisyRows(120, DiscreteLaplace(Fraction(2)))
        wide, narrow = noise.reach(0.025), rows.noise.reach(0.025)
        assert narrow < wide
        below, above = MeasuredLaw(118.0, 115.0, noise, rows).margins(0.95)
        low, high = max(115 - wide, 120 - narrow), min(115 + wide, 120 + narrow)
        assert (118 - below, 118 + above) == pytest.approx((low, high))

    def test_where_both_disagree_the_tables_are_believed(self) -> None:
        noise, rows = _noise(), NoisyRows(10_000, DiscreteLaplace(Fraction(2)))
        below, above = MeasuredLaw(115.0, 115.0, noise, rows).margins(0.95)
        assert below == above == noise.reach(0.025)

    def test_at_its_limits_the_number_of_rows_speaks_to_one_side(self) -> None:
        """An empty table, whose noise was negative, has one row: that does not say that it has."""
        noise = DiscreteLaplace(Fraction(2))
        half = noise.reach(0.01)
        assert NoisyRows(1, noise).ends(0.01) == (0, 1 + half)
        assert NoisyRows(2, noise).ends(0.01) == (2 - half, 2 + half)
        assert NoisyRows(MOST_ROWS, noise).ends(0.01) == (MOST_ROWS - half, math.inf)

    @pytest.mark.parametrize("limit", [60, 100, 150])
    def test_it_holds_where_the_noise_of_the_rows_chose_the_tables(self, limit: int) -> None:
        """Many cells where there seem to be many rows, few cells elsewhere."""
        random, truth, releases = np.random.default_rng(limit), 20_000, 4000
        rows = discrete_laplace(random, 50, (releases,))
        few, many = (_sums(random, cells, releases) for cells in (300, 22_500))
        laws = {cells: NoiseSum.of(DiscreteLaplace(Fraction(2)), cells) for cells in (300, 22_500)}
        missed = 0
        for i in range(releases):
            chosen = 22_500 if rows[i] > limit else 300
            measured = float(truth + (many if chosen == 22_500 else few)[i])
            seen = NoisyRows(int(truth + rows[i]), DiscreteLaplace(Fraction(50)))
            below, above = MeasuredLaw(measured, measured, laws[chosen], seen).margins(0.9)
            missed += not measured - below <= truth <= measured + above
        assert stats.binom.sf(missed - 1, releases, 0.1) > 1e-9


def _sums(random: np.random.Generator, cells: int, number: int) -> np.ndarray:
    """Sums of so many discrete Laplace noises of scale 2."""
    success = 1 - math.exp(-1 / 2)
    first, second = random.negative_binomial(cells, success, (2, number))
    return first - second


def _noise():  # type: ignore[no-untyped-def]
    law = reader_of(random_fit(network_of("independent"))).count(parse_where("age < 3", SCHEMA))[1]
    assert isinstance(law, MeasuredLaw)
    return law.noise


def test_a_thousand_intervals_hold_all_at_once() -> None:
    """Each rests on one noise, whose tail is far longer than that of a normal law."""
    schema = Schema("line", Fraction(9), (ordinal("x", IntegerRange(0, 999)),))
    network = Network(schema, (Link(0),))
    random, truth, held, releases = np.random.default_rng(5), np.full(1000, 300), 0, 60
    for _ in range(releases):
        noisy = truth + discrete_laplace(random, 10, (1000,))
        fitted = fit(
            network,
            [noisy],
            noises=[DiscreteLaplace(Fraction(10))],
            rows=300_000,
            rows_noise=DiscreteLaplace(Fraction(9)),
        )
        reader = NetworkReader(network, lambda fitted=fitted: fitted)
        found = reader.group((Box.full((1000,)),), [(0, [(i, i + 1) for i in range(1000)])])
        level = simultaneous(0.95, 1000)
        margins = [margins_of(found.laws[law], level) for law in found.law_of_row]
        below, above = np.array(margins).T
        held += bool(((found.values - below <= truth) & (truth <= found.values + above)).all())
    assert stats.binom.cdf(held, releases, 0.95) > 0.01  # the seed is fixed


# ── what the network may miss ────────────────────────────────────────────────────────────────────


def test_the_wider_tail_is_taken() -> None:
    law = ModelError(1e9, 9.0, 16.0, 1e9)
    assert law.variance == 25 and law.estimate
    assert law.half_width(0.5) == pytest.approx(5 * stats.norm.ppf(0.75))
    for confidence in (0.95, 0.999, 1 - 1e-9):
        laplace = stats.laplace(scale=5 / math.sqrt(2)).ppf((1 + confidence) / 2)
        assert law.half_width(confidence) == pytest.approx(laplace, rel=1e-6)


def test_a_count_is_neither_negative_nor_above_that_of_its_attributes() -> None:
    below, above = ModelError(7.0, 1.0, 10_000.0, 20.0).margins(0.95)
    assert below == 7 and above == pytest.approx(20 + 3 * math.log(20) / math.sqrt(2) / 3)


def dependent(part: float, rows: int = 20_000) -> CodedColumns:
    """Three columns; two of them repeat the first in so many of the rows."""
    random = np.random.default_rng(2)
    first, *others = random.integers(0, 4, (3, rows))
    again = [np.where(random.random(rows) < part, first, other) for other in others]
    return CodedColumns((4, 4, 4), tuple(c.astype(np.uint8) for c in (first, *again)))


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_what_is_missed_is_judged_by_what_parents_tell(part: float) -> None:
    columns = tuple(ordinal(name, IntegerRange(0, 3)) for name in "xyz")
    schema = Schema("three", Fraction(9), columns)
    network = Network(schema, (Link(0), Link(1, ((0, 0),)), Link(2, ((0, 0),))))
    data = dependent(part)
    tables = [np.zeros((4, 4), np.int64) for _ in range(2)]
    for table, other in zip(tables, data.columns[1:], strict=True):
        np.add.at(table, (data.columns[0], other), 1)
    fitted = fit(
        network, tables, noises=[DiscreteLaplace(Fraction(1))] * 2, rows=20_000, rows_noise=None
    )
    # Of each pair of equal codes part/4 of all rows are more than chance; each spread is 3/16.
    assert missed_part(fitted) == pytest.approx(part / math.sqrt(3), abs=0.02)
    alone = Network(schema, (Link(0), Link(1), Link(2)))
    lone = [np.bincount(column, minlength=4) for column in data.columns]
    fitted = fit(
        alone, lone, noises=[DiscreteLaplace(Fraction(1))] * 3, rows=20_000, rows_noise=None
    )
    assert missed_part(fitted) == 1  # nothing was measured, anything may be missed


def test_noise_hides_dependences_that_may_be_missed() -> None:
    found = []
    for scale in (1, 100):
        network = network_of("a chain")
        shapes = [network.shape(table) for table in network.measured]
        tables = [np.full(shape, 8400 // math.prod(shape)) for shape in shapes]
        noises = [DiscreteLaplace(Fraction(scale))] * len(tables)
        fitted = fit(network, tables, noises=noises, rows=8400, rows_noise=None)
        found.append(missed_part(fitted))
    assert found[1] > 50 * found[0]


def test_a_dependence_that_the_network_lacks_is_within_the_interval() -> None:
    """y and z repeat x; but z repeats y too, now and then, which is no part of the network."""
    random, rows = np.random.default_rng(3), 20_000
    x, y, z = random.integers(0, 4, (3, rows))
    y = np.where(random.random(rows) < 0.4, x, y)
    z = np.where(random.random(rows) < 0.4, x, np.where(random.random(rows) < 0.15, y, z))
    schema = Schema("three", Fraction(9), tuple(ordinal(n, IntegerRange(0, 3)) for n in "xyz"))
    network = Network(schema, (Link(0), Link(1, ((0, 0),)), Link(2, ((0, 0),))))
    tables = [np.zeros((4, 4), np.int64) for _ in range(2)]
    np.add.at(tables[0], (x, y), 1)
    np.add.at(tables[1], (x, z), 1)
    fitted = fit(
        network,
        tables,
        noises=[DiscreteLaplace(Fraction(1))] * 2,
        rows=rows,
        rows_noise=DiscreteLaplace(Fraction(1)),
    )
    for code in range(4):
        value, law = reader_of(fitted).count(parse_where(f"y = {code} AND z = {code}", schema))
        true = int(((y == code) & (z == code)).sum())
        assert isinstance(law, ModelError) and law.estimate
        below, above = law.margins(0.95)
        assert value - below <= true <= value + above
        assert true > value + 5 * math.sqrt(law.noise)  # noise alone does not explain it


def coverage(
    schema: Schema, data: CodedColumns, epsilon: str, ways: int, seeds: int, questions: int
) -> dict[bool, tuple[int, int]]:
    """How many intervals of 95 % hold, of promises and of estimates, and how many there are."""
    found = {False: (0, 0), True: (0, 0)}
    for seed in range(seeds):
        content, network, _ = measured(data, schema, epsilon, seed=seed)
        noises = [DiscreteLaplace(Fraction(scale)) for scale in content.noise["scales"]]
        tables = [content.arrays[f"marginal_{i}"] for i in range(len(noises))]
        rows = int(content.parameters["rows"])
        fitted = fit(
            network, tables, noises=noises, rows=rows, rows_noise=DiscreteLaplace(Fraction(1))
        )
        reader, random = reader_of(fitted), np.random.default_rng(seed)
        for _ in range(questions):
            row = random.integers(len(data.columns[0]))
            codes = [int(column[row]) for column in data.columns]
            ends = [(0, size) for size in schema.shape]
            inside = np.ones(len(data.columns[0]), bool)
            for axis in random.choice(len(codes), ways, replace=False).tolist():
                ends[axis] = (codes[axis], codes[axis] + 1)
                inside &= data.columns[axis] == codes[axis]
            value, law = reader.count((box_of(*ends),))
            below, above = margins_of(law, 0.95)
            held = value - below <= inside.sum() <= value + above
            hits, tries = found[law.estimate]
            found[law.estimate] = (hits + bool(held), tries + 1)
    return found


@pytest.mark.parametrize("ways", some_of([1, 2, 3], [2]))
def test_intervals_hold_in_a_table_with_a_network_behind_it(ways: int) -> None:
    found = coverage(mixed_schema(), mixed(5000), "1", ways, seeds=6, questions=50)
    for hits, tries in found.values():
        assert tries == 0 or stats.binom.cdf(hits, tries, 0.95) > 0.01  # seeds are fixed


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not beside the project")
@pytest.mark.parametrize("ways", some_of([1, 2, 3], [3]))
def test_intervals_hold_in_a_real_table(ways: int) -> None:
    schema, table = adult(ADULT)
    columns = CodedTable.of("adult", schema, table).columns
    data = CodedColumns(schema.shape, tuple(np.asarray(column) for column in columns))
    for hits, tries in coverage(schema, data, "1", ways, seeds=2, questions=60).values():
        assert tries == 0 or stats.binom.cdf(hits, tries, 0.95) > 0.01  # seeds are fixed

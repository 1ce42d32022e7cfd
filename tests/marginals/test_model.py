"""The model of small tables: what it keeps of them, what it draws, what it estimates."""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.shared_sizes import some_of
from tests.shared_tables import schema_of

import hushtable
from hushtable.errors import QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.marginals.ask.marginals import Marginals
from hushtable.families.marginals.estimate import EstimatingReader
from hushtable.families.marginals.joint import Alone, Joint
from hushtable.families.marginals.model import Model
from hushtable.families.marginals.read import MarginalsReader
from hushtable.families.marginals.refine import refined, sights_of
from hushtable.families.marginals.tables import SmallTable, Transforms, parse_tables
from hushtable.families.network.network import Link, Network
from hushtable.families.network.sample import BATCH, RowSampler
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Tree
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Loss
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.reader import ModelReader, RowReader
from hushtable.query.sql import parse_where
from hushtable.release.release import Release
from hushtable.release.writing import write_experiment
from hushtable.schema import Schema

SHAPE = (2, 3, 4, 3)
SCHEMA = schema_of(SHAPE)
PAIRS = tuple(itertools.combinations(range(4), 2))
# As good as none: its variance is e⁻¹⁰⁰.
SILENT = Fraction(1, 100)

Floats = NDArray[np.float64]


def cells_of(seed: int = 3, rows: int = 400_000) -> NDArray[np.int64]:
    """Counts of a table in which everything depends on everything."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(math.prod(SHAPE), 2.0))
    return np.maximum(np.round(rows * shares), 1).astype(np.int64).reshape(SHAPE)


def margin(cells: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    return np.asarray(cells.sum(axis=tuple(i for i in range(cells.ndim) if i not in axes)))


def reader_of(
    cells: NDArray[np.int64],
    tables: Sequence[tuple[int, ...]],
    scale: Fraction = SILENT,
    seed: int = 0,
    transforms: Transforms | None = None,
) -> MarginalsReader:
    """Tables of some cells, with ordinary noise of the law that is stated."""
    schema = schema_of(cells.shape)
    random, chosen = np.random.default_rng(seed), transforms or {}
    some = [SmallTable.of(*axes) for axes in tables]
    values = []
    for table in some:
        measured = table.product(schema, chosen).forward(margin(cells, table.axes))
        p = -math.expm1(-1 / float(scale))
        noise = random.geometric(p, measured.shape) - random.geometric(p, measured.shape)
        values.append(measured + (0 if scale == SILENT else noise))
    reads = [lambda value=value: value for value in values]
    noises = [DiscreteLaplace(scale)] * len(some)
    return MarginalsReader.of(schema, some, noises, reads, chosen)


def joint_of(model: Model) -> Floats:
    """The counts of all cells by the model: the product of its distributions, slowly."""
    shape, network = model.network.schema.shape, model.network
    cells = np.empty(shape)
    for codes in itertools.product(*map(range, shape)):
        found = model.total
        for link, conditional in zip(network.links, model.conditionals, strict=True):
            groups = (network.levels[axis][level][codes[axis]] for axis, level in link.parents)
            found *= conditional[(*groups, codes[link.axis])]
        cells[codes] = found
    return cells


# ── tables without noise ─────────────────────────────────────────────────────────────────────────


def test_the_model_agrees_with_all_tables_if_they_have_no_noise() -> None:
    truth = cells_of()
    found = joint_of(reader_of(truth, PAIRS).model)
    for axes in PAIRS:
        assert margin(found, axes) == pytest.approx(margin(truth, axes), rel=0.02)


def test_of_all_that_agrees_the_model_is_the_one_that_depends_least() -> None:
    """With pairs of three attributes: iterative proportional fitting from an even table."""
    truth = margin(cells_of(), (0, 1, 2))
    pairs = ((0, 1), (0, 2), (1, 2))
    fitted = np.ones(truth.shape)
    for _, axes in itertools.product(range(500), pairs):
        other = tuple({0, 1, 2} - set(axes))
        ratio = margin(truth, axes) / margin(fitted, axes)
        fitted *= np.expand_dims(ratio, other)
    assert joint_of(reader_of(truth, pairs).model) == pytest.approx(fitted, rel=0.01)


def test_what_a_wider_table_tells_is_kept() -> None:
    truth = margin(cells_of(), (0, 1, 2))
    assert joint_of(reader_of(truth, [(0, 1, 2)]).model) == pytest.approx(truth, rel=0.01)


def test_a_tree_along_an_attribute_makes_no_difference() -> None:
    truth = cells_of()
    tree = reader_of(truth, PAIRS, transforms={2: Tree.uniform(4, 2)})
    assert joint_of(tree.model) == pytest.approx(joint_of(reader_of(truth, PAIRS).model), rel=0.02)


def test_attributes_in_no_table_are_even_and_independent() -> None:
    found = joint_of(reader_of(cells_of(), [(0, 1)]).model)
    assert np.allclose(found, found[:, :, :1, :1])


# ── noise ────────────────────────────────────────────────────────────────────────────────────────


def test_noise_alone_gives_hardly_any_dependence() -> None:
    even, pairs, runs = np.full((12, 12, 12), 50), ((0, 1), (0, 2), (1, 2)), 30
    models = [reader_of(even, pairs, Fraction(200), seed).model for seed in range(runs)]
    parents = sum(len(link.parents) for model in models for link in model.network.links)
    assert parents <= 0.2 * runs * len(pairs)


def test_dependences_are_found_in_spite_of_noise() -> None:
    """And the tables of the model are much nearer to the truth than the noisy ones are."""
    random = np.random.default_rng(1)
    start = random.integers(0, 12, 20_000)
    columns = [start, (start + random.integers(0, 3, 20_000)) % 12, random.integers(0, 12, 20_000)]
    truth = np.zeros((12, 12, 12), np.int64)
    np.add.at(truth, tuple(columns), 1)
    ours, theirs = 0.0, 0.0
    for seed in range(5):
        reader = reader_of(truth, ((0, 1), (0, 2), (1, 2)), Fraction(40), seed)
        parents = {link.axis: dict(link.parents) for link in reader.model.network.links}
        assert 0 in parents[1] or 1 in parents[0]
        cells = joint_of(reader.model)
        for axes in ((0, 1), (0, 2), (1, 2)):
            true = margin(truth, axes)
            ours += float(np.abs(margin(cells, axes) - true).sum())
            theirs += float(np.abs(reader.layers[0].table(axes) - true).sum())
    assert ours < 0.6 * theirs


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(2, 6), min_size=2, max_size=3))
def test_a_part_that_noise_explains_changes_nothing(seed: int, sizes: list[int]) -> None:
    """And one without noise is taken as it is, with the counts of each attribute kept."""
    random = np.random.default_rng(seed)
    cells = random.integers(50, 100, sizes)
    axes = tuple(range(len(sizes)))
    singles = [margin(cells, (axis,)) / cells.sum() for axis in axes]
    base = cells.sum() * reduce(np.multiply.outer, singles)
    for scale, told in ((Fraction(10**6), False), (SILENT, True)):
        reader = reader_of(cells, [axes], SILENT)
        layer = reader_of(cells, [axes], scale).layers[0] if not told else reader.layers[0]
        network = Network(reader.schema, tuple(Link(axis) for axis in axes))
        alone = Alone(network, tuple(margin(cells, (axis,)).astype(float) for axis in axes))
        sights = sights_of(network, layer, axes)
        assert sights is not None
        if not told:  # noise is stated, and happens to be none
            object.__setattr__(layer.agreeing.tables[0], "read", lambda: np.round(base))
        found = refined(layer.agreeing, sights, base, alone)
        if told:
            part, wanted = (_centred(table) for table in (found, cells.astype(float)))
            assert part == pytest.approx(wanted, rel=0.2, abs=1.0)
        else:
            assert found == pytest.approx(base)
        for axis in axes:
            assert margin(found, (axis,)) == pytest.approx(margin(base, (axis,)), rel=1e-2)


def _centred(table: Floats) -> Floats:
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


# ── tables over levels ───────────────────────────────────────────────────────────────────────────


def test_a_table_is_summed_to_coarser_levels_and_spread_to_finer_ones() -> None:
    schema = schema_of((4, 3))
    network = Network(schema, (Link(0), Link(1)))
    alone = Alone(network, (np.array([1.0, 3.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0])))
    table = Joint(((0, 0), (1, 0)), np.arange(12.0).reshape(4, 3))
    coarse = table.onto(((1, 0), (0, 1)), alone)
    assert coarse.counts.tolist() == [[3, 15], [5, 17], [7, 19]]
    assert table.onto(((1, 1),), alone).counts.tolist() == [18 + 22, 26]
    fine = Joint(((0, 1),), np.array([8.0, 6.0])).onto(((0, 0),), alone)
    assert fine.counts.tolist() == [2, 6, 3, 3]


def test_raking_reaches_tables_of_some_attributes_at_coarser_levels() -> None:
    network = Network(schema_of((4, 3)), (Link(0), Link(1)))
    alone = Alone(network, (np.ones(4), np.ones(3)))
    table = Joint(((1, 0), (0, 0)), np.arange(1.0, 13.0).reshape(3, 4))
    pair = Joint(((0, 1), (1, 0)), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    found = table.raked([pair], alone, 1)
    assert found.onto(pair.seen, alone).counts == pytest.approx(pair.counts)
    odds = found.counts[:, 0] / found.counts[:, 1]
    assert odds == pytest.approx(table.counts[:, 0] / table.counts[:, 1])


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rows", [0, 1, 7, 5000, BATCH + 100])
@pytest.mark.parametrize("seed", some_of(range(3), [0]))
def test_rows_are_as_near_to_the_model_as_rounding(rows: int, seed: int) -> None:
    """Of n rows of a batch with the same parents, np have a value of probability p, but for one."""
    model = reader_of(cells_of(), PAIRS).model
    codes = RowSampler(model, even=True).codes(rows, np.random.default_rng(seed))
    batches = -(-rows // BATCH)
    for link, conditional in zip(model.network.links, model.conditionals, strict=True):
        axes = [axis for axis, _ in link.parents] + [link.axis]
        assert all(level == 0 for _, level in link.parents)
        drawn = np.zeros(conditional.shape)
        np.add.at(drawn, tuple(codes[axis] for axis in axes), 1)
        expected = drawn.sum(axis=-1, keepdims=True) * conditional
        assert np.all(np.abs(drawn - expected) < batches + 1e-6)


def test_a_row_drawn_evenly_follows_the_model() -> None:
    """All cells together, also of attributes that are in no link: within six deviations."""
    model = reader_of(cells_of(), [(0, 1), (1, 2), (2, 3)]).model
    sampler, counts = RowSampler(model, even=True), np.zeros(SHAPE)
    random, rows = np.random.default_rng(5), 3
    draws = 4000
    for _ in range(draws):  # few rows at once: evenness must not show
        np.add.at(counts, tuple(sampler.codes(rows, random)), 1)
    expected = joint_of(model) / model.total * rows * draws
    assert np.all(np.abs(counts - expected) <= 6 * np.sqrt(expected) + 6)


def test_the_same_seed_gives_the_same_rows(tmp_path: Path) -> None:
    release = released(tmp_path / "r")
    assert isinstance(release.reader, RowReader) and isinstance(release.reader, ModelReader)
    rows = release.synthesize(1000, seed=4)
    again = hushtable.open(tmp_path / "r").synthesize(1000, seed=4)
    assert rows.equals(again) and not rows.equals(release.synthesize(1000, seed=5))
    assert rows.num_rows == 1000 and rows.column_names == ["age", "sex", "region", "size"]
    assert release.synthesize().num_rows == release.number_of_rows() == round(release.reader.total)
    batches = list(release.synthetic_batches(BATCH + 10, seed=1))
    assert [batch.num_rows for batch in batches] == [BATCH, 10]
    assert [batch.num_rows for batch in release.synthetic_batches(0)] == [0]


def test_rows_are_exported(run_hush: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    released(tmp_path / "r")
    code, out, _ = run_hush("export", "r", "-o", "rows.csv", "--synthetic", "50", "--seed", "1")
    assert code == 0 and "50 synthetic rows" in out
    lines = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 51


# ── estimates ────────────────────────────────────────────────────────────────────────────────────

TREE = {"north": ["n1", "n2", "n3"], "south": ["s1", "s2"]}
PEOPLE = Schema.from_dict(
    {
        "name": "t",
        "budget": "9",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [0, 19]},
            {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
            {"name": "region", "kind": "nominal", "tree": TREE},
            {"name": "size", "kind": "ordinal", "labels": ["low", "high"]},
        ],
    }
)
BEYOND = "age < 5 AND sex = 'f' AND size = 'low'"


def people(rows: int = 20_000) -> CodedColumns:
    random = np.random.default_rng(7)
    age, sex = random.integers(0, 20, rows), random.integers(0, 2, rows)
    region = np.minimum(random.integers(0, 5, rows), age // 4)
    size = (random.integers(0, 20, rows) + 5 * sex < age).astype(np.int64)
    return CodedColumns(PEOPLE.shape, tuple(c.astype(np.uint8) for c in (age, sex, region, size)))


def released(folder: Path, seed: int = 0, **more: str) -> Release:
    chosen = more or {"tables": "age+sex, sex+size, age+size, age+region@1"}
    curator = Curator(
        people(),
        exposure=PEOPLE.exposure,
        account=Account(Fraction(1)),
        noise=EntropyNoise(SeededEntropy(seed)),
    )
    content = Marginals().measure(curator, PEOPLE, epsilon=Fraction(1), settings=chosen)
    return write_experiment(folder, PEOPLE, content, Loss(Fraction(1)), mechanism="marginals")


def test_an_estimate_is_what_the_model_says() -> None:
    reader = reader_of(cells_of(), PAIRS, Fraction(20))
    cells, estimating = joint_of(reader.model), reader.estimating()
    for where in ("a = 1 AND b = 2 AND c < 2", "a = 0 OR (b = 1 AND c = 3 AND d > 0)", "d = 1"):
        boxes = parse_where(where, SCHEMA)
        inside = np.zeros(SHAPE, bool)
        for codes in itertools.product(*map(range, SHAPE)):
            inside[codes] = any(
                all(code in held for code, held in zip(codes, box.sets, strict=True))
                for box in boxes
            )
        value, law = estimating.count(boxes)
        if where == "d = 1":
            assert (value, law) == reader.count(boxes) and not law.estimate
        else:
            assert value == pytest.approx(cells[inside].sum()) and law.estimate


def test_groups_are_answered_as_their_conditions_are(tmp_path: Path) -> None:
    release = released(tmp_path / "r")
    found = release.sql(
        "SELECT sex, size, COUNT(*) FROM t WHERE age < 5 GROUP BY sex, size", estimate=True
    )
    assert len(found) == 4 and found.estimate
    for row in found:
        where = f"age < 5 AND sex = '{row['sex']}' AND size = '{row['size']}'"
        answer = release.count(where, estimate=True)
        assert row["value"] == pytest.approx(answer.value)
        assert row["stderr"] == pytest.approx(answer.stderr)
        assert row["interval"] == pytest.approx(answer.interval())


def test_what_tables_tell_is_answered_as_without_the_flag(tmp_path: Path) -> None:
    release = released(tmp_path / "r")
    for where in (None, "age < 5", "sex = 'f' AND size = 'low'", "age = 3 AND region = 'north'"):
        plain, flagged = release.count(where), release.count(where, estimate=True)
        assert plain.value == flagged.value and plain.law == flagged.law
        assert plain.note == flagged.note and not flagged.estimate
    plain_table, flagged_table = (
        release.table("age", "sex"),
        release.table("age", "sex", estimate=True),
    )
    assert plain_table.to_arrow().equals(flagged_table.to_arrow())


def test_an_estimate_says_so_everywhere(
    run_hush: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    release = released(tmp_path / "r")
    answer = release.count(BEYOND, estimate=True)
    assert answer.estimate and "estimate" in str(answer) and "model" in answer.note
    assert answer.to_dict()["estimate"]
    table = release.table("age", "sex", "size", estimate=True)
    assert table.estimate and "estimate" in repr(table) and "model" in table.note
    assert table.to_pandas()["estimate"].all()
    code, out, _ = run_hush("query", "r", BEYOND, "--estimate", "-o", "one.csv")
    assert code == 0 and "estimate:" in out
    assert "estimate" in (tmp_path / "one.csv").read_text(encoding="utf-8").splitlines()[0]
    code, out, _ = run_hush("query", "r", BEYOND, "--estimate", "--json")
    assert code == 0 and json.loads(out)["estimate"] and "model" in json.loads(out)["note"]


def test_without_the_flag_a_refusal_says_how_to_get_an_estimate(
    run_hush: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    release = released(tmp_path / "r")
    with pytest.raises(QueryError, match=r"age\+s.*estimate=True, or --estimate$"):
        release.count(BEYOND)
    code, _, error = run_hush("query", "r", BEYOND)
    assert code == 2 and error.count("no table") == 1 and error.endswith("or --estimate\n")


def test_other_releases_take_the_flag_and_answer_as_ever(tmp_path: Path) -> None:
    schema = schema_of((3, 2))
    release = hushtable.publish(
        pa.table({"a": [0, 1, 2, 2], "b": [0, 1, 0, 1]}),
        schema,
        epsilon="1",
        mechanism="basic",
        out=tmp_path / "b.release",
        ledger=tmp_path / "ledger",
    )
    assert release.count("a = 1", estimate=True).law == release.count("a = 1").law
    assert release.table("a", estimate=True).to_arrow() == release.table("a").to_arrow()


def test_no_estimate_is_below_zero_or_above_a_count_with_fewer_conditions(tmp_path: Path) -> None:
    release = released(tmp_path / "r")
    found = release.table("age", "sex", "size", estimate=True)
    lower, upper = found.bounds
    fewer = release.table("age", "sex")
    most = np.repeat(fewer.values + 3 * fewer.stderr, 2)
    reach = 5 * np.sqrt([law.noise for law in found.laws])
    assert np.all(lower >= 0) and np.all(upper <= np.maximum(most, found.values) + reach)


def test_a_level_that_no_table_tells_is_spread_and_may_be_all_wrong(tmp_path: Path) -> None:
    release = released(tmp_path / "r")
    north = release.count("region = 'north'")
    leaf = release.count("region = 'n1'", estimate=True)
    assert not north.estimate and leaf.estimate
    assert leaf.value == pytest.approx(north.value / 3, rel=0.1)
    assert leaf.stderr >= leaf.value and leaf.interval()[0] == 0


def test_an_attribute_in_no_table_may_be_anything(tmp_path: Path) -> None:
    release = released(tmp_path / "r", tables="age+sex")
    large = release.count("size = 'high'", estimate=True)
    assert large.value == pytest.approx(release.count().value / 2)
    assert large.interval()[0] == 0 and large.interval()[1] >= release.count().value
    young = release.count("size = 'high' AND age < 5", estimate=True)
    assert young.interval()[1] >= release.count("age < 5").value


def test_groups_that_one_of_several_boxes_misses_have_errors(tmp_path: Path) -> None:
    release = released(tmp_path / "r", tables="age, sex, size")
    where = "(sex = 'f' AND size = 'low') OR (sex = 'm' AND size = 'high')"
    found = release.sql(f"SELECT sex, COUNT(*) FROM t WHERE {where} GROUP BY sex", estimate=True)
    assert np.all(np.isfinite(found.bounds)) and np.all(found.stderr > 0)


def test_long_attributes_of_coarse_tables_take_little_memory() -> None:
    """A model lays out what tables tell, not all pairs of codes."""
    groups = {f"g{i}": [f"v{j}" for j in range(500 * i, 500 * (i + 1))] for i in range(8)}
    attributes = [{"name": name, "kind": "nominal", "tree": groups} for name in ("a", "b")]
    schema = Schema.from_dict({"name": "long", "budget": "9", "attribute": attributes})
    counts = np.random.default_rng(1).integers(0, 1000, 64)
    noise = DiscreteLaplace(Fraction(1))
    reader = MarginalsReader.of(
        schema, parse_tables("a@1+b@1", schema), [noise], [lambda: counts.reshape(8, 8)], {}
    )
    tracemalloc.start()
    _, law = reader.estimating().count(parse_where("a = 'v1' AND b = 'v2'", schema))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert law.estimate and peak < 4000 * 4000  # bytes: an eighth of all pairs


def test_intervals_of_estimates_hold_about_as_often_as_they_say(tmp_path: Path) -> None:
    """Three-way counts of people whose attributes depend on each other in pairs and in threes."""
    data, held = people(), []
    truth = np.zeros((20, 2, 2))
    np.add.at(truth, tuple(data.columns[axis] for axis in (0, 1, 3)), 1)
    for seed in range(10):
        found = released(tmp_path / str(seed), seed).table("age", "sex", "size", estimate=True)
        lower, upper = found.bounds
        held += ((lower <= truth.reshape(-1)) & (truth.reshape(-1) <= upper)).tolist()
    assert np.mean(held) >= 0.9


def test_attributes_of_very_many_codes_have_no_model() -> None:
    attributes = [{"name": "a", "kind": "ordinal", "range": [0, 70_000]}]
    schema = Schema.from_dict({"name": "long", "budget": "9", "attribute": attributes})
    table = parse_tables("a", schema)
    reads = [lambda: np.ones(70_001, np.int64)]
    reader = MarginalsReader.of(schema, table, [DiscreteLaplace(Fraction(1))], reads, {})
    with pytest.raises(QueryError, match="no model can be made"):
        reader.batches(10, 1)
    assert isinstance(reader.estimating(), EstimatingReader)

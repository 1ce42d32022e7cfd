"""The mechanism: its settings, what it spends and draws, and what its releases answer."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_sizes import some_of

from hushtable.auditing.transcript import LaplaceDraw, NoNoise, Recorder
from hushtable.errors import OptionError, QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.marginals.ask.marginals import Marginals, read_recipe
from hushtable.families.marginals.layers import layers_of
from hushtable.families.marginals.tables import SmallTable, parse_tables
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.curator import Curator
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import NEIGHBOURS, Loss
from hushtable.planner import plan
from hushtable.query.batch import range_boxes
from hushtable.release.release import Release
from hushtable.release.writing import write_experiment
from hushtable.schema import Schema

TREE = {"north": ["n1", "n2", "n3"], "south": ["s1", "s2"]}
ATTRIBUTES = [
    {"name": "age", "kind": "ordinal", "range": [0, 19]},
    {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
    {"name": "region", "kind": "nominal", "tree": TREE},
    {"name": "a+b", "kind": "ordinal", "labels": ["low", "high"], "outside": "other"},
]


def schema_of(**more: Any) -> Schema:
    return Schema.from_dict({"name": "t", "budget": "9", "attribute": ATTRIBUTES, **more})


SCHEMA = schema_of()


def people(rows: int = 3000, schema: Schema = SCHEMA) -> CodedColumns:
    random = np.random.default_rng(7)
    columns = [random.integers(0, size, rows).astype(np.uint8) for size in schema.shape]
    columns[2] = np.minimum(columns[2], columns[0] // 4).astype(np.uint8)  # the two are related
    return CodedColumns(schema.shape, tuple(columns))


def truth(data: CodedColumns, axes: tuple[int, ...]) -> Any:
    table = np.zeros([data.shape[axis] for axis in axes], np.int64)
    np.add.at(table, tuple(data.columns[axis] for axis in axes), 1)
    return table


def released(folder: Path, noise: Any, schema: Schema = SCHEMA, **settings: str) -> Release:
    curator = Curator(
        people(schema=schema),
        exposure=schema.exposure,
        account=Account(Fraction(1)),
        noise=noise,
    )
    content = Marginals().measure(curator, schema, epsilon=Fraction(1), settings=settings)
    assert curator.spent == 1 and curator.left == 0
    return write_experiment(folder, schema, content, Loss(Fraction(1)), mechanism="marginals")


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("age", [(0,)]),
        ("sex + age", [(0, 1)]),
        ('age+sex, "a+b"+region@1', [(0, 1), (2, 3)]),
        (' "age" , sex', [(0,), (1,)]),
    ],
)
def test_tables_are_read_as_they_are_written(text: str, axes: list[tuple[int, ...]]) -> None:
    tables = parse_tables(text, SCHEMA)
    assert [table.axes for table in tables] == axes
    written = ", ".join(table.name(SCHEMA) for table in tables)
    assert parse_tables(written, SCHEMA) == tables


def test_the_lowest_level_is_each_value_by_itself() -> None:
    assert parse_tables("region@2", SCHEMA) == parse_tables("region", SCHEMA)
    assert parse_tables("region@1", SCHEMA)[0].shape(SCHEMA) == (2,)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tables": "age+size"}, "no attribute 'size'"),
        ({"tables": "age+age"}, "twice"),
        ({"tables": "age, age"}, "twice"),
        ({"tables": "age@1"}, "no hierarchy"),
        ({"tables": "region@3"}, "levels 1 to 2"),
        ({"tables": "age+"}, "written as"),
        ({"tables": ""}, "written as"),
        ({"tables": "age,,sex"}, "written as"),
        ({"tables": "age", "ways": "2"}, "either ways or tables"),
        ({"ways": "5"}, "from 1 to 4"),
        ({"ways": "0"}, "from 1 to 12"),
        ({"ways": "two"}, "whole number"),
        ({"shares": "1:2"}, "go with tables"),
        ({"tables": "age, sex", "shares": "1:2:3"}, "2 tables and 3 shares"),
        ({"tables": "age, sex", "shares": "1:0"}, "above zero"),
        ({"tables": "age+sex", "most": "39"}, "40 cells, more than most=39"),
        ({"tables": "age", "along": "age=haar"}, "a tree such as"),
        ({"tables": "age", "along": "region=nominal"}, "a tree such as"),
        ({"tables": "age", "along": "size=tree:2x2"}, "no attribute 'size'"),
        ({"tables": "age", "along": "age"}, "along must be written as"),
        ({"tables": "age", "along": "age=tree:4x5, age=tree:2x10"}, "each name once"),
        ({"tables": " " * 1900 + 'a"'}, "written as"),
        ({"most": "3"}, "more than 3 cells"),
        ({"depth": "2"}, "no setting 'depth'"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_counted(
    settings: dict[str, str], words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        Marginals().check(SCHEMA, epsilon=Fraction(1), settings=settings)


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_every_table_of_so_many_attributes_is_inside_a_measured_one(ways: int) -> None:
    found = read_recipe(SCHEMA, {"ways": str(ways)}).tables
    for axes in itertools.combinations(range(4), ways):
        assert any(set(axes) <= set(table.axes) for table in found)


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("max_rows", [1, 3])
def test_each_table_has_noise_for_its_share_of_epsilon(neighbours: str, max_rows: int) -> None:
    unit = {"column": "id", "max_rows": max_rows}
    schema = schema_of(neighbours=neighbours, unit=unit)
    recorder = Recorder(NoNoise())
    curator = Curator(
        people(), exposure=schema.exposure, account=Account(Fraction(1)), noise=recorder
    )
    settings = {"tables": "age+sex, region@1", "shares": "3:1", "along": "age=tree:4x5"}
    Marginals().measure(curator, schema, epsilon=Fraction(1), settings=settings)
    draws = [draw for draw in recorder.draws if isinstance(draw, LaplaceDraw)]
    assert len(draws) == len(recorder.draws) == 2
    change = max_rows * (1 if neighbours == "add-remove" else 2)
    assert [draw.scale for draw in draws] == [2 * change / Fraction(3, 4), change / Fraction(1, 4)]
    assert [draw.exact.size for draw in draws] == [(4 + 20) * 2, 2]


# ── answers ──────────────────────────────────────────────────────────────────────────────────────

SETTINGS = (
    {"ways": "2"},
    {"ways": "3"},
    {"tables": 'age+sex, sex+region@1, region+"a+b"'},
    {"tables": 'age+sex, age+region+"a+b"', "along": "age=tree:4x5"},
    {"tables": 'age+sex, age+region+"a+b"', "along": "age=tents:3x2"},
)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_without_noise_every_answer_is_the_truth(settings: dict[str, str], tmp_path: Path) -> None:
    release = released(tmp_path / "r", NoNoise(), **settings)
    data = people()
    for table in release.reader.tables:
        if all(seen.level is None for seen in table.seen):
            names = [SCHEMA.attributes[axis].name for axis in table.axes]
            values = release.table(*names).values
            assert np.allclose(values, truth(data, table.axes).reshape(-1))
    assert release.count().value == pytest.approx(3000)
    where = "region = 'north' AND sex = 'f'"
    inside = (data.columns[2] < 3) & (data.columns[1] == 0)
    if any({1, 2} <= set(table.axes) for table in release.reader.tables):
        assert release.count(where).value == pytest.approx(int(inside.sum()))


@pytest.mark.parametrize("settings", some_of(SETTINGS, SETTINGS[0::4]), ids=str)
def test_errors_are_as_large_as_they_are_said_to_be(
    settings: dict[str, str], tmp_path: Path
) -> None:
    """Squared errors over stated variances of all tables: a mean of about one."""
    data, ratios = people(), []
    for seed in range(30):
        noise = EntropyNoise(SeededEntropy(seed))
        release = released(tmp_path / str(seed), noise, **settings)
        for table in release.reader.tables:
            if all(seen.level is None for seen in table.seen):
                found = release.table(*(SCHEMA.attributes[axis].name for axis in table.axes))
                errors = found.values - truth(data, table.axes).reshape(-1)
                ratios.append(float((errors**2).mean() / (found.stderr**2).mean()))
    assert 0.85 < np.mean(ratios) < 1.15


def test_levels_that_differ_make_layers_and_are_averaged(tmp_path: Path) -> None:
    tables = parse_tables("age+sex, sex+region@1, region", SCHEMA)
    assert layers_of(tables) == [[0, 1], [2]]
    release = released(tmp_path / "r", NoNoise(), tables="age+sex, sex+region@1, region")
    both = release.count("region = 'north'")
    fine = released(tmp_path / "s", NoNoise(), tables="age+sex, region", shares="2:1")
    assert both.stderr < fine.count("region = 'north'").stderr
    assert release.count("region = 'n1'").value == pytest.approx(
        int((people().columns[2] == 0).sum())
    )


def test_a_box_is_answered_the_same_whatever_else_is_asked(tmp_path: Path) -> None:
    """Some layers answer only boxes that cut none of their groups, each box for itself."""
    noise = EntropyNoise(SeededEntropy(4))
    tables, shares = "age+sex, sex+region@1, region", "1:9:1"
    release = released(tmp_path / "r", noise, tables=tables, shares=shares)
    whole = np.array(SCHEMA.shape)
    regions = [(0, 3), (0, 1), (3, 5), (2, 5), (0, 5), (1, 2)]
    starts, stops = np.zeros((6, 4), int), np.tile(whole, (6, 1))
    starts[:, 2], stops[:, 2] = np.transpose(regions)
    values, errors = release.count_ranges(starts, stops)
    together, lower, upper = release.range_intervals(starts, stops)
    assert errors[0] < errors[1] / 2  # the coarse layer has most of the budget
    for i, box in enumerate(range_boxes(starts, stops)):
        value, law = release.reader.count((box,))
        assert values[i] == pytest.approx(value) == together[i]
        assert errors[i] == pytest.approx(math.sqrt(law.variance))
        half = law.half_width(0.95)
        assert [lower[i], upper[i]] == pytest.approx([value - half, value + half], abs=2e-3)


def test_boxes_that_different_layers_answer_are_answered_together(tmp_path: Path) -> None:
    release = released(tmp_path / "r", NoNoise(), tables="age+region@1, sex+region")
    starts, stops = np.zeros((2, 4), int), np.tile(np.array(SCHEMA.shape), (2, 1))
    stops[0, [0, 2]], stops[1, [1, 2]] = (10, 3), (1, 1)
    values, _ = release.count_ranges(starts, stops)
    age, sex, region, _ = people().columns
    assert values.tolist() == pytest.approx(
        [int(((age < 10) & (region < 3)).sum()), int(((sex < 1) & (region < 1)).sum())]
    )


def test_a_question_beyond_all_tables_is_refused_with_the_nearest(tmp_path: Path) -> None:
    release = released(tmp_path / "r", NoNoise(), tables="age+sex, sex+region@1")
    with pytest.raises(QueryError, match=r"tells age and region together.*age\+sex"):
        release.count("age = 3 AND region = 'north'")
    with pytest.raises(QueryError, match="as finely as asked"):
        release.count("region = 'n1'")


def test_a_release_lists_its_tables_and_the_error_of_a_cell(tmp_path: Path) -> None:
    release = released(tmp_path / "r", NoNoise(), tables="region@1+sex, age", shares="1:1")
    assert release.tables == ("sex+region@1", "age")
    cell = release.count("region = 'north' AND sex = 'f'")
    assert release.cell_stderr == cell.stderr


def test_the_command_line_speaks_of_tables(
    run_hush: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    SCHEMA.save(tmp_path / "t.toml")
    rows = "age,sex,region,a+b\n" + "3,f,n1,low\n" * 50
    (tmp_path / "t.csv").write_text(rows, encoding="utf-8")
    publish = ("publish", "t.csv", "--schema", "t.toml", "--epsilon", "1", "-o", "t.release")
    code, out, _ = run_hush(*publish, "--mechanism", "marginals", "--set", "tables=age+sex")
    assert (
        code == 0 and "standard errors: 8.58 for all rows" in out and "for a cell of age+sex" in out
    )
    code, out, _ = run_hush("info", "t.release", "--json")
    assert code == 0 and json.loads(out)["tables"] == ["age+sex"]
    code, out, _ = run_hush("query", "t.release", "SELECT COUNT(*) FROM t WHERE region = 'n1'")
    assert code == 2
    for command in (("export", "t.release", "-o", "t.csv2.csv"), ("info", "t.release")):
        code, out, error = run_hush(*command)
        assert code in (0, 2) and "Traceback" not in error


@pytest.mark.parametrize("workload", ["everyday", "marginals:2", "2*marginals:1 + ranges"])
def test_what_is_planned_is_what_a_release_says(workload: str, tmp_path: Path) -> None:
    planned = plan(SCHEMA, epsilon="1", workload=workload)
    forecast = next(one for one in planned.forecasts if one.mechanism == "marginals")
    release = released(tmp_path / "r", NoNoise(), **forecast.parameters)
    law = release.reader.law(forecast.typical)
    assert law.half_width(0.95) == pytest.approx(forecast.margin(), rel=1e-9)
    sample = planned.workload
    total = 0.0
    for boxes in sample.box_sets:
        ends = [_all_of(along) for along in boxes.along]
        places = np.array(list(itertools.product(*(range(len(found[0])) for found in ends))))
        starts = np.stack([ends[i][0][places[:, i]] for i in range(4)], axis=1)
        stops = np.stack([ends[i][1][places[:, i]] for i in range(4)], axis=1)
        weights = np.prod(np.stack([ends[i][2][places[:, i]] for i in range(4)], 1), axis=1)
        total += boxes.weight * float(weights @ release.reader.range_variances(starts, stops))
    assert total / sample.weight == pytest.approx(forecast.rmse**2, rel=1e-9)


def _all_of(along: Any) -> tuple[Any, Any, Any]:
    """All intervals of a set, and the weight of each."""
    from hushtable.workload.intervals import Either, some_of

    parts = along.parts if isinstance(along, Either) else (along,)
    ends = [some_of(part, 10**6) for part in parts]
    weights = [np.full(len(starts), 1 / len(starts) / len(parts)) for starts, _ in ends]
    starts = np.concatenate([starts for starts, _ in ends])
    return starts, np.concatenate([stops for _, stops in ends]), np.concatenate(weights)


def test_an_axis_of_a_trillion_codes_is_refused_and_not_laid_out() -> None:
    attributes = [{"name": "a", "kind": "ordinal", "range": [0, 10**12]}, ATTRIBUTES[1]]
    schema = Schema.from_dict({"name": "long", "budget": "9", "attribute": attributes})
    with pytest.raises(OptionError, match="cells, more than most"):
        Marginals().check(schema, epsilon=Fraction(1), settings={"tables": "a"})
    with pytest.raises(OptionError, match=r"more than .* cells"):
        Marginals().check(schema, epsilon=Fraction(1), settings={})


def test_tables_of_very_many_attributes_are_refused_at_once() -> None:
    attributes = [{**ATTRIBUTES[1], "name": f"x{i}"} for i in range(30)]
    schema = Schema.from_dict({"name": "wide", "budget": "9", "attribute": attributes})
    for ways, words in (("30", "from 1 to 12"), ("10", "fewer ways")):
        with pytest.raises(OptionError, match=words):
            Marginals().check(schema, epsilon=Fraction(1), settings={"ways": ways})


def test_long_names_are_read_back(tmp_path: Path) -> None:
    attributes = [{**ATTRIBUTES[1], "name": '"' * 190 + f"+{i}"} for i in range(12)]
    schema = Schema.from_dict({"name": "long", "budget": "9", "attribute": attributes})
    text = "+".join('"' + '""' * 190 + f'+{i}"' for i in range(12))
    release = released(tmp_path / "r", NoNoise(), schema, tables=text)
    assert release.count().value == pytest.approx(3000)


def test_levels_that_conflict_everywhere_are_refused() -> None:
    """Each set of levels is read by itself, and there could be thousands."""
    tree = {top: {top + k: [top + k + leaf for leaf in "xy"] for k in "cd"} for top in "ab"}
    attributes = [{"name": f"x{i}", "kind": "nominal", "tree": tree} for i in range(6)]
    schema = Schema.from_dict({"name": "deep", "budget": "9", "attribute": attributes})
    levels = itertools.product(range(1, 4), repeat=6)
    text = ", ".join("+".join(f"x{i}@{k}" for i, k in enumerate(some)) for some in levels)
    with pytest.raises(OptionError, match="at most 256"):
        Marginals().check(schema, epsilon=Fraction(1), settings={"tables": text})


def test_what_is_grouped_as_a_whole_needs_no_table(tmp_path: Path) -> None:
    """And has no noise of tables that cancels but for rounding."""
    release = released(tmp_path / "r", NoNoise(), tables="age+sex")
    found = release.sql("SELECT LEVEL(region, 0), COUNT(*) FROM t GROUP BY LEVEL(region, 0)")
    assert found.values == pytest.approx([3000]) and found.stderr == release.count().stderr


@pytest.mark.parametrize("workload", ["total", "2*total"])
def test_the_total_alone_needs_no_tables(workload: str) -> None:
    found = plan(SCHEMA, epsilon="1", workload=workload)
    assert "marginals" not in {forecast.mechanism for forecast in found.forecasts}


def test_a_domain_of_more_cells_than_atoms_is_published(tmp_path: Path) -> None:
    attributes = [{"name": f"x{i}", "kind": "ordinal", "range": [0, 9 + i]} for i in range(60)]
    schema = Schema.from_dict({"name": "wide", "budget": "9", "attribute": attributes})
    assert schema.cells > 10**80
    random = np.random.default_rng(1)
    columns = tuple(random.integers(0, size, 500).astype(np.uint8) for size in schema.shape)
    curator = Curator(
        CodedColumns(schema.shape, columns),
        exposure=schema.exposure,
        account=Account(Fraction(1)),
        noise=NoNoise(),
    )
    content = Marginals().measure(curator, schema, epsilon=Fraction(1), settings={"ways": "1"})
    release = write_experiment(
        tmp_path / "r", schema, content, Loss(Fraction(1)), mechanism="marginals"
    )
    assert release.count("x59 < 10").value == pytest.approx(int((columns[59] < 10).sum()))
    assert all(isinstance(table, SmallTable) for table in release.reader.tables)

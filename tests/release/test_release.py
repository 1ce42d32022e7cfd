"""An opened release: values, error bars that hold, tables in the order that was asked."""

import json
import math
import shutil
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from release_folders import make_release, ranges
from scipy import stats

import hushtable
from hushtable.errors import OptionError, QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy

FALSE_ALARM = 1e-6


def variance(scale: Fraction) -> float:
    alpha = math.exp(-1 / scale)
    return 2 * alpha / (1 - alpha) ** 2


def discrete_laplace(scale: float, size, seed: int):
    """Noise by its definition: the difference of two geometric variables."""
    random = np.random.default_rng(seed)
    chance = -math.expm1(-1 / scale)
    return random.geometric(chance, size) - random.geometric(chance, size)


# ── values and errors ────────────────────────────────────────────────────────────────────────────


def test_a_count_is_the_sum_of_its_cells_with_the_error_of_each(census, census_cells):
    answer = census.count("age BETWEEN 0 AND 2 AND grade <> 'mid' AND occupation = 'desk'")
    assert answer.value == census_cells[1:4, :, ::2, :2].sum()
    assert answer.stderr == pytest.approx(math.sqrt(3 * 4 * 2 * 2 * variance(Fraction(2))))
    low, high = answer.interval(0.9)
    assert low < answer.value < high and answer.value - low == high - answer.value
    assert census.cell_stderr == pytest.approx(math.sqrt(variance(Fraction(2))))


@pytest.mark.parametrize("where", [None, "", "  "])
def test_no_condition_counts_everything(census, census_cells, where):
    assert census.count(where).value == census_cells.sum()


def test_answers_can_be_negative_and_are_never_clipped(tmp_path):
    release = make_release(tmp_path / "r", ranges(3, 2), [[-40, 1], [-5, -6], [7, -100]])
    assert release.count().value == -143
    assert release.count("b = 0").value == -38
    assert release.table("a").values.tolist() == [-39, -11, -93]
    assert release.count("a = 1").interval()[1] < 0


def test_a_contradiction_counts_nobody_for_certain(census):
    answer = census.count("age = 1 AND age = 2")
    assert (answer.value, answer.stderr, answer.interval()) == (0, 0.0, (0, 0))


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def test_group_by_with_where(census, census_cells):
    table = census.sql(
        "SELECT grade, age, COUNT(*) AS n FROM census"
        " WHERE age >= 3 AND occupation = 'boss' GROUP BY grade, age"
    )
    assert list(table.groups) == ["grade", "age"] and table.count_name == "n"
    assert [(row["grade"], row["age"], row["value"]) for row in table] == [
        (grade, age, census_cells[age + 1, :, g, 1].sum())
        for g, grade in enumerate(["low", "mid", "high"])
        for age in (3, 4)
    ]
    assert table.stderr == pytest.approx([math.sqrt(4 * variance(Fraction(2)))] * 6)


def test_nulls_are_a_group_of_their_own_and_in_no_range(census, census_cells):
    table = census.sql("SELECT age, COUNT(*) FROM census GROUP BY age")
    assert list(table.groups["age"]) == [-1, 0, 1, 2, 3, 4, None]
    assert table.values.tolist() == census_cells.sum(axis=(1, 2, 3)).tolist()
    assert census.count("age IS NULL").value == census_cells[6].sum()
    assert census.count("age <= 4").value == census_cells[:6].sum()


def test_levels_add_up_their_leaves(census, census_cells):
    table = census.sql(
        "SELECT LEVEL(occupation, 1) AS work, LEVEL(age, 1) AS era, COUNT(*) FROM census"
        " GROUP BY LEVEL(occupation, 1), LEVEL(age, 1)"
    )
    assert list(table.groups["work"]) == ["desk"] * 3 + ["field"] * 3
    assert list(table.groups["era"]) == ["young", "old", None] * 2
    by_work = [census_cells[..., :2], census_cells[..., 2:]]
    assert table.values.tolist() == [
        part[codes].sum() for part in by_work for codes in (slice(3), slice(3, 6), 6)
    ]
    sizes = [3 * 4 * 3 * 2] * 2 + [4 * 3 * 2] + [3 * 4 * 3 * 3] * 2 + [4 * 3 * 3]
    assert table.stderr**2 == pytest.approx(np.array(sizes) * variance(Fraction(2)))


def test_groups_without_a_cell_are_not_shown(census, census_cells):
    table = census.sql(
        "SELECT age, grade, COUNT(*) FROM census WHERE (age = 0 AND grade = 'low')"
        " OR (age = 2 AND grade = 'high') GROUP BY age, grade"
    )
    assert [(r["age"], r["grade"], r["value"]) for r in table] == [
        (0, "low", census_cells[1, :, 0].sum()),
        (2, "high", census_cells[3, :, 2].sum()),
    ]
    nobody = census.sql("SELECT age, COUNT(*) FROM census WHERE age = 1 AND age = 2 GROUP BY age")
    assert len(nobody) == 0 and nobody.to_arrow().num_rows == 0


def test_order_by_and_limit(census, census_cells):
    sums = census_cells.sum(axis=(0, 1, 2))
    table = census.sql(
        "SELECT occupation, COUNT(*) FROM census GROUP BY occupation"
        " ORDER BY COUNT(*) DESC LIMIT 2 OFFSET 1"
    )
    assert table.values.tolist() == sorted(sums.tolist(), reverse=True)[1:3]
    last = census.sql("SELECT age, COUNT(*) FROM census GROUP BY age ORDER BY age DESC LIMIT 1")
    assert list(last.groups["age"]) == [4]


def test_a_table_is_the_group_by_of_its_attributes(census, census_cells):
    table = census.table("occupation", "age", where="grade = 'mid'")
    assert table.values.tolist() == census_cells[:, :, 1].sum(axis=1).T.reshape(-1).tolist()
    assert census.table().values.tolist() == [census_cells.sum()]
    with pytest.raises(QueryError, match="twice"):
        census.table("age", "age")
    with pytest.raises(OptionError, match="no attribute"):
        census.table("wealth")


def test_the_row_cap_is_named_when_it_refuses(census):
    with pytest.raises(QueryError, match="35 rows, the cap is 34"):
        census.table("age", "occupation", row_cap=34)
    assert len(census.table("age", "occupation", row_cap=35)) == 35


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, "x", None])
def test_a_confidence_lies_between_0_and_1(census, confidence):
    with pytest.raises(QueryError, match="confidence"):
        census.table("age", confidence=confidence)


def test_tables_convert_to_arrow_pandas_and_polars(census):
    table = census.sql("SELECT age, grade, COUNT(*) AS n FROM census GROUP BY age, grade")
    arrow = table.to_arrow()
    assert arrow.column_names == ["age", "grade", "n", "stderr", "lower", "upper"]
    assert arrow.schema.field("age").type == pa.int64()
    assert arrow["age"].null_count == 3
    assert arrow["n"].to_pylist() == table.values.tolist()
    assert arrow.equals(pa.table(table))
    assert table.to_pandas()["grade"].tolist() == list(table.groups["grade"])
    assert table.to_polars()["n"].to_list() == table.values.tolist()
    assert json.loads(json.dumps(table.to_dict()))["rows"][0]["grade"] == "low"


def test_many_groups_are_those_of_the_cells(tmp_path):
    cells = np.random.default_rng(0).integers(-9, 9, (50_000, 2))
    release = make_release(tmp_path / "r", ranges(50_000, 2), cells)
    release.count("a > 1")
    table = release.sql("SELECT b, a, COUNT(*) FROM t GROUP BY b, a")
    assert np.array_equal(table.values, cells.T.reshape(-1))


# ── coverage ─────────────────────────────────────────────────────────────────────────────────────


def binomial_p_value(hits: int, trials: int, chance: float) -> float:
    return stats.binomtest(hits, trials, chance, alternative="less").pvalue


@pytest.mark.parametrize(("scale", "confidence"), [("2", 0.95), ("20", 0.9), ("1", 0.99)])
def test_intervals_cover_the_truth_at_their_stated_rate(tmp_path, scale, confidence):
    rows, width = 4000, 6
    true = np.random.default_rng(1).integers(0, 50, (rows, width))
    noise = discrete_laplace(float(Fraction(scale)), true.shape, seed=2)
    release = make_release(tmp_path / "r", ranges(rows, width), true + noise, scale)
    table = release.table("a", confidence=confidence)
    lower, upper = table.bounds
    wanted = true.sum(axis=1)
    hits = int(np.sum((lower <= wanted) & (wanted <= upper)))
    assert binomial_p_value(hits, rows, confidence) > FALSE_ALARM
    # Nor are they wider than they need to be: one less on each side covers too little.
    hits = int(np.sum((lower + 1 <= wanted) & (wanted <= upper - 1)))
    assert hits / rows < confidence + 0.01
    # Bars for half the noise are caught.
    small = make_release(
        tmp_path / "s", ranges(rows, width), true + noise, str(Fraction(scale) / 2)
    )
    lower, upper = small.table("a", confidence=confidence).bounds
    hits = int(np.sum((lower <= wanted) & (wanted <= upper)))
    assert binomial_p_value(hits, rows, confidence) < FALSE_ALARM


def test_simultaneous_intervals_hold_all_at_once(tmp_path):
    trials, rows = 400, 50
    true = np.zeros((rows, 3), np.int64)
    hits = 0
    release = make_release(tmp_path / "r", ranges(rows, 3), true, "5")
    half = release.table("a", confidence=0.8, simultaneous=True).half_widths
    alone = release.table("a", confidence=0.8).half_widths
    assert (half > alone).all()
    for trial in range(trials):
        noise = discrete_laplace(5, true.shape, seed=trial).sum(axis=1)
        hits += bool(np.all(np.abs(noise) <= half))
    assert binomial_p_value(hits, trials, 0.8) > FALSE_ALARM
    limited = release.sql(
        "SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 1", confidence=0.8, simultaneous=True
    )
    assert limited.half_widths[0] == half[0]  # what LIMIT hides was looked at too


# ── from a table, and by itself ──────────────────────────────────────────────────────────────────


@pytest.fixture
def published(tmp_path, monkeypatch, census_schema):
    monkeypatch.setenv("HUSHTABLE_STATE", str(tmp_path / "state"))
    table = pa.table(
        {
            "age": pa.array([0, 3, None, 99] * 500),
            "income": pa.array([5.0, 25.0, -3.0, 40.0] * 500),
            "grade": ["low", "high", "mid", "low"] * 500,
            "occupation": ["clerk", "=cmd", "boss", "#N/A"] * 500,
        }
    )
    return hushtable.publish(
        table,
        census_schema,
        epsilon="1",
        out=tmp_path / "out.release",
        ledger=tmp_path / "ledger",
        entropy=SeededEntropy(7),
    )


def test_a_published_table_answers_near_the_truth(published):
    assert published.private is False and published.epsilon == 1
    assert published.mechanism == "basic"
    for where, true in [
        ("age = 0 AND grade = 'low'", 500),
        ("age IS NULL", 1000),
        ("income >= 20.5 AND occupation = '=cmd'", 500),
        (None, 2000),
    ]:
        answer = published.count(where)
        assert abs(answer.value - true) < 8 * answer.stderr
        assert abs(answer.value - true) < 200
    assert published.cell_stderr == pytest.approx(math.sqrt(variance(Fraction(1))))
    published.verify()


def test_a_published_manifest_says_what_it_should(published):
    manifest = json.loads((published.folder / "manifest.json").read_text())
    assert manifest == published.manifest
    assert manifest["noise"] == {"law": "discrete-laplace", "scale": "1", "on": "every cell"}
    assert sorted(path.name for path in published.folder.iterdir()) == [
        "cells.npy",
        "manifest.json",
    ]
    assert "basic" in repr(published) and "census" in repr(published)


def test_opening_and_counting_import_only_what_they_need(census):
    code = """
import sys, hushtable
release = hushtable.open(sys.argv[1])
release.count("age < 3"); release.count(); release.verify(); release.cell_stderr
release.sql("SELECT age, COUNT(*) FROM census WHERE grade = 'low' GROUP BY age").rows()
release.table("age")
heavy = {"pyarrow", "numba", "duckdb", "ibis", "scipy", "matplotlib", "pandas", "polars",
         "openpyxl", "cryptography", "sqlite3", "tomlkit"}
print(sorted(heavy & set(sys.modules)))
owner = ("kernel.noise", "kernel.counting", "kernel.curator", "kernel.privacy.ledger", "publishing")
print([m for m in sys.modules if m.startswith(tuple("hushtable." + name for name in owner))])
"""
    run = subprocess.run(
        [sys.executable, "-c", code, str(census.folder)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n") == ["[]", "[]", ""]


def test_a_release_that_is_opened_again_or_copied_has_the_same_noise(census, tmp_path):
    """Its answers are no second opinion: the noise of both does not average out."""
    shutil.copytree(census.folder, tmp_path / "copy")
    one = census.count("age = 1")
    for other in (hushtable.open(census.folder), hushtable.open(tmp_path / "copy")):
        both = one + other.count("age = 1")
        _, high = both.interval()
        assert both.value == 2 * one.value
        assert high - both.value >= 2 * (one.interval()[1] - one.value)

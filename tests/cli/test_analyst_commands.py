"""The analyst's commands: answers, files and refusals, from a release alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import openpyxl
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from .conftest import Hush

TOTAL = "SELECT COUNT(*) FROM census"


def test_a_count_comes_with_its_interval(hush: Hush, shared: Path) -> None:
    answer = hush("query", shared / "census.release", TOTAL, "--json").json
    low, high = answer["interval"]
    assert low < answer["value"] < high and answer["stderr"] > 0 and answer["confidence"] == 0.95
    text = hush("query", shared / "census.release", TOTAL).out
    assert f"{answer['value']:,}" in text and "95 % confidence" in text


def test_a_condition_alone_is_a_count(hush: Hush, shared: Path) -> None:
    release = shared / "census.release"
    whole = hush("query", release, f"{TOTAL} WHERE age < 30 AND sex = 'F'", "--json").json
    assert hush("query", release, "age < 30 AND sex = 'F'", "--json").json == whole
    derived = "WITH women AS (SELECT * FROM census WHERE sex = 'F')"
    of_women = f"{derived} SELECT COUNT(*) FROM women WHERE age < 30"
    assert hush("query", release, of_women, "--json").json == whole


def test_groups_come_as_rows_with_intervals(hush: Hush, shared: Path) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM census GROUP BY sex"
    told = hush("query", shared / "census.release", sql, "--json").json
    assert [row["sex"] for row in told["rows"]] == ["F", "M"]
    assert all(row["interval"][0] < row["value"] < row["interval"][1] for row in told["rows"])
    wide = hush("query", shared / "census.release", sql, "--json", "--simultaneous").json
    for row, wider in zip(told["rows"], wide["rows"], strict=True):
        assert wider["interval"][0] < row["interval"][0]
    assert "std. error" in hush("query", shared / "census.release", sql).out


@pytest.mark.parametrize("select", ["AVG(age)", "sex, SUM(age), COUNT(*)"])
def test_sums_and_means_say_to_what_values_are_clipped(
    hush: Hush, shared: Path, select: str
) -> None:
    group = " GROUP BY sex" if "sex" in select else ""
    sql = f"SELECT {select} FROM census{group}"
    assert hush("query", shared / "census.release", sql).out.endswith(
        "\nage is clipped to 0 … 99\n"
    )
    note = hush("query", shared / "census.release", sql, "--json").json["note"]
    assert note.endswith("; age is clipped to 0 … 99")
    assert "clipped" not in hush("query", shared / "census.release", TOTAL).out


def test_a_higher_confidence_widens_the_interval(hush: Hush, shared: Path) -> None:
    narrow, wide = (
        hush("query", shared / "census.release", TOTAL, "--json", "--confidence", level).json
        for level in ("0.5", "0.999")
    )
    assert wide["interval"][0] < narrow["interval"][0]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("income < 7", "use 5 or 10"),
        ("shoe = 1", "no attribute 'shoe'"),
        ("SELECT MIN(age) FROM census", "QUANTILE_CONT"),
        ("SELECT COUNT(*) FROM other", "census"),
        ("DROP TABLE census", ""),
        ("age = 'x", ""),
        ("", ""),
    ],
)
def test_a_question_we_cannot_answer_is_refused_in_one_line(
    hush: Hush, shared: Path, sql: str, says: str
) -> None:
    refused = hush("query", shared / "census.release", sql)
    assert refused.code == 2 and says in refused.err and refused.err.count("\n") == 1
    told = hush("query", shared / "census.release", sql, "--json")
    assert told.code == 2 and list(told.json) == ["error"]


def test_a_group_by_beyond_the_cap_names_the_cap(hush: Hush, shared: Path) -> None:
    sql = "SELECT age, COUNT(*) FROM census GROUP BY age"
    refused = hush("query", shared / "census.release", sql, "--rows", "50")
    assert refused.code == 2 and "cap is 50" in refused.err


def test_info_names_the_guarantee_and_verifies(hush: Hush, shared: Path) -> None:
    told = hush("info", shared / "census.release", "--verify", "--json").json
    assert told["epsilon"] == "1" and told["private"] and told["verified"]
    assert told["neighbours"] == "add-remove" and 0 < told["delta"] < 1e-29
    assert "1-differential privacy" in hush("info", shared / "census.release").out


def test_info_says_what_a_summary_kept(hush: Hush, own: Path) -> None:
    release, data = own / "kept.release", own / "census.parquet"
    options = ["-e", "1", "-m", "threshold", "--set", "tau=40", "-o", release]
    options += ["--ledger", own / "ledger"]
    assert hush("publish", data, "-s", own / "census.toml", *options).code == 0
    told = hush("info", release, "--json").json["kept"]
    assert told.endswith(" noisy values on cells: none below ±1, some below ±40")
    assert told in " ".join(hush("info", release).out.split())


def test_a_changed_byte_is_found_by_verify(hush: Hush, shared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.release"
    shutil.copytree(shared / "census.release", copy)
    content = bytearray((copy / "cells.npy").read_bytes())
    content[-1] ^= 1
    (copy / "cells.npy").write_bytes(content)
    refused = hush("info", copy, "--verify")
    assert refused.code == 2 and "damaged" in refused.err


def test_a_release_of_an_experiment_is_called_not_private(
    hush: Hush, shared: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.release"
    shutil.copytree(shared / "census.release", copy)
    manifest = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(manifest.replace('"private": true', '"private": false'))
    for command in (
        ["query", copy, TOTAL],
        ["info", copy],
        ["export", copy, "-o", tmp_path / "c.csv"],
    ):
        assert "NOT PRIVATE" in hush(*command).err


def test_cells_can_be_opened_by_other_tools(hush: Hush, shared: Path, tmp_path: Path) -> None:
    release = shared / "census.release"
    assert hush("export", release, "-o", tmp_path / "c.parquet").code == 0
    cells = pq.read_table(tmp_path / "c.parquet")
    total = hush("query", release, TOTAL, "--json").json["value"]
    assert cells.num_rows == 79_800 and sum(cells["count"].to_pylist()) == total
    assert hush("export", release, "-o", tmp_path / "w.parquet", "--whole").code == 0
    whole = pq.read_table(tmp_path / "w.parquet")["count"].to_numpy()
    assert whole.min() >= 0 and whole.sum() == total
    both = hush("export", release, "-o", tmp_path / "n.csv", "--whole", "--synthetic", "4")
    assert both.code == 2 and "whole already" in both.err
    assert hush("export", release, "-o", tmp_path / "c.csv").code == 0
    assert pc.read_csv(tmp_path / "c.csv").num_rows == 79_800


def test_synthetic_rows_have_the_table_s_columns(hush: Hush, shared: Path, tmp_path: Path) -> None:
    release = shared / "census.release"
    for ending in ("parquet", "csv", "xlsx"):
        file = tmp_path / f"s.{ending}"
        assert hush("export", release, "-o", file, "--synthetic", "40").code == 0
    assert pq.read_table(tmp_path / "s.parquet").num_rows == 40
    book = openpyxl.load_workbook(tmp_path / "s.xlsx")
    assert [cell.value for cell in book.active[1]] == ["age", "sex", "occupation", "income"]
    book.close()


def test_rows_that_are_mostly_noise_are_called_so(hush: Hush, shared: Path, tmp_path: Path) -> None:
    """79,800 cells of 3,000 people with noise of scale 1."""
    words = ("export", shared / "census.release", "--synthetic", "40", "-o")
    done = hush(*words, tmp_path / "s.csv")
    assert done.code == 0 and done.err.count("\n") == 1 and "publish by marginals" in done.err
    told = hush(*words, tmp_path / "t.csv", "--json").json
    assert told["rows"] == 40 and "% of these rows are noise" in told["warnings"][0]


def test_tables_make_a_spreadsheet_or_a_folder(hush: Hush, shared: Path, tmp_path: Path) -> None:
    words = ("export", shared / "census.release", "--table", "age+sex", "--table", "occupation@1")
    done = hush(*words, "-o", tmp_path / "t.xlsx")
    assert done.out.startswith("wrote ") and " cells in 2 tables to " in done.out
    book = openpyxl.load_workbook(tmp_path / "t.xlsx", read_only=True)
    assert book.sheetnames == ["index", "age+sex", "occupation@1"]
    book.close()
    told = hush(*words, "-o", f"{tmp_path}/v1.0/", "--format", "csv", "--json").json
    assert told["tables"] == 2
    names = {path.name for path in (tmp_path / "v1.0").iterdir()}
    assert names == {"age+sex.csv", "occupation@1.csv", "index.json"}
    refused = hush(*words, "-o", tmp_path / "t.csv")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "--table age+sex" in refused.err
    refused = hush(*words, "-o", tmp_path / "r.csv", "--synthetic", "5")
    assert refused.code == 2 and "--table" in refused.err


@pytest.mark.parametrize("name", ["c.docx", "missing/c.csv"])
def test_an_export_we_cannot_write_is_refused(
    hush: Hush, shared: Path, tmp_path: Path, name: str
) -> None:
    refused = hush("export", shared / "census.release", "-o", tmp_path / name)
    assert refused.code == 2 and refused.err.count("\n") == 1


def test_answering_imports_nothing_of_the_owner_s_side(shared: Path) -> None:
    script = (
        "import sys\n"
        "from hushtable.cli.main import run\n"
        f"sys.argv = ['hush', 'query', {str(shared / 'census.release')!r}, {TOTAL!r}, '--json']\n"
        "try:\n    run()\nexcept SystemExit as stopped:\n    assert not stopped.code\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    loaded = set(done.stderr.split())
    assert "hushtable.release.release" in loaded and "sqlglot" in loaded
    banned = ("ibis", "duckdb", "numba", "scipy", "pyarrow", "pandas", "matplotlib", "cryptography")
    owner = ("noise", "counting", "curator", "mechanisms", "publishing", "privacy.ledger")
    names = {*banned, *(f"hushtable.{name}" for name in owner), "sqlite3"}
    assert not {name for name in loaded if name in names or name.split(".")[0] in names}


def test_what_a_filter_hides_is_inside_the_interval(hush: Hush, tmp_path: Path) -> None:
    """Nothing was kept: up to 99,999 rows of each cell, and its noise, may be missing."""
    generated = tmp_path / "few.parquet"
    assert hush("generate", "census", "--rows", "100", "-o", generated).code == 0
    release = tmp_path / "few.release"
    filtered = ("-m", "filter", "--set", "theta=100000")
    schema = generated.with_suffix(".toml")
    assert hush("publish", generated, "-s", schema, "-e", "1", *filtered, "-o", release).code == 0
    one = hush("query", release, "age = 30")
    assert one.out.startswith("0  (between 0 and ") and "estimate" not in one.out
    answer = hush("query", release, "age = 30", "--json").json
    assert answer["interval"][1] > 100_000 and "bias" not in answer
    grouped = hush("query", release, "SELECT sex, COUNT(*) FROM census GROUP BY sex", "--json").json
    assert all(
        low == 0 and high > 100_000 for low, high in (r["interval"] for r in grouped["rows"])
    )

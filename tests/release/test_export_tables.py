"""Tables come back from spreadsheets, folders and files as the release answers them."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from release_folders import make_release, ranges

from hushtable.auditing.transcript import NoNoise
from hushtable.errors import HushError, OptionError, QueryError
from hushtable.families.marginals.ask.marginals import Marginals
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Loss
from hushtable.release import Release, export, export_tables, row_counts
from hushtable.release.decode import decoder_within_bins
from hushtable.release.manifest import read_manifest
from hushtable.release.safe_names import file_names, sheet_names
from hushtable.release.writing import write_experiment
from hushtable.schema import Schema

TREE = {"north": ["n1", "n2", "n3"], "=south": ["s1", "#N/A"]}
SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "9",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [1, 20]},
            {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
            {"name": "region", "kind": "nominal", "tree": TREE, "outside": "other"},
            {"name": "a+b", "kind": "ordinal", "edges": [0, 10, 20.5], "outside": "other"},
            {"name": "=1+1", "kind": "ordinal", "range": [0, 2], "outside": "other"},
        ],
    }
)
TABLES = 'age+sex, sex+region@1, region+"a+b", "=1+1"'
NAMES = ("age+sex", "sex+region@1", 'region+"a+b"', '"=1+1"')


def released(folder: Path, schema: Schema = SCHEMA, **settings: str) -> Release:
    """Small tables of 3,000 rows, without noise."""
    random = np.random.default_rng(7)
    columns = tuple(random.integers(0, n, 3000).astype(np.uint8) for n in schema.shape)
    curator = Curator(
        CodedColumns(schema.shape, columns),
        exposure=schema.exposure,
        account=Account(Fraction(1)),
        noise=NoNoise(),
    )
    content = Marginals().measure(curator, schema, epsilon=Fraction(1), settings=settings)
    return write_experiment(folder, schema, content, Loss(Fraction(1)), mechanism="marginals")


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return released(tmp_path / "r", tables=TABLES)


def answered(release: Release, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, as SQL answers them."""
    sql = {
        "age+sex": "SELECT age, sex, COUNT(*) FROM t GROUP BY age, sex",
        "sex+region@1": "SELECT sex, LEVEL(region, 1) AS r, COUNT(*) FROM t GROUP BY sex, r",
        'region+"a+b"': 'SELECT region, "a+b", COUNT(*) FROM t GROUP BY region, "a+b"',
        '"=1+1"': 'SELECT "=1+1", COUNT(*) FROM t GROUP BY "=1+1"',
    }
    found = release.sql(sql[name])
    return list(zip(*found.groups.values(), found.values, found.stderr, strict=True))


def sheets(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    book = openpyxl.load_workbook(path, read_only=True)
    found = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    book.close()
    return found


def assert_same(rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert [row[:-2] for row in rows] == [row[:-2] for row in expected]
    for found, wanted in zip(rows, expected, strict=True):
        assert found[-2:] == pytest.approx(wanted[-2:])


# ── a spreadsheet ────────────────────────────────────────────────────────────────────────────────


def test_a_spreadsheet_has_an_index_and_a_sheet_for_each_table(
    tmp_path: Path, release: Release
) -> None:
    release.export(tmp_path / "t.xlsx")
    found = sheets(tmp_path / "t.xlsx")
    assert list(found) == ["index", "age+sex", "sex+region@1", "region+a+b", "=1+1"]
    assert found["sex+region@1"][0] == ("sex", "region@1", "count", "stderr")
    for name, rows in zip(NAMES, list(found.values())[1:], strict=True):
        assert_same(rows[1:], answered(release, name))


def test_the_index_says_what_the_release_and_its_tables_are(
    tmp_path: Path, release: Release
) -> None:
    release.export(tmp_path / "t.xlsx")
    index = sheets(tmp_path / "t.xlsx")["index"]
    told = {row[0]: row[1] for row in index if row}
    assert (told["mechanism"], told["epsilon"], told["dataset"]) == ("marginals", "1", "t")
    assert "may be negative" in told["counts"] and told["private"] is False
    listed = index[-len(NAMES) - 1 :]
    assert listed[0] == ("sheet", "table", "attributes", "cells", "stderr", "estimate")
    assert [row[:4] for row in listed[1:]] == [
        ("age+sex", "age+sex", "age, sex", 40),
        ("sex+region@1", "sex+region@1", "sex, region@1", 6),
        ("region+a+b", 'region+"a+b"', "region, a+b", 18),
        ("=1+1", '"=1+1"', "=1+1", 4),
    ]
    error = np.mean([row[-1] ** 2 for row in answered(release, "sex+region@1")]) ** 0.5
    assert listed[2][4] == pytest.approx(error) and listed[2][5] is False


def test_names_and_labels_that_look_like_formulas_stay_text(
    tmp_path: Path, release: Release
) -> None:
    release.export(tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    kinds = {
        cell.value: cell.data_type
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str)
    }
    book.close()
    assert {"=1+1", "=south", "#N/A"} <= kinds.keys() and set(kinds.values()) == {"s"}


def test_more_rows_than_a_sheet_has_need_a_folder(tmp_path: Path) -> None:
    release = make_release(tmp_path / "r", ranges(2**20, 2), np.zeros((2**20, 2), np.int64))
    with pytest.raises(OptionError, match=r"do not fit a spreadsheet .* give a folder"):
        release.export(tmp_path / "t.xlsx", ["b", "a"])
    assert not (tmp_path / "t.xlsx").exists()
    release.export(tmp_path / "t", ["b", "a"])
    assert pq.read_metadata(tmp_path / "t" / "a.parquet").num_rows == 2**20


# ── a folder ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("format", [None, "parquet", "csv"])
def test_a_folder_has_a_file_for_each_table(
    tmp_path: Path, release: Release, format: str | None
) -> None:
    release.export(f"{tmp_path}/v1.2/", format=format)
    folder = tmp_path / "v1.2"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert index["release"]["epsilon"] == "1"
    assert [told["table"] for told in index["tables"]] == list(NAMES)
    assert [told["cells"] for told in index["tables"]] == [40, 6, 18, 4]
    files = {told["file"] for told in index["tables"]}
    assert {path.name for path in folder.iterdir()} == files | {"index.json"}
    options = pc.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    for told in index["tables"]:
        path = folder / told["file"]
        read = (
            pc.read_csv(path, convert_options=options) if format == "csv" else pq.read_table(path)
        )
        assert read.column_names == [*told["attributes"], "count", "stderr"]
        rows = list(zip(*(column.to_pylist() for column in read.columns), strict=True))
        assert_same(rows, answered(release, told["table"]))


def test_a_folder_is_there_whole_or_not_at_all(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        assert not (tmp_path / "t").exists()
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_tables.export(release, tmp_path / "t", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert seen == [(40, 68), (46, 68), (64, 68)]

    def full(batches: Any, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_write_parquet", full)
    with pytest.raises(OptionError, match="could not be written: No space left"):
        release.export(tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


# ── one table ────────────────────────────────────────────────────────────────────────────────────


def test_one_table_of_any_release_is_one_file(tmp_path: Path, census: Release) -> None:
    census.export(tmp_path / "one.parquet", ["occupation@1+age"])
    table = pq.read_table(tmp_path / "one.parquet")
    assert table.column_names == ["occupation@1", "age", "count", "stderr"]
    asked = census.sql(
        "SELECT LEVEL(occupation, 1) AS o, age, COUNT(*) FROM census GROUP BY o, age"
    )
    assert table["count"].to_pylist() == asked.values.tolist()
    assert table["stderr"].to_pylist() == pytest.approx(asked.stderr)
    assert table["occupation@1"].to_pylist() == asked.groups["o"].tolist()
    assert table["age"].to_pylist() == asked.groups["age"].tolist()


def test_a_tree_along_an_axis_is_exported_as_counts_of_its_codes(tmp_path: Path) -> None:
    release = released(tmp_path / "r", tables="age+sex, age", along="age=tree:4x5")
    release.export(tmp_path / "one.csv", ["age"])
    table = pc.read_csv(tmp_path / "one.csv")
    asked = release.table("age")
    assert table["age"].to_pylist() == list(range(1, 21))
    assert table["count"].to_numpy() == pytest.approx(asked.values)
    assert table["stderr"].to_numpy() == pytest.approx(asked.stderr)


def test_estimates_are_marked(tmp_path: Path, census: Release, monkeypatch: Any) -> None:
    from hushtable.query.law import NoiseSum

    monkeypatch.setattr(NoiseSum, "estimate", True)
    census.export(tmp_path / "t.xlsx", ["age", "grade"])
    found = sheets(tmp_path / "t.xlsx")
    assert found["age"][0] == ("age", "count", "stderr", "estimate")
    assert all(row[-1] is True for row in (*found["age"][1:], *found["index"][-2:]))


@pytest.mark.parametrize(
    ("out", "options", "words"),
    [
        ("t.csv", {}, r"4 tables do not fit one \.csv file: .*--table age\+sex.*folder.*\.xlsx"),
        ("t.txt", {}, "must end in .parquet, .csv, .xlsx, or in / for a folder"),
        ("r", {}, "there already"),
        ("no/t", {}, "there is no folder"),
        ("no/t.xlsx", {}, "there is no folder"),
        ("n" * 300, {}, "could not be written: File name too long"),
        ("n" * 300 + ".xlsx", {}, "could not be written: File name too long"),
        ("t", {"format": "xlsx"}, "one of parquet, csv"),
        ("t.xlsx", {"format": "csv"}, "format is for a folder"),
        ("t.csv", {"tables": ["nope"]}, "no attribute 'nope'"),
        ("t.csv", {"tables": ["age+age"]}, "twice"),
        ("t", {"tables": ["age+sex", "sex+age"]}, "a table is named twice"),
        ("t.csv", {"tables": ["age@1"]}, "no hierarchy"),
        ("t.csv", {"tables": ["age+region"]}, "no table of this release tells age and region"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(
    tmp_path: Path, release: Release, out: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((OptionError, QueryError), match=words) as refused:
        release.export(tmp_path / out, **options)
    assert isinstance(refused.value, HushError) and "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_table_too_large_to_lay_out_is_refused(tmp_path: Path) -> None:
    schema = Schema.from_dict(
        {
            "name": "t",
            "budget": "9",
            "attribute": [
                {"name": "home", "kind": "ordinal", "range": [0, 10**9]},
                {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
            ],
        }
    )
    release = released(tmp_path / "r", schema, tables="sex")
    with pytest.raises(OptionError, match="home has 1,000,000,001 cells, more than"):
        release.export(tmp_path / "t.csv", ["home"])


# ── whole numbers ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Rows:
    """A reader of tables that also draws rows, as a reader of any family may."""

    reader: Any
    total: float = 1000.4
    estimate: bool = False

    def batches(self, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(seed)
        for start in range(0, rows, 300):
            size = min(300, rows - start)
            yield pa.RecordBatch.from_pydict(
                {
                    a.name: decoder_within_bins(a, random)(random.integers(0, a.size, size))
                    for a in SCHEMA.attributes
                }
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)


def drawing(release: Release) -> Release:
    folder = release.folder
    return Release(folder, read_manifest(folder), ({}, Rows(release.reader)))  # type: ignore


@pytest.mark.parametrize("most", [2**24, 20])
def test_whole_tables_are_those_of_one_set_of_rows(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """However few cells are counted at once, the rows are the same."""
    monkeypatch.setattr(row_counts, "_CELLS", most)
    rows = drawing(release)
    seen: list[tuple[int, int]] = []
    export_tables.export(
        rows, tmp_path / "t", whole=True, seed=5, progress=lambda *done: seen.append(done)
    )
    tables = {path.stem: pq.read_table(path) for path in (tmp_path / "t").glob("*.parquet")}
    assert seen[-1][0] == seen[-1][1] and len(tables) == 4
    drawn = pa.Table.from_batches(list(rows.synthetic_batches(1000, seed=5))).to_pandas()
    for name, keys in {"age+sex": ["age", "sex"], "=1+1": ["=1+1"]}.items():
        found = tables[name].to_pandas()
        wanted = drawn.groupby(keys, dropna=False).size()
        assert found.set_index(keys)["count"].loc[wanted.index].tolist() == wanted.tolist()
    for table in tables.values():
        counts = table["count"].to_numpy()
        assert table["count"].type == pa.int64() and counts.min() >= 0 and counts.sum() == 1000
        assert "stderr" not in table.column_names
    index = json.loads((tmp_path / "t" / "index.json").read_text(encoding="utf-8"))
    assert index["release"]["seed"] == 5 and "agree" in index["release"]["counts"]
    assert index["tables"][0]["stderr"] is None


def test_whole_tables_agree_on_what_they_share(tmp_path: Path, release: Release) -> None:
    drawing(release).export(tmp_path / "t", whole=True)
    read = {path.stem: pq.read_table(path) for path in (tmp_path / "t").glob("*.parquet")}

    def summed(table: str, key: str) -> list[int]:
        frame = read[table].to_pandas()
        return frame.groupby(key, sort=True, dropna=False)["count"].sum().tolist()  # type: ignore

    assert summed("age+sex", "sex") == summed("sex+region@1", "sex")
    nodes = read["sex+region@1"].to_pandas().groupby("region@1", dropna=False)["count"].sum()
    by_region = read["region+a+b"].to_pandas().groupby("region", dropna=False)["count"].sum()
    for node, leaves in TREE.items():
        assert nodes[node] == by_region[leaves].sum()


@pytest.mark.parametrize("attribute", SCHEMA.attributes, ids=lambda attribute: attribute.name)
def test_synthetic_values_have_the_codes_they_were_drawn_for(attribute: Any) -> None:
    codes = np.repeat(np.arange(attribute.size), 50)
    values = decoder_within_bins(attribute, np.random.default_rng(1))(codes)
    assert row_counts.encode(attribute, values).tolist() == codes.tolist()


def test_one_whole_table_is_the_nearest_one(tmp_path: Path, census: Release) -> None:
    census.export(tmp_path / "one.parquet", ["age"], whole=True)
    counts = pq.read_table(tmp_path / "one.parquet")["count"].to_pylist()
    assert counts == census.table("age").values.tolist()  # whole and far from zero as they are


def test_whole_tables_of_a_dense_release_agree_too(tmp_path: Path, census: Release) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        census.export(tmp_path / "t", ["age+grade", "grade"], whole=True)
    both = pq.read_table(tmp_path / "t" / "age+grade.parquet").to_pandas()
    one = pq.read_table(tmp_path / "t" / "grade.parquet").to_pandas().set_index("grade")["count"]
    assert both.groupby("grade")["count"].sum().to_dict() == one.to_dict()
    assert one.sum() == census.number_of_rows()


# ── names ────────────────────────────────────────────────────────────────────────────────────────

ODD = [
    "a/b",
    "A_B",
    "a:b",
    "n" * 200,
    "n" * 199 + "m",
    "N" * 31,
    "'quoted'",
    "x" * 30 + "'y",
    "index",
    "HISTORY",
    "[]:*?/\\",
    "län der",
    "😀" * 40,
    "-rf",
    ".hidden",
    "NUL",
    "com1.txt",
    "dot.",
    "bell\x07",
    "..",
    "ﬁ",
    "fi",
    "é",
    "e\u0301",
]


def test_names_of_sheets_are_ones_that_spreadsheets_take() -> None:
    names = sheet_names(ODD, ["index"])
    for name in names:
        assert 0 < len(name.encode("utf-16-le")) // 2 <= 31
        assert not set(name) & set("[]:*?/\\\x07") and name[0] != "'" != name[-1]
    keys = [name.casefold() for name in names]
    assert len({*keys, "index", "history"}) == len(ODD) + 2
    assert names[0] == "a_b" and names[11] == "län der"
    book = openpyxl.Workbook()
    for name in names:
        assert book.create_sheet(name).title == name


def test_names_of_files_are_ones_that_every_system_takes(tmp_path: Path) -> None:
    names = file_names(ODD, ["index"])
    for name in names:
        assert not set(name) & set('<>:"/\\|?*\x07 ') and name[0] not in ".-" and name[-1] != "."
        assert len(name.encode()) <= 125
        (tmp_path / f"{name}.csv").touch(exist_ok=False)
    assert len({name.casefold() for name in names} | {"index"}) == len(ODD) + 1
    assert not {"nul", "com1.txt"} & {name.casefold() for name in names}


def test_names_that_come_out_alike_are_numbered() -> None:
    assert sheet_names(["a/b", "a_b", "a_b_2", "A?b"]) == ["a_b", "a_b_2", "a_b_2_2", "A_b_3"]
    many = sheet_names(itertools.repeat("n" * 40, 120))
    assert len(set(many)) == 120 and many[-1] == "n" * 27 + "_120"

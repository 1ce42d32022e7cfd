"""A table is the same table wherever it comes from, and no engine ever speaks to the user."""

from __future__ import annotations

import gzip
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted as counted_as
from slow_encoding import make, slow_counts

from hushtable.drafting import draft_schema
from hushtable.errors import DataError, HushError
from hushtable.kernel.counting import CsvFormat, count_table
from hushtable.kernel.counting.encoding.columns import match_columns
from hushtable.schema import Schema

SCHEMA = make(
    {"name": "age", "kind": "ordinal", "range": [0, 20], "outside": "other"},
    {"name": "Größe", "kind": "ordinal", "edges": [0, 0.5, 1], "outside": "other"},
    {
        "name": "job's",
        "kind": "nominal",
        "values": ['say "hi"', "a,b;c|d\te", "two\nlines", "plain", "7"],
        "outside": "other",
    },
)

AGES = [0, 1, 20, 21, -1, None, 7, 7, 7, 12]
SIZES = [0.0, 0.25, 0.5, 1.0, 1.5, None, 0.75, 0.75, 0.75, -0.5]
JOBS = ['say "hi"', "a,b;c|d\te", "two\nlines", "plain", "none", None, "7", "7", "7", "plain"]
ROWS = list(zip(AGES, SIZES, JOBS, strict=True))
EXPECTED = slow_counts(ROWS, SCHEMA)

ARROW = pa.table({"unused": [["x"]] * 10, "age": AGES, "Größe": SIZES, "job's": JOBS})
NAMES = ["age", "Größe", "job's"]


def counted(data: Any, schema: Schema) -> Counter[int]:
    """One of the labels has a line break in it."""
    return counted_as(data, schema, CsvFormat(multiline=True))


def csv_text(delimiter: str, newline: str = "\n", *, unused: int = 1) -> str:
    def field(value: Any) -> str:
        return "" if value is None else '"' + str(value).replace('"', '""') + '"'

    padding = [f"unused{i}" for i in range(unused)]
    lines = [["age", *padding, "Größe", "job's"]]
    lines += [[field(age), *padding, field(size), field(job)] for age, size, job in ROWS]
    return "".join(delimiter.join(line) + newline for line in lines)


def test_the_table_used_here_tells_rows_apart() -> None:
    assert len(EXPECTED) == 7 and EXPECTED.total() == 10


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", csv_text(",").encode()),
        ("semicolon.csv", csv_text(";").encode()),
        ("tab.tsv", csv_text("\t").encode()),
        ("pipe.txt", csv_text("|").encode()),
        ("bom.csv", b"\xef\xbb\xbf" + csv_text(",").encode()),
        ("crlf.csv", csv_text(";", "\r\n").encode()),
        ("unfinished.csv", csv_text(",").rstrip("\n").encode()),
        ("wide.csv", csv_text(",", unused=1000).encode()),
        ("packed.csv.gz", gzip.compress(csv_text(",").encode(), mtime=0)),
        ("PACKED.TSV.GZ", gzip.compress(csv_text("\t").encode(), mtime=0)),
        ("it's [1] * odd?.csv", csv_text(",").encode()),
        ("age=3.csv", csv_text(",").encode()),
    ],
)
def test_csv_files_of_every_dress_hold_the_same_table(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert counted(tmp_path / name, SCHEMA) == EXPECTED
    assert counted(str(tmp_path / name), SCHEMA) == EXPECTED


def test_a_pattern_stands_for_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(csv_text(","))
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(csv_text(",").encode()))
    (tmp_path / "deep").mkdir()
    for part in "12":
        pq.write_table(ARROW, tmp_path / f"{part}.parquet")
        pq.write_table(ARROW, tmp_path / "deep" / f"{part}.pq")
    twice = EXPECTED + EXPECTED
    assert counted(tmp_path / "*.csv*", SCHEMA) == twice
    assert counted(tmp_path / "*.parquet", SCHEMA) == twice
    assert counted(tmp_path / "**" / "*.p*q*", SCHEMA) == twice + twice
    with pytest.raises(DataError, match="is a folder"):
        counted(tmp_path, SCHEMA)
    with pytest.raises(DataError, match="neither CSV nor Parquet"):
        counted(tmp_path / "[12].*", SCHEMA)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file_alone(tmp_path: Path) -> None:
    for name, decoy in (("d[1].csv", "d1.csv"), ("q*.csv", "q2.csv"), ("r?.csv", "r3.csv")):
        (tmp_path / name).write_text(csv_text(","))
        (tmp_path / decoy).write_text(csv_text(",") * 2)
        assert counted(tmp_path / name, SCHEMA) == EXPECTED
    for name, decoy in (("d[1].parquet", "d1.parquet"), ("q*.parquet", "q2.parquet")):
        pq.write_table(ARROW, tmp_path / name)
        pq.write_table(ARROW.slice(3), tmp_path / decoy)
        assert counted(tmp_path / name, SCHEMA) == EXPECTED


def test_parquet_files_hold_the_same_table(tmp_path: Path) -> None:
    pq.write_table(ARROW, tmp_path / "t.parquet")
    assert counted(tmp_path / "t.parquet", SCHEMA) == EXPECTED
    pq.write_table(
        ARROW.set_column(3, "job's", ARROW["job's"].dictionary_encode()), tmp_path / "d.pq"
    )
    assert counted(tmp_path / "d.pq", SCHEMA) == EXPECTED
    assert counted(tmp_path / "*.p*", SCHEMA) == EXPECTED + EXPECTED


def test_names_of_folders_are_not_read_as_values(tmp_path: Path) -> None:
    folder = tmp_path / "age=3" / "job's=plain" / "x0=3" / "c0=3"
    folder.mkdir(parents=True)
    (folder / "t.csv").write_text(csv_text(","))
    pq.write_table(ARROW, folder / "t.parquet")
    assert counted(folder / "t.csv", SCHEMA) == EXPECTED
    assert counted(folder / "t.parquet", SCHEMA) == EXPECTED


@pytest.mark.parametrize("other", [["x", "1"], [2.7], [2**40], [None]])
def test_parquet_files_of_different_types_are_refused_whatever_they_hold(
    other: list[Any], tmp_path: Path
) -> None:
    """One file's type must not decide how another's values are read."""
    schema = make({"name": "a", "kind": "ordinal", "range": [0, 3]})
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": other}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match="same types"):
        counted(tmp_path / "*.parquet", schema)


def test_csv_files_with_different_headers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,Größe,job's\n1,1,plain\n")
    (tmp_path / "2.csv").write_text("Größe,age,job's\n1,1,plain\n")
    with pytest.raises(DataError, match="same first line"):
        counted(tmp_path / "*.csv", SCHEMA)


def test_columns_called_like_anything_of_ours_are_read(tmp_path: Path) -> None:
    names = ["unused0", "UNUSED1", "x0", "c1", "k0", "person", "k0_text", "hush_source", "rank"]
    schema = make(
        *({"name": n, "kind": "nominal", "values": ["1", "2"]} for n in names[::-1]),
        unit={"column": "twin", "max_rows": 1},
    )
    columns = {name: ["1", "2"] for name in ["z", *names, "twin"]}
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    assert counted(tmp_path / "t.csv", schema) == {0: 1, 2**9 - 1: 1}
    assert counted(pa.table(columns), schema) == {0: 1, 2**9 - 1: 1}


# ── memory and other engines ─────────────────────────────────────────────────────────────────────


def stream() -> Any:
    return pa.RecordBatchReader.from_batches(ARROW.schema, ARROW.to_batches(max_chunksize=3))


class Capsule:
    """A table of a library we do not know, which speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return ARROW.__arrow_c_stream__(requested_schema)


def pandas_frame(**options: Any) -> pd.DataFrame:
    return ARROW.select(NAMES).to_pandas(**options)


MEMORY: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas, integers with gaps": lambda: pandas_frame(integer_object_nulls=True),
    "pandas, objects": lambda: pd.DataFrame(ARROW.select(NAMES).to_pydict(), dtype=object),
    "pandas, categories": lambda: pandas_frame().astype("category"),
    "pandas, nullable": lambda: pandas_frame().convert_dtypes(),
    "pandas, arrow": lambda: pandas_frame(types_mapper=pd.ArrowDtype),
    "pandas, python text": lambda: pandas_frame().astype({"job's": pd.StringDtype("python")}),
    "polars": lambda: pl.from_arrow(ARROW),
    "polars, lazy": lambda: pl.from_arrow(ARROW).lazy(),
    "polars, categories": lambda: pl.from_arrow(ARROW).cast({"job's": pl.Categorical}),
    "arrow": lambda: ARROW,
    "arrow, batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "arrow, stream": stream,
    "arrow, capsule": Capsule,
    "ibis, memory": lambda: ibis.memtable(ARROW.select(NAMES)),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_tables_in_memory_are_the_same_table(kind: str) -> None:
    assert counted(MEMORY[kind](), SCHEMA) == EXPECTED


def test_a_stream_is_read_once_also_with_a_unit() -> None:
    schema = make(
        {"name": "job's", "kind": "nominal", "values": ["plain", "7"], "outside": "other"},
        unit={"column": "age", "max_rows": 1},
    )
    assert counted(stream(), schema) == counted(ARROW, schema) == {0: 2, 1: 1, 2: 4}


def test_an_expression_of_another_duckdb_is_counted_where_it_is() -> None:
    mine = ibis.duckdb.connect()
    mine.con.register("people", ARROW.select(NAMES))
    table = mine.table("people")
    assert counted(table, SCHEMA) == EXPECTED
    old = slow_counts([row for row in ROWS if (row[0] or 0) > 1], SCHEMA)
    assert counted(table.filter(table.age > 1), SCHEMA) == old
    assert counted(table.mutate(AGE2=table.age).filter(table.age > 1), SCHEMA) == old
    assert mine.con.execute("SELECT count(*) FROM people").fetchone() == (10,), "still open"


def test_expressions_of_other_engines_are_counted() -> None:
    table = ibis.polars.connect({"people": pl.from_arrow(ARROW.select(NAMES))}).table("people")
    old = slow_counts([row for row in ROWS if (row[0] or 0) > 1], SCHEMA)
    assert counted(table, SCHEMA) == EXPECTED
    assert counted(table.filter(table.age > 1), SCHEMA) == old


# Ibis asks pandas for an option that is on its way out.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_sqlite_tables_are_counted_whatever_type_a_value_has(tmp_path: Path) -> None:
    """SQLite lets any value into any column: one of another type must not make reading fail."""
    path = tmp_path / "people.db"
    database = sqlite3.connect(path)
    database.execute('CREATE TABLE people (age INTEGER, "Größe" REAL, "job\'s" TEXT)')
    database.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    database.commit()
    people = ibis.sqlite.connect(path)
    assert counted(people.table("people"), SCHEMA) == EXPECTED
    database.execute("INSERT INTO people VALUES ('odd', 'odd', 7)")
    database.commit()
    database.close()
    odd = slow_counts([("odd", "odd", "7")], SCHEMA)
    assert counted(people.table("people"), SCHEMA) == EXPECTED + odd
    people.disconnect()


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


def test_columns_are_found_exactly_or_else_without_regard_to_case() -> None:
    assert match_columns(["b", " Age ", "AGE", "age"], ["age", "B"]) == [3, 0]
    assert match_columns(["b", " Age "], ["age", "B"]) == [1, 0]
    for present in (["Age", "AGE"], ["age", "age"]):
        with pytest.raises(DataError, match="more than one column 'age'"):
            match_columns(present, ["age"])


def test_columns_that_differ_by_case_are_not_mixed_up(tmp_path: Path) -> None:
    table = pa.table([[1, 1], [2, 2], [3, 3]], names=["a", "A", "b"])
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,A,b\n1,2,3\n1,2,3\n")
    for data in (table, tmp_path / "t.parquet", tmp_path / "t.csv", table.to_pandas()):
        for name, value in (("a", 1), ("A", 2)):
            schema = make({"name": name, "kind": "ordinal", "range": [0, 3]})
            assert counted(data, schema) == {value: 2}


CANARY = "canary4711"


def spoken(problem: BaseException) -> str:
    return "".join(traceback.format_exception(problem))


def assert_silent(problem: BaseException) -> None:
    """Nothing that an engine said, and nothing that the table holds."""
    assert isinstance(problem, HushError) and "\n" not in str(problem)
    for text in (str(problem), spoken(problem)):
        shown = [line for line in text.splitlines() if not line.lstrip().startswith("File ")]
        assert CANARY not in text and "4711" not in text
        assert not any("duckdb" in line.lower() and "Error" in line for line in shown)
    assert "duckdb" not in str(problem).lower()


def test_a_missing_column_is_named_but_those_that_are_there_are_not(tmp_path: Path) -> None:
    headerless = tmp_path / "headerless.csv"
    headerless.write_text(f"{CANARY},4711,age\n{CANARY},4711,3\n")
    table = pa.table({CANARY: [1], "age": [2]})
    pq.write_table(table, tmp_path / "t.parquet")
    sources = [headerless, tmp_path / "t.parquet", table, table.to_pandas(), pl.from_arrow(table)]
    sources += [pl.from_arrow(table).lazy(), ibis.memtable(table), table.to_reader()]
    for data in sources:
        with pytest.raises(DataError, match="no column 'Größe'; the schema needs 'age'") as caught:
            count_table(data, SCHEMA)
        assert_silent(caught.value)


def test_files_that_are_no_tables_are_refused_silently(tmp_path: Path) -> None:
    rows = f"age,Größe,job's,{CANARY}\n" + f"1,1,{CANARY},4711\n" * 5000
    packed = gzip.compress(rows.encode())
    damaged = bytearray(gzip.compress(np.random.default_rng(0).bytes(10**5) + rows.encode()))
    damaged[40:60] = b"\xff" * 20
    pq.write_table(pa.table({n: [CANARY] * 5000 for n in NAMES}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for name, content in {
        "truncated.csv.gz": packed[: len(packed) // 2],
        "tail.csv.gz": packed[:-5],
        "checksum.csv.gz": packed[:-8] + b"4711" + packed[-4:],
        "damaged.csv.gz": bytes(damaged),
        "plain.csv.gz": rows.encode(),
        "empty.csv": b"",
        "binary.csv": b"\xff\xfe4711" + CANARY.encode(),
        "long.csv": CANARY.encode() * 300_000,
        "quoted.csv": b'"' + CANARY.encode() + b'\n4711"\n',
        "empty.parquet": b"",
        "truncated.parquet": whole[: len(whole) // 2],
        "damaged.parquet": whole[:4] + b"\xff" * 100 + whole[104:],
        "text.parquet": rows.encode(),
        "other.xlsx": rows.encode(),
        "none.csv": None,
        "n" * 5000 + ".csv": None,
        "n\0n.csv": None,
    }.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError) as caught:
            count_table(f"{tmp_path}/{name}", SCHEMA)
        assert_silent(caught.value)
    assert counted(tmp_path / "whole.parquet", SCHEMA).total() == 5000


def test_a_file_that_may_not_be_read_is_refused_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret.csv"
    path.write_text(f"age,Größe,job's\n1,1,{CANARY}\n")

    def denied(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, CANARY)

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(DataError, match="could not be opened") as caught:
        count_table(path, SCHEMA)
    monkeypatch.undo()
    assert_silent(caught.value)


def test_engines_that_fail_midway_are_silenced() -> None:
    failing = ibis.duckdb.connect()
    failing.con.execute(
        f"CREATE VIEW people AS SELECT CAST(t AS INTEGER) AS age, 1.0 AS \"Größe\", '{CANARY}' AS"
        f" \"job's\" FROM (VALUES ('1'), ('{CANARY}')) AS v(t)"
    )

    def broken() -> Any:
        yield ARROW.to_batches()[0]
        raise ValueError(CANARY)

    class Broken:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise ValueError(CANARY)

    lazy = pl.from_arrow(ARROW).lazy()
    lazy = lazy.with_columns(age=pl.lit(CANARY).cast(pl.Int64, strict=True))
    for data in (
        failing.table("people"),
        pa.RecordBatchReader.from_batches(ARROW.schema, broken()),
        Broken(),
        lazy,
        pd.DataFrame({n: np.array([1 + 4711j]) for n in NAMES}),
        pa.table({n: pa.array([[CANARY]]) for n in NAMES}),
        pa.table({n: pa.array([4711], pa.timestamp("us")) for n in NAMES}),
        {CANARY: [1]},
        [CANARY],
        None,
        4711,
    ):
        with pytest.raises(DataError) as caught:
            count_table(data, SCHEMA)
        assert_silent(caught.value)


def test_the_silence_is_checked_by_a_test_that_can_hear() -> None:
    loud = DataError("one line")
    loud.__cause__ = ValueError(CANARY)
    with pytest.raises(AssertionError):
        assert_silent(loud)


def test_a_draft_leaves_out_columns_that_are_no_plain_values(tmp_path: Path) -> None:
    hours = pa.array([1, 2, 3], pa.time32("s"))
    table = pa.table({"list": [[1]] * 3, "age": [1, 2, 2], "hours": hours, "raw": [b"x"] * 3})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        draft = draft_schema(data, name="t")
        assert [attribute.name for attribute in draft.schema.attributes] == ["age", "hours_hour"]
        assert dict(draft.left_out) == dict.fromkeys(["list", "raw"], "not plain values")


def test_a_draft_reads_what_can_be_read_once(tmp_path: Path) -> None:
    """Files that Arrow reads as a stream, and tables of other engines."""
    day = pa.array([86_400_000_000, 2 * 86_400_000_000, None], pa.timestamp("us"))
    table = pa.table({"day": day, "job": ["a", "b", "b"], "town": ["x", "y", "y"]})
    pq.write_table(table, tmp_path / "t.parquet")
    engine = ibis.polars.connect({"t": pl.from_arrow(table)})
    for data in (table, tmp_path / "t.parquet", engine.table("t")):
        draft = draft_schema(data, name="t")
        assert [attribute.name for attribute in draft.schema.attributes] == ["day", "job", "town"]


def test_a_draft_leaves_out_columns_without_a_name(tmp_path: Path) -> None:
    """As pandas writes its index; a delimiter that ends a line adds no column."""
    (tmp_path / "t.csv").write_text(",age,\n0,1,\n1,2,\n2,2,\n")
    draft = draft_schema(tmp_path / "t.csv", name="t")
    assert [attribute.name for attribute in draft.schema.attributes] == ["age"]
    assert draft.left_out == (("", "it has no name"),)

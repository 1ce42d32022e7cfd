"""Workbooks, databases and files of statistics packages hold the same table as a CSV file does."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import ibis
import openpyxl
import pandas as pd
import pyreadstat
import pytest
from raw_workbooks import row as sheet_row
from raw_workbooks import text, write_workbook
from slow_encoding import counted, make, slow_counts
from tests.shared_sizes import some_of

from hushtable.checking import check
from hushtable.drafting import draft_schema
from hushtable.errors import DataError, HushError, OptionError
from hushtable.kernel.counting import count_table
from hushtable.kernel.counting.readers import sqlite
from hushtable.kernel.counting.readers.paths import TableIn, files_of, table_in

NAMES = ["age", "size", "job"]
AGE = {"name": "age", "kind": "ordinal", "range": [0, 20], "outside": "other"}
SIZE = {"name": "size", "kind": "ordinal", "edges": [0, 0.5, 1], "outside": "other"}
JOB = {"name": "job", "kind": "nominal", "values": ["clerk", "a,b", "é", "7"], "outside": "other"}
SCHEMA = make(AGE, SIZE, JOB)
ROWS: list[tuple[Any, ...]] = [
    (0, 0.0, "clerk"),
    (1, 0.25, "a,b"),
    (20, 0.5, "é"),
    (21, 1.0, "7"),
    (-1, 1.5, "none"),
    (None, None, "none"),
    (7.5, 0.75, "7"),
    (7, 0.75, " 7 "),
    (7, -0.5, "clerk"),
]
EXPECTED = slow_counts(ROWS, SCHEMA)

Writer = Callable[[Path, Sequence[Sequence[Any]]], object]


def write_xlsx(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    book = openpyxl.Workbook()
    for row in (NAMES, *rows):
        book.active.append(list(row))
    book.save(path)


def write_sqlite(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE people (age INTEGER, size REAL, job TEXT)")
    database.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    database.commit()
    database.close()


def write_duckdb(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE people (age DOUBLE, size DOUBLE, job VARCHAR)")
        if rows:
            database.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)


def write_stat(write: Callable[..., None], **options: Any) -> Writer:
    def written(path: Path, rows: Sequence[Sequence[Any]]) -> None:
        frame = pd.DataFrame(list(rows), columns=NAMES)
        frame["job"] = frame["job"].fillna("")
        write(frame, str(path), **options)

    return written


def write_old_dta(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Before version 14, a byte was a character; what writes it here writes UTF-8."""
    write_stat(pyreadstat.write_dta, version=12)(path, rows)
    path.write_bytes(path.read_bytes().replace("é".encode(), "é\0".encode("cp1252")))


KINDS: dict[str, Writer] = {
    "t.xlsx": write_xlsx,
    "t.xlsm": write_xlsx,
    "t.sqlite": write_sqlite,
    "T.DB": write_sqlite,
    "t.db": write_duckdb,
    "t.duckdb": write_duckdb,
    "t.sav": write_stat(pyreadstat.write_sav),
    "t.zsav": write_stat(pyreadstat.write_sav, compress=True),
    "t.dta": write_stat(pyreadstat.write_dta),
    "old.dta": write_old_dta,
    "t.xpt": write_stat(pyreadstat.write_xport),
}


@pytest.fixture(autouse=True)
def apart(request: pytest.FixtureRequest) -> None:
    """Files of DuckDB are attached to a database: each is counted in its own, as everywhere."""
    given = getattr(request.node, "callspec", None)
    if given is None or given.params.get("name") not in {*KINDS} - {"t.db", "t.duckdb"}:
        request.getfixturevalue("databases_as_ever")


def test_the_table_used_here_tells_rows_apart() -> None:
    assert len(EXPECTED) == 7 and EXPECTED.total() == len(ROWS)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_holds_the_same_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    KINDS[name](path, ROWS)
    before = path.read_bytes()
    assert counted(path, SCHEMA) == counted(str(path), SCHEMA) == EXPECTED
    assert check(path, SCHEMA).rows == len(ROWS)
    drafted = draft_schema(path, name="t").schema
    assert [attribute.name for attribute in drafted.attributes] == NAMES
    assert files_of(path) == files_of(table_in(path, "any")) == [str(path)]
    assert path.read_bytes() == before


def test_portable_files_hold_the_same_table(tmp_path: Path) -> None:
    """They have neither lower case nor characters beyond ASCII."""
    rows = [row for row in ROWS if row[2] != "é"]
    frame = pd.DataFrame(rows, columns=["AGE", "SIZE", "JOB"])
    pyreadstat.write_por(frame.fillna({"JOB": ""}), str(tmp_path / "t.por"))
    assert counted(tmp_path / "t.por", SCHEMA) == slow_counts(rows, SCHEMA)


@pytest.mark.parametrize("name", some_of(KINDS, [*KINDS][::3]))
def test_a_file_is_read_whole_however_its_reader_cuts_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("workbook", "sqlite", "statfile"):
        monkeypatch.setattr(f"hushtable.kernel.counting.readers.{module}._ROWS", 3)
    for number in (0, 1, 3, 4, 9):
        path = tmp_path / f"{number}{name}"
        if number or name.partition(".")[2] not in ("xpt",):  # which cannot be written empty
            KINDS[name](path, ROWS[:number])
            assert counted(path, SCHEMA) == slow_counts(ROWS[:number], SCHEMA)


@pytest.mark.parametrize("name", some_of(KINDS, [*KINDS][1::3]))
def test_a_column_that_is_missing_is_named(name: str, tmp_path: Path) -> None:
    KINDS[name](tmp_path / name, ROWS)
    schema = make(AGE, {**SIZE, "name": "height"})
    with pytest.raises(DataError, match="no column 'height'; the schema needs 'age', 'height'"):
        count_table(tmp_path / name, schema)
    upper = make({**AGE, "name": "AGE"}, {**SIZE, "name": "Size"})
    assert counted(tmp_path / name, upper) == slow_counts([row[:2] for row in ROWS], upper)


# ── one odd row ──────────────────────────────────────────────────────────────────────────────────

BEYOND = [1e300, -1e300, float("inf"), float("-inf"), float("nan"), 2.0**53 + 2, -0.0]
ODD_TEXTS = ["", "\ufffd", "x" * 200, "\x1b", "1e400", "NULL", "'", '"']


@pytest.mark.parametrize(
    "name", some_of(["t.duckdb", "t.sav", "t.dta", "t.xpt"], ["t.duckdb", "t.sav"])
)
def test_one_odd_row_changes_one_cell(name: str, tmp_path: Path) -> None:
    odd: list[tuple[Any, ...]] = [(value, value, "clerk") for value in BEYOND]
    odd += [(1, 0.25, value) for value in ODD_TEXTS]
    if name in ("t.xpt", "t.dta"):  # which hold no such number
        odd = [row for row in odd if row[0] in (1, -0.0, 2.0**53 + 2)]
    for i, row in enumerate(odd):
        path = tmp_path / f"{i}{name}"
        KINDS[name](path, [*ROWS, row])
        more = counted(path, SCHEMA)
        assert not EXPECTED - more and (more - EXPECTED).total() <= 1, row


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "old.dta", "t.xpt"])
def test_bytes_that_are_no_text_belong_to_their_row_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    rows = [*ROWS, (1, 0.25, "marked")]
    KINDS[name](path, rows)
    path.write_bytes(path.read_bytes().replace(b"marked", b"m\xff\xc3\x81ed"))
    assert counted(path, SCHEMA) == slow_counts(rows, SCHEMA)
    # Of an id, such text is nobody's.
    schema = make(AGE, unit={"column": "job", "max_rows": 9})
    assert counted(path, schema).total() == len(ROWS)


@pytest.mark.parametrize("name", ["t.sqlite", "t.xlsx"])
def test_a_cell_of_another_type_belongs_to_its_row_alone(name: str, tmp_path: Path) -> None:
    odd = [("x", "y", 7), (True, False, 7.0), ("5", "0.75", 10**18), (1.5, "1e400", None)]
    if name == "t.sqlite":
        odd += [(b"\xff", b"1", b"clerk"), (2**62, -(2**62), 2.5)]
    else:
        odd += [(dt.date(2020, 1, 2), dt.time(1), "é"), ("#N/A", "#DIV/0!", "=1+1")]
    expected = EXPECTED
    for i, row in enumerate(odd):
        path = tmp_path / f"{i}{name}"
        KINDS[name](path, [*ROWS, row])
        more = counted(path, SCHEMA)
        assert not expected - more and (more - expected).total() == 1, row
    job = make(JOB)
    for value in (7, 7.0, "7"):
        path = tmp_path / f"{value!r}{name}"
        KINDS[name](path, [(1, 1, value)])
        assert counted(path, job) == {3: 1}


def test_ids_are_one_person_s_however_they_are_stored(tmp_path: Path) -> None:
    """And those of two people stay two, beyond what floats can tell apart."""
    schema = make({**JOB, "name": "size", "values": ["1"]}, unit={"column": "age", "max_rows": 1})
    one, two = [(3, 1, ""), (3.0, 1, ""), ("3", 1, "")], [(2**53, 1, ""), (2**53 + 1, 1, "")]
    for number, rows in ((1, one), (2, two)):
        write_sqlite(tmp_path / f"{number}.db", rows)
        cells = [sheet_row(f"<c><v>{a}</v></c><c><v>{b}</v></c>") for a, b, _ in rows]
        sheet = [sheet_row(text("age"), text("size")), *cells]
        write_workbook(tmp_path / f"{number}.xlsx", {"people": sheet})
        for name in ("db", "xlsx"):
            assert counted(tmp_path / f"{number}.{name}", schema) == {0: number}
    for name in ("t.sav", "t.dta", "t.xpt", "t.duckdb"):
        KINDS[name](tmp_path / name, [(3, 1, "a"), (3.0, 1, "a"), (None, 1, "a"), (4.5, 1, "a")])
        assert counted(tmp_path / name, schema) == {0: 2}


# ── dates ────────────────────────────────────────────────────────────────────────────────────────

DAYS = make({"name": "day", "kind": "ordinal", "dates": ["2020-01-01", "2020-01-03"]})
HOURS = make({"name": "at", "kind": "ordinal", "part": "hour", "outside": "other"})
MOMENTS = [dt.datetime(2020, 1, 1, 23, 59, 59), dt.datetime(2020, 1, 3, 5), None]


def moments(write: Callable[..., None]) -> Callable[[Path], None]:
    def written(path: Path) -> None:
        days = [moment and moment.date() for moment in MOMENTS]
        at = pd.Series(MOMENTS, dtype="datetime64[us]")
        write(pd.DataFrame({"day": pd.Series(days, dtype=object), "at": at}), str(path))

    return written


def moments_in_a_workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["day", "at"], *([moment and moment.date(), moment] for moment in MOMENTS)):
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.sav", moments(pyreadstat.write_sav)),
        ("t.dta", moments(pyreadstat.write_dta)),
        ("t.xpt", moments(pyreadstat.write_xport)),
        ("t.xlsx", moments_in_a_workbook),
    ],
)
def test_dates_and_times_are_what_they_were(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path / name)
    assert counted(tmp_path / name, DAYS) == {0: 1, 2: 1}
    hours = counted(tmp_path / name, HOURS)
    assert hours[23] == hours[5] == 1
    columns = {a.name for a in draft_schema(tmp_path / name, name="t").schema.attributes}
    assert "day" in columns


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xpt"])
def test_a_date_that_no_calendar_has_is_missing_in_its_row_alone(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": [21915.0, 1e17, -1e17, 4e6], "n": [1.0, 2.0, 3.0, 4.0]})
    form = {"t.sav": "SDATE10", "t.dta": "%td", "t.xpt": "YYMMDD10"}[name]
    if name == "t.sav":  # seconds, from another day on
        frame["day"] = frame["day"] * 86_400 + 11_903_760_000
    write = {"t.sav": pyreadstat.write_sav, "t.dta": pyreadstat.write_dta}
    written = write.get(name, pyreadstat.write_xport)
    written(frame, str(tmp_path / name), variable_format={"day": form})
    assert counted(tmp_path / name, DAYS) == {0: 1}
    assert check(tmp_path / name, DAYS).attributes[0].misfits[0].rows == 3


# ── which table ──────────────────────────────────────────────────────────────────────────────────


def several(path: Path) -> Path:
    """A file with two tables, and in a database a view."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.title = "people"
        book.create_sheet('it\'s "odd"')
        for sheet, value in zip(book, (1, 2), strict=True):
            for cell in ("age", value, 20):
                sheet.append([cell])
        book.save(path)
        return path
    database = sqlite3.connect(path) if path.suffix == ".sqlite" else duckdb.connect(str(path))
    for name, value in (('"people"', 1), ('"it\'s ""odd"""', 2)):
        database.execute(f"CREATE TABLE {name} (age INTEGER)")
        database.execute(f"INSERT INTO {name} VALUES ({value}), (20)")
    database.execute("CREATE VIEW seen AS SELECT CAST(age AS VARCHAR) AS age FROM people")
    database.commit()
    database.close()
    return path


@pytest.mark.parametrize("name", ["t.xlsx", "t.sqlite", "t.duckdb"])
def test_of_several_tables_one_is_named(name: str, tmp_path: Path) -> None:
    path, schema = several(tmp_path / name), make(AGE)
    assert counted(TableIn(path, "people"), schema) == {1: 1, 20: 1}
    assert counted(TableIn(str(path), 'it\'s "odd"'), schema) == {2: 1, 20: 1}
    assert check(path, schema, table="people").kept == 2
    assert draft_schema(path, name="t", table="people").schema.attributes[0].name == "age"
    for asked, words in ((None, "name one with --table"), ("People", "has no table 'People'")):
        with pytest.raises(DataError, match=words) as caught:
            count_table(table_in(path, asked), schema)
        assert "'people'" in str(caught.value) and "odd" in str(caught.value)
    if name != "t.xlsx":
        with pytest.raises(DataError, match="is a view, and only tables are read"):
            count_table(TableIn(path, "seen"), schema)


def test_many_tables_are_not_all_listed(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "t.db")
    for i in range(30):
        database.execute(f"CREATE TABLE t{i} (age INTEGER)")
    database.close()
    with pytest.raises(DataError, match="'t19', 10 more; name one"):
        count_table(tmp_path / "t.db", make(AGE))


def test_a_database_of_views_holds_no_table(tmp_path: Path) -> None:
    for name, connect in (("t.db", sqlite3.connect), ("t.duckdb", duckdb.connect)):
        database = connect(str(tmp_path / name))
        database.execute("CREATE VIEW v AS SELECT 1 AS age")
        database.close()
        with pytest.raises(DataError, match=r"holds no table \(views are not read\)$"):
            count_table(tmp_path / name, make(AGE))


def test_a_table_of_another_schema_has_its_name_before_it(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("CREATE SCHEMA old; CREATE TABLE old.t (age INTEGER)")
        database.execute("INSERT INTO old.t VALUES (3); CREATE TABLE t (age INTEGER)")
    assert counted(TableIn(tmp_path / "t.duckdb", "old.t"), make(AGE)) == {3: 1}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.sav", "t.dta"])
def test_a_file_that_is_one_table_has_none_to_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("age\n1\n")
    for refused in (count_table, check):
        with pytest.raises(OptionError, match="a table by itself"):
            refused(TableIn(tmp_path / name, "age"), make(AGE))
    with pytest.raises(OptionError, match="a table by itself"):
        draft_schema(tmp_path / name, name="t", table="age")


def test_a_table_is_named_in_files_alone(tmp_path: Path) -> None:
    for data in (pd.DataFrame({"age": [1]}), None, TableIn("t.db", "t")):
        with pytest.raises(OptionError, match="only in a file that holds tables"):
            table_in(data, "people")
    with pytest.raises(OptionError, match="named by its text"):
        table_in("t.db", 3)  # type: ignore[arg-type]


def test_several_such_files_are_not_read_together(tmp_path: Path) -> None:
    for name in ("1.xlsx", "2.xlsx"):
        write_xlsx(tmp_path / name, ROWS)
    (tmp_path / "3.csv").write_text("age\n1\n")
    for data in (tmp_path / "*.xlsx", [tmp_path / "3.csv", tmp_path / "1.xlsx"]):
        with pytest.raises(DataError, match="of other files, give one"):
            count_table(data, SCHEMA)
    linked = tmp_path / "again.xlsx"
    linked.symlink_to(tmp_path / "1.xlsx")
    assert counted([tmp_path / "1.xlsx", linked], SCHEMA) == EXPECTED


# ── databases ────────────────────────────────────────────────────────────────────────────────────


def test_computed_columns_are_refused_where_a_value_could_make_them_fail(tmp_path: Path) -> None:
    lite = sqlite3.connect(tmp_path / "t.sqlite")
    lite.execute("CREATE TABLE t (age INTEGER, doc TEXT)")
    lite.execute("CREATE TABLE stored (age INTEGER, kept AS (age + 1) STORED)")
    lite.execute("INSERT INTO stored(age) VALUES (1), (1)")
    lite.executemany("INSERT INTO t(age, doc) VALUES (?, ?)", [(1, '{"x": 2}'), (2, "no JSON")])
    lite.execute("ALTER TABLE t ADD COLUMN parsed AS (json_extract(doc, '$.x'))")
    lite.commit()
    lite.close()
    with duckdb.connect(str(tmp_path / "t.duckdb")) as duck:
        duck.execute("CREATE TABLE t (age INTEGER, parsed INTEGER AS (age + 1) VIRTUAL)")
        duck.execute("INSERT INTO t VALUES (1), (2)")
    parsed = {**AGE, "name": "parsed"}
    for name in ("t.sqlite", "t.duckdb"):
        table = TableIn(tmp_path / name, "t")
        with pytest.raises(DataError, match="'parsed' is computed whenever it is read"):
            count_table(table, make(parsed))
        assert counted(table, make(AGE)) == {1: 1, 2: 1}
        assert "parsed" in check(table, make(AGE, parsed)).refused[0]
        assert dict(draft_schema(table, name="t").left_out)["parsed"] == "not plain values"
    kept = make({**AGE, "name": "kept"})
    assert counted(TableIn(tmp_path / "t.sqlite", "stored"), kept) == {2: 2}


EXTREME = {
    "HUGEINT": ["170141183460469231731687303715884105727", "3"],
    "UHUGEINT": ["340282366920938463463374607431768211455", "3"],
    "BIGNUM": ["1" + "0" * 400, "3"],
    "DECIMAL(38, 0)": ["9" * 38, "3"],
    "DECIMAL(4, 2)": ["99.99", "3"],
    "UBIGINT": ["18446744073709551615", "3"],
    "DOUBLE": ["inf", "3"],
    "FLOAT": ["nan", "3"],
    "ENUM('x', '3')": ["x", "3"],
    "VARCHAR": ["x", "3"],
}


@pytest.mark.parametrize("kind", some_of(EXTREME, [*EXTREME][::6]))
def test_the_ends_of_a_type_of_duckdb_belong_to_their_row_alone(kind: str, tmp_path: Path) -> None:
    odd, plain = EXTREME[kind]
    label = {"name": "age", "kind": "nominal", "values": ["3", "4"], "outside": "other"}
    for schema, code in ((make(AGE), 3), (make(label), 0)):
        found = []
        for i, values in enumerate(([plain], [plain, odd])):
            path = tmp_path / f"{schema.cells}{i}.duckdb"
            with duckdb.connect(str(path)) as database:
                database.execute(f"CREATE TABLE t (age {kind})")
                database.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
            found.append(counted(path, schema))
        assert found[0] == {code: 1} and found[1] - found[0] == {schema.attributes[0].other: 1}


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("DATE", "infinity"),
        ("DATE", "5877642-06-25 (BC)"),
        ("TIMESTAMP", "-infinity"),
        ("TIMESTAMP", "294247-01-10"),
        ("TIMESTAMP_NS", "2262-04-11"),
        ("TIMESTAMP_S", "290000-01-01"),
        ("TIMESTAMP_MS", "290000-01-01"),
        ("TIMESTAMPTZ", "infinity"),
    ],
)
def test_moments_of_duckdb_that_no_calendar_has_belong_to_their_row_alone(
    kind: str, odd: str, tmp_path: Path
) -> None:
    month = make({"name": "day", "kind": "ordinal", "part": "month", "outside": "other"})
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t (day {kind})")
        database.executemany("INSERT INTO t VALUES (?)", [["2020-01-02"], [odd]])
    assert counted(tmp_path / "t.duckdb", DAYS)[1] == 1
    assert counted(tmp_path / "t.duckdb", month)[0] >= 1


def test_types_of_duckdb_that_are_no_plain_values_are_refused_by_their_type(tmp_path: Path) -> None:
    kinds = ["INTEGER[]", "INTEGER[2]", "STRUCT(a INTEGER)", "MAP(INTEGER, INTEGER)", "BIT"]
    kinds += ["INTERVAL", "TIMETZ", "UNION(a INTEGER)", "VARIANT"]
    listed = ", ".join(f"k{i} {kind}" for i, kind in enumerate(kinds))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t (age INTEGER, {listed})")
        database.execute("INSERT INTO t(age) VALUES (3), (4)")
    for i, _ in enumerate(kinds):
        with pytest.raises(DataError, match=f"column 'k{i}' is of type .*plain values"):
            count_table(tmp_path / "t.duckdb", make({**AGE, "name": f"k{i}"}))
    assert counted(tmp_path / "t.duckdb", make(AGE)) == {3: 1, 4: 1}
    draft = draft_schema(tmp_path / "t.duckdb", name="t")
    assert {name for name, _ in draft.left_out} == {f"k{i}" for i, _ in enumerate(kinds)}


HOLD = """
import sys, duckdb, sqlite3
path = sys.argv[1]
if path.endswith("duckdb"):
    held = duckdb.connect(path)
else:
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["t.sqlite", "t.duckdb"])
def test_a_database_that_somebody_writes_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = several(tmp_path / name)
    monkeypatch.setattr("hushtable.kernel.counting.readers.sqlite._PATIENCE", 0.1)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout and other.stdin and other.stdout.readline()
        with pytest.raises(DataError, match=r"could not be opened: .* writing"):
            count_table(TableIn(path, "people"), make(AGE))
        other.stdin.close()
    assert counted(TableIn(path, "people"), make(AGE)) == {1: 1, 20: 1}


def test_tables_of_sqlite_that_run_code_are_none(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "t.db")
    database.execute("CREATE VIRTUAL TABLE found USING fts5(age)")
    database.close()
    with pytest.raises(DataError, match="has no table 'found'"):
        count_table(TableIn(tmp_path / "t.db", "found"), make(AGE))


# ── what is no such file ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", some_of(KINDS, ["t.xlsx", "t.sqlite", "t.duckdb", "t.sav", "t.dta", "t.xpt"])
)
def test_damaged_files_are_refused_silently(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    KINDS[name](path, [*ROWS, (1, 0.5, "canary4711")] * 200)
    whole = path.read_bytes()
    if name in ("t.sqlite", "T.DB"):  # the rest of a page that was cut would be empty rows
        path.write_bytes(whole[:-100])
        with pytest.raises(DataError, match="could not be opened: check that it is a complete"):
            count_table(path, SCHEMA)
    half = whole[:500] if name == "t.xpt" else whole[: len(whole) // 2]  # which has no end
    for content in (b"", b"canary4711" * 50, whole[:600], half):
        path.write_bytes(content)
        with pytest.raises(HushError) as caught:
            count_table(path, SCHEMA)
        line = str(caught.value)
        assert "canary" not in line and "\n" not in line and caught.value.__context__ is None


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KINDS["t.sav"](tmp_path / "t.sav", ROWS)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(OptionError, match=r"pip install 'hushtable\[stats\]'"):
        count_table(tmp_path / "t.sav", SCHEMA)


def test_value_labels_are_not_applied(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0, 99.0]})
    labels = {"age": {1.0: "one", 2.0: "one", 99.0: "refused"}}
    missing = {"age": [99.0]}
    path = str(tmp_path / "t.sav")
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges=missing)
    assert counted(path, make(AGE)) == Counter({1: 1, 2: 1, 21: 1})


def test_numbers_are_known_by_the_labels_of_a_schema(tmp_path: Path) -> None:
    codes = make({"name": "age", "kind": "nominal", "values": ["1", "7"], "outside": "other"})
    for name in KINDS:
        KINDS[name](tmp_path / name, ROWS)
        assert counted(tmp_path / name, codes) == {0: 1, 1: 2, 2: 6}, name


def test_text_of_any_length_of_stata_is_refused_by_its_type(tmp_path: Path) -> None:
    """Its reader fails on a single one whose bytes are no text."""
    frame = pd.DataFrame({"age": [1.0, 2.0], "note": ["marked" * 500, "é"], "job": ["é", "7"]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path))
    path.write_bytes(path.read_bytes().replace(b"marked", b"\xff\xfearke"))
    with pytest.raises(DataError, match="column 'note' is of type strL"):
        count_table(path, make({**JOB, "name": "note"}))
    assert counted(path, make(AGE, JOB)).total() == 2
    assert dict(draft_schema(path, name="t").left_out)["note"] == "not plain values"


def test_long_texts_are_whole(tmp_path: Path) -> None:
    label = "aé" * 400
    schema = make({**JOB, "values": [label, "x"]})
    for name in ("t.sav", "t.dta", "t.xpt", "t.xlsx", "t.db", "t.duckdb"):
        KINDS[name](tmp_path / name, [(1, 1, label), (1, 1, label[:-1])])
        assert counted(tmp_path / name, schema) == {0: 1, 2: 1}, name


@pytest.mark.parametrize(
    "collation", some_of(["NOCASE", "NOACCENT", "NOCASE.NOACCENT"], ["NOCASE.NOACCENT"])
)
def test_text_of_duckdb_equals_itself_alone_whatever_its_column_says(
    collation: str, tmp_path: Path
) -> None:
    """A row would be counted once for each label that its text equals, and people be one."""
    words = ["a", "A", "á", "", None]
    labels = make({**JOB, "values": words[:3]})
    people = make(AGE, unit={"column": "job", "max_rows": 1})
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE t (age INTEGER, job VARCHAR COLLATE {collation})")
        database.executemany("INSERT INTO t VALUES (?, ?)", [[3, word] for word in words])
    own = ibis.duckdb.connect(path, read_only=True)
    for data in (path, own.table("t")):
        assert counted(data, labels) == {0: 1, 1: 1, 2: 1, 3: 2}
        assert counted(data, people) == {3: 3}
    own.disconnect()


def test_a_connection_for_which_texts_are_equal_is_refused() -> None:
    own = ibis.duckdb.connect()
    own.con.execute("CREATE TABLE t (job VARCHAR); SET default_collation = 'NOCASE'")
    with pytest.raises(DataError, match="SET default_collation = ''"):
        count_table(own.table("t"), make(JOB))
    own.con.execute("SET default_collation = ''")
    assert not counted(own.table("t"), make(JOB))
    own.disconnect()


@pytest.mark.parametrize("linked", [False, True])
def test_nothing_is_made_beside_a_database_that_writes_ahead(linked: bool, tmp_path: Path) -> None:
    path = tmp_path / "data" / "t.sqlite"
    path.parent.mkdir()
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (age INTEGER)")
    writer.execute("INSERT INTO t VALUES (3)")
    writer.commit()
    given = tmp_path / "link.sqlite" if linked else path
    if linked:
        given.symlink_to(path)
    with pytest.raises(DataError, match=r"PRAGMA wal_checkpoint\(TRUNCATE\)"):
        count_table(given, make(AGE))
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert counted(given, make(AGE)) == {3: 1}
    writer.close()
    assert counted(given, make(AGE)) == {3: 1}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("close", [False, True])
def test_a_database_that_is_written_while_it_is_read_is_refused(
    close: bool, tmp_path: Path
) -> None:
    """Nobody would be kept from writing one that writes ahead, and rows be read twice."""
    write_sqlite(tmp_path / "t.db", ROWS)
    writer = sqlite3.connect(tmp_path / "t.db")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.close()
    path = str(tmp_path / "t.db")
    with (
        pytest.raises(DataError, match="no other program is writing it"),
        sqlite._opened(path) as opened,
    ):
        opened.execute("SELECT * FROM people").fetchone()
        writer = sqlite3.connect(path)
        writer.execute("DELETE FROM people")
        writer.commit()
        if close:
            writer.close()
    writer.close()


def test_long_values_of_sqlite_are_fetched_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushtable.kernel.counting.readers.stream._MOST_LENGTH", 2**16)
    write_sqlite(tmp_path / "t.db", [(1, 1, "x" * 2**12)] * 100)
    held = sqlite.open_sqlite(str(tmp_path / "t.db"), None)
    with sqlite._opened(str(tmp_path / "t.db")) as opened:
        batches = [len(b) for b in sqlite._batches(opened, held.names, "people", NAMES, ())]
    assert sum(batches) == 100 and max(batches) <= 17


@pytest.mark.parametrize("version", [5, 8])
def test_blank_rows_of_transport_files_count_no_more_for_a_row_behind_them(
    version: int, tmp_path: Path
) -> None:
    rows = [("", "clerk"), *[("", "")] * 5]
    for number, more in enumerate(([], [("x", "7")], [("x", "")])):
        frame = pd.DataFrame([*rows, *more], columns=["note", "job"])
        path = tmp_path / f"{number}.xpt"
        pyreadstat.write_xport(frame, str(path), file_format_version=version)
        expected = slow_counts([(job,) for _, job in (rows[0], *more)], make(JOB))
        assert counted(path, make(JOB)) == expected


@pytest.mark.parametrize("value", [1e305, -1e305, float("inf")])
def test_no_moment_is_so_far_away_that_it_warns(value: float, tmp_path: Path) -> None:
    frame = pd.DataFrame({"at": [0.0, value]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_format={"at": "DATETIME20"})
    assert counted(tmp_path / "t.sav", HOURS) == {0: 1, 24: 1}


def test_what_only_a_connection_of_ibis_sees_is_counted_too(tmp_path: Path) -> None:
    """Another connection would not see rows that are not committed, nor temporary tables."""
    write_sqlite(tmp_path / "t.sqlite", ROWS[:3])
    backend = ibis.sqlite.connect(tmp_path / "t.sqlite")
    people = backend.table("people")
    assert counted(people, SCHEMA) == slow_counts(ROWS[:3], SCHEMA)
    backend.con.execute("INSERT INTO people VALUES (0, 0.0, 'clerk')")
    assert counted(people, SCHEMA) == slow_counts([*ROWS[:3], ROWS[0]], SCHEMA)
    backend.con.rollback()
    backend.con.execute("CREATE TEMP TABLE PEOPLE AS SELECT * FROM main.people LIMIT 1")
    backend.con.commit()
    assert counted(people, SCHEMA) == slow_counts(ROWS[:1], SCHEMA)
    backend.disconnect()

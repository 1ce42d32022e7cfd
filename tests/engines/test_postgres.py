"""Tables of a real Postgres: which one is meant, what of it is read, and what nobody is told."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from tests.engines.postgres_server import PASSWORD, address, connected, server_folder

import hushtable as ht
from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting import code_table, count_table
from hushtable.kernel.counting.readers.paths import TableIn, files_of, table_in
from hushtable.kernel.counting.readers.postgres.session import Session
from hushtable.kernel.counting.readers.server import ServerTable, identities_of
from hushtable.kernel.counting.source import column_names
from hushtable.schema import Schema

CANARY = "Zyxwvut-7f3a91"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an empty database; a parameter says how it is encoded."""
    encoding = getattr(request, "param", "UTF8")
    with connected() as server:
        server.execute(f"CREATE DATABASE town ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
        yield "town"
        server.execute("DROP DATABASE town WITH (FORCE)")


def run_sql(database: str, *statements: Any) -> None:
    with connected(database) as server:
        for statement in statements:
            server.execute(statement)


def labels(column: str, *values: str, **more: Any) -> Schema:
    attribute = {"name": column, "kind": "nominal", "values": list(values), "outside": "other"}
    return Schema.from_dict({"name": "t", "budget": "3", "attribute": [attribute], **more})


def counts(data: Any, schema: Schema) -> dict[int, int]:
    found = count_table(data, schema)
    return dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True))


# ── which table ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def several(database: str) -> str:
    run_sql(
        database,
        "CREATE TABLE people (job text)",
        "INSERT INTO people VALUES ('a')",
        'CREATE TABLE "Odd.""name" (job text)',
        """INSERT INTO "Odd.""name" VALUES ('b')""",
        "CREATE SCHEMA other",
        "CREATE TABLE other.people (job text)",
        "INSERT INTO other.people VALUES ('c')",
        "CREATE TABLE other.unlike (job text)",
        "CREATE VIEW shown AS SELECT job FROM people",
        "CREATE MATERIALIZED VIEW stored AS SELECT job FROM people",
    )
    return address(database)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("people", 0), ("public.people", 0), ('"public"."people"', 0), ("stored", 0)),
        *(('Odd."name', 1), ('"Odd.""name"', 1), ("other.people", 2), ('other."people"', 2)),
    ],
)
def test_a_table_is_named_with_its_schema_or_without(several: str, name: str, code: int) -> None:
    assert counts(table_in(several, name), labels("job", "a", "b", "c")) == {code: 1}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (None, r"the database holds 'Odd.\"name', .*'other.people'.*; name one with --table"),
        ("peopel", "no table 'peopel'; is it 'people'"),
        ("Other.People", "no table 'Other.People'; is it 'other.people'"),
        ("xyz", "no table 'xyz'; it holds 'Odd"),
        ("unlike", "no table 'unlike'; is it 'other.unlike'"),
        ("shown", "'shown' is a view, and only what this database stores is read: make a table"),
    ],
)
def test_tables_that_are_not_there_are_refused_in_one_line(
    several: str, name: str | None, line: str
) -> None:
    with pytest.raises(DataError, match=line) as caught:
        count_table(table_in(several, name), labels("job", "a"))
    assert "\n" not in str(caught.value) and PASSWORD not in str(caught.value)


def test_the_only_table_needs_no_name(database: str) -> None:
    with pytest.raises(DataError, match="holds no table that its user may see"):
        count_table(address(database), labels("job", "a"))
    run_sql(database, "CREATE TABLE people AS SELECT 'a' AS job")
    assert counts(address(database), labels("job", "a")) == {0: 1}
    assert column_names(address(database)) == ["job"]


def test_rows_of_partitions_and_heirs_are_counted_once(database: str) -> None:
    run_sql(
        database,
        "CREATE TABLE people (job text)",
        "CREATE TABLE bosses (rank int) INHERITS (people)",
        "INSERT INTO people VALUES ('a')",
        "INSERT INTO bosses VALUES ('b', 1)",
        "CREATE TABLE parts (job text) PARTITION BY LIST (job)",
        "CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a')",
        "CREATE TABLE parts_b PARTITION OF parts DEFAULT",
        "INSERT INTO parts VALUES ('a'), ('b'), ('b')",
    )
    schema = labels("job", "a", "b")
    for name, expected in {
        "people": {0: 1, 1: 1},
        "bosses": {1: 1},
        "parts": {0: 1, 1: 2},
        "parts_b": {1: 2},
    }.items():
        assert counts(table_in(address(database), name), schema) == expected
    whole = {*identities_of(table_in(address(database), "parts"))}
    assert whole > {*identities_of(table_in(address(database), "parts_b"))} and len(whole) == 3


def test_tables_that_would_hide_rows_are_refused(database: str) -> None:
    run_sql(
        database,
        "CREATE TABLE people AS SELECT 'a' AS job",
        "CREATE TABLE secret AS SELECT 'a' AS job",
        "ALTER TABLE people ENABLE ROW LEVEL SECURITY",
        "DROP ROLE IF EXISTS clerk",
        f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'",
        "GRANT SELECT ON people TO clerk",
    )
    schema, clerk = labels("job", "a"), address(database).replace("owner:", "clerk:")
    assert counts(table_in(address(database), "people"), schema) == {0: 1}, "its owner sees all"
    with pytest.raises(DataError, match="row security hides rows of 'people'"):
        count_table(table_in(clerk, "people"), schema)
    with pytest.raises(DataError, match="the user may not read the table 'secret'"):
        count_table(table_in(clerk, "secret"), schema)


def test_tables_that_are_elsewhere_are_refused(database: str) -> None:
    with connected(database) as server:
        known = server.execute(
            "SELECT name FROM pg_available_extensions WHERE name = 'postgres_fdw'"
        )
        if known.fetchone() is None:
            server.execute("CREATE FOREIGN DATA WRAPPER far")
        else:
            server.execute("CREATE EXTENSION postgres_fdw")
            server.execute("CREATE FOREIGN DATA WRAPPER far HANDLER postgres_fdw_handler")
    run_sql(
        database,
        "CREATE SERVER away FOREIGN DATA WRAPPER far",
        "CREATE FOREIGN TABLE distant (job text) SERVER away",
        "CREATE TABLE people (job text)",
        "CREATE FOREIGN TABLE far_people () INHERITS (people) SERVER away",
    )
    for name, line in (("distant", "in another place"), ("people", "some rows of 'people' are")):
        with pytest.raises(DataError, match=line):
            count_table(table_in(address(database), name), labels("job", "a"))


# ── what is read ─────────────────────────────────────────────────────────────────────────────────

# A type, a value and the label that it is known by.
TEXTS = {
    "varchar(9)": ("'a b'", "a b"),
    "char(9)": ("'a b'", "a b"),
    '"char"': ("'x'", "x"),
    "name": ("'a b'", "a b"),
    "mood": ("'glad'", "glad"),
    "inet": ("'10.0.0.1'", "10.0.0.1"),
    "bit(3)": ("'101'", "101"),
    "money": ("'12.50'", "12.5"),
    "numeric(20, 4)": ("2.5000", "2.5"),
    "oid": ("4294967295", "4294967295"),
    "small": ("7", "7"),
    "smaller": ("7", "7"),
    "shouted": ("'A'", "A"),
    "uuid": ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
}
REFUSED = {
    "interval": "'1 day'",
    "json": "'{}'",
    "jsonb": "'{}'",
    "int[]": "'{1}'",
    "timetz": "'10:00+02'",
    "point": "'(1,2)'",
    "int4range": "'[1,2)'",
    "people": "NULL",
    "xml": "NULL",
    "bytea": r"'\xff'",
}


def test_types_are_read_as_what_postgres_writes_or_refused(database: str) -> None:
    """All in one table: one count for each column."""
    run_sql(
        database,
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE DOMAIN small AS int2 CHECK (VALUE < 10)",
        "CREATE DOMAIN smaller AS small",
        'CREATE DOMAIN shouted AS text COLLATE "POSIX"',
        "CREATE TABLE people (id int)",
    )
    columns = {f"t{i}": (kind, *told) for i, (kind, told) in enumerate(TEXTS.items())}
    odd = {f"r{i}": (kind, value) for i, (kind, value) in enumerate(REFUSED.items())}
    declared = [f"{name} {kind}" for name, (kind, *_) in (columns | odd).items()]
    values = [value for _, value, *_ in (*columns.values(), *odd.values())]
    run_sql(
        database,
        f"CREATE TABLE types ({', '.join(declared)})",
        f"INSERT INTO types VALUES ({', '.join(values)})",
    )
    source = table_in(address(database), "types")
    attributes = [
        {"name": name, "kind": "nominal", "values": [label, "0"], "outside": "other"}
        for name, (_, _, label) in columns.items()
    ]
    whole = Schema.from_dict({"name": "t", "budget": "1", "attribute": attributes})
    assert counts(source, whole) == {0: 1}, "every value is the first label of its column"
    for name in odd:
        with pytest.raises(DataError, match=f"column '{name}' is of .*type"):
            count_table(source, labels(name, "1"))


def test_what_is_computed_whenever_it_is_read_is_refused(database: str) -> None:
    run_sql(database, "CREATE TABLE people (job text, n int GENERATED ALWAYS AS (1) STORED)")
    assert counts(address(database), labels("n", "1")) == {}
    with connected(database) as server:
        if server.info.server_version < 180_000:
            pytest.skip("no columns are computed whenever they are read before version 18")
        server.execute("ALTER TABLE people ADD m int GENERATED ALWAYS AS (1 / length(job)) VIRTUAL")
    with pytest.raises(DataError, match="column 'm' is computed whenever it is read"):
        count_table(address(database), labels("m", "1"))


@pytest.mark.parametrize(
    ("database", "label", "codec", "broken"),
    [
        pytest.param("LATIN1", "é", "latin-1", [], marks=pytest.mark.thorough),
        ("WIN1252", "€", "cp1252", [b"\x81"]),
        ("SQL_ASCII", "é", "utf-8", [b"\xff"]),
        pytest.param("EUC_JP", "日", "euc_jp", [], marks=pytest.mark.thorough),
    ],
    indirect=["database"],
)
def test_text_is_read_whatever_a_database_is_encoded_as(
    database: str, label: str, codec: str, broken: list[bytes]
) -> None:
    """Bytes that its encoding lacks belong to their row alone, and to nobody as an id."""
    run_sql(database, "CREATE TABLE people (job text, id text)")
    for value in (label.encode(codec), b"a", *broken):
        octal = "".join(f"\\{byte:03o}" for byte in value)
        run_sql(database, f"INSERT INTO people VALUES (E'{octal}', E'{octal}')")
    expected = {0: 1, 1: 1} | ({2: 1} if broken else {})
    assert counts(address(database), labels("job", label, "a")) == expected
    persons = labels("job", label, "a", unit={"column": "id", "max_rows": 1})
    assert counts(address(database), persons) == {0: 1, 1: 1}


def test_an_encoding_that_python_lacks_is_refused(database: str) -> None:
    from hushtable.kernel.counting.readers.postgres.columns import Column, way_of

    with pytest.raises(DataError, match="encoded as MULE_INTERNAL, which is not read here"):
        way_of(Column("a", "text", True, "S", None, False), "a", "MULE_INTERNAL")


# ── one state, and nothing else ──────────────────────────────────────────────────────────────────


def test_every_reading_is_of_the_state_when_the_table_was_opened(database: str) -> None:
    run_sql(database, "CREATE TABLE public.people AS SELECT 1 AS n")
    session = Session(address(database))
    try:
        session.hold()
        run_sql(database, "INSERT INTO people VALUES (2)")
        for _ in range(2):
            read = [batch.num_rows for batch in session.batches("SELECT n FROM public.people")]
            assert sum(read) == 1
        with pytest.raises(DataError, match="could not read"):
            list(session.batches("INSERT INTO public.people VALUES (3) RETURNING n"))
    finally:
        session.close()
    assert counts(address(database), labels("n", "1", "2", "3")) == {0: 1, 1: 1}


def test_statements_hold_no_values_and_nothing_stays_connected(database: str) -> None:
    run_sql(database, f"CREATE TABLE people AS SELECT '{CANARY}' AS job, 1 AS id")
    log = server_folder() / "log"
    before = log.stat().st_size
    with connected() as server:
        schema = labels("job", CANARY, unit={"column": "id", "max_rows": 1})
        assert counts(address(database), schema) == {0: 1}
        told = log.read_bytes()[before:].decode()
        assert "REPEATABLE READ READ ONLY" in told, "the log says what was asked"
        assert CANARY not in told
        _wait_until(lambda: _others(server, database) == [])


def _others(server: Any, database: str) -> list[Any]:
    """The connections to a database that wait, and for what."""
    found = server.execute(
        "SELECT pid, wait_event_type FROM pg_stat_activity WHERE datname = %s", [database]
    )
    return list(found.fetchall())


def _wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what must come; minutes, if need be."""
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.02)
    raise AssertionError("it never came")


def test_a_count_that_waits_for_the_server_can_be_stopped(database: str) -> None:
    run_sql(database, "CREATE TABLE people AS SELECT 'a' AS job")
    with _interrupts_heard(), connected() as server, _locked(database, "people"):
        waits = [False]

        def stop_once_it_waits() -> None:
            _wait_until(lambda: any(kind == "Lock" for _, kind in _others(server, database)))
            waits[0] = True
            os.kill(os.getpid(), signal.SIGINT)

        stopper = threading.Thread(target=stop_once_it_waits)
        stopper.start()
        with pytest.raises(KeyboardInterrupt):
            count_table(address(database), labels("job", "a"))
        stopper.join()
        assert waits == [True]
        _wait_until(lambda: len(_others(server, database)) == 1)  # who has the lock


@contextmanager
def _interrupts_heard() -> Iterator[None]:
    """Shells start what they put into the background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _locked(database: str, table: str) -> Iterator[None]:
    with connected(database) as server, server.transaction():
        server.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


# ── what nobody is told ──────────────────────────────────────────────────────────────────────────


def assert_silent(problem: BaseException) -> None:
    known, waiting = list[BaseException](), [problem]
    while waiting:
        known.append(waiting.pop())
        waiting += [e for e in (known[-1].__cause__, known[-1].__context__) if e is not None]
    for error in known:
        assert CANARY not in f"{error!r} {error}" and PASSWORD not in f"{error!r} {error}"
        assert isinstance(error, DataError | OptionError)


@pytest.mark.parametrize(
    "wrong",
    [
        ("owner:", f"owner:{CANARY}"),
        ("owner:", f"{CANARY}:"),
        ("/town?", f"/{CANARY}?"),
        ("host=/", f"host=/{CANARY}"),
    ],
)
def test_a_database_that_does_not_open_is_told_without_its_address(
    database: str, wrong: tuple[str, str]
) -> None:
    with pytest.raises(DataError, match="database could not be opened: check that") as caught:
        count_table(address(database).replace(*wrong), labels("job", "a"))
    assert_silent(caught.value)


def test_a_failing_query_of_ibis_is_told_without_a_value(database: str) -> None:
    run_sql(database, f"CREATE TABLE people AS SELECT '{CANARY}' AS job")
    with ibis_of(database) as backend:
        table = backend.table("people")
        assert counts(table.filter(table.job != "a"), labels("job", CANARY)) == {0: 1}
        with pytest.raises(DataError) as caught:
            count_table(table.mutate(n=table.job.cast("int64")), labels("n", "1"))
        assert_silent(caught.value)


@contextmanager
def ibis_of(database: str) -> Iterator[Any]:
    backend = ibis.postgres.connect(
        host=str(server_folder()), user="owner", password=PASSWORD, database=database
    )
    yield backend
    backend.disconnect()


def test_addresses_do_not_print_themselves() -> None:
    for data in (ServerTable(f"postgresql://o:{PASSWORD}@h/d", "t"), TableIn("t.db", "t")):
        assert PASSWORD not in f"{data!r} {data}"
    assert table_in(f"postgres+psycopg://o:{PASSWORD}@h/d", "t") == ServerTable(
        f"postgresql://o:{PASSWORD}@h/d", "t"
    )
    assert files_of(f"postgresql://o:{PASSWORD}@h/d") == []


@pytest.mark.parametrize(
    "data",
    [
        f"mysql://u:{PASSWORD}@h/d",
        f"snowflake://u:{PASSWORD}@a/d",
        f"mssql+pyodbc://u:{PASSWORD}@h/d",
        Path(f"postgresql://u:{PASSWORD}@h/d"),
    ],
)
def test_other_servers_are_refused_with_what_to_do(data: Any) -> None:
    with pytest.raises(
        DataError, match=r"of database servers, Postgres is read.*Parquet"
    ) as caught:
        count_table(data, labels("job", "a"))
    assert_silent(caught.value)


def test_other_databases_of_ibis_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ibis.sqlite.connect()
    backend.con.execute("CREATE TABLE people (job TEXT)")
    table = backend.table("people")
    monkeypatch.setattr(type(backend), "name", "mysql")
    with pytest.raises(DataError, match="Ibis tables of mysql are not read: export this one"):
        count_table(table, labels("job", "a"))
    monkeypatch.undo()
    backend.disconnect()


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(OptionError, match=r"pip install 'hushtable\[postgres\]'$") as caught:
        count_table("postgresql://h/d", labels("job", "a"))
    assert_silent(caught.value)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def census(database: str) -> str:
    """People of a town; the address has no password."""
    run_sql(
        database,
        "CREATE TABLE people (id int, job text, age int, height numeric)",
        "INSERT INTO people SELECT n, (ARRAY['clerk', 'boss', 'farmer'])[1 + n % 3], n % 60,"
        " 150 + n % 50 FROM generate_series(1, 3000) AS n",
    )
    return address(database).replace(f":{PASSWORD}", "")


def test_all_commands_of_the_owner_take_an_address(
    census: str, run_hush: Run, tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_file = tmp_path / "passwords"
    from_file.write_text(f"*:*:*:owner:{PASSWORD}\n")
    from_file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(from_file))
    data = [census, "--table", "people"]
    assert run_hush("schema", "draft", *data, "-o", "town.toml")[0] == 0
    draft = Path("town.toml").read_text()
    assert 'name = "job"' in draft and "farmer" in draft
    Path("town.toml").write_text(draft.replace("reviewed = false", ""))
    code, out, _ = run_hush("check", *data, "-s", "town.toml")
    assert code == 0 and "3,000" in out
    publish = ["publish", *data, "-s", "town.toml", "-m", "basic"]
    assert run_hush(*publish, "-e", "0.2", "-o", "a.release")[0] == 0
    monkeypatch.delenv("PGPASSFILE")
    from_file.unlink()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert run_hush(*publish, "-e", "0.2", "-o", "b.release")[0] == 0
    monkeypatch.delenv("PGPASSWORD")
    code, _, problem = run_hush(*publish, "-e", "0.2", "-o", "c.release")
    assert code == 2 and "the password (PGPASSWORD" in problem
    open_address = census.replace("owner@", f"owner:{PASSWORD}@")
    code, out, problem = run_hush(
        "evaluate", open_address, "a.release", "--table", "people", "--queries", "10"
    )
    assert code == 0 and PASSWORD not in out + problem
    assert (
        run_hush(*[open_address if x == census else x for x in publish], "-e", "0.2", "-o", "d")[0]
        == 0
    )
    written = [path for path in (*tmp_path.rglob("*"), *state_folder.rglob("*")) if path.is_file()]
    assert len(written) > 5
    for path in written:
        assert PASSWORD.encode() not in path.read_bytes(), path


def test_the_table_that_is_published_is_no_public_proxy(census: str, tmp_path: Path) -> None:
    """By whatever address, and after it was published from."""
    data = address("town")
    schema = labels("job", "clerk", "boss")
    by_service = address("town") + "&application_name=x"
    arguments: dict[str, Any] = {"epsilon": "1", "proxy": by_service, "public": True}
    arguments |= {"table": "people", "proxy_table": "public.people"}
    with pytest.raises(OptionError, match="the proxy is the table that is about to be published"):
        ht.publish(data, schema, out=tmp_path / "a", ledger=tmp_path / "l", **arguments)
    plain = {"epsilon": "1", "mechanism": "basic", "table": "people"}
    ht.publish(data, schema, out=tmp_path / "a", ledger=tmp_path / "l", **plain)
    other = pa.table({"job": ["clerk"]})
    del arguments["table"]
    with pytest.raises(OptionError, match="what the private table 't' was published from"):
        ht.publish(other, schema, out=tmp_path / "b", ledger=tmp_path / "l", **arguments)


def test_coded_columns_are_the_same_rows(census: str) -> None:
    schema = labels("job", "clerk", "boss", "farmer")
    coded = code_table(table_in(address("town"), "people"), schema)
    assert sorted(coded.columns[0].tolist()) == sorted([0, 1, 2] * 1000)

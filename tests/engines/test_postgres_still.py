"""Tables of a real Postgres that others alter meanwhile, and columns of domains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import pytest
from tests.engines.postgres_server import PASSWORD, address, connected, server_folder
from tests.shared_sizes import some_of

import hushtable as ht
from hushtable import publishing
from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting import count_table
from hushtable.kernel.counting.readers.paths import table_in
from hushtable.kernel.counting.readers.postgres import catalog, session, table
from hushtable.kernel.counting.readers.server import identities_of, noting_read
from hushtable.schema import Schema

Counted = Callable[[], dict[int, int]]


@pytest.fixture
def database() -> Iterator[str]:
    with connected() as server:
        server.execute("CREATE DATABASE still TEMPLATE template0")
        yield "still"
        server.execute("DROP DATABASE still WITH (FORCE)")


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


def ibis_of(database: str) -> Any:
    return ibis.postgres.connect(
        host=str(server_folder()), user="owner", password=PASSWORD, database=database
    )


# ── domains ──────────────────────────────────────────────────────────────────────────────────────

# A type with a length or precision, and two values that a shorter one would take for one.
DOMAINS = {
    "char(3)": ("DEU", "DNK"),
    "varchar(3)": ("DEU", "DNK"),
    "bit(4)": ("1010", "1000"),
    "varbit(4)": ("1010", "1000"),
    "numeric(6, 2)": ("1234.25", "1234.75"),
}


@pytest.fixture
def domains(database: str) -> str:
    for i, kind in enumerate(DOMAINS):
        run_sql(database, f"CREATE DOMAIN d{i} AS {kind}", f"CREATE DOMAIN e{i} AS d{i} NOT NULL")
    run_sql(
        database,
        'CREATE DOMAIN mark AS "char"',
    )
    columns = ", ".join(f"d{i} d{i}, e{i} e{i}" for i in range(len(DOMAINS)))
    run_sql(database, f"CREATE TABLE people ({columns}, mark mark)")
    for row in range(2):
        values = [f"'{pair[row]}'" for pair in DOMAINS.values() for _ in range(2)]
        values += [f"'{'ab'[row]}'"]
        run_sql(database, f"INSERT INTO people VALUES ({', '.join(values)})")
    return database


def test_values_of_domains_are_read_whole(domains: str) -> None:
    """By a table's name, and in a query of Ibis."""
    backend = ibis_of(domains)
    with closing(backend.con):
        for data in (address(domains), backend.table("people").limit(9)):
            for i, pair in enumerate(DOMAINS.values()):
                for column in (f"d{i}", f"e{i}"):
                    assert counts(data, labels(column, *pair)) == {0: 1, 1: 1}, (column, pair)


@pytest.mark.parametrize(
    "column",
    some_of(["d0", "e0", "d2", "e2", "e3", "e4", "mark"], ["d0", "e2", "mark"]),
)
def test_people_whose_ids_are_of_a_domain_stay_apart(domains: str, column: str) -> None:
    """Of one person, one row would count."""
    schema = labels("d1", *DOMAINS["varchar(3)"], unit={"column": column, "max_rows": 1})
    assert counts(address(domains), schema) == {0: 1, 1: 1}


# ── what others do meanwhile ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def town(database: str) -> str:
    run_sql(
        database,
        "CREATE TABLE people AS SELECT 'a' AS job",
        "CREATE TABLE others AS SELECT 'b' AS job",
        "CREATE TABLE parts (job text) PARTITION BY LIST (job)",
        "CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a')",
        "CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b')",
        "INSERT INTO parts VALUES ('a'), ('b')",
        "CREATE TABLE more AS SELECT 'c' AS job",
        "CREATE MATERIALIZED VIEW stored AS SELECT job FROM people",
    )
    return database


def once_found(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Act when a table has been found, and nothing of it been read."""
    match = table.match_columns

    def acting(names: Any, columns: Any) -> Any:
        act()
        return match(names, columns)

    monkeypatch.setattr(table, "match_columns", acting)


SWAP = (
    "BEGIN; SET LOCAL lock_timeout = '50ms'; ALTER TABLE people RENAME TO old;"
    " ALTER TABLE others RENAME TO people; COMMIT"
)


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("people", SWAP, {0: 1}),
        pytest.param("people", "TRUNCATE people", {0: 1}, marks=pytest.mark.thorough),
        pytest.param(
            "people", "ALTER TABLE people RENAME TO old", {0: 1}, marks=pytest.mark.thorough
        ),
        ("people", "DROP TABLE people CASCADE", {0: 1}),
        pytest.param(
            "people", "ALTER TABLE people ADD old text", {0: 1}, marks=pytest.mark.thorough
        ),
        ("parts", "ALTER TABLE parts DETACH PARTITION parts_b", {0: 1, 1: 1}),
        ("parts", "TRUNCATE parts_b", {0: 1, 1: 1}),
        pytest.param("parts", "DROP TABLE parts_b", {0: 1, 1: 1}, marks=pytest.mark.thorough),
        ("stored", "ALTER MATERIALIZED VIEW stored RENAME TO old", {0: 1}),
    ],
)
@pytest.mark.parametrize("by", ["name", "query"])
def test_a_table_that_was_found_cannot_be_altered(
    town: str,
    name: str,
    change: str,
    expected: dict[int, int],
    by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = []

    def alter() -> None:
        import psycopg

        with pytest.raises(psycopg.errors.LockNotAvailable):
            run_sql(town, "SET lock_timeout = '50ms'", change)
        refused.append(change)

    once_found(monkeypatch, alter)
    backend = ibis_of(town)
    with closing(backend.con):
        people = backend.table(name)
        data = table_in(address(town), name) if by == "name" else people.filter(people.job != "z")
        assert counts(data, labels("job", "a", "b")) == expected
    assert refused == [change]
    monkeypatch.undo()
    run_sql(town, change)  # all locks are released


@pytest.mark.parametrize(
    "changes",
    [
        ["ALTER TABLE parts ATTACH PARTITION more FOR VALUES IN ('c')"],
        [
            "ALTER SCHEMA public RENAME TO old",
            "CREATE SCHEMA public",
            "CREATE TABLE parts AS SELECT 'c' AS job",
        ],
    ],
)
def test_what_no_lock_prevents_is_refused(
    town: str, changes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    once_found(monkeypatch, lambda: run_sql(town, *changes))
    with pytest.raises(DataError, match="the table is being altered"):
        count_table(table_in(address(town), "parts"), labels("job", "a", "b", "c"))


def test_the_right_to_read_a_column_is_enough(town: str) -> None:
    """Of the table alone, not of its parts; and whatever it is called."""
    run_sql(
        town,
        "ALTER TABLE parts ADD secret text",
        """ALTER TABLE parts RENAME TO "it's {a}\\ name" """,
        "DROP ROLE IF EXISTS reader",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        """GRANT SELECT (job) ON "it's {a}\\ name" TO reader""",
    )
    data = table_in(address(town).replace("owner:", "reader:"), "it's {a}\\ name")
    assert counts(data, labels("job", "a", "b")) == {0: 1, 1: 1}
    with pytest.raises(DataError, match="Postgres could not read the table"):
        count_table(data, labels("secret", "a"))


def swap_once(monkeypatch: pytest.MonkeyPatch, database: str, place: Any, name: str) -> None:
    """Put another table in the place of `people` when a function has been called once."""
    function, done = getattr(place, name), []

    def swapping(*arguments: Any) -> Any:
        told = function(*arguments)
        if not done:
            done.append(True)
            run_sql(database, SWAP)
        return told

    monkeypatch.setattr(place, name, swapping)


def test_a_table_that_is_replaced_before_it_is_locked_is_looked_for_again(
    town: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sql(town, "ALTER TABLE others ALTER job TYPE int USING 7")
    data = table_in(address(town), "people")
    before = identities_of(data)
    swap_once(monkeypatch, town, catalog, "_check_readable")
    with noting_read() as read:
        assert counts(data, labels("job", "a", "7")) == {1: 1}
    assert read == identities_of(data) != before


def test_a_view_in_the_place_of_a_table_is_refused(
    town: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sql(town, "ALTER TABLE others RENAME TO stored_elsewhere")
    run_sql(town, "CREATE VIEW others AS SELECT 'b' AS job")
    swap_once(monkeypatch, town, catalog, "_check_readable")
    with pytest.raises(DataError, match="'people' is a view"):
        count_table(table_in(address(town), "people"), labels("job", "a", "b"))


@pytest.mark.parametrize("by", ["name", "query"])
def test_the_table_that_is_read_is_the_one_that_is_noted(
    town: str, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the name led to a moment before."""
    schema = labels("job", "a", "b")
    swap_once(monkeypatch, town, publishing, "identities_of")
    backend = ibis_of(town)
    with closing(backend.con):
        people = backend.table("people")
        data = (
            table_in(address(town), "people") if by == "name" else people.filter(people.job != "")
        )
        plain = {"epsilon": "1", "mechanism": "basic", "ledger": tmp_path / "l"}
        ht.publish(data, schema, out=tmp_path / "a", **plain)
    arguments = {"epsilon": "1", "public": True, "proxy": address(town), "proxy_table": "people"}
    with pytest.raises(OptionError, match="what the private table 't' was published from"):
        ht.publish({"job": ["a"]}, schema, out=tmp_path / "b", ledger=tmp_path / "l", **arguments)


@pytest.mark.parametrize("by", ["name", "query"])
def test_a_lock_of_somebody_else_is_not_waited_for_forever(
    town: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_TRIES", 2)
    monkeypatch.setitem(session._SETTINGS, "lock_timeout", "50ms")
    backend = ibis_of(town)
    with closing(backend.con), connected(town) as server:
        people = backend.table("people")
        data = (
            table_in(address(town), "people") if by == "name" else people.filter(people.job != "")
        )
        with server.transaction():
            server.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(DataError, match="somebody else holds a lock on it") as caught:
                count_table(data, labels("job", "a"))
        assert "\n" not in str(caught.value)
        assert counts(data, labels("job", "a")) == {0: 1}


def test_who_waits_to_alter_a_table_does_not_keep_it_from_being_read(
    town: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is read: those who wait come before those who begin to read."""
    waiter = threading.Thread(target=run_sql, args=(town, "TRUNCATE parts"))
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"

    def begin() -> None:
        waiter.start()
        with connected(town) as server:
            while server.execute(waiting).fetchone() == (0,):
                assert waiter.is_alive()

    run_sql(town, "ALTER TABLE parts ADD id int", "UPDATE parts SET id = ascii(job)")
    once_found(monkeypatch, begin)
    schema = labels("job", "a", "b", unit={"column": "id", "max_rows": 1})
    assert counts(table_in(address(town), "parts"), schema) == {0: 1, 1: 1}
    waiter.join()
    monkeypatch.undo()
    assert counts(table_in(address(town), "parts"), schema) == {}

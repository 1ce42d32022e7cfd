"""How tables of database servers are read."""

from __future__ import annotations

from .mutant import Mutant
from .suites import CONFORMANCE, COUNT, POSTGRES, POSTGRES_STILL

_HERE = "kernel/counting/readers/postgres"

ENGINES = [
    Mutant(
        "infinite dates of Postgres as days",
        f"{_HERE}/columns.py",
        " WHEN date 'infinity' THEN {_INFINITE}",
        " WHEN date '4000-01-01' THEN {_INFINITE}",
        (f"{CONFORMANCE}::test_every_value_is_read_as_duckdb_reads_it",),
    ),
    Mutant(
        "equal numbers of Postgres as several texts",
        f"{_HERE}/columns.py",
        "CAST(trim_scale(CAST({0} AS numeric)) AS text)",
        "CAST(CAST({0} AS numeric) AS text)",
        (f"{CONFORMANCE}::test_the_same_rows_of_a_person_count_in_any_order",),
    ),
    Mutant(
        "text of Postgres converted by the server",
        f"{_HERE}/columns.py",
        'if encoding == "UTF8":',
        "if encoding:",
        (f"{POSTGRES}::test_text_is_read_whatever_a_database_is_encoded_as",),
    ),
    Mutant(
        "columns of Postgres that are computed whenever they are read",
        f"{_HERE}/columns.py",
        "    if column.computed:",
        "    if column.computed and column.domain_of:",
        (f"{POSTGRES}::test_what_is_computed_whenever_it_is_read_is_refused",),
    ),
    Mutant(
        "views of Postgres read",
        f"{_HERE}/catalog.py",
        '_STORED = "rpm"',
        '_STORED = "rpmv"',
        (f"{POSTGRES}::test_tables_that_are_not_there_are_refused_in_one_line",),
    ),
    Mutant(
        "rows of Postgres hidden",
        f"{_HERE}/catalog.py",
        "    if is_hidden:",
        "    if is_hidden is None:",
        (f"{POSTGRES}::test_tables_that_would_hide_rows_are_refused",),
    ),
    Mutant(
        "each reading of Postgres of a state of its own",
        f"{_HERE}/session.py",
        "        if snapshot:",
        "        if not snapshot and self.path is None:",
        (f"{POSTGRES}::test_every_reading_is_of_the_state_when_the_table_was_opened",),
    ),
    Mutant(
        "Postgres written to",
        f"{_HERE}/session.py",
        "REPEATABLE READ READ ONLY",
        "REPEATABLE READ",
        (f"{POSTGRES}::test_every_reading_is_of_the_state_when_the_table_was_opened",),
    ),
    Mutant(
        "ids of a domain of Postgres cut to one letter",
        f"{_HERE}/catalog.py",
        "format('%I.%I', n.nspname, t.typname)",
        "format_type(t.oid, NULL)",
        (f"{POSTGRES_STILL}::test_people_whose_ids_are_of_a_domain_stay_apart",),
    ),
    Mutant(
        "a table of Postgres altered once it is found",
        f"{_HERE}/session.py",
        'f"SELECT 1 FROM {source} LIMIT 0"',
        'f"SELECT 1 FROM (SELECT) AS {source[:0]}q LIMIT 0"',
        (f"{POSTGRES_STILL}::test_a_table_that_was_found_cannot_be_altered",),
    ),
    Mutant(
        "partitions of a table of Postgres altered once it is found",
        f"{_HERE}/session.py",
        'f"SELECT 1 FROM {source} LIMIT 0"',
        'f"SELECT 1 FROM {source} WHERE false"',
        (f"{POSTGRES_STILL}::test_a_table_that_was_found_cannot_be_altered",),
    ),
    Mutant(
        "a table of Postgres replaced before it is locked",
        f"{_HERE}/catalog.py",
        "            if _found(connection, name) == found:",
        "            if _found(connection, name):",
        (
            f"{POSTGRES_STILL}::test_a_table_that_is_replaced_before_it_is_locked_is_looked_for_again",
        ),
    ),
    Mutant(
        "a table of Postgres that gets partitions while it is read",
        f"{_HERE}/table.py",
        "    if table.now and session.ask(table.now) != table.was:",
        "    if table.now and not session.ask(table.now):",
        (f"{POSTGRES_STILL}::test_what_no_lock_prevents_is_refused",),
    ),
    Mutant(
        "a table of Postgres that is read but not noted",
        "kernel/counting/readers/server.py",
        "        noted += tell()",
        "        tell()",
        (f"{POSTGRES_STILL}::test_the_table_that_is_read_is_the_one_that_is_noted",),
    ),
    Mutant(
        "a table of Postgres locked only when it is read",
        f"{_HERE}/session.py",
        "        if source is not None and not reader.lock(source):",
        "        if source is not None and source == reader.path:",
        (f"{POSTGRES_STILL}::test_who_waits_to_alter_a_table_does_not_keep_it_from_being_read",),
    ),
    Mutant(
        "the password of an address printed",
        "kernel/counting/readers/server.py",
        'return "ServerTable(...)"',
        "return self.address",
        (f"{POSTGRES}::test_addresses_do_not_print_themselves",),
    ),
    Mutant(
        "a table of Postgres forgotten once it was published from",
        f"{_HERE}/table.py",
        "return identities(session.main, table.name)",
        "return identities(session.main, table.name)[1:]",
        (f"{POSTGRES}::test_the_table_that_is_published_is_no_public_proxy",),
    ),
    Mutant(
        "a stream held as a whole to look labels up in it",
        "kernel/counting/source.py",
        "statistics_propagation,build_side_probe_side",
        "statistics_propagation",
        (f"{COUNT}::test_a_stream_is_counted_while_it_is_read",),
    ),
]

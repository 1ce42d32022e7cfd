"""Counting a table of Spark: what is asked of its tasks, and what comes back.

The first tasks encode rows where they are and send on cells with their counts, or, where a unit
bounds contributions, rows of persons, every person's to one task, which keeps max_rows of them.
Then cells are added up in the cluster, and the owner fetches them in parts. Parcels are sealed
(`parcels.py`): if any of them comes from another run of a task than the rest, all starts again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.moments import check_zones
from hushtable.kernel.counting.encoding.statement import Select, SqlStatement, statement
from hushtable.kernel.counting.engines.spark import tasks
from hushtable.kernel.counting.engines.spark.parcels import FIELDS, GONE, TORN, Receiver
from hushtable.kernel.counting.engines.spark.sessions import held_session
from hushtable.kernel.counting.engines.spark.tables import declared_types, spark_frame
from hushtable.kernel.counting.people import kept_statement, people_statement
from hushtable.kernel.counting.readers.readable import ID_MARK, MARK
from hushtable.kernel.counting.silence import silent_engine
from hushtable.kernel.counting.source import SETTINGS, open_table
from hushtable.kernel.counting.tally import Tally
from hushtable.schema import Schema

_PROBLEM = (
    "the table could not be counted in Spark; check that the cluster runs, and that its executors"
    " have this version of Python, and duckdb, pyarrow and numpy"
)
GONE_PROBLEM = (
    "the cluster no longer has the rows that were first read, or could not count them: run it again"
    " when the cluster is stable"
)
BUCKETS = 1024
"""Among which tasks share rows: as many tasks as that can take part."""
PARTS = 32
"""In which the owner fetches what is counted."""
_TIMES = 3


@dataclass(frozen=True, repr=False)
class Plan:
    """What tasks run, one stage after the other."""

    frame: Any
    stages: tuple[tasks.Task, ...]
    gives: Any = None
    """The Arrow schema of coded rows in the last parcels."""


def count_cells(data: Any, schema: Schema, select: Select, salt: str) -> tuple[Integers, Integers]:
    """The linear codes of non-empty cells in ascending order, and how many rows each has."""
    with _opened(data, schema) as frame, working(frame):
        return added_up(planned(frame, schema, select, salt, tasks.send_cells, then=sums()))


def code_rows(data: Any, schema: Schema, select: Select, salt: str) -> list[np.ndarray[Any, Any]]:
    """The columns of coded rows, fetched in parts."""
    with _opened(data, schema) as frame, working(frame):
        plan = planned(frame, schema, select, salt, tasks.send_rows, PARTS)
        for receiver in attempts():
            batches = [tasks.unpacked_rows(p, plan.gives) for p in payloads(plan, receiver)]
            if is_whole(receiver):
                return _columns(batches, plan.gives)
    raise lost()


def added_up(plan: Plan) -> tuple[Integers, Integers]:
    """The cells that the last tasks sent, in ascending order, and the sum of their counts."""
    for receiver in attempts():
        tally = Tally()
        for payload in payloads(plan, receiver):
            tally.add(*tasks.unpacked_pairs(payload))
        if is_whole(receiver):
            return tally.result()
    raise lost()


def _columns(batches: list[Any], schema: Any) -> list[np.ndarray[Any, Any]]:
    import pyarrow as pa

    table = pa.Table.from_batches(batches, schema)
    return [column.to_numpy() for column in table.columns]


def attempts(parts: int = PARTS) -> Iterator[Receiver]:
    """To count, each time from the beginning, what is sent to so many buckets."""
    return (Receiver(parts) for _ in range(_TIMES))


def is_whole(receiver: Receiver) -> bool:
    """Whether all that was received is of one evaluation; refuse executors that are not alike."""
    import duckdb

    receiver.view()
    if receiver.note in (None, TORN):
        return receiver.note is None
    if receiver.note == GONE:
        raise DataError(GONE_PROBLEM)
    found = "has no duckdb" if receiver.note == "none" else f"has duckdb {receiver.note}"
    raise DataError(
        f"an executor {found}, and here is {duckdb.__version__}: install this version on all of"
        f" them (pip install duckdb=={duckdb.__version__})"
    )


def lost() -> DataError:
    """What to say when no attempt was whole."""
    return DataError(
        f"the cluster lost parts of the table while it was counted, {_TIMES} times: nothing was"
        " counted; run it again when the cluster is stable"
    )


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _opened(data: Any, schema: Schema) -> Iterator[Any]:
    with silent_engine(_PROBLEM), spark_frame(data, _columns_of(schema)) as frame:
        yield frame


def opened_until(held: ExitStack, data: Any, schema: Schema) -> Any:
    """The frame of a table, open until the stack is closed."""
    with silent_engine(_PROBLEM):
        return held.enter_context(spark_frame(data, _columns_of(schema)))


@contextmanager
def working(frame: Any, problem: str = _PROBLEM) -> Iterator[None]:
    """Let Spark work, in silence."""
    with silent_engine(problem), held_session(frame):
        yield


def planned(
    frame: Any,
    schema: Schema,
    select: Select,
    salt: str,
    send: Any,
    buckets: int | None = None,
    then: tuple[tasks.Task, ...] = (),
) -> Plan:
    """The stages for the frame of a table; of its coded rows, something is sent to some buckets."""

    def last(encoder: tasks.Encoder, stage: Any) -> tuple[tasks.Task, ...]:
        return (stage(encoder, buckets or BUCKETS, send), *then)

    columns, ids = _columns_of(schema), _ids_of(schema)
    takes = declared_types(frame, columns, ids)
    marks = tuple(ID_MARK if name in ids else MARK for name in columns)
    send_by_value()
    stages = _stages if schema.unit is None else _stages_of_people
    return Plan(frame, *stages(takes, marks, schema, select, salt, last))


def sums() -> tuple[tasks.Task, ...]:
    """What adds up cells that several tasks have counted."""
    return (tasks.following(None, PARTS, tasks.send_sums),)


def _columns_of(schema: Schema) -> list[str]:
    return [*schema.columns, *_ids_of(schema)]


def _ids_of(schema: Schema) -> list[str]:
    return [schema.unit.column] if schema.unit else []


def _stages(
    takes: Any, marks: tuple[str, ...], schema: Schema, select: Select, salt: str, last: Any
) -> tuple[tuple[tasks.Task, ...], Any]:
    with _empty_table(takes, schema) as table:
        encoded = statement(schema, table.schema(), select)
        gives = _schema_of(encoded, table, salt)
    encoder = _encoder(encoded, takes, salt, marks)
    return last(encoder, tasks.encoding), gives


def _stages_of_people(
    takes: Any, marks: tuple[str, ...], schema: Schema, select: Select, salt: str, last: Any
) -> tuple[tuple[tasks.Task, ...], Any]:
    """Rows of persons meet at one task; those that are alike travel as one, with their number."""
    with _empty_table(takes, schema) as table:
        encoded = _people(schema, table.schema())
        persons = _schema_of(encoded, table, salt)
    bounded = kept_statement(schema, select)
    persons = persons.remove(persons.get_field_index("bucket"))
    persons = persons.remove(persons.get_field_index("n"))
    with open_table(persons.empty_table(), persons.names) as table:
        names = dict(zip(persons.names, table.columns, strict=True))
        gives = _schema_of(bounded, table.rename(names), salt)
    first = tasks.encoding(_encoder(encoded, takes, salt, marks), BUCKETS, tasks.send_persons)
    return (first, *last(_encoder(bounded, persons, salt), tasks.following)), gives


def _encoder(
    encoded: SqlStatement, takes: Any, salt: str, marks: tuple[str, ...] = ()
) -> tasks.Encoder:
    import duckdb

    secret = salt if encoded.salted else None
    return tasks.Encoder(
        duckdb.__version__, SETTINGS, encoded.sql, encoded.lists, secret, takes, marks
    )


@contextmanager
def _empty_table(takes: Any, schema: Schema) -> Iterator[Any]:
    """A table of these types without rows, in an engine here: it tells what it makes of them."""
    zones = {a.origin.zone for a in schema.attributes if a.origin.zone is not None}
    with open_table(takes.empty_table(), takes.names) as table:
        check_zones(zones, table.get_backend().con)
        yield table


def _schema_of(encoded: SqlStatement, table: Any, salt: str) -> Any:
    with encoded.result(table, salt) as rows:
        return rows.to_arrow_table().schema


def _people(schema: Schema, types: Any) -> SqlStatement:
    """Encode columns of these types; of each person, the distinct rows and how many there are."""
    made = people_statement(schema, types)
    distinct = f"SELECT *, count(*) AS n FROM ({made.sql}) GROUP BY ALL"
    return SqlStatement(f"SELECT hash(person) AS bucket, * FROM ({distinct})", made.lists, False)


# ── running it ───────────────────────────────────────────────────────────────────────────────────


def payloads(plan: Plan, receiver: Receiver) -> Iterator[bytes]:
    """What the last tasks sent, part by part."""
    for row in sent(plan).toLocalIterator():
        yield from receiver.received(*([value] for value in row))


def sent(plan: Plan) -> Any:
    """The frame of what the last tasks send."""
    frame = plan.frame
    for stage in plan.stages:
        frame = frame.mapInArrow(stage, FIELDS).repartition("bucket")
    return frame


def send_by_value() -> None:
    """Let Spark send the functions of ours that tasks need: executors have none of them."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["hushtable"])

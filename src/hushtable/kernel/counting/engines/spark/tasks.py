"""What Spark's tasks do: encode rows, bound contributions, add up. Sent to executors by value.

There, only DuckDB, PyArrow, NumPy and the standard library are needed, of the owner's versions of
Python and DuckDB: the hash that chooses rows and the casts are the engine's. A task that has
another version reads nothing and says so. No failure is passed on in its own words, since these may
quote values, and end up in a log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hushtable.kernel.counting.engines.spark.parcels import GONE, TORN, Receiver, Sender
from hushtable.kernel.counting.readers.readable import readable_batch
from hushtable.kernel.counting.silence import raise_alone
from hushtable.kernel.counting.tally import Tally
from hushtable.scratch import spill_folder

Batches = Iterator[Any]
Task = Callable[[Batches], Batches]

_BATCH = 2**17
_TOGETHER = 2**16  # rows of which tables are counted at once
_TALLIED = 2**22  # codes that a task keeps before it counts them
# Rows in a parcel: Spark takes thousands of parcels at once, which together must not be too large.
_PACKED = 2**11
_FACTOR = 0x9E3779B97F4A7C15  # spreads cells over buckets
_STRIDE = 389  # places of buckets between the first ones of two tasks
_EMPTY = b""


@dataclass(frozen=True, repr=False)
class Encoder:
    """SQL about a stream called hush_rows, and what it takes to run it as the owner would."""

    version: str
    settings: tuple[str, ...]
    sql: str
    lists: dict[str, Any]
    salt: str | None
    takes: Any
    """The Arrow schema of the stream."""
    marks: tuple[str, ...] = ()
    """For bytes that are no text, column by column."""
    memory: str = "1GB"


def encoding(encoder: Encoder, buckets: int, send: Any) -> Task:
    """A task that encodes rows of the table and sends what the SQL makes of them."""

    def run(batches: Batches) -> Batches:
        sender = Sender(_place(), buckets)
        found = _version()
        if found != encoder.version:
            yield sender.excuse(found)
            return
        with _in_silence(), _rows(encoder, _typed(batches, encoder)) as rows:
            yield from send(rows, sender, buckets)
        yield sender.seals(_EMPTY)

    return run


def following(encoder: Encoder | None, buckets: int, send: Any, kept: bytes | None = None) -> Task:
    """A task that takes parcels of others: it runs SQL about their rows, or adds up their pairs.

    Where these were kept when they were first looked at, with the view `kept`, others in their
    place are not taken for them. Who gets no parcel at all has no part in this.
    """

    def run(batches: Batches) -> Batches:
        sender, receiver = Sender(_place(), buckets), Receiver()
        payloads = receiver.payloads(batches)
        with _in_silence():
            if encoder is None:
                yield from send(payloads, sender, buckets)
            elif _version() != encoder.version:
                yield sender.excuse(_version())
                return
            else:
                with _rows(encoder, expanded(payloads, encoder.takes)) as rows:
                    yield from send(rows, sender, buckets)
            view = receiver.view()
        if receiver.is_empty:
            return
        note = receiver.note
        if kept is not None and note in (None, TORN) and (note == TORN or view != kept):
            note = GONE
        yield sender.seals(view) if note is None else sender.excuse(note)

    return run


# ── what tasks send ──────────────────────────────────────────────────────────────────────────────


def send_cells(rows: Any, sender: Sender, buckets: int) -> Batches:
    """Count the cells of a relation of codes; send each with its count to the cell's bucket."""
    tally = Tally(_TALLIED)
    for batch in rows.to_arrow_reader(_BATCH):
        people = _numbers(batch, "people") if "people" in batch.schema.names else None
        tally.add(_numbers(batch, "cell").copy(), people)
    yield from _send_pairs(*tally.result(), sender, buckets)


def send_sums(payloads: Iterator[bytes], sender: Sender, buckets: int) -> Batches:
    """Add up cells that several tasks have counted."""
    tally = Tally(_TALLIED)
    for payload in payloads:
        tally.add(*unpacked_pairs(payload))
    yield from _send_pairs(*tally.result(), sender, buckets)


def send_persons(rows: Any, sender: Sender, buckets: int) -> Batches:
    """Send rows of persons, each person's to one bucket, which the engine's hash chooses."""
    import numpy as np

    for batch in rows.to_arrow_reader(_BATCH * 8):
        bucket = _numbers(batch, "bucket") % np.uint64(buckets)
        kept = batch.select([name for name in batch.schema.names if name != "bucket"])
        yield from _send_sorted(kept, bucket, sender)


def send_rows(rows: Any, sender: Sender, buckets: int) -> Batches:
    """Send coded rows as they are, to one bucket after the other."""
    first = sender.task * _STRIDE
    for number, batch in enumerate(rows.to_arrow_reader(_PACKED)):
        if batch.num_rows:
            yield sender.parcel((first + number) % buckets, batch.serialize().to_pybytes())


def sending_tables(tables: Tables, schema: Any = None) -> Any:
    """What sends the cells of tables of coded rows, with their counts.

    The rows are those of a relation or, where their schema is given, of parcels.
    """

    def send(rows: Any, sender: Sender, buckets: int) -> Batches:
        import numpy as np

        if schema is None:
            batches = rows.to_arrow_reader(_BATCH)
        else:
            batches = (unpacked_rows(payload, schema) for payload in rows)
        counts = counted_tables(batches, tables)
        cells = np.flatnonzero(counts)
        yield from _send_pairs(cells, counts[cells], sender, buckets)

    return send


def _send_pairs(codes: Any, counts: Any, sender: Sender, buckets: int) -> Batches:
    import numpy as np

    spread = (codes.astype(np.uint64) * np.uint64(_FACTOR)) >> np.uint64(40)
    bucket = spread % np.uint64(buckets)
    order = np.argsort(bucket, kind="stable")
    codes, counts = codes[order], counts[order]
    yield from sender.parcels(
        (place, codes[some].tobytes() + counts[some].tobytes())
        for place, some in _portions(bucket[order])
    )


def _send_sorted(batch: Any, bucket: Any, sender: Sender) -> Batches:
    import numpy as np
    import pyarrow as pa

    order = np.argsort(bucket, kind="stable")
    batch = batch.take(pa.array(order))
    yield from sender.parcels(
        (place, batch.slice(some.start, some.stop - some.start).serialize().to_pybytes())
        for place, some in _portions(bucket[order])
    )


def _portions(buckets: Any) -> Iterator[tuple[int, slice]]:
    """Of rows that stand in the order of their buckets, those of one bucket, a few at a time."""
    import numpy as np

    changes = np.flatnonzero(buckets[1:] != buckets[:-1]) + 1
    starts = [0, *changes.tolist()] if len(buckets) else []
    for first, last in zip(starts, [*starts[1:], len(buckets)], strict=False):
        for start in range(first, last, _PACKED):
            yield int(buckets[first]), slice(start, min(start + _PACKED, last))


# ── joint counts ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, repr=False)
class Tables:
    """Tables of coded rows, by the columns that they are of; the last one of a table is fastest.

    They lie one behind the other, so that a cell has a number among those of all tables.
    """

    views: tuple[tuple[str, Any, int], ...]
    """The name of a column of codes, the group of each code, and how many groups there are."""
    wanted: tuple[tuple[int, ...], ...]
    """The places of each table's views."""

    @property
    def cells(self) -> tuple[int, ...]:
        """How many each table has."""
        return tuple(math.prod(self.views[place][2] for place in wanted) for wanted in self.wanted)


def counted_tables(batches: Batches, tables: Tables) -> Any:
    """The count of every cell: each row is in one cell of each table."""
    import numpy as np

    counts = np.zeros(sum(tables.cells), np.int64)
    for rows, columns in _gathered(batches):
        people = columns.get("people", np.int64(1))
        seen = [(groups[columns[name]], size) for name, groups, size in tables.views]
        first, known, begun = 0, None, np.zeros(0, np.int64)
        for wanted, cells in zip(tables.wanted, tables.cells, strict=True):
            if wanted[:-1] != known:  # tables of the same parents follow each other
                known, begun = wanted[:-1], np.zeros(rows, np.int64)
                for place in known:
                    begun = begun * seen[place][1] + seen[place][0]
            codes = begun
            for place in wanted[-1:]:
                codes = codes * seen[place][1] + seen[place][0]
            np.add.at(counts[first : first + cells], codes, people)
            first += cells
    return counts


def _gathered(batches: Batches) -> Iterator[tuple[int, dict[str, Any]]]:
    """How many rows some batches have together, and their columns."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _TOGETHER:
            yield rows, _joined(waiting)
            waiting, rows = [], 0
    if rows:
        yield rows, _joined(waiting)


def _joined(batches: list[Any]) -> dict[str, Any]:
    import numpy as np

    names = batches[0].schema.names
    return {name: np.concatenate([_numbers(batch, name) for batch in batches]) for name in names}


# ── what tasks receive ───────────────────────────────────────────────────────────────────────────


def unpacked_pairs(payload: bytes) -> tuple[Any, Any]:
    """The cells and counts of a parcel."""
    import numpy as np

    both = np.frombuffer(payload, np.int64)
    return both[: len(both) // 2].copy(), both[len(both) // 2 :]


def unpacked_rows(payload: bytes, schema: Any) -> Any:
    """The rows of a parcel."""
    import pyarrow as pa

    return pa.ipc.read_record_batch(pa.py_buffer(payload), schema)


def expanded(payloads: Iterator[bytes], schema: Any) -> Batches:
    """Rows that stand for n rows each, so many times; never many at once, however large n is.

    The schema is of the rows without n, which comes last in parcels.
    """
    import numpy as np
    import pyarrow as pa

    packed = schema.append(pa.field("n", pa.int64()))
    for payload in payloads:
        batch = unpacked_rows(payload, packed)
        ends = np.cumsum(_numbers(batch, "n"))
        rows = batch.select(schema.names)
        if ends[-1] == len(ends):
            yield rows
            continue
        for first in range(0, int(ends[-1]), _BATCH):
            places = np.arange(first, min(first + _BATCH, int(ends[-1])))
            yield rows.take(pa.array(np.searchsorted(ends, places, side="right")))


def _numbers(batch: Any, name: str) -> Any:
    """A column as an array; Arrow's own conversion would import pandas wherever that is there."""
    import numpy as np

    return np.from_dlpack(batch.column(name))


def _typed(batches: Batches, encoder: Encoder) -> Batches:
    """Batches of the table in which every value is one that the engine can read."""
    for batch in batches:
        read = readable_batch(batch, encoder.marks)
        yield read if read.schema.equals(encoder.takes) else read.cast(encoder.takes)


# ── the engine of a task ─────────────────────────────────────────────────────────────────────────


@contextmanager
def _rows(encoder: Encoder, batches: Batches) -> Iterator[Any]:
    """What the SQL tells of the rows of some batches, to be fetched meanwhile."""
    import duckdb
    import pyarrow as pa

    with spill_folder() as spill:
        config: dict[str, Any] = {
            "threads": 1,
            "memory_limit": encoder.memory,
            "temp_directory": str(spill),
            "autoinstall_known_extensions": False,
            "allow_community_extensions": False,
        }
        connection = duckdb.connect(":memory:", config=config)
        try:
            for setting in encoder.settings:
                connection.execute(setting)
            # A stream is read once: where SQL asks twice, rows are kept meanwhile.
            source = pa.RecordBatchReader.from_batches(encoder.takes, batches)
            connection.register("hush_source", source)
            once = encoder.sql.count("hush_rows") == 1
            kind = "TEMP VIEW" if once else "TEMP TABLE"
            connection.execute(f"CREATE {kind} hush_rows AS SELECT * FROM hush_source")
            for name, listed in encoder.lists.items():
                connection.register(name, listed)
            given = None if encoder.salt is None else {"salt": encoder.salt}
            yield connection.sql(f"SELECT * FROM ({encoder.sql})", params=given)
        finally:
            connection.close()


@contextmanager
def _in_silence() -> Iterator[None]:
    """Let a task fail without a word about why."""
    try:
        yield
    except Exception:
        raise_alone(RuntimeError("a part of the table could not be counted"))


def _version() -> str:
    """The version of DuckDB here, if there is one."""
    try:
        import duckdb
    except ImportError:
        return "none"
    return str(duckdb.__version__)


def _place() -> int:
    """Which task of its stage this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())

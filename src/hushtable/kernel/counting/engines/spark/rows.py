"""Coded rows that stay in Spark: tasks count the tables that are asked for, and these come back.

Tables that are known beforehand are counted while the rows are encoded, and no row is kept. Else
Spark keeps the coded rows as parcels, by a local checkpoint: it has no more to do with the table,
which others may change meanwhile, nor with what other runs keep of it, and no part that is lost is
made again. (What is persisted is known by its plan: Spark reads it again for whoever inserts rows
into the table, and shares it among all that ask the same.) The first to look at the rows tells the
owner their view (`parcels.py`), which is a digest of the runs of tasks that they were made by.
Whoever counts them later compares it with the view of what is there then: a part of which two
runs of a task left a copy is not taken for the other, since noise may have been drawn by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from hushtable.arrays import Integers, available_memory
from hushtable.errors import OptionError
from hushtable.kernel.counting.away import Counts, RowsAway
from hushtable.kernel.counting.encoding.bound import narrow_kinds
from hushtable.kernel.counting.encoding.statement import Select
from hushtable.kernel.counting.engines.spark import tasks
from hushtable.kernel.counting.engines.spark.count import (
    GONE_PROBLEM,
    PARTS,
    Plan,
    added_up,
    attempts,
    is_whole,
    lost,
    opened_until,
    payloads,
    planned,
    sent,
    sums,
    working,
)
from hushtable.kernel.counting.engines.spark.parcels import Receiver
from hushtable.kernel.counting.engines.spark.sessions import drop_checkpoint, leaving
from hushtable.schema import Schema

_AT_ONCE = 2**22  # cells that a task lays out
_CELL = 24  # bytes of an occupied cell: its code among those of all tables and of one, its count
_NO_TABLES = tasks.Tables((), ())


def known_tables(
    data: Any, schema: Schema, select: Select, salt: str, wanted: Sequence[Sequence[Any]]
) -> list[Counts]:
    """The joint counts of a table's rows by each tuple of views, all of one reading."""
    cells = sum(map(_cells, wanted))
    _check_memory(cells)
    if cells > _AT_ONCE:
        with kept_rows(data, schema, select, salt) as rows:
            return list(rows.tables(wanted))
    send = tasks.sending_tables(_tables(schema, wanted))
    with ExitStack() as held:
        frame = opened_until(held, data, schema)
        with working(frame):
            plan = planned(frame, schema, select, salt, send, PARTS, sums())
            return list(_apart(wanted, *added_up(plan)))


def _check_memory(cells: int) -> None:
    """Refuse tables that would not fit beside their noise, if no cell of theirs were empty."""
    needed, free = _CELL * cells, available_memory() // 2
    if needed > free:
        raise OptionError(
            f"tables that are counted in Spark may take {needed / 2**30:,.1f} GiB of memory here,"
            f" and {free / 2**30:,.1f} GiB are for them: ask for fewer or smaller ones"
        )


@contextmanager
def kept_rows(data: Any, schema: Schema, select: Select, salt: str) -> Iterator[KeptRows]:
    """The coded rows of a table, which Spark keeps meanwhile."""
    with ExitStack() as held:
        frame = opened_until(held, data, schema)
        with working(frame):
            rows = _kept(planned(frame, schema, select, salt, tasks.send_rows), schema, held)
        yield rows


def _kept(plan: Plan, schema: Schema, held: ExitStack) -> KeptRows:
    """Let Spark keep what tasks send, and look at all of it once."""
    for receiver in attempts(1):
        with ExitStack() as torn:
            rows = KeptRows(sent(plan).localCheckpoint(), schema, plan.gives)
            torn.callback(rows.let_go)
            if rows.look(receiver):
                held.push(torn.pop_all())
                return rows
    raise lost()


class KeptRows(RowsAway):
    """Coded rows that Spark keeps, in the state in which they were first looked at."""

    def __init__(self, frame: Any, schema: Schema, gives: Any) -> None:
        self.shape = schema.shape
        self._frame, self._schema, self._gives, self._view = frame, schema, gives, b""

    def look(self, receiver: Receiver) -> bool:
        """Look at all rows for the first time; whether they are of one evaluation."""
        look = tasks.following(None, 1, tasks.sending_tables(_NO_TABLES, self._gives))
        list(payloads(Plan(self._frame, (look,)), receiver))
        self._view = receiver.seen
        return is_whole(receiver)

    def let_go(self) -> None:
        """Have Spark keep them no longer."""
        with leaving(self._frame.sparkSession):
            drop_checkpoint(self._frame)
            self._frame = None

    def tables(self, wanted: Sequence[Sequence[Any]]) -> Iterator[Counts]:
        for some in _portions(wanted):
            send = tasks.sending_tables(_tables(self._schema, some), self._gives)
            count = tasks.following(None, PARTS, send, self._view)
            with working(self._frame, GONE_PROBLEM):
                found = added_up(Plan(self._frame, (count, *sums())))
            yield from _apart(some, *found)


def _tables(schema: Schema, wanted: Sequence[Sequence[Any]]) -> tasks.Tables:
    """The same tables, as tasks know them."""
    names = list(narrow_kinds(schema))
    places: dict[Any, int] = {}
    views: list[tuple[str, Any, int]] = []
    for view in (view for table in wanted for view in table):
        if view.key not in places:
            places[view.key] = len(views)
            views.append((names[view.axis], view.groups, view.size))
    tables = tuple(tuple(places[view.key] for view in table) for table in wanted)
    return tasks.Tables(tuple(views), tables)


def _portions(wanted: Sequence[Sequence[Any]]) -> Iterator[Sequence[Sequence[Any]]]:
    """A few tables at a time: as many cells as a task lays out at once, or one table."""
    first, cells = 0, 0
    for place, views in enumerate(wanted):
        cells += _cells(views)
        if cells > _AT_ONCE and place > first:
            yield wanted[first:place]
            first, cells = place, _cells(views)
    if first < len(wanted):
        yield wanted[first:]


def _apart(wanted: Sequence[Sequence[Any]], codes: Integers, counts: Integers) -> Iterator[Counts]:
    """Tables that lie one behind the other, each by itself; of no views it has one cell."""
    ends = [0, *accumulate(map(_cells, wanted))]
    cuts = np.searchsorted(codes, ends)
    for place, views in enumerate(wanted):
        part = slice(cuts[place], cuts[place + 1])
        shape = tuple(view.size for view in views) or (1,)
        yield Counts(shape, codes[part] - ends[place], counts[part])


def _cells(views: Sequence[Any]) -> int:
    return prod(view.size for view in views)

"""A frame that takes the place of Spark's: it runs tasks here, one after the other, moves parcels
between them, and loses what it is told to lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from slow_encoding import make

from hushtable.kernel.counting.engines.spark import count as spark_count
from hushtable.kernel.counting.engines.spark import rows as spark_rows
from hushtable.kernel.counting.engines.spark import tasks
from hushtable.kernel.counting.readers.readable import readable

SALT = "5a17" * 8
REDUCERS = 3
ATTRIBUTES = (
    {"name": "town", "kind": "nominal", "values": ["north", "south"]},
    {"name": "age", "kind": "ordinal", "range": [0, 99]},
)
PLAIN = make(*ATTRIBUTES)
BOUNDED = make(*ATTRIBUTES, unit={"column": "id", "max_rows": 2})
COUNTED = make(*ATTRIBUTES, counts={"column": "id", "most": 50})

Part = Callable[[], list[Any]]
Loss = dict[tuple[Any, int], int]
"""Before a stage's reader begins, the results of a task are lost, and it runs again; before a part
of what is kept is read, it is lost, if that is told of the stage "kept"."""


KEPT: list[Any] = []
"""The frames that are kept now."""


class Frame:
    """Does for tasks what Spark's frame does: runs them, and moves what they send by its bucket."""

    sparkSession = None

    def __init__(self, parts: list[Part], running: list[int], lost: Loss, stage: int = 0) -> None:
        self._parts, self._running, self._lost, self._stage = parts, running, lost, stage

    def mapInArrow(self, task: tasks.Task, fields: str) -> Frame:
        return Frame([self._run(task, i) for i in range(len(self._parts))], *self._rest())

    def _run(self, task: tasks.Task, place: int) -> Part:
        def run() -> list[Any]:
            batches = self._parts[place]()
            self._running[:] = [place]
            return list(task(iter(batches)))

        return run

    def repartition(self, column: str) -> Frame:
        kept: list[list[Any]] = []

        def part(reader: int) -> Part:
            def read() -> list[Any]:
                if not kept:
                    kept.extend(run() for run in self._parts)
                lost = self._lost.pop((self._stage, reader), None)
                if lost is not None:
                    kept[lost] = self._parts[lost]()
                return [self._mine(batch, reader) for sent in kept for batch in sent]

            return read

        moved = [part(reader) for reader in range(REDUCERS)]
        return Frame(moved, self._running, self._lost, self._stage + 1)

    def _mine(self, batch: Any, reader: int) -> Any:
        mine = [i for i, b in enumerate(batch["bucket"].to_pylist()) if b % REDUCERS == reader]
        return batch.take(pa.array(mine, pa.int64()))

    def localCheckpoint(self) -> Frame:
        """What is kept is worked out at once, and not made again when it was lost."""
        kept = {place: part() for place, part in enumerate(self._parts)}

        def part(place: int) -> Part:
            def read() -> list[Any]:
                if self._lost.pop(("kept", place), None) is not None:
                    del kept[place]
                return kept[place]

            return read

        frame = Frame([part(place) for place in range(len(self._parts))], *self._rest())
        KEPT.append(frame)
        return frame

    def toLocalIterator(self) -> Iterator[tuple[Any, ...]]:
        for part in self._parts:
            for batch in part():
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _rest(self) -> tuple[list[int], Loss, int]:
        return self._running, self._lost, self._stage


def given(part: Any) -> Part:
    return lambda: part.to_batches(max_chunksize=100)


class SparkFrame(Frame):
    """A frame that counting takes for one of Spark."""

    def __init__(self, frame: Frame) -> None:
        self.__dict__ = frame.__dict__


SparkFrame.__module__, SparkFrame.__name__ = "pyspark.sql.dataframe", "DataFrame"


def table(rows: int, seed: int = 1) -> Any:
    source = np.random.default_rng(seed)
    towns = np.array(["north", "south", "elsewhere"])[source.integers(0, 3, rows)]
    ages, ids = source.integers(-5, 105, rows), source.integers(-1, max(rows // 3, 1), rows)
    return pa.table({"town": pa.array(towns, pa.string()), "age": ages, "id": ids})


def split(whole: Any, parts: int) -> list[Any]:
    return [whole.take(list(range(i, whole.num_rows, parts))) for i in range(parts)]


def frames(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Parts of a table as a frame; some of its tasks may run again."""
    running = [0]
    monkeypatch.setattr(tasks, "_place", lambda: running[0])
    monkeypatch.setattr(spark_count, "send_by_value", lambda: None)
    monkeypatch.setattr(spark_count, "held_session", lambda frame: nullcontext())
    monkeypatch.setattr(spark_count, "spark_frame", lambda frame, columns: nullcontext(frame))
    monkeypatch.setattr(spark_rows, "drop_checkpoint", KEPT.remove)
    types = readable(table(0), ["town", "age", "id"], ["id"]).schema
    monkeypatch.setattr(spark_count, "declared_types", lambda frame, columns, ids: types)

    def frame(*parts: Any, lost: Loss | None = None) -> Any:
        runs = [part if callable(part) else given(part) for part in parts]
        return SparkFrame(Frame(runs, running, {} if lost is None else lost))

    return frame

"""Count on a small cluster whose executors are killed meanwhile; run by test_spark.py.

One table has other rows whenever it is read, and always as many; another has the same ones. Prints
how often they were counted, and what was found, as JSON: for an executor that dies when some parts
have been added up, and takes along what the others need; for one that dies while rows are read; and
for one that takes along rows that were to be kept.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.shared_spark import settings, spark_environment

from hushtable.errors import DataError
from hushtable.kernel.counting import RowsAway, count_table, held_rows
from hushtable.kernel.counting.engines.spark import count as spark_count
from hushtable.kernel.counting.engines.spark import sessions, tasks
from hushtable.kernel.curator import View
from hushtable.schema import Schema

ROWS = 20_000
PARTS = 4
SALT = "5a17" * 8


def other_rows(part: Callable[[], None]) -> Callable[..., Iterator[Any]]:
    """As many rows as there were, of other values each time; when they are read, more happens."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import secrets

        import pyarrow as pa

        for batch in batches:
            values = [secrets.randbelow(1000) for _ in range(len(batch))]
            yield pa.record_batch({"v": pa.array(values, pa.int64())})
        part()

    return rows


def same_rows(part: Callable[[], None]) -> Callable[..., Iterator[Any]]:
    """Rows of persons, of whom each has some; when they are read, more happens."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield made(batch["id"].to_numpy())
        part()

    def made(numbers: Any) -> Any:
        import pyarrow as pa

        persons, values = numbers // 7 % 2000, numbers * numbers % 1009
        return pa.record_batch({"person": pa.array(persons), "v": pa.array(values)})

    rows.made = made  # type: ignore[attr-defined]
    return rows


def dies_once(flag: str, place: int) -> Callable[[], None]:
    """End the executor of the last task, the first time that it comes here, once Spark knows that
    the others are done (`told`): what they did lies on both executors."""

    def die() -> None:
        import os
        import signal
        import time
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        if context.partitionId() < place or Path(f"{flag}-known").exists():
            return
        new = Path(f"{flag}-new")
        new.write_text(str(context.stageId()))
        new.rename(f"{flag}-stage")
        while not Path(f"{flag}-known").exists():
            time.sleep(0.1)
        daemon = int(Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])
        os.kill(daemon, signal.SIGKILL)
        time.sleep(60)

    return die


@contextmanager
def told(session: Any, flag: str, place: int) -> Iterator[None]:
    """Meanwhile, tell the task that is to die when all others of its stage are done."""
    done = threading.Event()

    def watch() -> None:
        tracker, stage = session.sparkContext.statusTracker(), Path(f"{flag}-stage")
        while not done.wait(0.1):
            info = tracker.getStageInfo(int(stage.read_text())) if stage.exists() else None
            if info is not None and info.numCompletedTasks >= place:
                Path(f"{flag}-known").touch()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def counted(frame: Any, schema: Schema) -> tuple[int, Any]:
    """How often a frame was counted, and its cells."""
    times: list[int] = []

    class Receiver(spark_count.Receiver):
        def __init__(self, parts: int) -> None:
            super().__init__(parts)
            times.append(1)

    with_receiver, spark_count.Receiver = spark_count.Receiver, Receiver  # type: ignore[misc]
    found = count_table(frame, schema, salt=SALT)
    spark_count.Receiver = with_receiver  # type: ignore[misc]
    return len(times), found


def kept(session: Any, schema: Schema, folder: Path) -> str:
    """What becomes of a table of rows that are kept, once an executor is gone."""
    numbers = session.range(ROWS, numPartitions=PARTS)
    view = View(0, np.arange(1000))
    with held_rows(numbers.mapInArrow(other_rows(lambda: None), "v long"), schema) as rows:
        assert isinstance(rows, RowsAway)
        first = rows.table([view])
        die = other_rows(dies_once(f"{folder}/kept", PARTS - 1))
        with told(session, f"{folder}/kept", PARTS - 1):
            numbers.mapInArrow(die, "v long").write.format("noop").mode("overwrite").save()
        try:
            again = rows.table([view])
        except DataError as problem:
            return str(problem)
        same = np.array_equal(first.codes, again.codes)
        return "same" if same and np.array_equal(first.counts, again.counts) else "others"


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    attribute = {"name": "v", "kind": "ordinal", "range": [0, 999], "outside": "drop"}
    said = {"name": "t", "budget": "1", "attribute": [attribute]}
    schema = Schema.from_dict(said)
    bounded = Schema.from_dict(said | {"unit": {"column": "person", "max_rows": 2}})
    # Newer versions can find out by themselves that what they compute again is different.
    for name in [name for name in sessions.SETTINGS if "Checksum" in name]:
        sessions.SETTINGS[name] = "false"
    spark_count.BUCKETS = 4 * PARTS
    given = settings(folder)
    given |= {
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # each of the two has work to do
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.shuffle.partitions": str(PARTS),
    }
    del given["spark.plugins"]
    with spark_environment(folder):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        session = builder.config(map=given).getOrCreate()
        send, die = tasks.send_sums, dies_once(f"{folder}/adding", PARTS - 1)

        def sums(payloads: Any, sender: Any, buckets: int) -> Iterator[Any]:
            yield from send(payloads, sender, buckets)
            die()

        tasks.send_sums = sums
        numbers = session.range(ROWS, numPartitions=PARTS)
        others = numbers.mapInArrow(other_rows(lambda: None), "v long")
        with told(session, f"{folder}/adding", PARTS - 1):
            times, adding = counted(others, schema)
        tasks.send_sums = send
        again = same_rows(dies_once(f"{folder}/reading", PARTS - 1))
        with told(session, f"{folder}/reading", PARTS - 1):
            _, reading = counted(numbers.mapInArrow(again, "person long, v long"), bounded)
        here = pa.table(again.made(np.arange(ROWS)))  # type: ignore[attr-defined]
        after = kept(session, schema, folder)
        session.stop()
    there = count_table(here, bounded, salt=SALT)
    found = {
        "adding": {"times": times, "rows": int(adding.counts.sum())},
        "reading": {
            "rows": int(reading.counts.sum()),
            "as in DuckDB": np.array_equal(reading.codes, there.codes)
            and np.array_equal(reading.counts, there.counts),
        },
        "kept": after,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

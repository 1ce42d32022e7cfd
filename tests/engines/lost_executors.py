"""Count on a small cluster whose executors are killed meanwhile; run by test_spark.py.

The table has other rows whenever it is read, and always as many. Prints how often it was counted,
and how many rows were, as JSON: for an executor that dies when some parts have been added up, and
takes along what the others need, and for one that dies while rows are read.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.shared_spark import settings, spark_environment

from hushtable.kernel.counting import count_table
from hushtable.kernel.counting.engines.spark import count as spark_count
from hushtable.kernel.counting.engines.spark import sessions, tasks
from hushtable.schema import Schema

ROWS = 20_000
PARTS = 4


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


def dies_once(flag: str, place: int) -> Callable[[], None]:
    """End the executor of the last task, the first time that it comes here, behind the others."""

    def die() -> None:
        import os
        import signal
        import time
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        done = [Path(f"{flag}-{other}") for other in range(place)]
        if context.partitionId() < place:
            done[context.partitionId()].touch()
        elif not Path(flag).exists():
            while not all(other.exists() for other in done):
                time.sleep(0.1)
            time.sleep(3)  # what the others did is known by then, and lies on both executors
            Path(flag).touch()
            daemon = int(Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])
            os.kill(daemon, signal.SIGKILL)
            time.sleep(60)

    return die


def counted(session: Any, schema: Schema, part: Callable[[], None]) -> dict[str, int]:
    times: list[int] = []

    class Receiver(spark_count.Receiver):
        def __init__(self, parts: int) -> None:
            super().__init__(parts)
            times.append(1)

    with_receiver, spark_count.Receiver = spark_count.Receiver, Receiver  # type: ignore[misc]
    rows = session.range(ROWS, numPartitions=PARTS)
    found = count_table(rows.mapInArrow(other_rows(part), "v long"), schema)
    spark_count.Receiver = with_receiver  # type: ignore[misc]
    return {"times": len(times), "rows": int(found.counts.sum())}


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    attribute = {"name": "v", "kind": "ordinal", "range": [0, 999], "outside": "drop"}
    schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": [attribute]})
    # Newer versions can find out by themselves that what they compute again is different.
    for name in [name for name in sessions.SETTINGS if "Checksum" in name]:
        sessions.SETTINGS[name] = "false"
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
        found = {"adding": counted(session, schema, lambda: None)}
        tasks.send_sums = send
        found["reading"] = counted(session, schema, dies_once(f"{folder}/reading", 3))
        session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

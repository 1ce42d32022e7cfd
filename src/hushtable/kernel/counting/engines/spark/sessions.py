"""Sessions of Spark: opened to count one table, or the owner's own, kept silent meanwhile.

Spark prints by itself what goes wrong, in words that may quote values: from Java, from its Python
side, and from its workers. A session that we open has nothing to print to; of the owner's, what can
be turned off is, while we count.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.silence import raise_alone

_LOGGERS = (
    *("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging"),
    *("py4j", "py4j.java_gateway", "py4j.clientserver"),
)
_SHUFFLE = "spark.sql.shuffle.orderIndependentChecksum"
SETTINGS = {
    # Spark looks, where it can, whether what it shuffles a second time is what it was: our own
    # shuffles are sealed, and this is for those in the frame itself, a join for instance.
    f"{_SHUFFLE}.enabled": "true",
    f"{_SHUFFLE}.enableFullRetryOnMismatch": "true",
    # Parcels are long rows: so many bytes are handed to a task at once.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**24),
}
"""Of a session while it counts; versions that do not know one of them ignore it."""
_LOCAL = "local[*]"
_TRIES = 4  # to reach a server, within some seconds


@contextmanager
def opened_session(address: str | None) -> Iterator[Any]:
    """A session on a cluster, or on this machine where no address is given; it ends with its use.

    An address is one of a cluster (spark://host:7077) or of Spark Connect (sc://host:15002).
    """
    connect = address is not None and address.lower().startswith("sc://")
    session = _connected(str(address)) if connect else _started(address or _LOCAL)
    try:
        yield session
    finally:
        with _no_output(), leaving(session):
            session.stop()


def _connected(address: str) -> Any:
    with _no_warnings():
        try:
            from pyspark.sql.connect.session import SparkSession
        except ImportError:
            raise_alone(_missing())
        try:
            session = SparkSession.builder.remote(address).create()
            with _impatient(session):
                session.range(1).count()
        except Exception:
            raise_alone(
                DataError("there is no Spark Connect server at this address, or it lets nobody in")
            )
    return session


@contextmanager
def _impatient(session: Any) -> Iterator[None]:
    """Wait some seconds for a server of Spark Connect; by default, it would be ten minutes."""
    if not is_connect(session):
        yield
        return
    from pyspark.sql.connect.client.retries import DefaultPolicy

    patient = session.client.get_retry_policies()
    session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])
    try:
        yield
    finally:
        session.client.set_retry_policies(patient)


def _started(master: str) -> Any:
    """A classic session, whose Java prints nothing; Python runs as here, where that is possible."""
    with _no_warnings():
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise_alone(_missing())
        if SparkSession.getActiveSession() is not None:
            raise OptionError("a Spark session is open here already: give its own table or frame")
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        if master.startswith("local"):
            settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        builder = SparkSession.builder.master(master).appName("hushtable")
        try:
            with _no_output():
                session = builder.config(map=settings).getOrCreate()
        except Exception:
            raise_alone(
                DataError(
                    "Spark could not be started: it needs Java 17 or 21 (set JAVA_HOME), and the"
                    " cluster's address, if one is given, must be right"
                )
            )
    return session


def _missing() -> OptionError:
    return OptionError("Spark is not installed here: pip install 'hushtable[spark]'")


@contextmanager
def _no_output() -> Iterator[None]:
    """Let what is started meanwhile print nothing, as long as it runs."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for number, _ in kept:
            os.dup2(nothing, number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(nothing)


# ── while a table is counted ─────────────────────────────────────────────────────────────────────


@contextmanager
def held_session(frame: Any) -> Iterator[None]:
    """Count in the session of a frame: in silence, and what runs is stopped if we are."""
    session = frame.sparkSession
    tag = f"hushtable-{secrets.token_hex(8)}"
    with _no_warnings(), _no_words(), _no_log(session), _settings(session):
        session.addTag(tag)
        try:
            yield
        except BaseException:
            with suppress(Exception):
                session.interruptTag(tag)
            raise
        finally:
            with suppress(Exception):
                session.removeTag(tag)


@contextmanager
def leaving(session: Any) -> Iterator[None]:
    """Tidy up: perhaps all is published by then, so that whatever stops this has stopped nothing
    else, and a cluster that is gone is not waited for."""
    with suppress(Exception, KeyboardInterrupt), _no_warnings(), _no_words(), _impatient(session):
        yield


def drop_checkpoint(frame: Any) -> None:
    """Let Spark drop the local checkpoint of a frame.

    A server of Spark Connect does so in its own time, once nobody here refers to the frame.
    """
    if not is_connect(frame.sparkSession):
        frame._jdf.queryExecution().logical().rdd().unpersist(False)


@contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _no_words() -> Iterator[None]:
    """Turn off what the Python side of Spark logs, with whole queries and values in it."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


@contextmanager
def _no_log(session: Any) -> Iterator[None]:
    """Turn off Java's log where it is on this machine; over Spark Connect, it is the server's.

    A local session of the owner runs this Python in its tasks, unless another was asked for.
    """
    if is_connect(session):
        yield
        return
    context = session.sparkContext
    log4j = context._jvm.org.apache.logging.log4j
    level, python = log4j.LogManager.getRootLogger().getLevel(), context.pythonExec
    configure = log4j.core.config.Configurator
    try:
        configure.setRootLevel(log4j.Level.OFF)
        if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable
        yield
    finally:
        context.pythonExec = python
        with suppress(Exception):
            configure.setRootLevel(level)


@contextmanager
def _settings(session: Any) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            with suppress(Exception):
                session.conf.unset(name) if kept is None else session.conf.set(name, kept)


def is_connect(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(session).__module__

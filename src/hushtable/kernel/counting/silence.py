"""Errors that carry nothing of the data: engines quote values in what they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from hushtable.errors import DataError, HushError


class EngineError(DataError):
    """The engine failed; why, it said in words that may quote values."""


def raise_alone(problem: Exception) -> NoReturn:
    """Raise an error in the place of the one that is being handled, which is forgotten.

    `raise … from None` hides the other error from tracebacks, but keeps it as the context.
    """
    try:
        raise problem
    finally:
        problem.__context__ = None


@contextmanager
def silent_engine(problem: str) -> Iterator[None]:
    """Replace whatever an engine says by one line of ours: its own text may quote values."""
    try:
        yield
    except HushError:
        raise
    except Exception:
        raise_alone(EngineError(problem))


def hide_progress(engine: Any) -> None:
    """Let the engine show no bar: how long a query takes is nobody's business, and it would be
    printed among our own output.

    A notebook without widgets has none, and lets nobody set it.
    """
    ((shown,),) = engine.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if shown:
        engine.execute("SET enable_progress_bar = false")

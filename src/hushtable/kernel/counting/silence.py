"""Errors that carry nothing of the data: engines quote values in what they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

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

"""How whatever refuses something says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hushtable.errors import HushError


@contextmanager
def refused(kind: type[HushError], *words: str) -> Iterator[None]:
    """One line, of this kind, with all these words."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message and "Traceback" not in message
    assert all(word in message for word in words), message

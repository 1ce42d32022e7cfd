"""Which cases of a test `make test` runs, and which only `make check`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_of(cases: Iterable[Any], always: Collection[Any]) -> list[Any]:
    """All cases for a parameter; those that are not always tried are marked as thorough."""
    return [
        case if case in always else pytest.param(case, marks=pytest.mark.thorough) for case in cases
    ]

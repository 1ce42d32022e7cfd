"""A cache that nobody can put a wrong value into.

What a function returned is remembered under its arguments, and found again by any that are equal.
Numbers of a caller's own kind can be equal to ours and yet compute otherwise, so that only results
for plain arguments are kept, whose value nobody else decides.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

_PLAIN = (int, bool, str, bytes, Fraction, Decimal)


def remembered(most: int) -> Callable[[Callable[_Given, _Found]], Callable[_Given, _Found]]:
    """Keep up to so many results of a function of plain numbers, text and tuples of them."""

    def wrap(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
        cached = lru_cache(maxsize=most)(function)

        @wraps(function)
        def found(*given: _Given.args, **named: _Given.kwargs) -> _Found:
            if _plain(given) and _plain(tuple(named.values())):
                return cached(*given, **named)  # type: ignore[arg-type]  # all of them hash
            return function(*given, **named)

        return found

    return wrap


def _plain(value: object) -> bool:
    if type(value) is tuple:
        return all(_plain(part) for part in value)
    return any(type(value) is kind for kind in _PLAIN)

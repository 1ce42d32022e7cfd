"""Bins of one width, as a schema may write them in the place of their edges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hushtable.errors import SchemaError

MAX_BINS = 1_000_000


def even_edges(first: Any, last: Any, width: Any) -> tuple[int | float, ...]:
    """The edges from the first to the last, each a width above the one before.

    Numbers are the decimals that they are written as, so that the third multiple of 0.1 is 0.3.

    >>> even_edges(0, 30, 10), even_edges(0, 0.3, 0.1)
    ((0, 10, 20, 30), (0, 0.1, 0.2, 0.3))
    """
    low, high, step = (_exact(number) for number in (first, last, width))
    if step <= 0 or high <= low:
        raise SchemaError("bins go from first up to last, and their width is above zero")
    count = (high - low) / step
    if count.denominator != 1:
        raise SchemaError("bins: last must be a whole number of widths above first")
    if count > MAX_BINS:
        raise SchemaError(f"bins: at most {MAX_BINS:,} of them; take a larger width")
    return tuple(_number(low + i * step) for i in range(int(count) + 1))


def _exact(number: Any) -> Fraction:
    if isinstance(number, float) and math.isfinite(number):
        return Fraction(repr(number))
    if isinstance(number, bool) or not isinstance(number, int):
        raise SchemaError("bins: first, last and width must be numbers")
    return Fraction(number)


def _number(exact: Fraction) -> int | float:
    return int(exact) if exact.denominator == 1 else float(exact)

"""Python's own values as text, one by one, as columns of objects in pandas hold them.

Values that are equal have one text, or one person's id would be several people's. So only types
whose equality is known here have a text; any other value is a missing one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

_MOST_DIGITS = 4000  # of a number; Python writes no more than 4300


def value_text(value: Any) -> str | None:
    """A value as text; None is a missing one, or one that has no text."""
    return _first_text(value, _plain_text, _time_text)


def id_text(value: Any) -> str | None:
    """An id as text, bytes in hexadecimal; None for times too, which are refused as ids."""
    if isinstance(value, bool | np.bool_):  # True == 1: one person
        value = int(value)
    return _first_text(value, _plain_text, _bytes_text)


def _first_text(value: Any, *ways: Callable[[Any], str | None]) -> str | None:
    try:
        # NaN and NaT are not equal to themselves; asking pandas' NA raises.
        if value is None or value != value:
            return None
        texts = (way(value) for way in ways)
        return next((text for text in texts if text is not None), None)
    except Exception:  # an array has no truth value, a huge integer no text
        return None


def _plain_text(value: Any) -> str | None:
    if isinstance(value, str):  # a class of its own may print itself otherwise
        text = str.__str__(value)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.timedelta64):  # an integer to numpy, a span to everybody else
        return None
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating | Decimal | Fraction):
        return _number_text(value)
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return str(value) if is_day or isinstance(value, UUID) else None


def _time_text(value: Any) -> str | None:
    """A time, in UTC if it has a zone; a time of day; a period or interval of pandas as printed."""
    if isinstance(value, datetime):
        return str(value if value.tzinfo is None else value.astimezone(UTC))
    if isinstance(value, time):  # an offset without a day is none
        return str(value) if value.tzinfo is None else None
    import pandas as pd  # which is there if the value is one of its own

    if isinstance(value, np.datetime64):
        return _time_text(pd.Timestamp(value))
    return str(value) if isinstance(value, pd.Period | pd.Interval) else None


def _bytes_text(value: Any) -> str | None:
    """Bytes in hexadecimal, marked so that they are no number's text and nobody's name."""
    if isinstance(value, memoryview) and value.format != "B":
        return None  # compared by what its bytes stand for
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    return f"x'{bytes(value).hex()}'" if is_bytes else None


def _number_text(value: Any) -> str | None:
    """One text for equal numbers: of an integer, else of a float, else of the exact decimal."""
    if value in (math.inf, -math.inf):  # a float of it would say so of large decimals too
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Decimal) and not _is_short(value):
        return None
    exact = Fraction(*value.as_integer_ratio())
    if exact.denominator == 1:
        return str(exact.numerator)
    try:
        nearest = float(exact)
    except OverflowError:
        return _decimal_text(exact)
    return repr(nearest) if Fraction(nearest) == exact else _decimal_text(exact)


def _is_short(value: Decimal) -> bool:
    """Whether a decimal can be written without an exponent, which may be as large as it likes."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent >= -_MOST_DIGITS and value.adjusted() <= _MOST_DIGITS


def _decimal_text(exact: Fraction) -> str:
    """All digits of a number, or its ratio if they have no end."""
    rest, places = exact.denominator, 0
    while rest > 1 and (shared := math.gcd(rest, 10)) > 1:
        rest //= shared
        places += 1
    if rest > 1:
        return str(exact)
    digits = str(abs(exact.numerator) * 10**places // exact.denominator).zfill(places + 1)
    return f"{'-' * (exact < 0)}{digits[:-places]}.{digits[-places:]}"

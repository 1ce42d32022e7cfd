"""The values of a workbook's cells, each by its own type and format."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

_EXACT = 2**53  # below which floats tell integers apart
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")  # a character that XML cannot hold
_TRUTH = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, repr=False)
class CellReader:
    """What a workbook says of its cells: the texts they share, and which formats show times."""

    strings: Sequence[str | None]
    times: Mapping[str, str]
    """For a number of a style that shows times: date, time, datetime or span."""
    since_1904: bool = False

    @classmethod
    def of(
        cls,
        strings: Sequence[str | None],
        styles: Sequence[int],
        formats: Mapping[int, str],
        *,
        since_1904: bool,
    ) -> CellReader:
        """From the number of each style's format, and the formats that the workbook adds."""
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        known = {**BUILTIN_FORMATS, **formats}
        shown = {str(i): _time_shown(known.get(style)) for i, style in enumerate(styles)}
        times = {style: kind for style, kind in shown.items() if kind is not None}
        return cls(strings, times, since_1904)

    def value(self, kind: str, style: str, text: str) -> Any:
        """The value of a cell; None where it is an error, or not what its type says."""
        try:
            match kind:
                case "n":
                    return self._number(style, text.strip())
                case "s":
                    return _plain(self.strings[_index(text)])
                case "str" | "inlineStr":
                    return _plain(text)
                case "b":
                    return _TRUTH.get(text.strip().lower())
                case "d":
                    return datetime.fromisoformat(text.strip())
        except (ValueError, LookupError, ArithmeticError):
            return None
        return None

    def _number(self, style: str, text: str) -> Any:
        """A number, or the time that it is shown as.

        Workbooks hold floats. Large numbers are read exactly all the same, however they are
        written: ids that differ must not become one, and one must not become two. What is too large
        for a float is none.
        """
        shown = self.times.get(style)
        if shown is not None:
            return self._time(shown, float(text))
        number = float(text)
        if abs(number) < _EXACT:
            return number
        return Decimal(text) if math.isfinite(number) else None

    def _time(self, shown: str, number: float) -> Any:
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

        if shown == "span":
            return None
        time = from_excel(number, MAC_EPOCH if self.since_1904 else WINDOWS_EPOCH)
        is_day = shown == "date" and number.is_integer() and isinstance(time, datetime)
        return time.date() if is_day else time


def _index(text: str) -> int:
    index = int(text)
    if index < 0:  # it would count from the end
        raise LookupError
    return index


def _plain(text: str | None) -> str | None:
    return None if text is None else _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _time_shown(code: str | None) -> str | None:
    """What a format shows a number as, if it is a time."""
    from openpyxl.styles.numbers import is_date_format, is_datetime, is_timedelta_format

    if code is None or not is_date_format(code):
        return None
    shown: str | None = "span" if is_timedelta_format(code) else is_datetime(code.lower())
    return shown

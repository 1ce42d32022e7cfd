"""Where an attribute's values come from: a column of the table, and what of it counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from hushtable.errors import SchemaError

Part = Literal["hour", "weekday", "month", "quarter", "year", "date"]
PARTS: tuple[Part, ...] = get_args(Part)

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PART_NUMBERS = {"hour": (0, 23), "month": (1, 12), "quarter": (1, 4)}
"""The first and the last number of those parts of a moment that come round again."""

DECIMALS = (".", ",")
MAX_PREFIX = 200
MAX_ZONE = 100

# As the names of the time zone database are written, none of which is the machine's own zone.
_ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")


@dataclass(frozen=True)
class Origin:
    """The column that an attribute is read from, and the part of its values that counts.

    A zone is a name of the time zone database. Only its form is checked here: whoever opens a
    release may have no such database, and needs none.
    """

    column: str | None = None
    """None is the column of the attribute's own name."""
    part: Part | None = None
    zone: str | None = None
    prefix: int | None = None
    decimal: str | None = None
    """The decimal mark of amounts as people write them, with a currency and separators."""

    def __post_init__(self) -> None:
        if self.part is not None and self.part not in PARTS:
            raise SchemaError(f"part must be one of {', '.join(PARTS)}")
        if self.zone is not None and not _is_zone_name(self.zone):
            raise SchemaError("zone must be the name of a time zone, such as 'America/New_York'")
        if self.decimal is not None:
            self._check_decimal()
        if self.prefix is None:
            return
        if isinstance(self.prefix, bool) or not isinstance(self.prefix, int):
            raise SchemaError("prefix must be a whole number of characters")
        if not 1 <= self.prefix <= MAX_PREFIX:
            raise SchemaError(f"prefix must be at least 1 and at most {MAX_PREFIX} characters")
        if self.part is not None or self.zone is not None:
            raise SchemaError("prefix is for codes, part and zone are for times: give one")

    def _check_decimal(self) -> None:
        if self.decimal not in DECIMALS:
            raise SchemaError("decimal must be '.' as in $1,234.50, or ',' as in 1.234,50 €")
        if any(other is not None for other in (self.part, self.zone, self.prefix)):
            raise SchemaError("decimal is for amounts: give no part, zone or prefix beside it")


OWN_COLUMN = Origin()
"""An attribute that is a column as it stands."""


def check_zone(zone: str) -> None:
    """Refuse a time zone that this machine's database does not know; without one, none."""
    from difflib import get_close_matches
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        if known:
            close = get_close_matches(zone, known, n=1, cutoff=0.8)
            hint = f"did you mean {close[0]!r}?" if close else "write it like 'America/New_York'"
            raise SchemaError(f"there is no time zone {zone!r}; {hint}") from None


def _is_zone_name(zone: object) -> bool:
    return isinstance(zone, str) and len(zone) <= MAX_ZONE and bool(_ZONE.fullmatch(zone))

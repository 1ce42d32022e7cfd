"""What an answer has to know about its error, and how confidences are read and shared."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

from hushtable.errors import QueryError


@runtime_checkable
class NoiseLaw(Protocol):
    """What an answer has to know about its noise, which is symmetric about zero."""

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        ...

    @property
    def estimate(self) -> bool:
        """Whether intervals are estimates, which may hold less often than they say.

        Where this is false an interval is a promise: over releases, the truth lies in it at least
        as often as its confidence says.
        """
        ...

    def half_width(self, confidence: float) -> float:
        """The smallest t with P[|noise| ≤ t] ≥ confidence."""
        ...


class SkewedLaw(NoiseLaw, Protocol):
    """A law with a longer side; its half width is that of the longer one."""

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far an interval of this confidence reaches below the value, and how far above."""
        ...


class EndsLaw(NoiseLaw, Protocol):
    """A law that knows the ends of intervals, which may be infinite, instead of margins."""

    def ends(self, confidence: float) -> tuple[float, float]:
        """The ends of an interval of this confidence, whatever the value is."""
        ...


def farther_end(value: float, ends: tuple[float, float]) -> float:
    """How far an interval reaches from a value, which need not be in its middle: value ± this has
    all of it. From what is not a number, nothing is near."""
    low, high = ends
    return math.inf if math.isnan(value) else max(value - low, high - value)


def margins_of(law: NoiseLaw, confidence: float) -> tuple[float, float]:
    """How far an interval reaches below the value, and how far above."""
    sides = getattr(type(law), "margins", None)  # a check of the whole protocol takes far longer
    if sides is not None:
        below, above = sides(law, checked_confidence(confidence))
        return below, above
    half = law.half_width(confidence)
    return half, half


def checked_confidence(confidence: float) -> float:
    """The confidence as a float strictly between 0 and 1, or a `QueryError`."""
    try:
        value = float(confidence)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < 1:
        raise QueryError(f"confidence must lie strictly between 0 and 1, not {confidence!s:.40}")
    return value


def simultaneous(confidence: float, rows: int) -> float:
    """The confidence each of many intervals needs for all to hold at once (Bonferroni).

    Valid however the rows depend on one another.
    """
    miss = (1 - checked_confidence(confidence)) / max(rows, 1)
    each = 1 - miss
    each = each if 1 - each <= miss else math.nextafter(each, 1)  # rounded upwards
    if each == 1:
        raise QueryError(f"{rows:,} intervals cannot all hold so surely; ask for less confidence")
    return each

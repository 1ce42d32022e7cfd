"""Noise on a vast domain, one stretch of its places after another.

Noise on places is independent, and rules look at one place at a time: drawn stretch by stretch, a
summary has the law it has at once, with the memory that one stretch needs. How many there are and
where they begin follows from the number of places alone, and never from a table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hushtable.kernel.maps.rules import Held

_MOST = 256  # a stretch without anything takes some 40 µs
_LEAST = 2**22  # places of a stretch, below which memory is no matter


def number_of_stretches(domain: int) -> int:
    """Into how many stretches so many places are cut."""
    return max(min(_MOST, domain // _LEAST), 1)


def borders(domain: int) -> list[int]:
    """Where the stretches begin, and where the last one ends."""
    number = number_of_stretches(domain)
    return [domain * i // number for i in range(number + 1)]


def stretches(held: Held) -> Iterator[tuple[int, Held]]:
    """The first place of each stretch, and what is held there, with places counted from it."""
    ends = borders(held.domain)
    cuts = np.searchsorted(held.places, np.array(ends)).tolist()
    for i, start in enumerate(ends[:-1]):
        here = slice(cuts[i], cuts[i + 1])
        yield start, Held(held.places[here] - start, held.values[here], ends[i + 1] - start)

"""Rows that are held elsewhere, of which only joint counts of a few columns come here.

A table that is asked for is named by views, each an axis and a group for each of its codes, as in
`joint`; of no views at all, it is the number of rows. Each row is in one cell of each table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError


@dataclass(frozen=True, repr=False)
class Counts:
    """The non-empty cells of a table: each one's linear code (last attribute fastest) and count.

    The cells stand in the order of their codes.
    """

    shape: tuple[int, ...]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


class RowsAway(ABC):
    """Coded rows that are counted where they are."""

    shape: tuple[int, ...]

    @abstractmethod
    def tables(self, wanted: Sequence[Sequence[Any]]) -> Iterator[Counts]:
        """The joint counts of the rows by each tuple of views, one after the other."""

    def table(self, views: Sequence[Any]) -> Counts:
        """The joint counts by one tuple of views."""
        (found,) = self.tables([views])
        return found


class KnownTables(RowsAway):
    """Tables that were counted before anybody asked; there are no others."""

    def __init__(
        self, shape: tuple[int, ...], wanted: Iterable[Sequence[Any]], found: Iterable[Counts]
    ) -> None:
        self.shape = shape
        self._found = {_key(views): table for views, table in zip(wanted, found, strict=True)}

    def tables(self, wanted: Sequence[Sequence[Any]]) -> Iterator[Counts]:
        for views in wanted:
            if _key(views) not in self._found:
                raise OptionError("a table is asked for that was not counted")
            yield self._found[_key(views)]


def _key(views: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(view.key for view in views)

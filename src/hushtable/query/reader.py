"""What a release needs of whatever answers from its measurements, and what some offer besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw

if TYPE_CHECKING:
    import pyarrow


ReadBox = Callable[..., NDArray[Any]]
"""Reads the box that slices, one per axis, cut out of the matrix."""


class LazyLaws(Sequence[NoiseLaw]):
    """Laws that are worked out when they are first looked at, by their numbers."""

    def __init__(self, number: int, law: Callable[[int], NoiseLaw]) -> None:
        self._number, self._law = number, law
        self._known: dict[int, NoiseLaw] = {}

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, place: int) -> NoiseLaw: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[NoiseLaw]: ...

    def __getitem__(self, place: int | slice) -> NoiseLaw | Sequence[NoiseLaw]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(self._number)[place])
        number = range(self._number)[place]
        if number not in self._known:
            self._known[number] = self._law(number)
        return self._known[number]


class RowErrors(Protocol):
    """The errors of all rows of an answer, worked out together; no interval is an estimate."""

    @property
    def variances(self) -> Floats:
        """The variance of each row's error."""

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The ends of all rows' intervals."""


class LawTable(LazyLaws):
    """The laws of rows one by one, and what tells all of them at once."""

    def __init__(self, number: int, law: Callable[[int], NoiseLaw], together: RowErrors) -> None:
        super().__init__(number, law)
        self.together = together


class SharedLaws(LazyLaws):
    """Very many laws one by one, and the figures of any of them at once, by their numbers.

    No interval is an estimate. Half widths of many at once may be a little larger than each by
    itself, never smaller.
    """

    def __init__(
        self,
        number: int,
        law: Callable[[int], NoiseLaw],
        variances: Callable[[Integers], Floats],
        half_widths: Callable[[Integers, float], Floats],
    ) -> None:
        super().__init__(number, law)
        self.variances, self.half_widths = variances, half_widths


@dataclass(frozen=True)
class Estimates:
    """The answers to a group of questions: values, and the law of each one's noise."""

    values: NDArray[Any]
    laws: Sequence[NoiseLaw]
    """The distinct laws, or hardly more; perhaps not worked out yet (`LazyLaws`) …"""
    law_of_row: NDArray[np.intp]
    """… and which of them each row has."""

    def only(self) -> tuple[float, NoiseLaw]:
        """The one answer, where nothing was grouped."""
        return self.values[0].item(), self.laws[self.law_of_row[0]]


class Answering(Protocol):
    """What answers single questions and groups of them."""

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The count of disjoint boxes, and the law of its noise."""

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The counts of disjoint boxes cut by groups of codes along some axes."""


class NotingReader(Answering, Protocol):
    """What answers questions, and says from what."""

    @property
    def note(self) -> str:
        """Where its values and errors come from."""


class Reader(NotingReader, Protocol):
    """What answers questions from the stored measurements of one family of mechanisms."""

    @property
    def estimate(self) -> bool:
        """Whether some of its intervals are estimates, which may hold less often than they say."""

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes; reads no data."""

    def cells(self) -> NDArray[Any]:
        """The count of every cell."""

    def fresh_cells(self) -> NDArray[Any]:
        """The count of every cell, in memory of its own and wide enough for sums."""

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells."""

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes."""


@runtime_checkable
class RangeReader(Protocol):
    """A reader that answers many boxes at once without laying out the domain."""

    def ranges(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The counts of many boxes, and their noise variances."""


@runtime_checkable
class IntervalReader(Protocol):
    """A reader with a way of its own to the intervals of many boxes."""

    def range_intervals(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], confidence: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The counts of many boxes, and the ends of their intervals."""


@runtime_checkable
class OptionalReader(Protocol):
    """A reader that knows several ways to read the same measurements."""

    def reading(self, **options: Any) -> Reader:
        """The same measurements, read in another way."""


@runtime_checkable
class TablesReader(Protocol):
    """A reader of several small tables, which answers what is inside one of them."""

    @property
    def table_names(self) -> tuple[str, ...]:
        """The attributes of each table, such as `age+sex`."""

    @property
    def first_cell(self) -> Boxes:
        """A cell of the first table."""


@runtime_checkable
class ModelReader(Protocol):
    """A reader that can also answer what its measurements do not tell, by a model of them."""

    def estimating(self) -> Answering:
        """The same answers where measurements tell them, and estimates of all others."""


@runtime_checkable
class RowReader(Protocol):
    """A reader that has a way of its own to draw rows."""

    @property
    def total(self) -> float:
        """The number of rows, noisy."""

    def batches(self, rows: int, seed: int | None) -> Iterator[pyarrow.RecordBatch]:
        """Rows in batches, at least one, in flat memory."""

"""Partitions: disjoint parts of the domain, chosen by the schema or by what is already public.

A partition is a function from cells to parts, so that a row is in one part at the most: one row's
arrival changes one part's count by one, whatever the partition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import OptionError
from hushtable.kernel.maps.squared import SquaredChange

Codes = tuple[NDArray[Any], ...]

MOST_CELLS = 2**24
"""The largest joint table that is ever counted."""


class Partition(Protocol):
    """Disjoint parts of a domain; cells outside all of them are in part −1."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The domain it divides."""

    @property
    def parts(self) -> int:
        """How many parts there are."""

    def part_of(self, codes: Codes) -> NDArray[np.int64]:
        """The part of each cell, given as one array of codes per attribute."""


def squared_change(partition: Partition) -> SquaredChange:
    """What one row changes in squares: one count by one; two, if it moves and there are two."""
    return SquaredChange(Fraction(1), Fraction(min(2, partition.parts)))


class Regions:
    """Parts given cell by cell: an array over the whole domain of part numbers, −1 for none."""

    def __init__(self, labels: ArrayLike, parts: int | None = None) -> None:
        self._labels = part_numbers(labels)
        self._parts = _number_of_parts([self._labels], parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._labels.shape

    @property
    def parts(self) -> int:
        return self._parts

    def part_of(self, codes: Codes) -> NDArray[np.int64]:
        return self._labels[codes]


class Grid:
    """Parts given attribute by attribute: combinations of groups of codes.

    `groups[i][code]` is the group of a code of attribute i, or −1 to leave its cells out. Groups
    that run from 0 to g−1 along each axis make Π g parts, the last attribute's fastest.
    """

    def __init__(self, groups: Sequence[ArrayLike]) -> None:
        self._groups = tuple(part_numbers(group) for group in groups)
        if not self._groups or any(group.ndim != 1 for group in self._groups):
            raise OptionError("a grid has one list of groups for each attribute")
        self._sizes = tuple(_number_of_parts([group], None) for group in self._groups)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(group) for group in self._groups)

    @property
    def parts(self) -> int:
        return math.prod(self._sizes)

    def part_of(self, codes: Codes) -> NDArray[np.int64]:
        part = np.zeros(len(codes[0]), np.int64)
        outside = np.zeros(len(codes[0]), bool)
        for group, size, code in zip(self._groups, self._sizes, codes, strict=True):
            along = group[code]
            part = part * size + along
            outside |= along < 0
        part[outside] = -1
        return part


@dataclass(frozen=True, slots=True)
class Whole:
    """The partition with a single part: everything."""

    shape: tuple[int, ...]

    @property
    def parts(self) -> int:
        return 1

    def part_of(self, codes: Codes) -> NDArray[np.int64]:
        return np.zeros(len(codes[0]), np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """An attribute seen at some level: the group of each of its codes."""

    axis: int
    groups: NDArray[np.int64]
    size: int = field(init=False)
    key: tuple[int, bytes] = field(init=False)

    def __post_init__(self) -> None:
        groups = part_numbers(self.groups)
        if groups.ndim != 1 or int(groups.min(initial=0)) < 0 or not len(groups):
            raise OptionError("a view has a group for every code")
        for name, value in (
            ("groups", groups),
            ("size", int(groups.max()) + 1),
            ("key", (self.axis, groups.tobytes())),
        ):
            object.__setattr__(self, name, value)


class Marginal:
    """The cells of a table of some attributes, each at its level; the last attribute's fastest."""

    def __init__(self, shape: tuple[int, ...], views: Sequence[View]) -> None:
        self._shape = tuple(shape)
        self._views = tuple(views)
        check_views(self._shape, self._views)
        if len({view.axis for view in self._views}) < len(self._views):
            raise OptionError("a marginal has each attribute once")
        if self.parts > MOST_CELLS:
            raise OptionError(f"a marginal has at most {MOST_CELLS:,} cells")

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def views(self) -> tuple[View, ...]:
        """The attributes, in the order of the table's axes."""
        return self._views

    @property
    def parts(self) -> int:
        return math.prod(view.size for view in self._views)

    def part_of(self, codes: Codes) -> NDArray[np.int64]:
        part = np.zeros(len(codes[0]), np.int64)
        for view in self._views:
            part *= view.size
            part += view.groups[codes[view.axis]]
        return part


def check_views(shape: tuple[int, ...], views: Sequence[View]) -> None:
    """Refuse views that are not ours, or not of this domain."""
    if any(type(view) is not View for view in views):
        raise OptionError("attributes are seen through a View of hushtable.kernel.curator")
    for view in views:
        if not 0 <= view.axis < len(shape) or len(view.groups) != shape[view.axis]:
            raise OptionError("a view does not have a group for every code of its attribute")


def part_numbers(labels: ArrayLike) -> NDArray[np.int64]:
    # A copy of our own: a partition that changes between two calls would not be a function.
    try:
        numbers = np.array(labels)
    except ValueError:  # lists of different lengths
        raise OptionError("a partition is given by whole numbers in a regular array") from None
    if numbers.dtype.kind not in "iu":
        raise OptionError("a partition is given by whole numbers")
    numbers = numbers.astype(np.int64)
    numbers.setflags(write=False)
    return numbers


def _number_of_parts(labels: Sequence[NDArray[np.int64]], parts: int | None) -> int:
    top = max((int(group.max(initial=-1)) for group in labels), default=-1) + 1
    if min((int(group.min(initial=0)) for group in labels), default=0) < -1 or top < 1:
        raise OptionError("part numbers run from 0, with −1 for cells in no part")
    if parts is not None and type(parts) is not int:
        raise OptionError("the number of parts is a whole number")
    if parts is not None and parts < top:
        raise OptionError(f"the partition has part {top - 1}, beyond the {parts} declared")
    return top if parts is None else parts

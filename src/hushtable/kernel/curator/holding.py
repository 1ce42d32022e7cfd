"""The true data as the curator holds it: rows or cells, summed over parts or laid out densely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import on_every_core
from hushtable.errors import OptionError
from hushtable.kernel.counting import CodedColumns, Counts, RowsAway
from hushtable.kernel.counting.joint import count_rows
from hushtable.kernel.curator.partition import Codes, Marginal, Partition, View, Whole

Holding = Counts | CodedColumns | RowsAway

_CHUNK = 2**20


def part_counts(data: Holding, partition: Partition) -> NDArray[np.int64]:
    """How many rows are in each part."""
    if isinstance(data, RowsAway):
        table = data.table(_views_of(partition))
        return dense_counts(table, table.shape).reshape(-1)
    totals = np.zeros(partition.parts, np.int64)
    for codes, rows in _chunks(data):
        part = partition.part_of(codes)
        inside = part >= 0
        np.add.at(totals, part[inside], rows[inside])
    return totals


def dense_counts(data: Holding, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The count of every cell of the domain, in the first corner of an array of some shape."""
    dense = np.zeros(shape, np.int64)
    if isinstance(data, Counts):
        _lay_out(data, dense)
    elif isinstance(data, CodedColumns):
        count_rows(data, dense)
    else:
        raise _away()
    return dense


def projected(data: Holding, views: Sequence[View]) -> Holding:
    """The same rows, each seen through some views alone: one row stays one row."""
    if isinstance(data, RowsAway):
        return data.table(views)
    shape = tuple(view.size for view in views)
    if isinstance(data, CodedColumns):
        columns = tuple(_seen(data.columns[view.axis], view) for view in views)
        return CodedColumns(shape, columns, data.people)
    along = np.unravel_index(data.codes, data.shape)
    codes = np.ravel_multi_index([view.groups[along[view.axis]] for view in views], shape)
    distinct, place = np.unique(codes, return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    np.add.at(counts, place, data.counts)
    return Counts(shape, distinct.astype(np.int64), counts)


def _views_of(partition: Partition) -> Sequence[View]:
    """The views by which rows that are away can be counted in the parts of a partition."""
    if isinstance(partition, Whole):
        return ()
    if isinstance(partition, Marginal):
        return partition.views
    raise _away()


def _away() -> OptionError:
    return OptionError("of rows that are held elsewhere, only tables of attributes are counted")


def _seen(column: NDArray[Any], view: View) -> NDArray[Any]:
    """A column of codes as a column of groups, of the narrowest type; itself, where none differ."""
    if view.size == len(view.groups) and np.array_equal(view.groups, np.arange(view.size)):
        return column
    return np.asarray(view.groups.astype(np.min_scalar_type(view.size - 1))[column])


def _lay_out(data: Counts, dense: NDArray[np.int64]) -> None:
    """Write each count to its place, on every core: codes are distinct, so none meets another."""
    flat = dense.reshape(-1)

    def write(first: int) -> None:
        codes = data.codes[first : first + _CHUNK]
        flat[_relocated(codes, data.shape, dense.shape)] = data.counts[first : first + _CHUNK]

    on_every_core(write, range(0, len(data.codes), _CHUNK))


def _relocated(
    codes: NDArray[np.int64], shape: tuple[int, ...], room: tuple[int, ...]
) -> NDArray[np.int64]:
    """The linear codes of cells in a larger array in whose first corner their own stands.

    An axis that grows pushes whatever stands before it outwards: by the room it gains, as many
    times as there are rows of it before the cell.
    """
    places = codes
    rows, space = 1, 1  # the cells of a row along this axis, and the room behind the axis
    for size, wide in zip(reversed(shape[1:]), reversed(room[1:]), strict=True):
        rows *= size
        if size != wide:
            places = places + codes // rows * ((wide - size) * space)
        space *= wide
    return places


def split_data(data: Holding, partition: Partition) -> list[Holding]:
    """The rows of each part, as holdings over the same domain."""
    part = np.concatenate(
        [np.zeros(0, np.int64), *(partition.part_of(codes) for codes, _ in _chunks(data))]
    )
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(partition.parts + 1))
    return [_taken(data, order[ends[i] : ends[i + 1]]) for i in range(partition.parts)]


def _taken(data: Holding, rows: NDArray[np.intp]) -> Holding:
    if isinstance(data, Counts):
        return Counts(data.shape, data.codes[rows], data.counts[rows])
    assert isinstance(data, CodedColumns)
    people = None if data.people is None else data.people[rows]
    return CodedColumns(data.shape, tuple(column[rows] for column in data.columns), people)


def _chunks(data: Holding) -> list[tuple[Codes, NDArray[np.int64]]]:
    """The held rows piece by piece: their codes by attribute, and how many rows each stands for."""
    if isinstance(data, Counts):
        return [
            (np.unravel_index(data.codes[i : i + _CHUNK], data.shape), data.counts[i : i + _CHUNK])
            for i in range(0, len(data.codes), _CHUNK)
        ]
    if isinstance(data, RowsAway):
        raise _away()
    people = data.people_of_rows()
    return [
        (tuple(column[i : i + _CHUNK] for column in data.columns), people[i : i + _CHUNK])
        for i in range(0, len(people), _CHUNK)
    ]

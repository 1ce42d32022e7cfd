"""The true data as the curator holds it: rows or cells, summed over parts or laid out densely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.counting import CodedColumns, Counts
from hushtable.curator.partition import Codes, Partition

Holding = Counts | CodedColumns

_CHUNK = 2**20


def part_counts(data: Holding, partition: Partition) -> NDArray[np.int64]:
    """How many rows are in each part."""
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
        for i in range(0, len(data.codes), _CHUNK):
            # Codes are distinct, so that no count is written over.
            places = _relocated(data.codes[i : i + _CHUNK], data.shape, shape)
            dense.reshape(-1)[places] = data.counts[i : i + _CHUNK]
    else:
        for codes, rows in _chunks(data):
            np.add.at(dense, codes, rows)
    return dense


def _relocated(
    codes: NDArray[np.int64], shape: tuple[int, ...], room: tuple[int, ...]
) -> NDArray[np.int64]:
    """The linear codes of cells in a larger array in whose first corner their own stands."""
    if shape == room:
        return codes
    places, stride = np.zeros_like(codes), 1
    for size, space in zip(reversed(shape), reversed(room), strict=True):
        codes, along = np.divmod(codes, size)
        places += along * stride
        stride *= space
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
    return CodedColumns(data.shape, tuple(column[rows] for column in data.columns))


def _chunks(data: Holding) -> list[tuple[Codes, NDArray[np.int64]]]:
    """The held rows piece by piece: their codes by attribute, and how many rows each stands for."""
    if isinstance(data, Counts):
        return [
            (np.unravel_index(data.codes[i : i + _CHUNK], data.shape), data.counts[i : i + _CHUNK])
            for i in range(0, len(data.codes), _CHUNK)
        ]
    return [
        (
            tuple(column[i : i + _CHUNK] for column in data.columns),
            np.ones(len(data.columns[0][i : i + _CHUNK]), np.int64),
        )
        for i in range(0, len(data.columns[0]), _CHUNK)
    ]

"""Linear maps along every axis of a large array: slab by slab, on every core.

The last axes, as many as a core's share of the cache holds, are transformed together in one slab
before the next is touched; each earlier axis then takes one pass, in tiles of adjacent columns.
Maps along different axes commute, so those that change the length come first: they move the slab to
where the others go on in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import cores, on_every_core

# Values of a slab: the cores' slabs, in and out, fit the last cache together.
_SLAB = 1 << 20
# Columns of a tile: long enough for the memory, short enough for the nearest cache.
_TILE = 1 << 10

Array = NDArray[Any]


@dataclass(frozen=True)
class AxisMap:
    """The map along one axis, as a function of the middle axis of slabs."""

    run: Callable[[Array, Array, int, int], None]
    before: int
    after: int
    in_place: bool
    idle: bool


def apply(maps: Sequence[AxisMap], source: Array, out: Array | None) -> Array:
    """Map the last axes slab by slab, then each earlier one tile by tile.

    The result is in `out` where the shape allows it; `out` may be the source, which is then lost.
    """
    split = _split([max(one.before, one.after) for one in maps])
    shape = (*source.shape[:split], *(one.after for one in maps[split:]))
    stays = all(one.in_place for one in maps[split:])
    if out is not None and out.shape == shape and (stays or out is not source):
        result = out
    else:
        result = np.empty(shape, np.float64 if out is None else out.dtype)
    _run_slabs(maps[split:], source, result, split)
    for axis in reversed(range(split)):
        one, before = maps[axis], result
        if not one.in_place:
            shape = (*before.shape[:axis], one.after, *before.shape[axis + 1 :])
            result = np.empty(shape, before.dtype)
        if not one.idle:
            _run_tiles(one, before, result, axis)
    return result


def apply_within(maps: Sequence[AxisMap], room: Array) -> None:
    """Map along all axes within one memory, in whose first corner the values stand."""
    split = _split(room.shape)
    lines = room.reshape(-1, *room.shape[split:])
    corner = (slice(None), *(slice(one.before) for one in maps[split:]))
    grows = not all(one.in_place for one in maps[split:])

    def run(part: slice) -> None:
        values = lines[part][corner].copy() if grows else lines[part]
        _run_slab(maps[split:], values, lines[part])

    on_every_core(run, _parts(len(lines), lines[0].size))
    for axis in reversed(range(split)):
        if not maps[axis].idle:
            _run_tiles(maps[axis], room, room, axis)


def _split(lengths: Sequence[int]) -> int:
    """The first of the last axes that make up a slab: at least the last one alone."""
    split = len(lengths) - 1
    while split > 0 and math.prod(lengths[split - 1 :]) <= _SLAB:
        split -= 1
    return split


def _run_slabs(maps: Sequence[AxisMap], source: Array, target: Array, split: int) -> None:
    lines = math.prod(source.shape[:split])
    source = source.reshape(lines, *source.shape[split:])
    target = target.reshape(lines, *target.shape[split:])
    on_every_core(
        lambda part: _run_slab(maps, source[part], target[part]), _parts(lines, source[0].size)
    )


def _parts(lines: int, size: int) -> list[slice]:
    """Runs of lines that make up a slab each, and enough of them for every core."""
    together = max(min(_SLAB // size, lines // (2 * cores())), 1)
    return [slice(first, min(first + together, lines)) for first in range(0, lines, together)]


def _run_slab(maps: Sequence[AxisMap], source: Array, target: Array) -> None:
    """All maps on one slab: first those that move it, then those that stay in place."""
    moving = [i for i, one in enumerate(maps) if not one.in_place]
    block = source.astype(target.dtype, copy=False) if moving else source
    for i in moving:
        shape = (*block.shape[: i + 1], maps[i].after, *block.shape[i + 2 :])
        goal = target if i == moving[-1] else np.empty(shape, target.dtype)
        maps[i].run(_lines(block, i + 1), _lines(goal, i + 1), 0, math.prod(shape[i + 2 :]))
        block = goal
    if not moving and (source.dtype != target.dtype or not np.may_share_memory(source, target)):
        np.copyto(target, source)  # through a copy, where integers become floats in one memory
    for i, one in enumerate(maps):
        if one.in_place and not one.idle:
            view = _lines(target, i + 1)
            one.run(view, view, 0, view.shape[2])


def _run_tiles(one: AxisMap, source: Array, target: Array, axis: int) -> None:
    """One map on an early axis, in tiles of columns; a source that has room is its own target."""
    lines, goals = _lines(source, axis), _lines(target, axis)
    columns, width = lines.shape[2], max(_TILE, _SLAB // 8 // lines.shape[1])

    def run(tile: tuple[int, int]) -> None:
        line, first = slice(tile[0], tile[0] + 1), tile[1]
        last = min(first + width, columns)
        if one.in_place or source is not target:
            one.run(lines[line], goals[line], first, last)
        else:
            block = np.ascontiguousarray(lines[line, : one.before, first:last])
            goal = np.empty((1, one.after, last - first), target.dtype)
            one.run(block, goal, 0, last - first)
            goals[line, :, first:last] = goal

    on_every_core(run, [(line, c) for line in range(len(lines)) for c in range(0, columns, width)])


def _lines(array: Array, axis: int) -> Array:
    """A view with the axis in the middle of three."""
    return array.reshape(math.prod(array.shape[:axis]), array.shape[axis], -1)

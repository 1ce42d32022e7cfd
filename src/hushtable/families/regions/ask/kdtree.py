"""A kd-tree on noisy cells: boxes of similar cells, and the noisy count of each.

Y. Xiao, L. Xiong, C. Yuan. Differentially private data release through multidimensional
partitioning. Secure Data Management 2010.

| paper                            | here                                                      |
|----------------------------------|-----------------------------------------------------------|
| cell histogram, α₁               | `noisy_cells`, `--set alpha1=…`                           |
| kd-tree partitioning of its cells| `kd_boxes`                                                |
| when to split, and where         | where it explains most squares, if more than noise would  |
| histogram of the partitions      | `second_histogram`                                        |

Deviations. A box is cut where the means of both sides explain most of the squares of its noisy
cells, and only if they explain `threshold` times the variance of the noise, which cuts of equal
cells hardly ever do. Answers are the posteriors of `ispe`: they rest on both histograms, and do not
take the cells of a box for equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.families.about import Settings
from hushtable.families.regions.about import KDTREE, SPLIT
from hushtable.families.regions.ask.growing import (
    Split,
    check_regions,
    noisy_cells,
    reading,
    second_histogram,
)
from hushtable.kernel.curator import Curator
from hushtable.release.store import Content
from hushtable.schema import Schema

SHARE = Fraction(9, 10)

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class KdTree:
    """Noisy cells, and noisy counts of the boxes that a kd-tree of them has."""

    name: str = KDTREE.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        KDTREE.check(settings, schema)
        check_regions(self.name, schema, Split.of(settings, epsilon, SHARE))

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        split = Split.of(settings, epsilon, SHARE)
        cells = noisy_cells(curator, schema, split)
        threshold = _threshold(schema, settings)
        regions = numbered(
            kd_boxes(cells.values, threshold * cells.noise.variance), cells.values.shape
        )
        told = {"threshold": threshold, "neighbours": "codes", **reading(settings)}
        return second_histogram(curator, cells, regions, split, told)


def _threshold(schema: Schema, settings: Settings) -> float:
    """Among m cuts of equal cells the best explains about 2·ln m times the noise's variance."""
    given = SPLIT.given(settings)
    return 2 * math.log(max(schema.cells, 2)) + 4 if given is None else given


def kd_boxes(noisy: NDArray[np.int64], least: float) -> Iterator[Slices]:
    """The leaves of a kd-tree whose every cut explains more squares than `least`."""
    pending: list[Slices] = [tuple(slice(0, size) for size in noisy.shape)]
    while pending:
        box = pending.pop()
        axis, place, gain = _best_cut(noisy[box])
        if gain <= max(least, 0.0):
            yield box
            continue
        cut = box[axis].start + place
        for half in (slice(cut, box[axis].stop), slice(box[axis].start, cut)):
            pending.append((*box[:axis], half, *box[axis + 1 :]))


def _best_cut(values: NDArray[np.int64]) -> tuple[int, int, float]:
    """The axis and place at which a box is best cut in two, and what that explains.

    With a sum s over n of the N cells, of sum S, on one side: (N·s − n·S)² / (N·n·(N − n)).
    """
    best = (0, 0, 0.0)
    for axis, size in enumerate(values.shape):
        if size < 2:
            continue
        others = tuple(i for i in range(values.ndim) if i != axis)
        slabs = values.sum(axis=others, dtype=np.float64)
        share = np.arange(1, size) / size
        sums = np.cumsum(slabs)
        away = sums[:-1] - share * sums[-1]
        gains = away**2 / (share * (1 - share) * values.size)
        place = int(np.argmax(gains))
        if gains[place] > best[2]:
            best = (axis, place + 1, float(gains[place]))
    return best


def numbered(boxes: Iterator[Slices], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of the box that each cell is in."""
    regions = np.empty(shape, np.int64)
    for i, box in enumerate(boxes):
        regions[box] = i
    return regions


MECHANISMS = (KdTree(),)

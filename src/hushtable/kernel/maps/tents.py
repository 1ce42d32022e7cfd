"""Every count, and sums of counts under overlapping tents on two nested grids.

What the strategy of p-Identity (R. McKenna, G. Miklau, M. Hay, A. Machanavajjhala. Optimizing error
of high-dimensional statistical queries under differential privacy. PVLDB 11(10), 2018) comes to for
all ranges of an axis, in closed form and in integers.

| p-Identity                       | here                                                         |
|----------------------------------|--------------------------------------------------------------|
| strategy [I; Θ]·D, columns of    | [diag(b₀); B], integers ≥ 0 whose columns add up to `height`,|
| sum 1                            | which is the sensitivity: noise has one scale                |
| Θ, optimised                     | heights of tents at the codes, the same for every workload   |
| reconstruction by least squares  | `families.linear.tents_reading`                              |

The axis is mapped onto 0 … coarse − 1 and a margin of 5/4 on either side, a little more densely
towards the ends. A coarse tent stands at each of these whole numbers, of height 1 and half width 1;
a fine one at every multiple of 1/fine, margins included, of height 4/5 and half width 1/fine. So a
code lies under at most two tents of either grid, side by side. Where single codes are asked too,
lower tents are better (`peaks`), and for prefixes a smaller margin on the left (`left`). All of
this is arithmetic on integers: whoever has the numbers has the same matrix.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.axis import ScaleClass, check_size
from hushtable.kernel.maps.squared import Pair, not_outdone

LONGEST = 2**18
"""Of longer axes, adjacent codes would have one place on the grid."""
MOST_TENTS = 1024
SMALLEST_HEIGHT, LARGEST_HEIGHT = 16, 2**12
PEAKS, MARGIN = (20, 16), 5
LARGEST_PEAK = 40
"""So that a code keeps 16/(1 + 2 + 2) of its column at least, less four roundings by a half."""

# So many codes are compared, each with all others.
_FEW_CODES = 64

# Places along the axis are whole multiples of one part in this many of the distance of two tents.
_UNIT = 2**20


class Columns(NamedTuple):
    """The matrix, column by column: what a code counts by itself, and under which tents."""

    own: Integers
    """How much of each code its own coefficient holds."""
    tents: Integers
    """Four for each code, a row each: the two of either grid, which never decrease."""
    weights: Integers
    """How much of the code each of them holds; nothing, where there is no such tent."""


@dataclass(frozen=True)
class Tents:
    """A coefficient for every code, then one for every tent."""

    size: int
    coarse: int
    fine: int = 0
    """Tents of the fine grid for each of the coarse one; none if this is 0."""
    height: int = 256
    """What every column adds up to: larger ones are nearer to the best real numbers."""
    peaks: tuple[int, int] = PEAKS
    """How high coarse and fine tents are, in twentieths of what a code counts by itself."""
    left: int = MARGIN
    """The margin on the left in quarters; with less than on the right, the axis is not bent."""

    kind = "tents"
    in_place = False

    def __post_init__(self) -> None:
        check_size(self.size, LONGEST)
        if type(self.coarse) is not int or type(self.fine) is not int:
            raise OptionError("the numbers of tents are whole numbers")
        if not (1 <= self.coarse <= MOST_TENTS and 0 <= self.fine <= MOST_TENTS):
            raise OptionError(f"tents need 1 to {MOST_TENTS} coarse ones, each with 0 or more")
        if not all(type(peak) is int and 1 <= peak <= LARGEST_PEAK for peak in self.peaks):
            raise OptionError(f"tents are 1 to {LARGEST_PEAK} twentieths high")
        if type(self.left) is not int or not 0 <= self.left <= MARGIN:
            raise OptionError(f"tents have a margin of 0 to {MARGIN} quarters on the left")
        if self.number > MOST_TENTS:
            raise OptionError(f"there are at most {MOST_TENTS} tents along an axis")
        if type(self.height) is not int or not SMALLEST_HEIGHT <= self.height <= LARGEST_HEIGHT:
            raise OptionError(
                f"columns of tents add up to {SMALLEST_HEIGHT} … {LARGEST_HEIGHT}, a whole number"
            )

    @property
    def grid(self) -> range:
        """Where fine tents stand, in parts of the distance of two coarse ones."""
        last = (self.coarse - 1) * self.fine + MARGIN * self.fine // 4
        return range(-(self.left * self.fine // 4), last + 1)

    @property
    def number(self) -> int:
        """How many tents there are."""
        return self.coarse + (len(self.grid) if self.fine else 0)

    @property
    def coefficients(self) -> int:
        return self.size + self.number

    @cached_property
    def levels(self) -> int:
        """One row of a code changes the coefficients by its column, which has no negative entry.

        It is added up from the integers that `forward` applies.
        """
        return int((self.columns.own + self.columns.weights.sum(axis=0)).max())

    @property
    def overlap(self) -> Fraction:
        """Nothing that two codes would always share: those far apart are under no common tent."""
        return Fraction(0)

    @property
    def agreement(self) -> Fraction:
        return self.overlap

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Two codes share what stands under the same tents, which is never below zero.

        The code that changes most shares nothing with those far from it. Beside the one of these
        that changes most, two codes may only differ by more if both change more than that one does.
        Along usual axes there are few of them, if any. Many are taken for two codes that change
        most and share nothing, which no two codes outdo.
        """
        own, tents, weights = self.columns
        squares = own**2 + (weights**2).sum(axis=0)
        first = int(squares.argmax())
        most = Fraction(int(squares[first]))
        if self.size == 1:
            return (Pair.alike(most),)
        over_first = tents[:, first][weights[:, first] > 0]
        far = np.asarray(~(np.isin(tents, over_first) & (weights > 0)).any(axis=0))
        far[first] = False  # it may be under no tent
        farther = int(squares[far].max(initial=0))
        high = np.flatnonzero(squares > farther)
        if len(high) > _FEW_CODES:
            return (Pair(most, most, Fraction(0)),)
        under = np.zeros((len(high), self.number), np.int64)
        np.add.at(under, (np.arange(len(high)), tents[:, high]), weights[:, high])
        shared = under @ under.T
        found = [Pair(most, Fraction(farther), Fraction(0))] if far.any() else []
        for i, j in itertools.combinations(range(len(high)), 2):
            less, more = sorted((int(squares[high[i]]), int(squares[high[j]])))
            found.append(Pair(Fraction(more), Fraction(less), Fraction(int(shared[i, j]))))
        return not_outdone(found)

    @property
    def classes(self) -> tuple[ScaleClass, ...]:
        return (ScaleClass(0, self.coefficients, Fraction(1)),)

    @cached_property
    def columns(self) -> Columns:
        """The matrix that is applied."""
        place = _places(self.size, self.coarse, self.left)
        tents, heights = _under(place, 0, self.coarse - 1)
        heights = heights * self.peaks[0] // 20
        if self.fine:
            near, high = _under(place * self.fine, self.grid[0], self.grid[-1])
            tents = np.concatenate([tents, near + self.coarse])
            heights = np.concatenate([heights, high * self.peaks[1] // 20])
        whole = _UNIT + heights.sum(axis=0)
        weights = (2 * self.height * heights + whole) // (2 * whole)
        return Columns(self.height - weights.sum(axis=0), tents, weights)

    def matrix(self) -> Integers:
        rows = np.zeros((self.coefficients, self.size), np.int64)
        for code in range(self.size):
            heights = self._heights(code)
            whole = _UNIT + sum(heights)
            column = [(2 * self.height * height + whole) // (2 * whole) for height in heights]
            rows[code, code] = self.height - sum(column)
            rows[self.size :, code] = column
        return rows

    def _heights(self, code: int) -> list[int]:
        """How high each tent is above a code."""
        place = int(_places(self.size, self.coarse, self.left)[code])
        heights = [max(_UNIT - abs(place - k * _UNIT), 0) for k in range(self.coarse)]
        heights = [height * self.peaks[0] // 20 for height in heights]
        if self.fine:
            near = [max(_UNIT - abs(place * self.fine - k * _UNIT), 0) for k in self.grid]
            heights += [height * self.peaks[1] // 20 for height in near]
        return heights

    def forward(self, counts: Integers, axis: int) -> Integers:
        """The own part of every code, then the sums under the tents."""
        lines = np.moveaxis(counts, axis, 0)
        sums = np.zeros((self.coefficients, *lines.shape[1:]), counts.dtype)
        flat = (-1, *(1,) * (lines.ndim - 1))
        sums[: self.size] = self.columns.own.reshape(flat) * lines
        for tents, weights in zip(self.columns.tents, self.columns.weights, strict=True):
            np.add.at(sums, self.size + tents, weights.reshape(flat) * lines)
        return np.ascontiguousarray(np.moveaxis(sums, 0, axis))

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        kernels.tent_sums(source, target, first, last, self.columns)

    def to_dict(self) -> dict[str, Any]:
        """What is as usual is left out: older versions read it."""
        told = {"size": self.size, "coarse": self.coarse, "fine": self.fine, "height": self.height}
        peaks = {} if self.peaks == PEAKS else {"peaks": list(self.peaks)}
        left = {} if self.left == MARGIN else {"left": self.left}
        return {"kind": self.kind, **told, **peaks, **left}


def _places(size: int, coarse: int, left: int) -> Integers:
    """Where the middle of each code lies among the coarse tents, which stand one unit apart.

    With x from 0 to 1 along the axis it is (x + sin(2πx)/32)·(coarse + 3/2) − 5/4, where sin(πh) is
    Bhaskara's 16h(1 − h)/(5 − 4h(1 − h)) for h from 0 to 1. With a smaller margin on the left it is
    x·(coarse + (left + 1)/4) − left/4.
    """
    twice = 2 * np.arange(size, dtype=np.int64) + 1  # of 2·size
    where = twice * _UNIT // (2 * size)
    if left == MARGIN:
        second = twice >= size
        half = 2 * twice - 2 * size * second
        product = half * (2 * size - half) // 4  # h(1 − h), of size²
        sine = 16 * product * (_UNIT // 32) // (5 * size * size - 4 * product)
        where = where + np.where(second, -sine, sine)
    return np.asarray((where * (4 * coarse + 1 + left) - left * _UNIT) // 4)


def _under(place: Integers, first: int, last: int) -> tuple[Integers, Integers]:
    """The two tents of a grid on either side of each place, from 0, and their heights there."""
    left, beyond = place // _UNIT, place % _UNIT
    tents = np.stack([left, left + 1])
    heights = np.stack([_UNIT - beyond, beyond])
    heights[(tents < first) | (tents > last)] = 0
    return np.clip(tents, first, last) - first, heights

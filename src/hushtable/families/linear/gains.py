"""The mean gain over intervals along one axis, by class of coefficients.

The gain of an interval is the sum of the squared weights with which noise enters its count. Means
are exact, also over the n(n+1)/2 intervals of a long axis: with u(x) the weights of the sum over
the codes before x, the interval [a, b) weighs u(b) − u(a), and

    Σ_{a<b} (u(b) − u(a))² = (n + 1)·Σ u(x)² − (Σ u(x))²,

where Σ u(x) are the weights of one question: the sum of all counts, the k-th from the end k times.
"""

from __future__ import annotations

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.read.transforms import AxisReading
from hushtable.workload.intervals import AllRanges, Along, Either, Listed, some_of

# Intervals whose gains are computed at once.
_PIECE = 2**15
# Intervals that stand for all ranges of a very long axis.
_SAMPLE = 2**16
# Intervals among which the one of the largest gain is looked for.
_MOST = 2**17


def mean_gains(axis: AxisReading, along: Along) -> Floats:
    """The mean over all intervals of a set, or of a very large one over an even choice."""
    if isinstance(along, Either):
        means = np.stack([mean_gains(axis, part) for part in along.parts])
        return np.asarray(means.mean(axis=0))
    if isinstance(along, Listed):
        starts, stops = along.starts, along.stops
    elif isinstance(along, AllRanges) and along.exact:
        return _mean_over_all_ranges(axis, along.codes)
    else:
        starts, stops = some_of(along, _SAMPLE)
    return _sum_of_gains(axis, starts, stops) / len(starts)


def largest_gain(axis: AxisReading, along: Along) -> float:
    """The largest gain of an interval, where coefficients have one class: of all, or of many."""
    starts, stops = some_of(along, _MOST)
    pieces = [slice(k, k + _PIECE) for k in range(0, len(starts), _PIECE)]
    return max(float(axis.gains(starts[piece], stops[piece]).max()) for piece in pieces)


def _mean_over_all_ranges(axis: AxisReading, codes: int) -> Floats:
    ends = np.arange(1, codes + 1)
    prefixes = _sum_of_gains(axis, np.zeros(codes, np.int64), ends)
    ramp = np.zeros(axis.transform.size)
    ramp[:codes] = ends[::-1]
    squares = np.square(axis.rows(ramp))
    crossed = [squares[c.start : c.stop].sum() for c in axis.transform.classes]
    total: Floats = (codes + 1) * prefixes - np.array(crossed)
    return np.maximum(total, 0.0) / (codes * (codes + 1) // 2)


def _sum_of_gains(axis: AxisReading, starts: Integers, stops: Integers) -> Floats:
    total = np.zeros(len(axis.transform.classes))
    for k in range(0, len(starts), _PIECE):
        total += axis.gains(starts[k : k + _PIECE], stops[k : k + _PIECE]).sum(axis=0)
    return total

"""Which places a range of codes is made of, along one axis: the analyst's half of `structure`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps.structure import offsets, splits

PlaceWeights = dict[int, float]
"""Places along an axis, and how much each counts."""


def weights_of(on: str, start: int, stop: int, size: int) -> PlaceWeights:
    """The places whose weighted sum is the count of the codes start ≤ code < stop."""
    if on == "dyadic":
        return dict.fromkeys(dyadic_nodes(start, stop, size), 1.0)
    return haar_weights(start, stop, size)


def dyadic_nodes(start: int, stop: int, size: int) -> list[int]:
    """The fewest nodes that make up a range: two on a level at the most.

    >>> dyadic_nodes(0, 4, 4), dyadic_nodes(1, 4, 4)
    ([0], [4, 2])
    """
    first, found = offsets(size), []
    # Beyond the axis there is nothing: to its end is as good as to where the root would end.
    low, high = start, 1 << splits(size) if stop == size else stop
    level = 0
    while low < high:
        if low & 1:
            if low << level < size:
                found.append(first[level] + low)
            low += 1
        if high & 1:
            high -= 1
            found.append(first[level] + high)
        low, high, level = low >> 1, high >> 1, level + 1
    return found


def haar_weights(start: int, stop: int, size: int) -> PlaceWeights:
    """The weights of the total and of the differences that the ends of a range cut through."""
    weights = _prefix(stop, size)
    for place, weight in _prefix(start, size).items():
        weights[place] = weights.get(place, 0.0) - weight
    return {place: weight for place, weight in weights.items() if weight}


def haar_cell_gains(codes: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Of each code by itself, the sum of the squared weights of its count.

    Going up from the code, every difference halves the weight, and so does the sum that goes with
    it; the odd last node of a level passes up as it is.
    """
    weight, gains = np.ones(len(codes)), np.zeros(len(codes))
    for split in range(splits(size)):
        paired = (codes >> split | 1) << split < size
        weight = np.where(paired, weight / 2, weight)
        gains += np.where(paired, weight**2, 0)
    return gains + weight**2


def _prefix(end: int, size: int) -> PlaceWeights:
    """The weights of the sum over all codes before an end.

    Going up from the code at the end, `share` is the weight of the node that holds it: the half sum
    of its halves' shares, which are 0 after the end and 1 before it. A difference weighs half the
    left share less the right one.
    """
    if end == size:
        return {0: 1.0}
    share, node, weights = 0.0, end, {}
    for split in range(splits(size)):
        right = (node | 1) << split
        if right < size:
            before = float(node & 1)
            weights[right] = (1 - share if before else share) / 2
            share = (share + before) / 2
        node >>= 1
    weights[0] = share
    return {place: weight for place, weight in weights.items() if weight}

"""Choosing empty places, each with the same chance, by the gaps between them.

Ranks count the empty places from 0. From one chosen rank to the next, the number of ranks passed
over is geometric; a gap that leads beyond the last rank ends the choice. Turning a rank into its
place adds the occupied places before it. Ranks and places stay below 2^62, and a gap is compared
before it is added, so that nothing overflows. `closeness` argues how close this is to the ideal.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushtable.arrays import Integers
from hushtable.compiled import compiled
from hushtable.kernel.maps import laws
from hushtable.kernel.noise import exact
from hushtable.kernel.noise.bulk import add_draws
from hushtable.kernel.noise.entropy import Entropy
from hushtable.kernel.noise.tables import LARGEST_GAP_SCALE, gap_tables

# Gaps that are drawn at once: their memory is bounded whatever is expected.
_BLOCK = 1 << 22
_BEYOND = 1 << 62


def choose_places(occupied: Integers, domain: int, chance: Decimal, entropy: Entropy) -> Integers:
    """Choose each place that is not among the occupied ones, given in order, with this chance.

    Returns the chosen places in order.
    """
    empty = domain - len(occupied)
    if chance < laws.NEVER or empty == 0:
        return np.zeros(0, np.int64)
    ranks = _choose_ranks(empty, chance, entropy)
    _find_places(ranks, occupied)
    return ranks


def _choose_ranks(empty: int, chance: Decimal, entropy: Entropy) -> Integers:
    """Choose each of the ranks 0 … empty − 1 with this chance."""
    scale = laws.gap_scale(chance)
    blocks, last = [], -1
    while True:
        expected = (empty - 1 - last) * float(chance)
        size = min(int(expected + 4 * math.sqrt(expected)) + 16, _BLOCK)
        gaps = sample_gaps(scale, size, entropy)
        chosen, last, ended = _walk(gaps, last, empty)
        blocks.append(gaps[:chosen])
        if ended:
            return np.concatenate(blocks)


def sample_gaps(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Draw geometric gaps, P[g] ∝ exp(−g/scale); those beyond 2^62 as 2^62."""
    values = np.zeros(size, np.int64)
    if scale <= LARGEST_GAP_SCALE:
        add_draws(values, gap_tables(scale), entropy)
        return values
    # So wide that few of them fit the domain.
    for i in range(size):
        values[i] = min(exact.geometric(scale, entropy), _BEYOND)
    return values


@compiled
def _walk(gaps: Integers, last: int, empty: int) -> tuple[int, int, bool]:
    """Turn gaps into the ranks they lead to; say how many, the last, and whether that was all."""
    for i in range(len(gaps)):
        if gaps[i] >= empty - 1 - last:
            return i, last, True
        last += gaps[i] + 1
        gaps[i] = last
    return len(gaps), last, False


@compiled
def _find_places(ranks: Integers, occupied: Integers) -> None:
    """Turn ranks among the empty places, in order, into places."""
    passed = 0
    for i in range(len(ranks)):
        while passed < len(occupied) and occupied[passed] <= ranks[i] + passed:
            passed += 1
        ranks[i] += passed


@compiled
def _merge(
    left: Integers,
    left_values: Integers,
    right: Integers,
    right_values: Integers,
    places: Integers,
    values: Integers,
) -> None:
    i = j = 0
    for k in range(len(places)):
        if j == len(right) or (i < len(left) and left[i] < right[j]):
            places[k], values[k] = left[i], left_values[i]
            i += 1
        else:
            places[k], values[k] = right[j], right_values[j]
            j += 1


def merged(
    left: Integers, left_values: Integers, right: Integers, right_values: Integers
) -> tuple[Integers, Integers]:
    """Two lists of places in order made one, with their values."""
    places = np.empty(len(left) + len(right), np.int64)
    values = np.empty(len(places), np.int64)
    _merge(left, left_values, right, right_values, places, values)
    return places, values

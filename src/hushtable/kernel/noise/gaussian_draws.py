"""Draws of the discrete Gaussian law: most by one look-up, the others settled by more bits.

`gaussian` has the tables, and says why the outcome is the law; this is what is compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import compiled
from hushtable.kernel.noise.entropy import Entropy
from hushtable.kernel.noise.gaussian import GaussianTables, is_accepted
from hushtable.kernel.noise.look_up import passed

# Draws whose bits are made at once, and draws that are assembled at once, as in `bulk`.
_BLOCK = 1 << 17
_TILE = 1 << 11

# A test in doubles is believed if it is at least so clear.
_CLEAR = 2.0**-40
_TERMS = 16
_ACCEPTED, _REJECTED, _UNCLEAR = 0, 1, 2


def add_draws(values: NDArray[np.int64], tables: GaussianTables, entropy: Entropy) -> None:
    """Add draws in place to a plain array, block by block."""
    longest = min(len(values), _BLOCK)
    open_draws = np.empty(longest, dtype=np.int64)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        prefixes = np.empty(len(block), dtype=np.uint16)
        entropy.fill(prefixes)
        places = prefixes  # where a cell is one integer
        if tables.bits:
            places = np.empty(len(block), np.uint16 if tables.bits <= 16 else np.uint64)
            entropy.fill(places)
        count = _add_decided(block, prefixes, places, tables.entries, tables.bits, open_draws)
        if count:
            _add_open(block, prefixes, places, open_draws[:count], tables, entropy)


def _add_open(
    values: NDArray[np.int64],
    prefixes: NDArray[np.uint16],
    places: NDArray[np.uint16] | NDArray[np.uint64],
    open_draws: NDArray[np.int64],
    tables: GaussianTables,
    entropy: Entropy,
) -> None:
    """Settle the listed proposals with more bits, and make others for those that are rejected."""
    more = np.empty((len(open_draws), 3), dtype=np.uint64)
    entropy.fill(more)
    proposals = np.empty(len(open_draws), dtype=np.int64)
    verdicts = np.empty(len(open_draws), dtype=np.uint8)
    _settle(
        prefixes, places, open_draws, more, tables.entries, tables.thresholds, tables.origin,
        tables.cuts, tables.first, tables.bits, float(1 / (2 * tables.sigma_squared)),
        proposals, verdicts,
    )  # fmt: skip
    for i in np.flatnonzero(verdicts == _UNCLEAR).tolist():
        accepted = is_accepted(int(proposals[i]), int(more[i, 2]), tables, entropy)
        verdicts[i] = _ACCEPTED if accepted else _REJECTED
    rejected = verdicts == _REJECTED
    values[open_draws[~rejected]] += proposals[~rejected]
    if rejected.any():
        others = np.zeros(int(rejected.sum()), dtype=np.int64)
        add_draws(others, tables, entropy)
        values[open_draws[rejected]] += others


@compiled
def _add_decided(
    values: NDArray[np.int64],
    prefixes: NDArray[np.uint16],
    places: NDArray[np.uint16] | NDArray[np.uint64],
    entries: NDArray[np.int16],
    bits: int,
    open_draws: NDArray[np.int64],
) -> int:
    """Add the draws that their prefixes decide; list the others and return how many they are."""
    draws = np.empty(_TILE, dtype=np.int64)
    mask = (1 << bits) - 1
    count = 0
    for start in range(0, len(values), _TILE):
        tile = values[start : start + _TILE]
        if bits:
            for i in range(len(tile)):
                draws[i] = entries[prefixes[start + i]]
            for i in range(len(tile)):
                place = np.int64(places[start + i]) & mask
                tile[i] += (((draws[i] >> 1) << bits) + place) & ((draws[i] & 1) - 1)
        else:
            for i in range(len(tile)):
                draws[i] = entries[prefixes[start + i]]
                tile[i] += (draws[i] >> 1) & ((draws[i] & 1) - 1)
        for i in range(len(tile)):
            if draws[i] & 1:
                open_draws[count] = start + i
                count += 1
    return count


@compiled
def _settle(
    prefixes: NDArray[np.uint16],
    places: NDArray[np.uint16] | NDArray[np.uint64],
    open_draws: NDArray[np.int64],
    more: NDArray[np.uint64],
    entries: NDArray[np.int16],
    thresholds: NDArray[np.uint64],
    origin: int,
    cuts: NDArray[np.int64],
    first: int,
    bits: int,
    rate: float,
    proposals: NDArray[np.int64],
    verdicts: NDArray[np.uint8],
) -> None:
    """Find the pieces of the listed draws with 112 more bits, and test what must be tested.

    The walk goes from the first piece that the prefix allows to the one that all bits name.
    """
    mask = (1 << bits) - 1
    for k in range(len(open_draws)):
        i = open_draws[k]
        upper = (np.uint64(prefixes[i]) << np.uint64(48)) | (more[k, 0] >> np.uint64(16))
        row = origin + (int(entries[prefixes[i]]) >> 1) * 2
        while row < len(thresholds) and passed(thresholds, row, upper, more[k, 1]):
            row += 1
        while row > 0 and not passed(thresholds, row - 1, upper, more[k, 1]):
            row -= 1
        piece = row - origin
        cell = piece >> 1
        proposals[k] = (cell << bits) + (np.int64(places[i]) & mask)
        verdicts[k] = _ACCEPTED
        if piece & 1:
            nearest = cell << bits if cell >= 0 else 1 - ((cell + 1) << bits)
            beyond = abs(proposals[k]) - nearest
            gamma = rate * beyond * (beyond + 2.0 * nearest)
            cut = cuts[first + cell] / 65536.0
            chance = 1.0
            for term in range(_TERMS, 0, -1):
                chance = 1.0 - gamma / term * chance
            ahead = cut + (1.0 - cut) * (more[k, 2] * 2.0**-64) - chance
            if abs(ahead) < _CLEAR:
                verdicts[k] = _UNCLEAR
            elif ahead > 0:
                verdicts[k] = _REJECTED

"""Exact noise at the speed of memory: the fast twin of `exact`, by table look-up.

A block of random 16-bit prefixes is looked up and added straight into the values. The few draws
that their prefixes leave open are listed on the way, and a second pass settles them with 112 more
bits for each look-up. `tables` argues how close that is to the ideal law; scales that the tables
do not serve are drawn by `exact`.

No Laplace draw is beyond 2^47 at the tables' scales, nor (but for a chance of e^-128) beyond 2^62
at the largest scale allowed, and no Gaussian one is beyond 2^59, so noise on values within 2^62
does not overflow. `gaussian` has the tables of that law for every σ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import on_every_core
from hushtable.compiled import compiled
from hushtable.errors import OptionError
from hushtable.kernel.noise import exact, gaussian_draws
from hushtable.kernel.noise.closeness import empty_places_eta, gaussian_eta, laplace_eta
from hushtable.kernel.noise.entropy import Entropy, SystemEntropy
from hushtable.kernel.noise.gaussian import GaussianTables, gaussian_tables
from hushtable.kernel.noise.look_up import passed
from hushtable.kernel.noise.tables import Tables, geometric_tables, in_range, laplace_tables
from hushtable.kernel.privacy.loss import LARGEST_SCALE
from hushtable.progress import listener

if TYPE_CHECKING:
    from hushtable.kernel.maps.rules import Held, Kept, Rule

# Draws whose bits are made at once: enough to outweigh the calls, few enough for a core's cache.
_BLOCK = 1 << 17
# Draws that are assembled at once, for the nearest cache.
_TILE = 1 << 11
# Draws that are worth a thread and a source of their own.
_CHUNK = 1 << 20
# A digit's bits in an entry, which is twice the digit.
_TWICE_255 = 2 * 255

Keep = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Says of places, given in order, which of them may stay."""


class Noise(Protocol):
    """What draws the randomness of a release and says how far it is from the ideal law."""

    @property
    def private(self) -> bool:
        """Whether nobody can know the draws."""

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        """Add discrete Laplace noise in place; return η of all these draws together."""

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        """Whether each value with discrete Laplace noise is above a threshold; and η."""

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        """Return an index with probability ∝ exp(exponents[index]), and η."""

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        """Add discrete Laplace noise to every place; return what the rule keeps of them, and η.

        `keep` thins what passes the rule's filter, before anything is sampled. η is that of the
        draws for empty places: how many others there are depends on the table.
        """


class EntropyNoise:
    """Noise drawn from a source of random bits: one of its own, or one that is injected."""

    def __init__(self, entropy: Entropy | None = None) -> None:
        self._own = entropy is None
        self._entropy: Entropy = SystemEntropy() if entropy is None else entropy
        if not all(hasattr(self._entropy, name) for name in ("fill", "bits", "spawn")):
            raise OptionError("entropy must be a source of random bits")

    @property
    def private(self) -> bool:
        """Whether nobody can know the draws: whoever injects a source may know its bits.

        That holds for the operating system's too, whose key may have been replaced.
        """
        return self._own

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        """Add discrete Laplace noise in place; return η of all these draws together."""
        add_laplace(values, scale, self._entropy)
        return values.size * laplace_eta(scale)

    def add_gaussian(self, values: NDArray[np.int64], sigma_squared: Fraction) -> Fraction:
        """Add discrete Gaussian noise in place; return η of all these draws together."""
        add_gaussian(values, sigma_squared, self._entropy)
        return values.size * gaussian_eta(sigma_squared)

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        """Whether each value with discrete Laplace noise is above a threshold; and η."""
        noisy = values.copy()
        eta = self.add_laplace(noisy, scale)
        return noisy > threshold, eta

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        """Return an index with probability ∝ exp(exponents[index]), and η: 0, it is exact."""
        return exact.choose_exponential(exponents, self._entropy), Fraction(0)

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        """Return what a rule keeps of all places with noise, without drawing it for all, and η."""
        from hushtable.kernel.noise.sparse_draws import summarise  # it builds on the samplers below

        eta = empty_places_eta(held.domain, rule, scale, thinned=keep is not None)
        return summarise(held, rule, scale, self._entropy, keep), eta


def sample_geometric(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw `size` integers g ≥ 0 with probability proportional to exp(−g/scale)."""
    values = np.zeros(size, dtype=np.int64)
    if in_range(scale):
        add_draws(values, geometric_tables(scale), entropy)
    else:
        _check_scale(scale)
        for i in range(size):
            values[i] = exact.geometric(scale, entropy)
    return values


def add_laplace(values: NDArray[np.int64], scale: Fraction, entropy: Entropy) -> None:
    """Add discrete Laplace noise in place to an int64 array of any shape, or a part of one."""
    values = _memory(values)
    if in_range(scale):
        add_draws(values, laplace_tables(scale), entropy)
    else:
        _check_scale(scale)
        for where in np.ndindex(values.shape):
            values[where] = int(values[where]) + exact.discrete_laplace(scale, entropy)


def add_gaussian(values: NDArray[np.int64], sigma_squared: Fraction, entropy: Entropy) -> None:
    """Add discrete Gaussian noise in place to an int64 array of any shape, or a part of one."""
    values = _memory(values)
    if sigma_squared > LARGEST_SCALE**2:
        raise OptionError("the noise would not fit into 64 bits: raise the budget")
    add_draws(values, gaussian_tables(sigma_squared), entropy)


def _memory(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The memory itself, whatever a kind of array does with it; or it is refused."""
    values = np.asarray(values)
    if values.dtype != np.int64 or not values.flags.behaved or not _apart(values):
        raise ValueError("noise is added to writable int64 arrays of values that lie apart")
    return values


def _apart(values: NDArray[np.int64]) -> bool:
    """Whether no two values share memory: one draw would be added to both, or lost to either."""
    extent = values.itemsize
    strides = (
        (abs(stride), size) for stride, size in zip(values.strides, values.shape, strict=True)
    )
    for stride, size in sorted(pair for pair in strides if pair[1] > 1):
        if stride < extent:
            return False
        extent += stride * (size - 1)
    return True


def _check_scale(scale: Fraction) -> None:
    if scale > LARGEST_SCALE:
        raise OptionError("ε is so small that the noise would not fit into 64 bits: raise it")


def add_draws(values: NDArray[np.int64], tables: Tables | GaussianTables, entropy: Entropy) -> None:
    """Add draws in place; above one chunk, on every core and with a source for each chunk.

    Sources are spawned in the order of the chunks, so the draws do not depend on the threads.
    """
    if values.size <= _CHUNK:
        _add_chunk(values, tables, entropy)
        return
    chunks = [(chunk, entropy.spawn()) for chunk in _chunks(values)]
    on_every_core(lambda pair: _add_chunk(pair[0], tables, pair[1]), chunks, listener())


def _chunks(values: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Parts of the array, each of at most one chunk of values."""
    if values.flags.c_contiguous:
        values = values.reshape(-1)
    if values.size <= _CHUNK:
        yield values
        return
    together = _CHUNK * len(values) // values.size
    if not together:
        for part in values:
            yield from _chunks(part)
        return
    for start in range(0, len(values), together):
        yield values[start : start + together]


def _add_chunk(
    values: NDArray[np.int64], tables: Tables | GaussianTables, entropy: Entropy
) -> None:
    """Add draws in place; values that lie apart in memory are brought together for it."""
    together = np.ascontiguousarray(values)
    if isinstance(tables, GaussianTables):
        gaussian_draws.add_draws(together.reshape(-1), tables, entropy)
    else:
        _add_blocks(together.reshape(-1), tables, entropy)
    if together is not values:
        values[...] = together.reshape(values.shape)


def _add_blocks(values: NDArray[np.int64], tables: Tables, entropy: Entropy) -> None:
    """Add draws in place, block by block."""
    parts, longest = len(tables.entries), min(len(values), _BLOCK)
    bits = np.empty(parts * longest, dtype=np.uint16)
    open_draws = np.empty(longest, dtype=np.int64)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        prefixes = bits[: parts * len(block)].reshape(parts, len(block))
        entropy.fill(prefixes)
        count = _add_decided(block, prefixes, tables.entries, open_draws)
        if count:
            more = np.empty((count, parts, 2), dtype=np.uint64)
            entropy.fill(more)
            _add_open(block, prefixes, open_draws, more, tables)


@compiled
def _add_decided(
    values: NDArray[np.int64],
    prefixes: NDArray[np.uint16],
    entries: NDArray[np.int16],
    open_draws: NDArray[np.int64],
) -> int:
    """Add the draws that their prefixes decide; list the others and return how many they are.

    `draws` holds 2·draw, plus one if some part is still open, as the entries do. Tiles stay in the
    nearest cache; a draw of one part is added as it is looked up, which hides the trip to memory.
    """
    found = np.empty(_TILE, dtype=np.int16)
    draws = np.empty(_TILE, dtype=np.int64)
    count = 0
    for start in range(0, len(values), _TILE):
        tile = values[start : start + _TILE]
        if len(entries) == 1:
            row, bits = entries[0], prefixes[0, start : start + len(tile)]
            for i in range(len(tile)):
                draws[i] = row[bits[i]]
                tile[i] += (draws[i] >> 1) & ((draws[i] & 1) - 1)
        else:
            _join_parts(draws, prefixes[:, start : start + len(tile)], entries, found)
            for i in range(len(tile)):
                tile[i] += (draws[i] >> 1) & ((draws[i] & 1) - 1)
        for i in range(len(tile)):
            if draws[i] & 1:
                open_draws[count] = start + i
                count += 1
    return count


@compiled
def _join_parts(
    draws: NDArray[np.int64],
    prefixes: NDArray[np.uint16],
    entries: NDArray[np.int16],
    found: NDArray[np.int16],
) -> None:
    """Look up the high part of each draw, then append its digits.

    A digit joins a negative draw complemented, since that is −1 − G. Looking up and appending in
    loops of their own lets the compiler make vector instructions of the second.
    """
    draws[:] = 0
    for part in range(len(entries)):
        _look_up(entries[part], prefixes[part], found)
        for i in range(prefixes.shape[1]):
            entry = found[i] ^ ((draws[i] >> 63) & _TWICE_255)
            draws[i] = ((draws[i] & -2) << 8) | entry | (draws[i] & 1)


@compiled
def _look_up(
    entries: NDArray[np.int16], prefixes: NDArray[np.uint16], found: NDArray[np.int16]
) -> None:
    for i in range(len(prefixes)):
        found[i] = entries[prefixes[i]]


@compiled
def _add_open(
    values: NDArray[np.int64],
    prefixes: NDArray[np.uint16],
    open_draws: NDArray[np.int64],
    more: NDArray[np.uint64],
    tables: Tables,
) -> None:
    """Add the listed draws, each look-up refined with the first 112 of 128 more bits."""
    entries, thresholds, bounds, origins = tables
    for k in range(len(more)):
        i = open_draws[k]
        draw = 0
        for part in range(len(entries)):
            prefix, lower = prefixes[part, i], more[k, part, 1]
            upper = (np.uint64(prefix) << np.uint64(48)) | (more[k, part, 0] >> np.uint64(16))
            # Walk from the value nearest zero that the prefix allows to the one all bits name.
            row = origins[part] + (entries[part, prefix] >> 1)
            while row < bounds[part + 1] and passed(thresholds, row, upper, lower):
                row += 1
            while row > bounds[part] and not passed(thresholds, row - 1, upper, lower):
                row -= 1
            value = row - origins[part]
            draw = value if part == 0 else (draw << 8) | (value ^ ((draw >> 63) & 255))
        values[i] += draw

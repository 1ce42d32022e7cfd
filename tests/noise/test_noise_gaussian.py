"""Fast Gaussian noise: its tables against the definition, its draws bit for bit, then samples."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_laws import (
    PRECISE,
    fits,
    gaussian_cdf,
    gaussian_pmf,
    gaussian_weight,
)
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.noise import bulk, exact, gaussian_draws
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.closeness import gaussian_eta
from hushtable.kernel.noise.entropy import Entropy, SystemEntropy
from hushtable.kernel.noise.gaussian import GaussianTables, gaussian_tables
from hushtable.kernel.privacy.loss import ETA_LIMIT, LARGEST_SCALE

UNIT = 1 << 128
FINE = 1 << 240
# σ: every integer a cell; cells of 2, 16, 2048, 2^17 and 2^49.
SMALL = ["1/40", "1/9", "1/2", "1", "7/3", "400", "4096"]
LARGE = ["4097", "1000000", "10000000001/3", "40000000000000", str(2**110)]
sigmas = pytest.mark.parametrize("sigma_squared", [*SMALL, *LARGE])


class Definition:
    """The pieces of a law as its tables should have them, each from its own exponential."""

    def __init__(self, sigma_squared: Fraction) -> None:
        self.sigma_squared = sigma_squared
        self.bits = 0
        while sigma_squared > 4096 * 4**self.bits:
            self.bits += 1
        self.width = 1 << self.bits
        reach = math.isqrt(math.ceil(290 * sigma_squared)) // self.width + 2
        self.cells = range(-reach, reach)
        self.largest = {cell: self.weight(self.nearest(cell)) for cell in self.cells}
        self.whole = Fraction(sum(round(f * FINE) for f in self.largest.values()), FINE)

    def weight(self, place: int) -> Fraction:
        return Fraction(gaussian_weight(self.sigma_squared, place))

    def part(self, place: int) -> Fraction:
        """f of a place over F of its cell."""
        return self.weight(place) / self.largest[place >> self.bits]

    def nearest(self, cell: int) -> int:
        """The distance from zero of the nearest place of a cell."""
        return min(abs(cell * self.width), abs((cell + 1) * self.width - 1))

    def farthest(self, cell: int) -> int:
        return max(abs(cell * self.width), abs((cell + 1) * self.width - 1))

    def thresholds(self, cut: Callable[[int], Fraction]) -> tuple[list[int], int]:
        """The ends of pieces that do not round to 0 or 1; and which piece of all is the first."""
        pieces = [
            self.largest[cell] * part for cell in self.cells for part in (cut(cell), 1 - cut(cell))
        ]
        ends = [round(end / self.whole * UNIT) for end in accumulate(pieces)]
        return [end for end in ends if 0 < end < UNIT], 2 * self.cells[0] + ends.count(0)


@lru_cache
def definition(sigma_squared: Fraction) -> Definition:
    return Definition(sigma_squared)


def cut_of(tables: GaussianTables, cell: int) -> Fraction:
    """The cut of a cell; 0 for cells too far out to be listed."""
    row = tables.first + cell
    return Fraction(int(tables.cuts[row]) if 0 <= row < len(tables.cuts) else 0, 1 << 16)


def integers(tables: GaussianTables) -> list[int]:
    return [upper << 64 | lower for upper, lower in tables.thresholds.tolist()]


def pieces(tables: GaussianTables) -> dict[int, int]:
    """The chance of each piece to be proposed, in 2^-128."""
    ends = [0, *integers(tables), UNIT]
    return {i - tables.origin: end - start for i, (start, end) in enumerate(pairwise(ends))}


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


@sigmas
def test_every_threshold_is_right(sigma_squared: str) -> None:
    tables = gaussian_tables(Fraction(sigma_squared))
    whole = definition(Fraction(sigma_squared))
    assert tables.bits == whole.bits
    thresholds, first = whole.thresholds(lambda cell: cut_of(tables, cell))
    assert integers(tables) == thresholds
    assert -tables.origin == first


@sigmas
def test_every_prefix_is_right(sigma_squared: str) -> None:
    tables = gaussian_tables(Fraction(sigma_squared))
    thresholds = integers(tables)
    for prefix in range(1 << 16):
        piece = bisect_right(thresholds, prefix << 112) - tables.origin
        last = bisect_right(thresholds, ((prefix + 1) << 112) - 1) - tables.origin
        entry = int(tables.entries[prefix])
        assert entry == (piece if piece == last else piece | 1)


@sigmas
def test_no_place_that_is_accepted_unseen_should_be_tested(sigma_squared: str) -> None:
    """And few others are: cuts are less by what a place more and rounding take."""
    tables, whole = gaussian_tables(Fraction(sigma_squared)), definition(Fraction(sigma_squared))
    for cell in whole.cells:
        least = whole.weight(whole.farthest(cell)) / whole.largest[cell]
        cut = cut_of(tables, cell)
        assert cut <= least
        if abs(cell) < 4 * math.sqrt(whole.sigma_squared) / whole.width:
            assert least - cut < Fraction(3, 1 << 16) + Fraction(8, 32 * whole.width)
    if not whole.bits:
        assert (tables.cuts == 1 << 16).all()


@pytest.mark.parametrize("sigma_squared", ["1/40", "1/2", "7/3", "100", "4097"])
def test_the_distance_from_the_ideal_law_is_within_eta(sigma_squared: str) -> None:
    """Of each integer's chance to be accepted, over the chance that anything is."""
    tables, ideal = gaussian_tables(Fraction(sigma_squared)), gaussian_pmf(Fraction(sigma_squared))
    whole = definition(Fraction(sigma_squared))
    chances = pieces(tables)
    drawn = {}
    for x in ideal:
        cell = x >> tables.bits
        # For the piece that is tested: the chance of (V between the cut and 1) < f/F.
        cut, part = cut_of(tables, cell), whole.part(x)
        tested = (part - cut) / (1 - cut) if cut < 1 else 0
        either = chances.get(2 * cell, 0) + chances.get(2 * cell + 1, 0) * tested
        drawn[x] = round(either * Fraction(FINE, UNIT * whole.width))
    accepted = sum(drawn.values())
    apart = sum(abs(drawn[x] * FINE // accepted - ideal[x]) for x in ideal) / 2
    assert 0 < apart <= tables.eta * FINE
    assert tables.eta == gaussian_eta(Fraction(sigma_squared))
    assert (whole.width == 1) == (accepted == FINE)
    assert Fraction(FINE, accepted) <= Fraction(33, 32)


def test_hardly_more_than_one_proposal_is_expected() -> None:
    """At the σ whose cells are widest: the sum of all F·w over that of f, which is an integral."""
    for bits in (1, 2, 20):
        whole = Definition(Fraction(4096 * 4 ** (bits - 1) + 1))
        assert whole.bits == bits
        integers = math.sqrt(2 * math.pi * whole.sigma_squared)
        assert 1.005 < float(whole.whole) * whole.width / integers < 33 / 32


@sigmas
def test_every_draw_is_as_close_as_the_docs_say(sigma_squared: str) -> None:
    tables = gaussian_tables(Fraction(sigma_squared))
    assert tables.eta == Fraction(33 * (len(tables.thresholds) + 2), 32 << 128)
    assert tables.eta < Fraction(1, 2**115)
    assert 10**12 * tables.eta < ETA_LIMIT


def test_shared_tables_cannot_be_written_to() -> None:
    tables = gaussian_tables(Fraction(20))
    for array in (tables.entries, tables.thresholds, tables.cuts):
        with pytest.raises(ValueError):
            array[...] = 0


# ── draws ────────────────────────────────────────────────────────────────────────────────────────


class SlowTwin:
    """Draws by definition, from the bits that the fast twin would take, with fractions."""

    def __init__(self, tables: GaussianTables, source: Entropy) -> None:
        self.tables, self.source = tables, source
        self.thresholds = integers(tables)
        self.whole = definition(tables.sigma_squared)
        self.rejected = 0

    def draws(self, number: int) -> list[int]:
        prefixes = np.empty(number, np.uint16)
        self.source.fill(prefixes)
        places = np.zeros(number, np.uint16 if self.tables.bits <= 16 else np.uint64)
        if self.tables.bits:
            self.source.fill(places)
        undecided = self.tables.entries[prefixes] & 1 == 1
        more = np.zeros((number, 3), np.uint64)
        if undecided.any():
            some = np.empty((int(undecided.sum()), 3), np.uint64)
            self.source.fill(some)
            more[undecided] = some
        drawn = [
            self.proposal(prefix, place, words)
            for prefix, place, words in zip(
                prefixes.tolist(), places.tolist(), more.tolist(), strict=True
            )
        ]
        again = [i for i, x in enumerate(drawn) if x is None]
        if again:
            self.rejected += len(again)
            for i, x in zip(again, self.draws(len(again)), strict=True):
                drawn[i] = x
        return [x for x in drawn if x is not None]

    def proposal(self, prefix: int, place: int, words: Sequence[int]) -> int | None:
        uniform = prefix << 112 | words[0] >> 16 << 64 | words[1]
        piece = bisect_right(self.thresholds, uniform) - self.tables.origin
        cell = piece >> 1
        x = cell * self.whole.width + place % self.whole.width
        if piece % 2 == 0:
            return x
        cut = cut_of(self.tables, cell)
        v = cut + (1 - cut) * Fraction(words[2], 1 << 64)
        part = self.whole.part(x)
        return x if v < part else None


def drawn(sigma_squared: Fraction, size: int, source: Entropy) -> NDArray[np.int64]:
    values = np.zeros(size, np.int64)
    bulk.add_gaussian(values, sigma_squared, source)
    return values


@sigmas
def test_every_draw_is_what_its_bits_say(sigma_squared: str) -> None:
    """Several tiles, odd ends, and proposals that are rejected."""
    start = np.arange(4345, dtype=np.int64)
    values = start.copy()
    bulk.add_gaussian(values, Fraction(sigma_squared), SeededEntropy(7))
    twin = SlowTwin(gaussian_tables(Fraction(sigma_squared)), SeededEntropy(7))
    assert (values - start).tolist() == twin.draws(len(start))
    assert (twin.rejected > 0) == (sigma_squared in LARGE)


@settings(max_examples=15, deadline=None)
@given(
    sigma=st.fractions(Fraction(1, 50), 2**40, max_denominator=997),
    size=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
def test_any_sigma_draws_what_its_bits_say(sigma: Fraction, size: int, seed: int) -> None:
    twin = SlowTwin(gaussian_tables(sigma**2), SeededEntropy(seed))
    assert drawn(sigma**2, size, SeededEntropy(seed)).tolist() == twin.draws(size)


def test_blocks_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_draws, "_BLOCK", 500)
    for sigma_squared in (Fraction(9), Fraction(10**6)):
        source = SeededEntropy(4)
        parts = [drawn(sigma_squared, size, source) for size in (500, 500, 17)]
        together = drawn(sigma_squared, 1017, SeededEntropy(4))
        assert together.tolist() == np.concatenate(parts).tolist()


class Scripted:
    """A source for one proposal: the uniform, the place, the bits of V; then more bits of it.

    If that is rejected, the proposal that follows is the middle of the table.
    """

    private = False

    def __init__(self, uniform: int, place: int, v: int, rest: int = 0) -> None:
        self.uniform, self.place, self.v, self.rest = uniform, place, v, rest
        self.asked = self.proposals = 0

    def fill(self, out: NDArray[Any]) -> None:
        if out.shape == (1, 3):
            low = self.uniform & ((1 << 112) - 1)
            out[0] = (low >> 64) << 16 | 0xFFFF, low & ((1 << 64) - 1), self.v
        elif out.dtype == np.uint16 and self.proposals % 2 == 0:
            self.proposals += 1
            out[0] = self.uniform >> 112 if self.proposals == 1 else 1 << 15
        else:
            self.proposals += 1
            out[0] = self.place

    def bits(self, k: int) -> int:
        self.asked += 1
        return self.rest & ((1 << k) - 1)

    def spawn(self) -> Scripted:
        raise NotImplementedError


@pytest.mark.parametrize("sigma_squared", ["1/2", "400"])
def test_both_sides_of_every_boundary(sigma_squared: str) -> None:
    tables = gaussian_tables(Fraction(sigma_squared))
    thresholds = integers(tables)
    for threshold in thresholds:
        for uniform in (threshold - 1, threshold):
            (x,) = drawn(Fraction(sigma_squared), 1, Scripted(uniform, 0, 0)).tolist()
            assert 2 * x == bisect_right(thresholds, uniform) - tables.origin & -2


@pytest.mark.parametrize("sigma_squared", ["4097", "1000000"])
@pytest.mark.parametrize("cell", [-200, -70, -1, 0, 1, 90, 210])
def test_a_test_is_decided_by_as_many_bits_as_it_takes(sigma_squared: str, cell: int) -> None:
    """The last V that is accepted, by 64 bits, and whatever follows them on either side."""
    tables, whole = gaussian_tables(Fraction(sigma_squared)), definition(Fraction(sigma_squared))
    thresholds, piece = integers(tables), 2 * cell + 1
    uniform = (thresholds[tables.origin + piece - 1] + thresholds[tables.origin + piece]) // 2
    cut = cut_of(tables, cell)
    for place in (whole.width // 2, whole.width - 1, 0):
        x = cell * whole.width + place
        part = whole.part(x)
        exact_v = (part - cut) / (1 - cut) * (1 << 64)
        last = math.floor(exact_v)
        if abs(x) == whole.nearest(cell):
            assert part == 1
            continue
        following = math.floor((exact_v - last) * (1 << 64))
        near = 1 << 30
        for v, rest, accepted, unclear in (
            (last - near, 0, True, False),
            (last - 1, 0, True, True),
            (last, following - 1, True, True),
            (last, following + 1, False, True),
            (last + 1, 0, False, True),
            (last + near, 0, False, False),
        ):
            source = Scripted(uniform, place, v, rest)
            (value,) = drawn(Fraction(sigma_squared), 1, source).tolist()
            assert (source.proposals == 2) == accepted
            assert value == x or not accepted
            assert not source.asked or unclear
        assert source.asked == 0
        close = Scripted(uniform, place, last, following)
        drawn(Fraction(sigma_squared), 1, close)
        assert close.asked >= 2


def test_doubles_are_as_close_as_a_test_takes_them_to_be() -> None:
    """A test in doubles is clear from 2^-40 on; the series itself is far closer than that."""
    for gamma in np.linspace(0, 0.5, 1001).tolist():
        chance = 1.0
        for term in range(gaussian_draws._TERMS, 0, -1):
            chance = 1.0 - gamma / term * chance
        true = PRECISE.exp(PRECISE.create_decimal(-gamma))
        assert abs(Fraction(true) - Fraction(chance)) < Fraction(1, 2**48)


def test_the_largest_draws_leave_room_in_64_bits() -> None:
    top = Fraction(LARGEST_SCALE) ** 2
    for uniform in (0, UNIT - 1):
        for place in (0, 2**64 - 1):
            (x,) = drawn(top, 1, Scripted(uniform, place, 0)).tolist()
            assert 13 * LARGEST_SCALE < abs(x) < 14 * LARGEST_SCALE < 2**59
            assert (x < 0) == (uniform == 0)


def test_gammas_are_below_a_half() -> None:
    """The bound on which the series rests, at the outermost pieces of the widest cells."""
    for sigma_squared in (Fraction(4097), Fraction(4**20 * 4096 + 1)):
        tables, whole = gaussian_tables(sigma_squared), Definition(sigma_squared)
        for piece in (-tables.origin, len(tables.thresholds) - tables.origin):
            far, near = whole.farthest(piece >> 1), whole.nearest(piece >> 1)
            assert Fraction(1, 6) < (far**2 - near**2) / (2 * sigma_squared) < Fraction(1, 2)


# ── samples ──────────────────────────────────────────────────────────────────────────────────────


@sigmas
def test_a_sample_fits_its_variance_and_none_a_tenth_off(sigma_squared: str) -> None:
    if Fraction(sigma_squared) < Fraction(1, 9):
        return  # hardly anything is not zero
    sample = drawn(Fraction(sigma_squared), 400_000, SeededEntropy(11))
    assert fits(sample, gaussian_cdf(float(Fraction(sigma_squared))))
    assert not fits(sample, gaussian_cdf(float(Fraction(sigma_squared)) * 0.9))
    assert not fits(sample, gaussian_cdf(float(Fraction(sigma_squared)) * 1.1))


@pytest.mark.parametrize("sigma_squared", ["7/3", "1000000"])
def test_both_twins_have_one_law(sigma_squared: str) -> None:
    """In the slow twin's own bins, and in low bits, by which cells could show."""
    sigma_squared_ = Fraction(sigma_squared)
    source = SeededEntropy(5)
    slow = [exact.discrete_gaussian(sigma_squared_, source) for _ in range(4000)]
    fast = drawn(sigma_squared_, 400_000, SeededEntropy(6))
    edges = np.quantile(slow, np.linspace(0, 1, 18)[1:-1])
    for mine, theirs, bins in (
        (np.searchsorted(edges, slow), np.searchsorted(edges, fast), 17),
        (np.array(slow) & 15, fast & 15, 16),
    ):
        shares = np.bincount(theirs, minlength=bins) / len(fast)
        expected = shares * len(slow)
        seen = np.bincount(mine, minlength=bins)
        held = expected > 5
        statistic = ((seen - expected)[held] ** 2 / expected[held]).sum()
        assert statistic < 60, "a χ² of 16 that is beyond 60 has a chance of 5·10⁻⁷"


@pytest.mark.parametrize("sigma", [1, 20, 65, 1000])
def test_tails_have_their_chances_on_both_sides(sigma: int) -> None:
    sample = drawn(Fraction(sigma**2), 1 << 20, SeededEntropy(8))
    cdf = gaussian_cdf(float(sigma**2))
    for sigmas_out in (2, 3, 4):
        expected = (1 - cdf(sigmas_out * sigma)) * len(sample)
        for side in (1, -1):
            seen = int((side * sample > sigmas_out * sigma).sum())
            assert abs(seen - expected) < 5 * math.sqrt(expected)


def test_hardly_any_noise_is_no_noise() -> None:
    assert not drawn(Fraction(1, 1000), 10_000, SystemEntropy()).any()
    assert not drawn(Fraction(1, 10**30), 10_000, SystemEntropy()).any()


def test_private_noise_fits_too_and_never_repeats() -> None:
    first, second = (drawn(Fraction(10**4), 100_000, SystemEntropy()) for _ in range(2))
    assert fits(first, gaussian_cdf(10**4), false_alarm=1e-10)  # the noise has no seed
    assert (first != second).mean() > 0.9


# ── arrays ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_threads_do_not_change_the_draws(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_CHUNK", 3000)
    monkeypatch.setattr(os, "cpu_count", lambda: workers)
    together = drawn(Fraction(10**6), 20_001, SeededEntropy(5))
    source = SeededEntropy(5)
    alone = [drawn(Fraction(10**6), size, source.spawn()) for size in [3000] * 6 + [2001]]
    assert (together == np.concatenate(alone)).all()


def test_every_value_of_a_part_of_an_array_takes_noise_of_its_own() -> None:
    memory = np.zeros((4, 5, 11), np.int64)
    values = memory[1:, ::-2, ::3]
    eta = EntropyNoise(SeededEntropy(2)).add_gaussian(values, Fraction(4) ** 40)
    assert eta == values.size * gaussian_eta(Fraction(4) ** 40) > 0
    assert np.count_nonzero(memory) == values.size == len(np.unique(values))


def test_arrays_that_cannot_be_added_to_are_refused() -> None:
    for values in (np.zeros(4), np.zeros(4, np.int32), np.zeros(4, ">i8")):
        with pytest.raises(ValueError, match="lie apart"):
            EntropyNoise().add_gaussian(values, Fraction(1))


def test_parameters_that_name_no_law_are_refused() -> None:
    for sigma_squared in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="above zero"):
            EntropyNoise().add_gaussian(np.zeros(1, np.int64), sigma_squared)
    with pytest.raises(OptionError, match="64 bits"):
        EntropyNoise().add_gaussian(np.zeros(1, np.int64), Fraction(LARGEST_SCALE) ** 2 + 1)

"""The fast sampler against its slow definition, bit for bit, and then statistically."""

from __future__ import annotations

import os
from bisect import bisect_right
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_laws import (
    ScriptedUniforms,
    digit_cdf,
    fits,
    geometric_cdf,
    high_cdf,
    laplace_cdf,
    nearest,
    sample_laplace,
)
from numpy.lib.stride_tricks import as_strided

from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.noise import bulk, exact
from hushtable.kernel.noise.bulk import EntropyNoise, sample_geometric
from hushtable.kernel.noise.closeness import EXACT_ETA, laplace_eta
from hushtable.kernel.noise.entropy import SystemEntropy
from hushtable.kernel.privacy.loss import ETA_LIMIT

SCALES = ["3/10", "1", "20", "64", "1000", "100000", "10000000000"]


class SlowTwin:
    """Draws by definition: bisection of a 128-bit uniform for each part, then composition."""

    def __init__(self, scale: Fraction, *, signed: bool = True) -> None:
        digits = 0
        while scale > 64 * 256**digits:
            digits += 1
        high, self.zero = high_cdf(scale, 256**digits, signed=signed)
        lower = [digit_cdf(scale, 256**j) for j in reversed(range(digits))]
        self.thresholds = [[nearest(p) for p in cdf] for cdf in (high, *lower)]

    def draw(self, uniforms) -> int:
        values = [bisect_right(t, u) for t, u in zip(self.thresholds, uniforms, strict=True)]
        high = values[0] - self.zero
        magnitude = high if high >= 0 else -1 - high
        for digit in values[1:]:
            magnitude = 256 * magnitude + digit
        return magnitude if high >= 0 else -1 - magnitude


class Recorder:
    """Passes a source's bits on, and keeps the uniforms that they spell."""

    private = False

    def __init__(self, source) -> None:
        self.source = source
        self.prefixes: list[np.ndarray] = []
        self.more: list[np.ndarray] = []

    def fill(self, out) -> None:
        self.source.fill(out)
        (self.prefixes if out.dtype == np.uint16 else self.more).append(out.copy())

    def uniforms(self, entries):
        """For each draw its parts' 128 bits; zeros stand for bits that were never asked for."""
        more = iter(np.concatenate(self.more).tolist() if self.more else [])
        for block in self.prefixes:
            for prefixes in block.T.tolist():
                is_open = any(entries[part, p] & 1 for part, p in enumerate(prefixes))
                rest = next(more) if is_open else [(0, 0)] * len(prefixes)
                pairs = zip(prefixes, rest, strict=True)
                yield [p << 112 | upper >> 16 << 64 | lower for p, (upper, lower) in pairs]
        assert next(more, None) is None


@pytest.mark.parametrize("scale", ["1/100", *SCALES])
def test_every_draw_is_what_its_bits_say(scale, monkeypatch):
    monkeypatch.setattr(bulk, "_BLOCK", 5000)  # several tiles in a block, several blocks, odd ends
    scale = Fraction(scale)
    twin, recorder = SlowTwin(scale), Recorder(SeededEntropy(7))
    start = np.arange(12_345, dtype=np.int64)
    values = start.copy()
    bulk.add_laplace(values, scale, recorder)
    uniforms = recorder.uniforms(bulk.laplace_tables(scale).entries)
    assert (values - start).tolist() == [twin.draw(u) for u in uniforms]


def boundary_uniforms(thresholds):
    yield from (0, (1 << 128) - 1)
    for threshold in thresholds:
        yield from (threshold - 1, threshold)


@pytest.mark.parametrize("scale", ["3/10", "1", "20"])
@pytest.mark.parametrize("signed", [True, False], ids=["laplace", "geometric"])
def test_both_sides_of_every_boundary(scale, signed):
    twin = SlowTwin(Fraction(scale), signed=signed)
    sample = sample_laplace if signed else sample_geometric
    for u in boundary_uniforms(twin.thresholds[0]):
        for unused in (0, 0xFFFF):
            drawn = sample(Fraction(scale), 1, ScriptedUniforms([u], unused=unused))
            assert drawn.tolist() == [twin.draw([u])]


@pytest.mark.parametrize("scale", ["1000", "100000"])
def test_both_sides_of_every_boundary_of_every_part(scale):
    twin = SlowTwin(Fraction(scale))
    # Around zero the sign changes; elsewhere one value of either sign is enough.
    middles = [twin.thresholds[0][twin.zero - 1] + delta for delta in (-(1 << 100), 1 << 100)]
    for part, thresholds in enumerate(twin.thresholds):
        for u, middle in product(boundary_uniforms(thresholds), middles):
            uniforms = [middle] * len(twin.thresholds)
            uniforms[part] = u
            drawn = sample_laplace(Fraction(scale), 1, ScriptedUniforms(uniforms))
            assert drawn.tolist() == [twin.draw(uniforms)]


@settings(max_examples=25, deadline=None)
@given(
    scale=st.fractions(Fraction(1, 500), 2**40, max_denominator=997),
    size=st.integers(0, 50),
    seed=st.integers(0, 2**32),
)
def test_any_scale_draws_what_its_bits_say(scale, size, seed):
    twin, recorder = SlowTwin(scale, signed=False), Recorder(SeededEntropy(seed))
    drawn = sample_geometric(scale, size, recorder).tolist()
    uniforms = recorder.uniforms(bulk.geometric_tables(scale).entries)
    assert drawn == [twin.draw(u) for u in uniforms]


@pytest.mark.parametrize("scale", SCALES)
def test_a_sample_fits_its_scale_and_no_scale_a_tenth_off(scale):
    scale = Fraction(scale)
    sample = sample_laplace(scale, 400_000, SeededEntropy(11))
    assert fits(sample, laplace_cdf(float(scale)))
    assert not fits(sample, laplace_cdf(float(scale) * 0.9))
    assert not fits(sample, laplace_cdf(float(scale) * 1.1))


def test_private_noise_fits_too_and_never_repeats():
    first, second = (sample_laplace(Fraction(20), 100_000, SystemEntropy()) for _ in range(2))
    assert fits(first, laplace_cdf(20.0), false_alarm=1e-10)  # the noise has no seed
    assert (first != second).mean() > 0.9


@pytest.mark.parametrize("scale", SCALES)
def test_halving_the_scale_is_caught(scale):
    sample = sample_laplace(Fraction(scale) / 2, 20_000, SeededEntropy(12))
    assert not fits(sample, laplace_cdf(float(Fraction(scale))))


def test_hardly_any_noise_is_no_noise():
    assert not sample_laplace(Fraction(1, 100), 10_000, SystemEntropy()).any()


@pytest.mark.parametrize("scale", SCALES)
def test_a_geometric_sample_fits_its_scale(scale):
    scale = Fraction(scale)
    sample = sample_geometric(scale, 200_000, SeededEntropy(13))
    assert sample.min() >= 0
    assert fits(sample, geometric_cdf(float(scale)))
    assert not fits(sample, geometric_cdf(float(scale) * 0.9))
    assert not fits(sample, geometric_cdf(float(scale) * 1.1))


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_threads_do_not_change_the_draws(workers, monkeypatch):
    monkeypatch.setattr(bulk, "_CHUNK", 3000)
    monkeypatch.setattr(os, "cpu_count", lambda: workers)
    drawn = sample_laplace(Fraction(1000), 20_001, SeededEntropy(5))
    source = SeededEntropy(5)
    sizes = [3000] * 6 + [2001]
    alone = [sample_laplace(Fraction(1000), size, source.spawn()) for size in sizes]
    assert (drawn == np.concatenate(alone)).all()


def test_large_arrays_take_all_their_noise():
    noise = EntropyNoise()
    values = np.zeros((3, 1 << 20), dtype=np.int64)
    eta = noise.add_laplace(values, Fraction(100_000))
    assert eta == values.size * laplace_eta(Fraction(100_000)) < ETA_LIMIT
    assert (values == 0).mean() < 1e-4
    assert fits(values.reshape(-1)[::7], laplace_cdf(100_000.0))
    assert len({row.tobytes() for row in values}) == 3


def test_noise_of_any_shape_is_added_in_place():
    for shape in ((), (0,), (1,), (3, 4, 5)):
        values = np.full(shape, 10**6, dtype=np.int64)
        EntropyNoise(SeededEntropy(1)).add_laplace(values, Fraction(20))
        assert values.shape == shape
        assert (abs(values - 10**6) < 20 * 100).all()


@pytest.mark.parametrize("chunk", [1, 7, 64, 200, 10**6])
def test_every_value_of_a_part_of_an_array_takes_noise_of_its_own(monkeypatch, chunk):
    monkeypatch.setattr(bulk, "_CHUNK", chunk)
    for part in (np.s_[1:, :, 2:5], np.s_[:, 2:, ::2], np.s_[2, 1:4], np.s_[:], np.s_[1, 1, 1:1]):
        values = np.zeros((4, 5, 11), dtype=np.int64)
        EntropyNoise(SeededEntropy(chunk)).add_laplace(values[part], Fraction(2**38))
        drawn = values[part].copy()
        assert len(np.unique(drawn)) == drawn.size  # at this scale a tie has a chance of 1e-8
        values[part] = 0
        assert not values.any()
    transposed = np.zeros((3, 4), np.int64).T
    EntropyNoise(SeededEntropy(chunk)).add_laplace(transposed, Fraction(2**38))
    assert len(np.unique(transposed)) == 12


def test_arrays_that_cannot_be_added_to_are_refused():
    frozen = np.zeros(4, dtype=np.int64)
    frozen.setflags(write=False)
    for values in (np.zeros(4), np.zeros(4, np.int32), np.zeros(4, ">i8"), frozen):
        with pytest.raises(ValueError):
            EntropyNoise().add_laplace(values, Fraction(1))


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4,), (0,)),
        ((3, 3), (8, 8)),
        ((2, 3), (16, 8)),
        ((3, 2), (-8, 8)),
        ((2, 2, 2), (24, 8, 16)),
    ],
)
def test_values_that_share_memory_are_refused(shape, strides):
    """One draw would be added to two of them, or lost to one."""
    memory = np.zeros(99, np.int64)
    values = as_strided(memory[50:], shape, strides)
    with pytest.raises(ValueError, match="lie apart"):
        EntropyNoise().add_laplace(values, Fraction(10))
    assert not memory.any()


def test_views_whose_values_lie_apart_take_noise():
    memory = np.zeros((5, 7, 9), np.int64)
    for values in (memory.T, memory[::-2], memory[1:2, :, ::-3], memory[:, :1, :1], memory[:0]):
        memory[:] = 0
        EntropyNoise().add_laplace(values, Fraction(10**9))
        assert np.count_nonzero(memory) == values.size


class Careless(np.ndarray):
    """An array that forgets what is written to it."""

    def __setitem__(self, where, values):
        pass


def test_noise_goes_to_the_memory_whatever_kind_of_array_it_is():
    for kind in (lambda a: a.view(Careless), lambda a: np.ma.array(a, copy=False, mask=True)):
        memory = np.zeros((20, 20), np.int64)
        EntropyNoise().add_laplace(kind(memory)[:, ::2], Fraction(10**9))
        assert np.count_nonzero(memory) == 200


@pytest.mark.parametrize("scale", [Fraction(1, 2000), Fraction(2**40) + Fraction(1, 3)])
def test_scales_beyond_the_tables_are_drawn_exactly(scale):
    noise, source = EntropyNoise(SeededEntropy(3)), SeededEntropy(3)
    values = np.ones(50, dtype=np.int64)
    assert noise.add_laplace(values, scale) == 50 * EXACT_ETA
    assert values.tolist() == [1 + exact.discrete_laplace(scale, source) for _ in range(50)]
    geometric = sample_geometric(scale, 50, SeededEntropy(3)).tolist()
    source = SeededEntropy(3)
    assert geometric == [exact.geometric(scale, source) for _ in range(50)]


@pytest.mark.parametrize("exponent", [38, 40])
def test_the_largest_draws_leave_room_in_64_bits(exponent):
    parts = len(bulk.laplace_tables(Fraction(2**exponent)).entries)
    for high, low in product((0, (1 << 128) - 1), repeat=2):
        uniforms = [high] + [low] * (parts - 1)
        (drawn,) = sample_laplace(Fraction(2**exponent), 1, ScriptedUniforms(uniforms)).tolist()
        assert 87 * 2**exponent < abs(drawn) < 2**47
        assert (drawn < 0) == (high == 0)


def test_a_hopeless_scale_is_refused():
    EntropyNoise().add_laplace(np.full(20, 2**61), Fraction(2**55))
    for draw in (sample_laplace, sample_geometric):
        with pytest.raises(OptionError):
            draw(Fraction(2**55) + 1, 1, SystemEntropy())
        with pytest.raises(ValueError):
            draw(Fraction(0), 1, SystemEntropy())


def test_choice_is_exact():
    index, eta = EntropyNoise().choose([Fraction(0), Fraction(200), Fraction(1)])
    assert (index, eta) == (1, 0)


def test_noise_is_as_private_as_its_bits():
    assert EntropyNoise().private
    assert not EntropyNoise(SeededEntropy(1)).private
    assert not EntropyNoise(SystemEntropy()).private, "whoever made it may know its key"

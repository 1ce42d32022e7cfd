"""The tables against laws computed term by term in high precision."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from noise_laws import digit_cdf, high_cdf, laplace_pmf, nearest

from hushtable.kernel.noise.tables import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    geometric_tables,
    in_range,
    laplace_tables,
)
from hushtable.kernel.privacy.loss import ETA_LIMIT

SCALES = ["1/1024", "1/100", "3/10", "1", "355/113", "20", "64", "129/2", "1000", "100000"]
SCALES += ["10000000000", "1099511627776"]


def integer_thresholds(tables, part):
    rows = tables.thresholds[tables.bounds[part] : tables.bounds[part + 1]].tolist()
    return [upper << 64 | lower for upper, lower in rows]


def true_thresholds(scale, digits, part, *, signed):
    """The part's thresholds from the definition, and which of its values is zero."""
    if part == 0:
        cdf, zero = high_cdf(scale, 256**digits, signed=signed)
    else:
        cdf, zero = digit_cdf(scale, 256 ** (digits - part)), 0
    return [nearest(p) for p in cdf], zero


@pytest.fixture(params=[True, False], ids=["laplace", "geometric"])
def signed(request):
    return request.param


@pytest.mark.parametrize("scale", SCALES)
def test_every_threshold_and_every_prefix_is_right(scale, signed):
    scale = Fraction(scale)
    tables = laplace_tables(scale) if signed else geometric_tables(scale)
    digits = len(tables.entries) - 1
    assert scale <= 64 * 256**digits
    for part in range(digits + 1):
        thresholds, zero = true_thresholds(scale, digits, part, signed=signed)
        assert integer_thresholds(tables, part) == thresholds
        assert tables.origins[part] == tables.bounds[part] + zero
        # As many thresholds as are at most p·2¹¹², and less than (p + 1)·2¹¹².
        prefixes = np.arange(1 << 16)
        first = np.searchsorted([-(-t >> 112) for t in thresholds], prefixes, "right") - zero
        last = np.searchsorted([t >> 112 for t in thresholds], prefixes, "right") - zero
        straddles = first != last
        entries = tables.entries[part].astype(int)
        assert ((entries & 1) == straddles).all()
        assert ((entries >> 1) == first)[~straddles].all()
        assert (entries >> 1 >= first).all()
        assert (entries >> 1 <= last).all()


@pytest.mark.parametrize("scale", ["1/100", "3/10", "1", "7"])
def test_the_distance_from_the_ideal_law_is_within_eta(scale):
    scale = Fraction(scale)
    tables = laplace_tables(scale)
    ends = [0, *integer_thresholds(tables, 0), 1 << 128]
    zero = int(tables.origins[0])
    listed = range(-zero, len(ends) - 1 - zero)
    drawn = [Fraction(b - a, 1 << 128) for a, b in pairwise(ends)]
    ideal = [laplace_pmf(scale, x) for x in listed]
    gaps = [abs(p - q) for p, q in zip(drawn, ideal, strict=True)]
    distance = (sum(gaps) + abs(1 - sum(ideal))) / 2
    assert 0 < distance <= tables.eta


@pytest.mark.parametrize("scale", ["65", "1000", "100000", "10000000000"])
def test_parts_compose_to_the_discrete_laplace_law(scale):
    scale = Fraction(scale)
    tables = laplace_tables(scale)
    digits = len(tables.entries) - 1
    thresholds = [[0, *integer_thresholds(tables, part), 1 << 128] for part in range(digits + 1)]
    steps = range(-40, 41)
    for x in {*steps, *(k * 255 for k in steps), *(int(k * scale / 10) - 1 for k in steps)}:
        magnitude = x ^ (x >> 63)
        row = ((magnitude >> 8 * digits) ^ (x >> 63)) + int(tables.origins[0])
        listed = 0 <= row < len(thresholds[0]) - 1
        width = thresholds[0][row + 1] - thresholds[0][row] if listed else 0
        probability = Fraction(width, 1 << 128)
        for part in range(1, digits + 1):
            digit = magnitude >> 8 * (digits - part) & 255
            width = thresholds[part][digit + 1] - thresholds[part][digit]
            probability *= Fraction(width, 1 << 128)
        assert abs(probability - laplace_pmf(scale, x)) <= tables.eta


@pytest.mark.parametrize("scale", SCALES)
def test_a_release_of_a_trillion_draws_keeps_its_promise(scale, signed):
    tables = (laplace_tables if signed else geometric_tables)(Fraction(scale))
    assert tables.eta == Fraction(len(tables.thresholds) + 2 * len(tables.entries), 2**128)
    assert 10**12 * tables.eta < ETA_LIMIT


def test_the_tables_say_which_scales_they_serve():
    assert in_range(SMALLEST_SCALE)
    assert in_range(LARGEST_SCALE)
    for scale in (SMALLEST_SCALE / 2, LARGEST_SCALE + 1):
        assert not in_range(scale)
        with pytest.raises(ValueError):
            laplace_tables(scale)


def test_shared_tables_cannot_be_written_to():
    for array in laplace_tables(Fraction(20)):
        with pytest.raises(ValueError):
            array[...] = 0

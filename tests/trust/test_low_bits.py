"""Mironov's attack, end to end: the low bits of what is released say nothing about the truth.

Floating-point noise makes some outputs impossible for one table and possible for its neighbour.
Here every output is an integer and every integer near the truth can come from either table.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from attack import Size, Tally
from scipy.stats import chi2

import hushtable
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator, Regions
from hushtable.kernel.maps import Identity, Product
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.entropy import Entropy
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure

FALSE_ALARM = 1e-10
SEEDS = itertools.count(1)


def curator(counts: np.ndarray, entropy: Entropy | None = None, budget: int = 10**6) -> Curator:
    """A curator of a table with these counts."""
    cells = np.arange(len(counts))
    return Curator(
        Counts((len(counts),), cells, np.asarray(counts, np.int64)),
        exposure=Exposure("add-remove"),
        account=Account(Fraction(budget)),
        noise=EntropyNoise(entropy),
    )


def released(true: int, scale: Fraction, draws: int, entropy: Entropy | None = None) -> np.ndarray:
    """Many independent releases of one cell: as many cells with the same true count."""
    asked = curator(np.full(draws, true), entropy)
    measured = asked.noisy_coefficients(Product((Identity(draws),)), epsilon=1 / scale)
    assert measured.noise.scale == scale
    assert measured.values.dtype == np.int64
    return measured.values


def independent(low: np.ndarray, truth: np.ndarray) -> bool:
    """Whether a χ² test accepts that low bits do not depend on which table they are from."""
    table = np.zeros((int(truth.max()) + 1, int(low.max()) + 1))
    np.add.at(table, (truth, low), 1)
    table = table[:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return bool(chi2.sf(((table - expected) ** 2 / expected).sum(), freedom) >= FALSE_ALARM)


@pytest.mark.parametrize("true", [0, 1, 1000, 2**40 + 1])
def test_both_neighbours_reach_every_output(true: int, size: Size, tally: Tally) -> None:
    draws = size(2**16, 2**22)
    one, two = released(true, Fraction(2), draws), released(true + 1, Fraction(2), draws)
    tally("low-bit draws", 2 * draws)
    near = range(true - 8, true + 9)
    assert set(near) <= set(one.tolist()) & set(two.tolist())


@pytest.mark.parametrize("scale", ["1000", "1234.5", "99999.9"])
def test_low_bits_do_not_depend_on_the_truth_where_noise_is_wide(
    scale: str, size: Size, tally: Tally
) -> None:
    draws = size(2**17, 2**22)
    values = [released(true, Fraction(scale), draws) for true in (0, 1, 2, 3)]
    tally("low-bit draws", 4 * draws)
    low = np.concatenate(values) & 15
    assert independent(low, np.repeat(np.arange(4), draws))


def test_low_bits_that_depend_on_the_truth_are_noticed(size: Size) -> None:
    """The test above can fail: noise in steps of two keeps the parity of the truth."""
    draws = size(2**12, 2**14)
    values = [true + 2 * released(0, Fraction(500), draws) for true in (0, 1)]
    assert not independent(np.concatenate(values) & 15, np.repeat(np.arange(2), draws))


@pytest.mark.parametrize("exponent", range(-2, 11))
def test_every_scale_goes_through_the_curator(exponent: int, tally: Tally) -> None:
    """From 0.01 to 10¹⁰: integers, spread as the scale says, centred on the truth."""
    scale, draws = Fraction(10) ** exponent, 2**14
    noise = released(5, scale, draws, SeededEntropy(next(SEEDS))) - 5
    tally("low-bit draws", draws)
    if exponent < 0:  # α = exp(−1/scale) < 10⁻⁴: hardly any noise at all
        assert np.count_nonzero(noise) < draws * 0.01
        return
    rate = 1 / float(scale)
    expected = np.exp(-rate) / -np.expm1(-2 * rate) * 2  # E|X| = 2α/(1−α²)
    assert abs(np.abs(noise).mean() / expected - 1) < 0.1
    assert abs(noise.mean()) < 6 * expected * 2 / np.sqrt(draws)
    # The low bits of wide noise are evenly spread; those of multiples of two would not be.
    if exponent >= 4:
        assert abs(np.bincount(noise & 15, minlength=16) / draws - 1 / 16).max() < 0.02


def test_the_distance_from_the_ideal_law_counts_every_draw() -> None:
    """δ in the manifest is a promise about all the draws of a release together."""
    ratio = [
        asked.eta
        for cells in (1, 1000)
        for asked in [curator(np.zeros(cells))]
        if asked.noisy_coefficients(Product((Identity(cells),)), epsilon=1)
    ]
    assert 0 < 1000 * ratio[0] == ratio[1]


def test_answers_to_the_same_question_differ() -> None:
    asked = curator(np.full(64, 100))
    parts = Regions(np.arange(64))
    answers = [tuple(asked.noisy_counts(parts, epsilon="0.1").values) for _ in range(20)]
    assert len(set(answers)) == 20


def test_releases_of_one_table_differ_whoever_makes_them(tmp_path: Path, size: Size) -> None:
    """No two releases share their noise, also when a process makes many of them."""
    (tmp_path / "t.csv").write_text("age\n" + "1\n2\n" * 5)
    (tmp_path / "t.toml").write_text(
        'name = "t"\nbudget = "1000"\n[[attribute]]\nname = "age"\nkind = "ordinal"\n'
        "range = [0, 63]\n"
    )
    seen = set()
    for number in range(size(5, 30)):
        release = hushtable.publish(
            tmp_path / "t.csv", tmp_path / "t.toml", epsilon="0.5", out=tmp_path / str(number)
        )
        assert release.private
        seen.add(release.cells().tobytes())
    assert len(seen) == size(5, 30)

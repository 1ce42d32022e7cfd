"""The exact samplers, by enumeration of their bits before statistics."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from noise_laws import enumerate_outcomes, fits, laplace_cdf
from tests.shared_sizes import some_of

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.noise import exact


@pytest.mark.parametrize("n", range(1, 12))
def test_uniform_below_is_uniform_after_any_number_of_rounds(n):
    width = (n - 1).bit_length()
    for rounds in range(1, 3):
        runs = 1 + sum(2**width * (2**width - n) ** r for r in range(rounds))
        masses, rest = enumerate_outcomes(lambda bits: exact.uniform_below(n, bits), runs)
        assert set(masses) == set(range(n))
        assert len(set(masses.values())) == 1
        assert rest == (0 if n == 1 else Fraction(2**width - n, 2**width) ** rounds)


@pytest.fixture
def scripted_uniforms(monkeypatch):
    """Let scripts name the answers of `uniform_below`, whose law the test above shows."""
    monkeypatch.setattr(exact, "uniform_below", lambda n, script: script.below(n))


@pytest.fixture
def scripted_exponentials(scripted_uniforms, monkeypatch):
    """Let scripts also name the outcomes of `bernoulli_exp`, whose law a test below shows."""
    monkeypatch.setattr(exact, "bernoulli_exp", lambda g, script: script.flip(math.exp(-g)))
    small = "_bernoulli_exp_of_at_most_one"
    monkeypatch.setattr(exact, small, lambda n, d, script: script.flip(math.exp(-n / d)))


def assert_law(sampler, law, *, runs=3000, rest_below=1 / 400):
    """Every outcome's true probability lies between its enumerated mass and that plus the rest."""
    masses, rest = enumerate_outcomes(sampler, runs)
    assert rest < rest_below
    for outcome, probability in law.items():
        mass = masses.get(outcome, Fraction(0))
        assert mass - 1e-12 <= probability <= mass + rest + 1e-12
    return masses, rest


@pytest.mark.usefixtures("scripted_uniforms")
@pytest.mark.parametrize("p", [Fraction(0), Fraction(3, 7), Fraction(1, 2), Fraction(1)])
def test_bernoulli_has_its_probability(p):
    assert_law(lambda bits: exact.bernoulli(p, bits), {True: p, False: 1 - p})


@pytest.mark.usefixtures("scripted_uniforms")
@pytest.mark.parametrize("gamma", ["0", "1/2", "3/10", "1", "3/2", "7/3", "4"])
def test_bernoulli_exp_has_its_probability_and_no_other(gamma):
    gamma = Fraction(gamma)
    p = math.exp(-gamma)
    masses, rest = assert_law(
        lambda bits: exact.bernoulli_exp(gamma, bits), {True: p, False: 1 - p}
    )
    if gamma:
        for other in (math.exp(-gamma * 9 / 10), math.exp(-gamma * 11 / 10)):
            assert not masses[True] <= other <= masses[True] + rest


@pytest.mark.usefixtures("scripted_uniforms")
def test_bernoulli_exp_of_zero_needs_no_luck():
    assert enumerate_outcomes(lambda bits: exact.bernoulli_exp(Fraction(0), bits), 5) == (
        {True: Fraction(1)},
        Fraction(0),
    )


@pytest.mark.usefixtures("scripted_exponentials")
@pytest.mark.parametrize("scale", ["1/3", "1", "3/2", "2"])
def test_geometric_has_its_law(scale):
    scale = Fraction(scale)
    alpha = math.exp(-1 / scale)
    law = {g: (1 - alpha) * alpha**g for g in range(6)}
    assert_law(lambda bits: exact.geometric(scale, bits), law)


@pytest.mark.parametrize("scale", ["1/3", "1", "3/2"])
def test_discrete_laplace_has_its_law(scale, monkeypatch):
    scale = Fraction(scale)
    alpha = math.exp(-1 / scale)
    law = {x: (1 - alpha) / (1 + alpha) * alpha ** abs(x) for x in range(-5, 6)}
    steps = [(1 - alpha) * alpha**g for g in range(200)]
    monkeypatch.setattr(exact, "geometric", lambda _, script: script.answer(steps))
    masses, rest = assert_law(lambda bits: exact.discrete_laplace(scale, bits), law)
    assert abs(masses[1] - masses[-1]) <= rest


@pytest.mark.usefixtures("scripted_uniforms")
def test_choose_follows_the_weights():
    law = {0: Fraction(1, 6), 1: Fraction(0), 2: Fraction(1, 2), 3: Fraction(1, 3), 4: Fraction(0)}
    masses, _ = assert_law(lambda bits: exact.choose([1, 0, 3, 2, 0], bits), law)
    assert 1 not in masses
    assert 4 not in masses


@pytest.mark.usefixtures("scripted_exponentials")
def test_choose_exponential_follows_the_exponents():
    exponents = [Fraction(0), Fraction(-1), Fraction(1, 2)]
    total = sum(math.exp(e) for e in exponents)
    law = {i: math.exp(e) / total for i, e in enumerate(exponents)}
    assert_law(lambda bits: exact.choose_exponential(exponents, bits), law)


def test_choose_exponential_ignores_a_common_shift_however_large():
    near = [Fraction(0), Fraction(-1)]
    far = [e + 10**6 for e in near]
    first, second = (
        [exact.choose_exponential(e, source) for _ in range(200)]
        for e, source in ((near, SeededEntropy(1)), (far, SeededEntropy(1)))
    )
    assert first == second


def test_choose_exponential_finds_one_good_candidate_among_many():
    exponents = [Fraction(0)] * 20_000
    exponents[12_345] = Fraction(80)
    assert exact.choose_exponential(exponents, SeededEntropy(2)) == 12_345


@pytest.mark.parametrize(
    "scale",
    some_of(
        ["3/10", "1", "20", "64", "1000", "100000", "10000000000"], ["3/10", "1", "64", "1000"]
    ),
)
def test_a_sample_fits_its_scale_and_no_scale_a_tenth_off(scale):
    scale = Fraction(scale)
    source = SeededEntropy(int(scale) + 3)
    sample = [exact.discrete_laplace(scale, source) for _ in range(16_000)]
    assert fits(sample, laplace_cdf(float(scale)))
    assert not fits(sample, laplace_cdf(float(scale) * 0.9))
    assert not fits(sample, laplace_cdf(float(scale) * 1.1))


def test_what_is_no_law_is_refused():
    source = SeededEntropy(0)
    for attempt in (
        lambda: exact.uniform_below(0, source),
        lambda: exact.bernoulli(Fraction(3, 2), source),
        lambda: exact.bernoulli_exp(Fraction(-1), source),
        lambda: exact.geometric(Fraction(0), source),
        lambda: exact.discrete_laplace(Fraction(-1), source),
        lambda: exact.choose([], source),
        lambda: exact.choose([0, 0], source),
        lambda: exact.choose([2, -1], source),
        lambda: exact.choose_exponential([], source),
    ):
        with pytest.raises(ValueError):
            attempt()

"""From noisy tables to distributions: agreement, no negative counts, the right total."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from network_cases import NETWORKS, SCHEMA, marginal, network_of, random_fit

from hushtable.families.network import fit as network_fit
from hushtable.families.network.fit import Agreement, cell_map, fit, nearest
from hushtable.families.network.network import Network
from hushtable.kernel.privacy.noises import DiscreteLaplace

every_network = pytest.mark.parametrize("name", NETWORKS)
SCALE = Fraction(20)


def noisy_tables(network: Network, seed: int, scale: float = 20) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    tables = random_fit(network, total=5000).tables
    return [np.round(t + random.laplace(0, scale, t.shape)).astype(np.int64) for t in tables]


@every_network
def test_distributions_are_distributions(name: str) -> None:
    network = network_of(name)
    for seed in range(5):
        noises = [DiscreteLaplace(SCALE)] * len(network.measured)
        tables = noisy_tables(network, seed)
        fitted = fit(
            network, tables, noises=noises, rows=4990, rows_noise=DiscreteLaplace(Fraction(30))
        )
        assert fitted.total == pytest.approx(5000, abs=500)
        for table in fitted.tables:
            assert (table >= 0).all() and table.sum() == pytest.approx(fitted.total)
        for link, conditional in zip(network.links, fitted.conditionals, strict=True):
            assert conditional.shape == network.shape(link.table)
            assert (conditional >= 0).all() and np.allclose(conditional.sum(axis=-1), 1)


@every_network
def test_tables_agree_on_all_that_they_share(name: str) -> None:
    network = network_of(name)
    counts = [t.reshape(-1).astype(float) for t in noisy_tables(network, 1)]
    Agreement(network, [1.0] * len(counts)).reach(counts, 5000.0)
    for (one, mine), (other, theirs) in itertools.combinations(
        zip(network.measured, counts, strict=True), 2
    ):
        shared = [
            (axis, max(level, dict(other)[axis])) for axis, level in one if axis in dict(other)
        ]
        size = math.prod(network.shape(shared))
        left = np.bincount(cell_map(network, one, shared), mine, size)
        right = np.bincount(cell_map(network, other, shared), theirs, size)
        assert np.allclose(left, right) and left.sum() == pytest.approx(5000)


def test_what_agrees_already_stays_as_it_is() -> None:
    network = network_of("levels")
    before = [table.reshape(-1) for table in random_fit(network, total=900).tables]
    counts = [table.copy() for table in before]
    Agreement(network, [2.0] * len(counts)).reach(counts, 900.0)
    assert all(np.allclose(a, b) for a, b in zip(before, counts, strict=True))


def test_agreement_weighs_by_precision() -> None:
    """Of two tables that share an attribute, the one with less noise moves less."""
    network = network_of("a chain")
    truth = [table.reshape(-1) for table in random_fit(network, total=900).tables]
    counts = [table.copy() for table in truth]
    counts[1] += np.arange(len(counts[1]))
    Agreement(network, [1.0, 1e-6, 1.0, 1.0]).reach(counts, 900.0)
    exact = network.measured[1]
    onto = [(1, 0)]
    size = network.size((1, 0))
    cells = cell_map(network, exact, onto)
    kept = np.bincount(cells, counts[1], size)
    wanted = np.bincount(cells, truth[1] + np.arange(len(cells)), size)
    assert np.allclose(kept - kept.mean(), wanted - wanted.mean(), atol=1e-3)
    assert not np.allclose(kept - kept.mean(), np.bincount(cells, truth[1], size) - kept.mean())


def test_agreement_lowers_the_noise() -> None:
    assert len(network_of("all of it").measured) == 1  # nothing to agree with
    chain = network_of("a chain")
    errors = {0: 0.0, 3: 0.0}
    for rounds, seed in itertools.product(errors, range(40)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(network_fit, "ROUNDS", rounds)
            tables = noisy_tables(chain, seed)
            fitted = fit(
                chain, tables, noises=[DiscreteLaplace(SCALE)] * 4, rows=5000, rows_noise=None
            )
        truth = random_fit(chain, total=5000).tables
        pairs = zip(fitted.tables, truth, strict=True)
        errors[rounds] += sum(float(np.abs(a - b).sum()) for a, b in pairs)
    assert errors[3] < 0.9 * errors[0]


def test_the_nearest_table_is_the_nearest() -> None:
    """No other table without negative counts and with this total is nearer."""
    random = np.random.default_rng(3)
    for _ in range(20):
        table = random.normal(2, 5, 6)
        found = nearest(table, 9.0)
        assert found.sum() == pytest.approx(9) and (found >= 0).all()
        for _ in range(50):
            other = random.dirichlet(np.ones(6)) * 9
            step = found + 0.01 * (other - found)
            assert np.square(step - table).sum() >= np.square(found - table).sum() - 1e-9


def test_the_total_is_a_mean_by_precision_and_a_declared_one_is_taken() -> None:
    network = network_of("independent")
    tables = [np.full(network.shape(t), 10) for t in network.measured]
    declared = fit(network, tables, noises=[DiscreteLaplace(SCALE)] * 4, rows=123, rows_noise=None)
    assert (declared.total, declared.total_variance) == (123.0, 0.0)
    bought = fit(
        network,
        tables,
        noises=[DiscreteLaplace(SCALE)] * 4,
        rows=50,
        rows_noise=DiscreteLaplace(Fraction(20)),
    )
    sizes, variance = [7, 6, 2, 4], 1 / (math.cosh(1 / 20) - 1)
    weights = [1 / (size * variance) for size in sizes] + [1 / variance]
    expected = np.average([70, 60, 20, 40, 50], weights=weights)
    assert bought.total == pytest.approx(expected)
    assert bought.total_variance == pytest.approx(1 / sum(weights))
    empty = [np.full(network.shape(t), -10) for t in network.measured]
    assert (
        fit(
            network,
            empty,
            noises=[DiscreteLaplace(SCALE)] * 4,
            rows=1,
            rows_noise=DiscreteLaplace(SCALE),
        ).total
        == 1
    )


def test_parents_that_nobody_has_borrow_from_all() -> None:
    """As many rows of everyone's distribution as a cell has noise, wherever there are few."""
    table = np.array([[10.0, 30.0], [0.0, 0.0], [4.0, 0.0]])
    found = network_fit._conditional(table, noise=2.0)
    everyone = np.array([14, 30]) / 44
    assert np.allclose(found[1], everyone)
    assert np.allclose(found[0], (table[0] + 2 * everyone) / 42)
    assert np.allclose(found[2], (table[2] + 2 * everyone) / 6)


def test_maps_between_tables_follow_the_levels() -> None:
    network = network_of("levels")
    joint = np.random.default_rng(1).random(SCHEMA.shape)
    fine = ((0, 0), (1, 0), (3, 0))
    table = marginal(network, joint, fine)
    for onto in ([(1, 1)], [(3, 1), (0, 2)], [], [(1, 0), (0, 1)]):
        flat = np.bincount(cell_map(network, fine, onto), table.reshape(-1))
        assert np.allclose(flat, marginal(network, joint, tuple(onto)).reshape(-1))

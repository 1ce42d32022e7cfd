"""Estimates on (K, L)-trees: against every table there is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.shared_sizes import some_of

from hushtable_papers.tree_posterior import (
    least_squares,
    level_budgets,
    level_sums,
    posterior_means,
)


def brute_force(noisy: list[np.ndarray], children: int, scales: list[Fraction]) -> np.ndarray:
    """The mean of all tables with leaves of −12 … 19, by their likelihoods."""
    leaves = len(noisy[-1])
    total, mean = 0.0, np.zeros(leaves)
    for table in itertools.product(range(-12, 20), repeat=leaves):
        levels = level_sums(np.array(table), children)
        log = -sum(
            np.abs(level - seen).sum() / float(scale)
            for level, seen, scale in zip(levels, noisy, scales, strict=True)
        )
        total += math.exp(log)
        mean += math.exp(log) * np.array(table)
    return mean / total


@pytest.mark.parametrize(
    "scales", some_of([(1, 1), (2, 1), (Fraction(1, 2), Fraction(3, 2))], [(2, 1)])
)
def test_one_parent_of_two_or_three(scales: tuple[Fraction, ...]) -> None:
    scales = [Fraction(scale) for scale in scales]  # type: ignore[assignment]
    for noisy in ([np.array([9]), np.array([2, 3])], [np.array([-2]), np.array([4, -1, 1])]):
        children = len(noisy[1])
        found = posterior_means(noisy, children, scales)  # type: ignore[arg-type]
        assert found == pytest.approx(brute_force(noisy, children, scales), abs=1e-3)  # type: ignore[arg-type]


def test_three_levels() -> None:
    """Sums of many tables; messages over two levels."""
    noisy = [np.array([9]), np.array([4, 8]), np.array([1, 2, 3, 1])]
    scales = [Fraction(1), Fraction(1), Fraction(1)]
    span = np.arange(-14, 20)
    one = [np.exp(-np.abs(span - leaf)) for leaf in noisy[2]]
    pairs = []
    for i in range(2):
        grid = np.outer(one[2 * i], one[2 * i + 1])
        sums = span[:, None] + span[None, :]
        pairs.append((grid * np.exp(-np.abs(sums - noisy[1][i])), sums))
    table = np.zeros(4)
    total = 0.0
    first = {s: pairs[0][0][pairs[0][1] == s].sum() for s in range(-28, 39)}
    second = {s: pairs[1][0][pairs[1][1] == s].sum() for s in range(-28, 39)}
    for a, b in itertools.product(first, second):
        total += first[a] * second[b] * math.exp(-abs(a + b - 9))
    for k in range(4):
        grid, sums = pairs[k // 2]
        other = second if k < 2 else first
        pull = sum(p * np.exp(-np.abs(sums + s - 9)) for s, p in other.items())
        along = span[:, None] if k % 2 == 0 else span[None, :]
        table[k] = (grid * pull * along).sum() / total
    assert posterior_means(noisy, 2, scales) == pytest.approx(table, abs=1e-3)


def test_least_squares_is_consistent_and_weighted() -> None:
    noisy = [np.array([10]), np.array([2, 3])]
    assert least_squares(noisy) == pytest.approx([2 + 5 / 3, 3 + 5 / 3])
    exact = least_squares(noisy, [Fraction(1, 100), Fraction(5)])
    assert exact.sum() == pytest.approx(10, abs=1e-3)


def test_budgets_of_levels() -> None:
    assert level_budgets(Fraction(1), 4, "equal") == [Fraction(1, 4)] * 4
    assert level_budgets(Fraction(1), 3, "leaves first") == [Fraction(1, i) for i in (8, 4, 2)]
    assert level_budgets(Fraction(1), 3, "root first") == [Fraction(1, i) for i in (2, 4, 8)]

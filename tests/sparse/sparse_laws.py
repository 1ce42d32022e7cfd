"""What the tests of sparse summaries compare with: noise on every place, written out."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.maps.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise import gaps, stretches
from hushtable.kernel.noise import sparse_draws as sparse

FALSE_ALARM = 1e-6
Outcome = tuple[tuple[int, int], ...]
"""The places that were kept, each with its noisy value."""


def laplace(scale: float, x: int) -> float:
    alpha = math.exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** abs(x)


def kept_chance(rule: Rule, v: int) -> float:
    """The probability that a rule keeps a noisy value, from its definition."""
    size = v if isinstance(rule, Filter) and not rule.two_sided else abs(v)
    if size < rule.theta:
        return 0.0
    return min(abs(v) / rule.tau, 1.0) if isinstance(rule, Threshold) else 1.0


@cache
def place_law(value: int, rule: Rule, scale: float, reach: int) -> dict[int | None, float]:
    """For one place, the probability of each noisy value that is kept, and of None: not kept."""
    law: dict[int | None, float] = {
        v: laplace(scale, v - value) * kept_chance(rule, v)
        for v in range(value - reach, value + reach + 1)
    }
    law = {v: p for v, p in law.items() if p > 0}
    law[None] = 1 - sum(law.values())
    return law


def laborious(values: Sequence[int], rule: Rule, scale: float, found: Outcome) -> float:
    """The probability of a summary: noise on every place, each looked at by itself."""
    kept = dict(found)
    total = 1.0
    for place, value in enumerate(values):
        law = place_law(value, rule, scale, 30)
        total *= law[kept.get(place)]
    return total


def held(structure: Structure, counts: Mapping[int, int]) -> Held:
    """What the curator would hold of a table with these counts of cells."""
    codes = np.array(list(counts), np.int64)
    places, values = structure.forward(codes, np.array(list(counts.values()), np.int64))
    return Held(places, values, structure.places)


def dense(table: Held) -> list[int]:
    values = np.zeros(table.domain, np.int64)
    values[table.places] = table.values
    return [int(value) for value in values]


def outcome(kept: Kept) -> Outcome:
    return tuple(zip(kept.places.tolist(), kept.values.tolist(), strict=True))


# ── every path of the shortcut ───────────────────────────────────────────────────────────────────


class _Undecided(Exception):
    def __init__(self, chances: list[float]) -> None:
        self.chances = chances


class Script:
    """Answers choices from a list, and asks for more by raising their probabilities."""

    private = False

    def __init__(self, answers: Sequence[int] = ()) -> None:
        self._answers = iter(answers)

    def choose(self, chances: list[float]) -> int:
        try:
            return next(self._answers)
        except StopIteration:
            raise _Undecided(chances) from None

    def fill(self, out: NDArray[Any]) -> None:
        """Coins only: everything else is drawn by name."""
        assert out.dtype == np.uint8
        for i in range(len(out)):
            out[i] = self.choose([0.5, 0.5])

    def bits(self, k: int) -> int:
        raise NotImplementedError

    def spawn(self) -> Script:
        raise NotImplementedError


def scripted(monkeypatch: pytest.MonkeyPatch, reach: int) -> None:
    """Let the shortcut draw from scripts: its primitive laws, cut off at `reach`."""

    def add_laplace(values: NDArray[np.int64], scale: Fraction, script: Script) -> None:
        chances = [laplace(float(scale), x) for x in range(-reach, reach + 1)]
        for i in range(len(values)):
            values[i] += script.choose(chances) - reach

    def geometric(scale: Fraction, size: int, script: Script) -> NDArray[np.int64]:
        alpha = math.exp(-1 / float(scale))
        chances = [(1 - alpha) * alpha**g for g in range(reach)]
        return np.array([script.choose(chances) for _ in range(size)], np.int64)

    def one_gap(scale: Fraction, size: int, script: Script) -> NDArray[np.int64]:
        ratio = math.exp(-1 / float(scale))
        chances = [(1 - ratio) * ratio**g for g in range(9)]
        chances.append(1 - sum(chances))  # beyond every domain that is tried
        return np.array([script.choose(chances)], np.int64)

    def uniform_below(n: int, size: int, script: Script) -> NDArray[np.int64]:
        return np.array([script.choose([1 / n] * n) for _ in range(size)], np.int64)

    def bernoulli(chance: Any, size: int, script: Script) -> NDArray[np.bool_]:
        p = float(chance)
        return np.array([script.choose([1 - p, p]) == 1 for _ in range(size)])

    monkeypatch.setattr(sparse, "add_laplace", add_laplace)
    monkeypatch.setattr(sparse, "sample_geometric", geometric)
    monkeypatch.setattr(sparse, "_uniform_below", uniform_below)
    monkeypatch.setattr(sparse, "_bernoulli", bernoulli)
    monkeypatch.setattr(gaps, "sample_gaps", one_gap)


def cut(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Draw every domain in so many stretches, or in one for every place."""
    monkeypatch.setattr(stretches, "_LEAST", 1)
    monkeypatch.setattr(stretches, "_MOST", number)


def every_path(run: Callable[[Any], Any], runs: int) -> tuple[dict[Any, float], float]:
    """The outcomes of all scripts, likeliest first, with their probabilities; and what is left."""
    masses: dict[Any, float] = {}
    waiting: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
    for _ in range(runs):
        if not waiting:
            break
        key, answers = heapq.heappop(waiting)
        try:
            result = run(Script(answers))
        except _Undecided as undecided:
            for answer, p in enumerate(undecided.chances):
                if p > 0:
                    heapq.heappush(waiting, (key * p, (*answers, answer)))
        else:
            masses[result] = masses.get(result, 0.0) - key
    return masses, 1 - sum(masses.values())


# ── samples ──────────────────────────────────────────────────────────────────────────────────────


def fits(observed: Mapping[Any, int], expected: Mapping[Any, float]) -> bool:
    """Say whether a χ² test accepts these frequencies for these probabilities.

    Outcomes that are expected fewer than ten times are counted together.
    """
    total = sum(observed.values())
    common = [key for key, p in expected.items() if p * total >= 10]
    pairs = [(observed.get(key, 0), expected[key] * total) for key in common]
    pairs.append((total - sum(o for o, _ in pairs), total - sum(e for _, e in pairs)))
    if pairs[-1][1] < 1e-6:
        if pairs[-1][0]:
            return False
        pairs.pop()
    statistic = sum((o - e) ** 2 / max(e, 1.0) for o, e in pairs)
    return bool(chi2.sf(statistic, max(len(pairs) - 1, 1)) >= FALSE_ALARM)


def same_law(one: Counter[Any], other: Counter[Any]) -> bool:
    """Say whether a χ² test accepts that two samples have one law."""
    n, k = sum(one.values()), sum(other.values())
    both = one + other
    groups = [key for key, number in both.items() if number >= 40]
    rest = [key for key in both if both[key] < 40]
    pairs = [(one[key], other[key]) for key in groups]
    pairs.append((sum(one[key] for key in rest), sum(other[key] for key in rest)))
    statistic = sum(
        (math.sqrt(k / n) * a - math.sqrt(n / k) * b) ** 2 / (a + b) for a, b in pairs if a + b
    )
    return bool(chi2.sf(statistic, max(len(pairs) - 1, 1)) >= FALSE_ALARM)


def laborious_priorities(
    values: Sequence[int], rule: Priority, scale: float, runs: int, seed: int
) -> Iterator[tuple[Outcome, float]]:
    """Noise on every place and a priority for each, many times over: what is kept, and τ."""
    random = np.random.default_rng(seed)
    success = 1 - math.exp(-1 / scale)
    shape = (runs, len(values))
    noise = random.geometric(success, shape) - random.geometric(success, shape)
    noisy = np.array(values) + noise
    sizes = np.where(np.abs(noisy) >= rule.theta, np.abs(noisy), 0)
    priorities = sizes / (1 - random.random(shape))
    orders = np.argsort(-priorities, axis=1)
    for row, sized, ranked, order in zip(noisy, sizes, priorities, orders, strict=True):
        chosen = [int(i) for i in order[: rule.size] if sized[i]]
        tau = float(ranked[order[rule.size]]) if len(values) > rule.size else 0.0
        yield tuple((i, int(row[i])) for i in sorted(chosen)), tau


def seeded(seed: int) -> SeededEntropy:
    return SeededEntropy(seed)

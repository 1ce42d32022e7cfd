"""What was drawn in a run, and what a neighbouring table would have had to draw to look the same.

A `Recorder` notes the integers and the scale of every draw before noise is added. A `Replay` then
gives the recorded noisy answers to a run on another table, so that an adaptive mechanism takes the
same path, and notes the integers of that table. The privacy loss between the two follows exactly:

| draw                  | largest abs ln(P[output on x] / P[output on x′]) over outputs          |
|-----------------------|------------------------------------------------------------------------|
| discrete Laplace      | Σ abs(v − v′) / scale                                                  |
| summary of all places | Σ abs(v − v′) / scale over all places, as if their noise were seen       |
| splits                | abs(Σ ln(P[decided on x] / P[decided on x′])), as decided           |
| exponential mechanism | max over candidates i of abs(eᵢ − e′ᵢ + ln Σ exp e′ⱼ − ln Σ exp eⱼ)    |

Losses of Laplace draws are exact fractions; those of splits and selections are rounded up by 10⁻⁴⁵.
Splits are told by their logarithms with a sign: what many of them lose together is less than the
sum of what each may lose, since one row makes splits likelier and the end of a path less likely.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps.rules import Held, Kept, Rule
from hushtable.kernel.noise.bulk import Keep, Noise
from hushtable.kernel.privacy.account import Account

_DIGITS = decimal.Context(prec=60, Emin=-(10**8), Emax=10**8)
_MARGIN = Fraction(1, 10**45)
# exp of anything below this does not show in 60 digits of a sum that has a 1 in it.
_LOWEST = Fraction(-1000)
_MOST_PLACES = 2**20


class Divergence(Exception):
    """Two runs with the same noisy answers went different ways: that alone tells them apart."""


@dataclass(frozen=True)
class LaplaceDraw:
    """Integers before and after discrete Laplace noise of one scale."""

    exact: NDArray[np.int64]
    scale: Fraction
    noisy: NDArray[np.int64]

    def loss(self, exact: NDArray[np.int64]) -> Fraction:
        """The loss against a table that has these integers instead."""
        pairs = zip(self.exact.ravel().tolist(), exact.ravel().tolist(), strict=True)
        return sum(abs(mine - other) for mine, other in pairs) / Fraction(self.scale)


@dataclass(frozen=True)
class ChoiceDraw:
    """A choice among candidates with probabilities ∝ exp(exponent)."""

    exponents: tuple[Fraction, ...]
    choice: int

    def loss(self, exponents: Sequence[Fraction]) -> Fraction:
        """The loss of the worst candidate against a table that has these exponents instead."""
        if tuple(exponents) == self.exponents:
            return Fraction(0)
        shift = log_sum(exponents) - log_sum(self.exponents)
        pairs = zip(self.exponents, exponents, strict=True)
        return max(abs(mine - other + shift) for mine, other in pairs) + _MARGIN


@dataclass(frozen=True)
class SplitDraw:
    """Integers that were compared with a threshold after discrete Laplace noise of one scale."""

    exact: NDArray[np.int64]
    threshold: int
    scale: Fraction
    decided: NDArray[np.bool_]

    def log_ratio(self, exact: NDArray[np.int64]) -> Fraction:
        """ln of how much likelier these decisions are than with other integers, within 10⁻⁴⁶."""
        total = Fraction(0)
        for mine, other, split in zip(
            self.exact.tolist(), exact.tolist(), self.decided.tolist(), strict=True
        ):
            if mine != other:
                total += self._log_chance(mine, split) - self._log_chance(other, split)
        return total

    def _log_chance(self, value: int, split: bool) -> Fraction:
        return log_chance_of_split(value - self.threshold, self.scale, split=split)


@dataclass(frozen=True)
class SummaryDraw:
    """The integers of all places before discrete Laplace noise, and what a rule kept of them."""

    exact: NDArray[np.int64]
    rule: Rule
    scale: Fraction
    kept: Kept

    def loss(self, exact: NDArray[np.int64]) -> Fraction:
        """The loss against a table that has these integers instead, if all noise were seen.

        What a rule keeps is less than that. That the summary has the law of noising every place is
        for other tests to say.
        """
        return LaplaceDraw(self.exact, self.scale, self.exact).loss(exact)


def all_places(held: Held) -> NDArray[np.int64]:
    """The values of every place of a small domain."""
    if held.domain > _MOST_PLACES:
        raise ValueError("a transcript writes out every place: use a smaller domain")
    values = np.zeros(held.domain, np.int64)
    values[held.places] = held.values
    return values


Draw = LaplaceDraw | ChoiceDraw | SplitDraw | SummaryDraw


@lru_cache(maxsize=1 << 16)
def log_chance_of_split(above: int, scale: Fraction, *, split: bool) -> Fraction:
    """ln P[above + Z > 0], or of the contrary, for discrete Laplace noise Z; within 10⁻⁵⁰.

    P[Z ≥ k] is q^k/(1+q) for k ≥ 1, and by symmetry 1 − q^(1−k)/(1+q) for k ≤ 0.
    """
    far = 1 - above if split else above  # how far noise must reach
    with decimal.localcontext(_DIGITS):
        q = _decimal(-1 / scale).exp()
        if far >= 1:
            return -far / scale - Fraction((1 + q).ln())
        power = _decimal(max((far - 1) / scale, _LOWEST)).exp()
        return Fraction((1 - power / (1 + q)).ln())


def log_sum(exponents: Sequence[Fraction]) -> Fraction:
    """ln Σ exp(exponent), within 10⁻⁴⁶.

    With the largest taken out, every term is at most 1 and one of them is 1. Arguments, terms and
    the logarithm are each right to 60 digits, so a million terms are still right to 50.
    """
    largest = max(exponents)
    with decimal.localcontext(_DIGITS):
        terms = (_decimal(max(exponent - largest, _LOWEST)).exp() for exponent in exponents)
        return largest + Fraction(sum(terms, Decimal(0)).ln())


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


class NoNoise:
    """Adds nothing and chooses the best: the path of the most likely transcript."""

    private = False

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        return Fraction(0)

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        return values > threshold, Fraction(0)

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        return max(range(len(exponents)), key=exponents.__getitem__), Fraction(0)

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        passing = np.flatnonzero(np.abs(held.values) >= rule.theta)
        return Kept(held.places[passing], held.values[passing], 0.0), Fraction(0)


class Recorder:
    """Draws by another noise and notes every draw."""

    private = False

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.draws: list[Draw] = []

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        exact = values.copy()
        eta = self._noise.add_laplace(values, scale)
        self.draws.append(LaplaceDraw(exact, scale, values.copy()))
        return eta

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        decided, eta = self._noise.exceeding(values, threshold, scale)
        self.draws.append(SplitDraw(values.copy(), threshold, scale, decided.copy()))
        return decided, eta

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        choice, eta = self._noise.choose(exponents)
        self.draws.append(ChoiceDraw(tuple(exponents), choice))
        return choice, eta

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        kept, eta = self._noise.summarise(held, rule, scale, keep)
        self.draws.append(SummaryDraw(all_places(held), rule, scale, kept))
        return kept, eta


class Replay:
    """Answers as an earlier run did and adds up the loss between that run's table and this one."""

    private = False

    def __init__(self, draws: Sequence[Draw], account: Account) -> None:
        self._draws = iter(draws)
        self._account = account
        self._lost = self._split = Fraction(0)
        self.covered = True
        """Whether the account had been charged for every draw when it was made."""

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        draw = next(self._draws, None)
        if not isinstance(draw, LaplaceDraw):
            raise Divergence("the order of the draws depends on the data")
        if draw.exact.shape != values.shape:
            raise Divergence("the number of values drawn for depends on the data")
        if draw.scale != scale:
            raise Divergence("the scale of the noise depends on the data")
        self._lose(draw.loss(values))
        values[...] = draw.noisy
        return Fraction(0)

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        draw = next(self._draws, None)
        if not isinstance(draw, SplitDraw):
            raise Divergence("the order of the draws depends on the data")
        if draw.exact.shape != values.shape:
            raise Divergence("the number of values drawn for depends on the data")
        if (draw.scale, draw.threshold) != (scale, threshold):
            raise Divergence("the scale of the noise, or the threshold, depends on the data")
        self._split += draw.log_ratio(values)
        self._lose(Fraction(0))
        return draw.decided.copy(), Fraction(0)

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        draw = next(self._draws, None)
        if not isinstance(draw, ChoiceDraw):
            raise Divergence("the order of the draws depends on the data")
        if len(draw.exponents) != len(exponents):
            raise Divergence("the number of candidates depends on the data")
        self._lose(draw.loss(exponents))
        return draw.choice, Fraction(0)

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        draw = next(self._draws, None)
        if not isinstance(draw, SummaryDraw):
            raise Divergence("the order of the draws depends on the data")
        if len(draw.exact) != held.domain:
            raise Divergence("the number of places depends on the data")
        if (draw.scale, draw.rule) != (scale, rule):
            raise Divergence("the scale of the noise, or the rule, depends on the data")
        self._lose(draw.loss(all_places(held)))
        return draw.kept, Fraction(0)

    @property
    def loss(self) -> Fraction:
        """The loss of all draws so far."""
        return self._lost + (abs(self._split) + _MARGIN if self._split else 0)

    def _lose(self, loss: Fraction) -> None:
        self._lost += loss
        self.covered = self.covered and self.loss <= self._account.spent

    def finish(self) -> None:
        """Refuse a run that drew less than the recorded one."""
        if next(self._draws, None) is not None:
            raise Divergence("the number of draws depends on the data")

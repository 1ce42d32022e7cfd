"""How large the true sum behind a summary may be: bounds that hold as often as they say.

A place of true count c gets noise, v = c + N; a rule keeps v or not, and what was kept stands for
W(c) = sign(v)·max(abs(v), τ), what is missing for 0. Places err independently, and the law of W(c)
is known but for c. So for any number y(W) that is 0 for a missing place, and any κ, Markov's
inequality says of all true counts c₁ … c_P together

    P[Σ y(Wᵢ) − κ·Σ cᵢ ≥ P·H + L] ≤ exp(−L),    H = the largest log E[exp(y(W(c)))] − κ·c, c ≥ 0,

which bounds the true sum T = Σ cᵢ without knowing how it is spread: from below for κ > 0, from
above for κ < 0. With y = ±λ·W less something for each place that was kept, and κ = ±λ, noise and
sampling cost what the kept places have, not what T could be spread over (`Sides`). For what a
filter hides, lines of any slope above log E[exp(−λ·W(c))] are tried (`Hull`).

log E[exp(y(W(c)))] is known in closed form. Where the scale is large, it is computed for some c and
raised by as much as it can exceed the straight lines between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from hushtable.arrays import Floats
from hushtable.kernel.privacy.noises import DiscreteLaplace

# How far beyond its thresholds a count is all but certain to be kept, and the steps, in scales.
_BEYOND = 20.0
_STEPS = 1 / 64
# Several tilts share the chance of missing, since data choose among them.
_SIDE_TILTS = 12
_HULL_TILTS = 40
_SLOPES = 24
_LARGEST_EXPONENT = 300.0


@dataclass(frozen=True)
class KeepingLaw:
    """What noise and a rule make of a count: v is kept from theta on, and for sure from tau on."""

    noise: DiscreteLaplace
    theta: int
    two_sided: bool
    tau: float

    @property
    def sure(self) -> int:
        """From here on every noisy value is kept."""
        return max(self.theta, math.ceil(self.tau))

    @property
    def rate(self) -> float:
        """The noise has P[x] ∝ exp(−rate·abs(x))."""
        return self.noise.rate

    @cached_property
    def counts(self) -> Floats:
        """The counts that are looked at: all of them, or steps of a small part of the scale."""
        scale = 1 / self.rate
        first, last = self.theta + _BEYOND * scale + 2, self.sure + _BEYOND * scale + 2
        step = max(1.0, math.floor(_STEPS * scale), math.ceil(first / 20_000))
        parts = [np.arange(0, first + step, step)]
        if last > first:
            start = max(self.sure - _BEYOND * scale, first)
            parts.append(
                np.geomspace(first, start, max(2, math.ceil(50 * math.log(start / first))))
            )
            parts.append(np.arange(start, last + step, step))
        knots = np.array([self.theta, self.sure], np.float64)
        return np.unique(np.ceil(np.concatenate([*parts, knots])))

    @cached_property
    def largest_tilt(self) -> float:
        """Beyond it the noise has no moments, or numbers no room."""
        return min(0.9 * self.rate, _LARGEST_EXPONENT / float(self.counts[-1]))

    # ── sums over noisy values, for all counts at once ───────────────────────────────────────────

    def _above(self, c: Floats, least: int, x: float) -> Floats:
        """Σ P[v]·exp(xv) over v ≥ least, for v = c + N."""
        one = -math.expm1(-self.rate) / (1 + math.exp(-self.rate))
        far = one / -math.expm1(x - self.rate)
        before = far * np.exp(np.minimum(x * least - self.rate * (least - c), 700.0))
        near = one * _odds(self.rate + x)
        past = np.maximum(c - least, 0.0)
        after = np.exp(x * c) * (far - near * np.expm1(-(self.rate + x) * past))
        return np.where(c < least, before, after)

    def _mean_above(self, c: Floats, least: int) -> Floats:
        """Σ P[v]·v over v ≥ least."""
        alpha, rest = math.exp(-self.rate), -math.expm1(-self.rate)
        away = np.exp(-self.rate * np.abs(c - least)) / (1 + alpha)
        before = away * (least + alpha / rest)
        return np.where(c < least, before, c - away * alpha * (least - 1 / rest))

    def _sampled(self, c: Floats) -> Floats:
        """Σ P[v]·v/tau over the positive values that are kept with this chance."""
        if self.sure == self.theta:
            return np.zeros_like(c)
        between = self._mean_above(c, self.theta) - self._mean_above(c, self.sure)
        return np.maximum(between, 0.0) / self.tau

    def log_moments(
        self, x: float, sure: float = 0.0, sampled: float = 0.0
    ) -> tuple[Floats, float]:
        """log E[exp(x·W(c) − off)] for the counts looked at, and one that holds for larger ones.

        What is off is `sure` for a value that is kept for sure, `sampled` for one that was sampled.
        Straight lines between the numbers are above it for the counts between. The second result is
        a bound on what the last becomes if all that exceeds the sure ones were added.
        """
        c, least = self.counts, self.sure
        kept, all_kept = math.exp(-sure) * self._above(c, least, x), self._above(c, least, 0.0)
        plus, minus = kept - all_kept, np.zeros_like(c)
        some, few = self._sampled(c), np.zeros_like(c)
        if self.two_sided:
            minus = math.exp(-sure) * self._above(-c, least, -x) - self._above(-c, least, 0.0)
            few = self._sampled(-c)
        up, down = math.expm1(x * self.tau - sampled), math.expm1(-x * self.tau - sampled)
        change = plus + minus + up * some + down * few
        rounding = 1e-14 * (kept + all_kept + np.abs(minus) + abs(up) * some + abs(down) * few)
        bent = self._bent(x, sure, plus, minus, abs(up) + abs(down))
        logs = _above_chords(c, change + rounding, bent, self.rate)
        last = max(1 + change[-1] - kept[-1], 0.0) + rounding[-1]
        beyond = math.exp(x * c[-1] - sure + float(self.noise.log_moment(np.asarray(x)))) + last
        return logs, math.log(beyond)

    def _bent(self, x: float, sure: float, plus: Floats, minus: Floats, weight: float) -> Floats:
        """The size of what may bend downwards, as exp(±rate·c) does with a factor below 0."""
        c, least = self.counts, self.sure
        past = np.exp(-self.rate * np.abs(c - least))
        near = math.exp(min(x * least - sure, 700.0)) * _odds(self.rate + x) * self.rate + 1
        bent = np.where(c <= least, np.maximum(-plus, 0.0), past * near) + np.maximum(-minus, 0.0)
        if self.sure == self.theta:
            return bent
        spread = 1 / -math.expm1(-self.rate)
        first = np.exp(-self.rate * np.abs(c - self.theta)) * (self.theta + spread)
        return np.asarray(bent + weight / self.tau * (first + past * (least + spread)))


def _odds(rate: float) -> float:
    """1/(exp(rate) − 1), for any rate."""
    return math.exp(-rate) / -math.expm1(-rate)


def _above_chords(c: Floats, change: Floats, bent: Floats, rate: float) -> Floats:
    """log(1 + change), raised so that straight lines between its numbers are above it everywhere.

    A function that bends by `bent`·rate² at the most leaves its chord by gap²/8 times that, and no
    further than by its own size. The logarithm of a chord exceeds the chord of logarithms that
    differ by l by l²/8 at the most (Hoeffding).
    """
    gaps = np.diff(c)
    room = np.minimum((gaps * rate) ** 2 / 8, 1.0) * np.maximum(bent[1:], bent[:-1])
    change = change + _either(np.where(gaps > 1, room, 0.0))
    logs = np.log1p(np.maximum(change, -1 + 1e-300))
    return np.asarray(logs + _either(np.where(gaps > 1, np.diff(logs) ** 2 / 8, 0.0)))


def _either(gaps: Floats) -> Floats:
    """The larger of what belongs to the gaps before and after each number."""
    return np.asarray(np.maximum(np.append(gaps, 0.0), np.append(0.0, gaps)))


@dataclass(frozen=True, eq=False)
class Sides:
    """Bounds that cost a part of the kept places: below for sign 1, above for sign −1."""

    tilts: Floats
    sure: Floats
    """What is off for a place that was kept for sure …"""
    sampled: Floats
    """… and for one that was sampled."""
    any: Floats
    """What every place costs."""

    def margin(self, places: int, sure: int, sampled: int, log_miss: float) -> float:
        """How far the true sum may be from what was kept, on this side.

        No more places can be kept than there are: for few of them, few tilts are enough.
        """
        some = slice(min(2 + places.bit_length() // 2, len(self.tilts)))
        cost = self.any * float(places) + self.sure * float(sure) + self.sampled * float(sampled)
        chance = math.log(some.stop) - log_miss
        return float(((cost + chance) / self.tilts)[some].min())


@lru_cache(maxsize=64)
def sides(rule: KeepingLaw, sign: int) -> Sides:
    """The bound on one side: tilts from the largest that make sense to those for vast sums."""
    largest = rule.largest_tilt
    if rule.tau:
        largest = min(largest, 0.9 / rule.tau)
    tilts: Floats = np.asarray(largest * 0.5 ** np.arange(_SIDE_TILTS), np.float64)
    # What makes a sure value, and a small count that is sampled, no likelier to be off than others.
    sure = rule.noise.log_moment(tilts)
    stretched = sign * tilts * rule.tau
    sampled = stretched - np.log1p(stretched)
    each = []
    for tilt, one, other in zip(tilts.tolist(), sure.tolist(), sampled.tolist(), strict=True):
        logs, beyond = rule.log_moments(sign * tilt, one, other)
        slope = sign * tilt
        each.append(max((logs - slope * rule.counts).max(), beyond - slope * rule.counts[-1]))
    return Sides(tilts, sure, sampled, np.array(each))


@dataclass(frozen=True, eq=False)
class Hull:
    """Lines above log E[exp(−tilt·W(c))]: `any` at 0, falling by `slopes`."""

    tilts: Floats
    any: Floats
    slopes: Floats

    def largest(self, places: int, value: float, log_miss: float) -> float:
        """The largest true sum of so many places of which no more was kept than a value."""
        whole = self.tilts * value + self.any * float(places) - log_miss
        return max(float((whole / self.slopes).min(initial=math.inf)), 0.0)


@lru_cache(maxsize=64)
def hull(rule: KeepingLaw) -> Hull:
    """The bound on what a filter hides: one statistic, so that the best line may be chosen."""
    lines = []
    for tilt in (rule.largest_tilt * 0.7 ** np.arange(_HULL_TILTS)).tolist():
        logs, beyond = rule.log_moments(-tilt)
        logs[-1] = max(logs[-1], beyond)
        # From the line that touches at 0 to the fall of counts that are kept for sure.
        touching = -((logs[1:] - logs[0]) / rule.counts[1:]).max()
        slopes = np.geomspace(min(max(touching, 1e-18 * tilt), tilt), tilt, _SLOPES)
        any_place = (logs + np.multiply.outer(slopes, rule.counts)).max(axis=1)
        lines.append(np.stack([np.full(_SLOPES, tilt), any_place, slopes]))
    return Hull(*np.concatenate(lines, axis=1))

"""Noise on every place of a vast domain, of which only a summary is ever made.

The slow and obvious way adds discrete Laplace noise to every place and then applies the rule. Rules
look at one value at a time, so that the empty places that are kept come out the same in law when
they are drawn at once (Cormode, Procopiuc, Srivastava, Tran, ICDT 2012):

- each empty place is kept independently with the same chance p, so the number of empty places
  between two that are kept is geometric, P[gap ≥ g] = (1 − p)^g. Gaps over the *ranks* of the empty
  places need no binomial, and never hit an occupied place or the same place twice;
- the value of a kept one has the law of its noise, given that it was kept.

Priority sampling, with r uniform in (0, 1], is made of the same steps. Given that a value v has a
priority of τ or more, 1/priority is uniform up to 1/max(abs(v), τ). So candidates from a first τ on
are drawn by threshold sampling and given U = u/2^53, u uniform in 1 … 2^53; their priority is
max(abs(v), τ)/U as a 64-bit float. If they are too few, those between the next lower τ and this one
are added: nothing is drawn again. A priority is a function of exactly drawn integers and of public
numbers, so that its rounding is part of the rule, and not an error of the noise.

`closeness` argues how far all these draws may be from their ideal law.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.kernel.maps.thresholds import descending_thresholds
from hushtable.kernel.noise import exact, gaps
from hushtable.kernel.noise.bulk import Keep, add_laplace, sample_geometric
from hushtable.kernel.noise.entropy import Entropy

_UNIT = 1 << 53


def summarise(
    held: Held, rule: Rule, scale: Fraction, entropy: Entropy, keep: Keep | None = None
) -> Kept:
    """Noise on every place of the domain, then what the rule keeps of it.

    With `keep`, the filter's whole output is made and thinned by it before anything is sampled.
    """
    noisy = held.values.copy()
    add_laplace(noisy, scale, entropy)
    draw = _Draw(held, noisy, scale, entropy)
    if isinstance(rule, Filter):
        return draw.kept(_filter(draw, rule), keep)
    if keep is not None:
        filtered = draw.kept(_filter(draw, Filter(rule.theta)), keep)
        return _sample(filtered, rule, entropy)
    if isinstance(rule, Threshold):
        return draw.kept(_threshold(draw, rule), None)
    return _priority(draw, rule)


class _Chosen(NamedTuple):
    """Places with their noisy values: occupied ones and others, each in order."""

    occupied: NDArray[np.bool_]
    places: Integers
    values: Integers
    tau: float


class _Draw(NamedTuple):
    """What every rule begins with: the occupied places and their noisy values."""

    held: Held
    noisy: Integers
    scale: Fraction
    entropy: Entropy

    def kept(self, found: _Chosen, keep: Keep | None) -> Kept:
        """Everything found, in the order of the places, whatever it was before the noise."""
        places, values = gaps.merged(
            self.held.places[found.occupied],
            self.noisy[found.occupied],
            found.places,
            found.values,
        )
        if keep is not None:
            stays = keep(places)
            places, values = places[stays], values[stays]
        return Kept(places, values, found.tau)


def _filter(draw: _Draw, rule: Filter) -> _Chosen:
    sizes = np.abs(draw.noisy) if rule.two_sided else draw.noisy
    chance = laws.chance_of_filter(draw.scale, rule.theta, two_sided=rule.two_sided)
    places = gaps.choose_places(draw.held.places, draw.held.domain, chance, draw.entropy)
    values = magnitudes(rule.theta, rule.theta, draw.scale, len(places), draw.entropy)
    if rule.two_sided:
        values = with_signs(values, draw.entropy)
    return _Chosen(sizes >= rule.theta, places, values, 0.0)


def _threshold(draw: _Draw, rule: Threshold) -> _Chosen:
    sizes = np.abs(draw.noisy)
    chosen = (sizes >= rule.theta) & _below(sizes, rule.tau, draw.entropy)
    chance = laws.chance_of_threshold(draw.scale, rule.theta, rule.tau)
    places = gaps.choose_places(draw.held.places, draw.held.domain, chance, draw.entropy)
    values = magnitudes(rule.theta, rule.tau, draw.scale, len(places), draw.entropy)
    values = with_signs(values, draw.entropy)
    return _Chosen(chosen, places, values, float(rule.tau))


# ── priority sampling ────────────────────────────────────────────────────────────────────────────


def _priority(draw: _Draw, rule: Priority) -> Kept:
    """Candidates from the highest priorities down until there are more than wanted, or no more."""
    waiting = np.flatnonzero(np.abs(draw.noisy) >= rule.theta)
    taken, above = _nothing(), None
    upgraded = taken.places
    for tau in descending_thresholds(draw.held.domain, draw.scale, rule):
        sizes = np.abs(draw.noisy[waiting])
        joins = _joining(sizes, tau, above, draw.entropy)
        old, waiting = waiting[joins], waiting[~joins]
        new = _upgraded(draw, upgraded, rule.theta, tau, above)
        upgraded = np.sort(np.concatenate([upgraded, new.places]))
        found = Kept(draw.held.places[old], draw.noisy[old], 0.0)
        for part in (found, new):
            taken = taken.joined(part, tau, above, draw.entropy)
        above = tau
        if len(taken.places) > rule.size:
            break
    return taken.largest(rule.size)


class _Candidates(NamedTuple):
    """Places with their noisy values and priorities."""

    places: Integers
    values: Integers
    priorities: Floats

    def joined(self, part: Kept, tau: int, above: int | None, entropy: Entropy) -> _Candidates:
        """These and more, which have priorities from tau up to `above`."""
        priorities = draw_priorities(np.abs(part.values), tau, above, entropy)
        columns = zip(self, (part.places, part.values, priorities), strict=True)
        return _Candidates(*(np.concatenate(pair) for pair in columns))

    def largest(self, size: int) -> Kept:
        """Those of highest priority, in the order of their places, and the next priority."""
        chosen, tau = np.ones(len(self.places), bool), 0.0
        if len(chosen) > size:
            tau = float(np.partition(self.priorities, len(chosen) - size - 1)[-size - 1])
            chosen = self.priorities > tau
            # Equal priorities are all but impossible; the first places have it then.
            ties = np.flatnonzero(self.priorities == tau)
            ties = ties[np.argsort(self.places[ties])]
            chosen[ties[: size - int(chosen.sum())]] = True
        order = np.flatnonzero(chosen)
        order = order[np.argsort(self.places[order], kind="stable")]
        return Kept(self.places[order], self.values[order], tau)


def _nothing() -> _Candidates:
    return _Candidates(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def _joining(sizes: Integers, tau: int, above: int | None, entropy: Entropy) -> NDArray[np.bool_]:
    """Which values have a priority of tau at least, given that none has one of `above`."""
    if above is None:
        return _below(sizes, tau, entropy)
    # v/τ − v/above over 1 − v/above, where v < τ; from τ on it is certain.
    return np.array(
        [
            v >= tau or exact.bernoulli(Fraction(v * (above - tau), tau * (above - v)), entropy)
            for v in sizes.tolist()
        ],
        bool,
    )


def _upgraded(draw: _Draw, upgraded: Integers, theta: int, tau: int, above: int | None) -> Kept:
    """Empty places with a priority of tau at least and, if that is given, less than `above`."""
    held, scale, entropy = draw.held, draw.scale, draw.entropy
    if above is None:
        chance = laws.chance_of_threshold(scale, theta, tau)
        taken = held.places
    else:
        chance = laws.chance_between(scale, theta, tau, above)
        taken = np.sort(np.concatenate([held.places, upgraded]))
    places = gaps.choose_places(taken, held.domain, chance, entropy)
    if above is None:
        values = magnitudes(theta, tau, scale, len(places), entropy)
    else:
        values = _magnitudes_between(theta, tau, above, scale, len(places), entropy)
    return Kept(places, with_signs(values, entropy), 0.0)


def draw_priorities(sizes: Integers, tau: int, above: int | None, entropy: Entropy) -> Floats:
    """The priorities of values that have one from tau up to `above`: 1/priority is uniform."""
    raw = np.empty(len(sizes), np.uint64)
    entropy.fill(raw)
    uniform = ((raw >> np.uint64(11)) + np.uint64(1)).astype(np.float64) / _UNIT
    floor = np.maximum(sizes, tau).astype(np.float64)
    if above is None:
        return np.asarray(floor / uniform)
    return np.asarray(1 / (1 / above + (1 / floor - 1 / above) * uniform))


def _sample(kept: Kept, rule: Threshold | Priority, entropy: Entropy) -> Kept:
    """Sample what a filter left: there is no shortcut once it was thinned."""
    sizes = np.abs(kept.values)
    if isinstance(rule, Threshold):
        chosen = _below(sizes, rule.tau, entropy)
        return Kept(kept.places[chosen], kept.values[chosen], float(rule.tau))
    return _nothing().joined(kept, 1, None, entropy).largest(rule.size)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────


def magnitudes(theta: int, tau: int, scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Draw abs(v), given that the noise v passed the filter and was sampled at tau.

    θ + K + G with G geometric and K as in `laws.chance_of_head`. A geometric variable modulo L has
    weights 1, α, … α^(L−1) exactly.
    """
    values = theta + sample_geometric(scale, size, entropy)
    if tau > theta == 1:  # the weight of K = 0 is 1 = α⁰
        values += sample_geometric(scale, size, entropy) % tau
        return values
    if tau > theta:
        more = 1 + sample_geometric(scale, size, entropy) % (tau - theta)
        head = _bernoulli(laws.chance_of_head(scale, theta, tau), size, entropy)
        values += np.where(head, 0, more)
    return values


def _magnitudes_between(
    theta: int, tau: int, above: int, scale: Fraction, size: int, entropy: Entropy
) -> Integers:
    """Draw abs(v), given that v was sampled at tau but would not have been at `above`.

    By rejection: of those sampled at tau, 1 − min(v/above, 1)/min(v/tau, 1) stay, which is
    (above − max(v, tau))/above, or nothing where that is negative.
    """
    values, done = np.empty(size, np.int64), 0
    while done < size:
        drawn = magnitudes(theta, tau, scale, 2 * (size - done) + 8, entropy)
        stays = _uniform_below(above, len(drawn), entropy) < above - np.maximum(drawn, tau)
        some = drawn[stays][: size - done]
        values[done : done + len(some)] = some
        done += len(some)
    return values


def with_signs(values: Integers, entropy: Entropy) -> Integers:
    """The values, each with a fair sign, in their own memory."""
    coins = np.empty(len(values), np.uint8)
    entropy.fill(coins)
    return np.negative(values, out=values, where=(coins & 1).view(bool))


def _below(sizes: Integers, tau: int, entropy: Entropy) -> NDArray[np.bool_]:
    """True with probability min(size/tau, 1), exactly."""
    return _uniform_below(tau, len(sizes), entropy) < sizes


def _uniform_below(n: int, size: int, entropy: Entropy) -> Integers:
    """Draw `size` times 0, 1, … n − 1, each with probability 1/n exactly, for n ≤ 2^62."""
    width = (n - 1).bit_length()
    values = np.zeros(size, np.int64)
    open_draws = np.arange(size) if width else np.arange(0)
    while len(open_draws):
        raw = np.empty(len(open_draws), np.uint64)
        entropy.fill(raw)
        values[open_draws] = raw >> np.uint64(64 - width)
        open_draws = open_draws[values[open_draws] >= n]
    return values


def _bernoulli(chance: Decimal, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """True with this probability, rounded to 128 bits."""
    bound = min(math.floor(Fraction(chance) * 2**128), 2**128 - 1)
    upper, lower = np.uint64(bound >> 64), np.uint64(bound & (2**64 - 1))
    raw = np.empty((size, 2), np.uint64)
    entropy.fill(raw)
    return np.asarray((raw[:, 0] < upper) | ((raw[:, 0] == upper) & (raw[:, 1] < lower)))

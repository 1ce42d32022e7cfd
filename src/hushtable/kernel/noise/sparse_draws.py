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

A domain is drawn in stretches (`stretches`), one after another. Of what they keep, a priority
sample is chosen as one: a τ is lowered, or the sample taken, for all of them together.

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
from hushtable.kernel.noise.stretches import stretches
from hushtable.spilled import Spilled

_UNIT = 1 << 53


def summarise(
    held: Held, rule: Rule, scale: Fraction, entropy: Entropy, keep: Keep | None = None
) -> Kept:
    """Noise on every place of the domain, then what the rule keeps of it.

    With `keep`, the filter's whole output is made and thinned by it before anything is sampled.
    """
    if keep is not None:
        passing = rule if isinstance(rule, Filter) else Filter(rule.theta)
        thinned = _thinned(_place_by_place(held, passing, scale, entropy), keep)
        return thinned if isinstance(rule, Filter) else _sample(thinned, rule, entropy)
    if isinstance(rule, Priority):
        return _priority(held, rule, scale, entropy)
    return _place_by_place(held, rule, scale, entropy)


def _place_by_place(
    held: Held, rule: Filter | Threshold, scale: Fraction, entropy: Entropy
) -> Kept:
    """What a rule keeps of each stretch: to what one keeps, the others are no matter."""
    places, values, tau = Spilled(), Spilled(), 0.0
    for start, stretch in stretches(held):
        draw = _Draw(stretch, _noisy(stretch, scale, entropy), scale, entropy)
        kept = draw.kept(
            _filter(draw, rule) if isinstance(rule, Filter) else _threshold(draw, rule)
        )
        places.add(start + kept.places)
        values.add(kept.values)
        tau = kept.tau
    return Kept(places.array(), values.array(), tau)


def _noisy(held: Held, scale: Fraction, entropy: Entropy) -> Integers:
    noisy = held.values.copy()
    add_laplace(noisy, scale, entropy)
    return noisy


def _thinned(kept: Kept, keep: Keep) -> Kept:
    stays = keep(kept.places)
    return Kept(kept.places[stays], kept.values[stays], kept.tau)


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

    def kept(self, found: _Chosen) -> Kept:
        """Everything found, in the order of the places, whatever it was before the noise."""
        places, values = gaps.merged(
            self.held.places[found.occupied],
            self.noisy[found.occupied],
            found.places,
            found.values,
        )
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


def _priority(held: Held, rule: Priority, scale: Fraction, entropy: Entropy) -> Kept:
    """Candidates from the highest priorities down until there are more than wanted, or no more.

    Whether there are enough is asked of all stretches together, after each has told its own.
    """
    noisy = _passing(held, rule.theta, scale, entropy)
    joined = [np.zeros(len(one.places), bool) for _, one in stretches(noisy)]
    taken, above = _nothing(), None
    upgraded = taken.places
    for tau in descending_thresholds(held.domain, scale, rule):
        level = _Level(rule.theta, tau, above, scale, entropy)
        found, more = [taken], [upgraded]
        parts = zip(stretches(held), stretches(noisy), joined, strict=True)
        for (start, stretch), (_, here), gone in parts:
            old = level.joining(here, gone)
            new = level.upgraded(stretch, _between(upgraded, start, start + stretch.domain))
            found += [level.candidates(start, part) for part in (old, new)]
            more.append(start + new.places)
        taken, upgraded, above = _together(found), np.sort(np.concatenate(more)), tau
        if len(taken.places) > rule.size:
            break
    return taken.largest(rule.size)


def _passing(held: Held, theta: int, scale: Fraction, entropy: Entropy) -> Held:
    """The occupied places whose noisy values pass the filter, with these."""
    places, values = Spilled(), Spilled()
    for start, stretch in stretches(held):
        noisy = _noisy(stretch, scale, entropy)
        passes = np.abs(noisy) >= theta
        places.add(start + stretch.places[passes])
        values.add(noisy[passes])
    return Held(places.array(), values.array(), held.domain)


def _between(places: Integers, start: int, end: int) -> Integers:
    """Those of some places, given in order, that lie in a stretch, counted from its start."""
    first, last = np.searchsorted(places, [start, end])
    return places[first:last] - start


class _Candidates(NamedTuple):
    """Places with their noisy values and priorities."""

    places: Integers
    values: Integers
    priorities: Floats

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


def _together(some: list[_Candidates]) -> _Candidates:
    return _Candidates(*(np.concatenate(column) for column in zip(*some, strict=True)))


class _Level(NamedTuple):
    """The candidates with a priority of tau at least and, if that is given, less than `above`."""

    theta: int
    tau: int
    above: int | None
    scale: Fraction
    entropy: Entropy

    def joining(self, here: Held, gone: NDArray[np.bool_]) -> Kept:
        """Those of a stretch's noisy values; they are marked, and do not join again."""
        waiting = np.flatnonzero(~gone)
        joins = waiting[self._joins(np.abs(here.values[waiting]))]
        gone[joins] = True
        return Kept(here.places[joins], here.values[joins], 0.0)

    def _joins(self, sizes: Integers) -> NDArray[np.bool_]:
        """Which values have a priority of tau at least, given that none has one of `above`."""
        tau, above = self.tau, self.above
        if above is None:
            return _below(sizes, tau, self.entropy)
        # v/τ − v/above over 1 − v/above, where v < τ; from τ on it is certain.
        chances = (
            Fraction(v * (above - tau), tau * (above - v)) for v in sizes.tolist() if v < tau
        )
        joins = sizes >= tau
        joins[~joins] = [exact.bernoulli(chance, self.entropy) for chance in chances]
        return joins

    def upgraded(self, stretch: Held, before: Integers) -> Kept:
        """Those of a stretch's empty places, but for the ones that joined before."""
        theta, tau, above, scale, entropy = self
        if above is None:
            chance = laws.chance_of_threshold(scale, theta, tau)
        else:
            chance = laws.chance_between(scale, theta, tau, above)
        taken = np.sort(np.concatenate([stretch.places, before])) if len(before) else stretch.places
        places = gaps.choose_places(taken, stretch.domain, chance, entropy)
        if above is None:
            values = magnitudes(theta, tau, scale, len(places), entropy)
        else:
            values = _magnitudes_between(theta, tau, above, scale, len(places), entropy)
        return Kept(places, with_signs(values, entropy), 0.0)

    def candidates(self, start: int, part: Kept) -> _Candidates:
        """A stretch's, each with its priority; the stretch begins at a place."""
        priorities = draw_priorities(np.abs(part.values), self.tau, self.above, self.entropy)
        return _Candidates(start + part.places, part.values, priorities)


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
    priorities = draw_priorities(sizes, 1, None, entropy)
    return _Candidates(kept.places, kept.values, priorities).largest(rule.size)


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

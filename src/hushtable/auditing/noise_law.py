"""Is noise what it says? The kinds of draws that a mechanism asks for, made often, by their laws.

The exact check believes the scale of every draw; a lower bound sees only what the tables make
plain. Here the sampler itself is asked, millions of times where it is fast, and what it draws is
compared with closed forms:

| draw                          | events of known chance                                           |
|-------------------------------|------------------------------------------------------------------|
| discrete Laplace              | zero, beyond a bound, each remainder by 256, a block seen twice  |
| split of a box                | that it is split, for counts about the threshold and far off     |
| exponential mechanism         | each candidate                                                   |
| summary, filter and threshold | each noisy value of each place, and that it is not there         |
| summary, priority             | the same, beside noise on every place and the rule written out   |

An event of chance p is seen in a share h of n draws with probability exp(−n·KL(h‖p)) at the most
(Chernoff), so that a sampler with the right law is blamed in one audit of a billion. Only priority
samples have no closed form: there two experiments are compared, and that number is about right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.auditing.transcript import (
    ChoiceDraw,
    Draw,
    LaplaceDraw,
    SplitDraw,
    SummaryDraw,
    log_chance_of_split,
)
from hushtable.kernel.maps.rules import Filter, Held, Priority, Rule, Threshold
from hushtable.kernel.noise.bulk import Noise
from hushtable.kernel.noise.tables import in_range

LAW = "law of the noise"
FALSE_ALARM = 1e-9
"""The chance that sound noise is blamed, over a whole audit."""

FAST_DRAWS = 3 << 20
"""More than are drawn by one thread, or from one fill of random bits."""
SLOW_DRAWS = 5_000
SUMMARY_DRAWS, SUMMARY_PLACES = 20, 4096
REFERENCE_DRAWS = 50_000

_LARGER = (10**3, 10**4, 10**6)
"""Noise of an ε so many times smaller is drawn in more steps; it is looked at as well."""
_HIGH = 50
"""A priority from which on a small table has too few candidates, so that others are added."""
_MOST_SCALES, _MOST_CHOICES = 12, 3
_MOST_PLACES, _LARGEST_REACH = 64, 4000
_PARTS = (0.05, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8)
_REMAINDERS = 256
_BLOCK = 64
_PLAIN_CHOICE = (Fraction(0), Fraction(-1, 2), Fraction(-3))

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class LawCheck:
    """How a kind of draw compares with its law."""

    what: str
    draws: int
    """0 where looking would take too much memory."""
    problem: str | None
    """The event that came much too often or too seldom."""


@dataclass(frozen=True)
class _Events:
    """How often things of known chance were seen."""

    what: str
    draws: int
    name: Callable[[int], str]
    hits: Integers
    runs: int
    chances: Floats
    reference: int | None = None
    """The runs of the experiment that found the chances, where there is no closed form."""

    def problem(self, alarm: float) -> str | None:
        """The event that strays most, if a sound sampler would stray so far less often than so."""
        likely = self._log_chances()
        worst = int(np.argmin(likely))
        if likely[worst] >= math.log(alarm / len(likely)):
            return None
        seen, expected = self.hits[worst], self.runs * self.chances[worst]
        return f"{self.name(worst)}: {seen:,} times, {expected:,.1f} expected"

    def _log_chances(self) -> Floats:
        """For each event, ln of at least the chance to be so far from what is expected."""
        shares = self.hits / self.runs
        if self.reference is None:
            return math.log(2) - self.runs * divergence(shares, self.chances)
        both = self.runs + self.reference
        pooled = (self.hits + self.chances * self.reference) / both
        apart = self.runs * divergence(shares, pooled)
        return math.log(2) - apart - self.reference * divergence(self.chances, pooled)


def divergence(shares: Floats, chances: Floats) -> Floats:
    """KL(h‖p) of two coins: how fast the chance to see a share of h instead of p falls with n."""

    def part(h: Floats, p: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(h > 0, h * (np.log(h) - np.log(p)), 0.0)

    return np.asarray(part(shares, chances) + part(1 - shares, 1 - chances))


def check_noise(draws: Iterable[Draw], noise: Callable[[], Noise]) -> list[LawCheck]:
    """Make the kinds of these draws again, often, and compare them with their laws."""
    asked = list(draws)
    found = list(_all_events(asked, noise))
    alarm = FALSE_ALARM / max(len(found), 1)
    checks = [LawCheck(events.what, events.draws, events.problem(alarm)) for events in found]
    wide = {_summary_words(rule, scale): None for rule, scale, _ in _summaries(asked, wide=True)}
    return checks + [LawCheck(what, 0, None) for what in wide]


def _all_events(draws: Sequence[Draw], noise: Callable[[], Noise]) -> Iterator[_Events]:
    scales = sorted({draw.scale for draw in draws if isinstance(draw, LaplaceDraw)})
    larger = [times * scale for scale in scales[-1:] for times in _LARGER]
    for scale in (*_evenly(scales, _MOST_SCALES), *filter(in_range, larger)):
        yield _laplace(scale, noise)
    for scale in sorted({draw.scale for draw in draws if isinstance(draw, SplitDraw)}):
        yield _splits(scale, noise())
    choices = {draw.exponents: None for draw in draws if isinstance(draw, ChoiceDraw)}
    if choices:
        for exponents in (*_evenly(list(choices), _MOST_CHOICES), _PLAIN_CHOICE):
            yield _choice(exponents, noise())
    for rule, scale, exact in _summaries(draws, wide=False):
        if isinstance(rule, Priority):
            yield _priority(rule, scale, exact, noise())
        else:
            yield _independent(rule, scale, exact, noise())


def _summaries(draws: Sequence[Draw], *, wide: bool) -> Iterator[tuple[Rule, Fraction, Integers]]:
    """Each rule and scale once, with a few of the places; or those whose noise is too wide."""
    found = {(d.rule, d.scale): d.exact for d in draws if isinstance(d, SummaryDraw)}
    for (rule, scale), exact in found.items():
        few = exact[np.argsort(exact == 0, kind="stable")[:_MOST_PLACES]]
        if (_reach(few, scale) > _LARGEST_REACH) == wide:
            yield rule, scale, few


def _evenly(items: Sequence[_Item], most: int) -> list[_Item]:
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [items[i] for i in places.tolist()]


# ── discrete Laplace ─────────────────────────────────────────────────────────────────────────────


def _laplace(scale: Fraction, noise: Callable[[], Noise]) -> _Events:
    draws = FAST_DRAWS if in_range(scale) else SLOW_DRAWS
    values = np.zeros(draws, np.int64)
    noise().add_laplace(values[: draws // 2], scale)
    noise().add_laplace(values[draws // 2 :], scale)  # as another release would
    decay, lost = math.exp(-1 / scale), -math.expm1(-1 / scale)
    names, hits, chances = ["zero"], [int((values == 0).sum())], [lost / (1 + decay)]
    for bound in sorted({math.ceil(scale * Fraction(part)) for part in _PARTS}):
        names += [f"at least {bound}", f"at most -{bound}"]
        hits += [int((values >= bound).sum()), int((values <= -bound).sum())]
        chances += [math.exp(-bound / scale) / (1 + decay)] * 2
    for side, first in ((values[values >= 0], 0), (-values[values < 0], 1)):
        names += [f"{'below zero, ' * first}remainder {i}" for i in range(_REMAINDERS)]
        hits += np.bincount(side % _REMAINDERS, minlength=_REMAINDERS).tolist()
        chances += _remainder_chances(scale, first).tolist()
    if draws // _BLOCK and _seldom_the_same(scale, draws // _BLOCK):
        names.append(f"{_BLOCK} draws that were seen before")
        hits.append(_repeated(values))
        chances.append(0.0)
    what = f"discrete Laplace, scale {float(scale):.6g}"
    return _Events(what, draws, names.__getitem__, np.array(hits), draws, np.array(chances))


def _remainder_chances(scale: Fraction, first: int) -> Floats:
    """The chances of the remainders by 256 of a size that is `first` at least, of one sign."""
    decay, lost = math.exp(-1 / scale), -math.expm1(-1 / scale)
    sizes = np.arange(first, first + _REMAINDERS)
    likely = lost / (1 + decay) * np.exp(-sizes / float(scale))
    return np.asarray(np.roll(likely, first) / -math.expm1(-_REMAINDERS / scale))


def _seldom_the_same(scale: Fraction, blocks: int) -> bool:
    """Whether two blocks are alike with a chance far below that of a false alarm."""
    decay, lost = math.exp(-1 / scale), -math.expm1(-1 / scale)
    alike = (lost / (1 + decay)) ** 2 * (1 + decay**2) / -math.expm1(-2 / scale)
    return 2 * math.log(blocks) + _BLOCK * math.log(alike) < math.log(FALSE_ALARM / 1000)


def _repeated(values: Integers) -> int:
    blocks = values[: len(values) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    return len(blocks) - len({block.tobytes() for block in blocks})


# ── splits ───────────────────────────────────────────────────────────────────────────────────────


def _splits(scale: Fraction, noise: Noise) -> _Events:
    """How often boxes are split whose counts are so far above the threshold, or below it."""
    apart = sorted(
        {sign * math.ceil(scale * Fraction(part)) for part in _PARTS for sign in (-1, 1)}
    )
    above = np.array([0, *apart], np.int64)
    runs = FAST_DRAWS // len(above) if in_range(scale) else SLOW_DRAWS // len(above)
    decided, _ = noise.exceeding(np.repeat(above, runs) + _HIGH, _HIGH, scale)
    hits = decided.reshape(len(above), runs).sum(axis=1)
    likely = [log_chance_of_split(far, scale, split=True) for far in above.tolist()]
    chances = np.exp(np.array(list(map(float, likely))))
    what = f"splits, scale {float(scale):.6g}"
    return _Events(what, runs * len(above), lambda i: f"{above[i]} above", hits, runs, chances)


# ── choices ──────────────────────────────────────────────────────────────────────────────────────


def _choice(exponents: Sequence[Fraction], noise: Noise) -> _Events:
    chosen = [noise.choose(exponents)[0] for _ in range(SLOW_DRAWS)]
    weights = np.exp(np.array([float(exponent - max(exponents)) for exponent in exponents]))
    hits = np.bincount(chosen, minlength=len(exponents))
    what, chances = f"choice among {len(exponents)}", weights / weights.sum()
    return _Events(what, SLOW_DRAWS, "candidate {}".format, hits, SLOW_DRAWS, chances)


# ── summaries ────────────────────────────────────────────────────────────────────────────────────


Sampled = tuple[int, float, bool]
"""θ, τ, and whether values of both signs pass."""


def as_sampled(rule: Rule, tau: float) -> Sampled:
    """A rule with a given τ; a priority sample is taken for one with its own."""
    return rule.theta, tau, rule.two_sided if isinstance(rule, Filter) else True


def place_law(noisy: Integers, value: int, scale: float, sampled: Sampled) -> tuple[Floats, Floats]:
    """For a place of this value: how likely each noisy one is, and how likely it is then kept."""
    theta, tau, two_sided = sampled
    decay, lost = math.exp(-1 / scale), -math.expm1(-1 / scale)
    sizes = np.abs(noisy) if two_sided else noisy
    stays = np.where(sizes >= theta, np.minimum(sizes / tau, 1.0) if tau > 0 else 1.0, 0.0)
    return lost / (1 + decay) * decay ** np.abs(noisy - value), stays


def _independent(rule: Rule, scale: Fraction, exact: Integers, noise: Noise) -> _Events:
    """Places are kept or not by themselves: the small table many times over is as good."""
    times = max(SUMMARY_PLACES // len(exact), 1)
    values = np.tile(exact, times)
    places = np.flatnonzero(values)
    held = Held(places, values[places], len(values))
    reach = _reach(exact, scale)
    seen = np.zeros((len(exact), 2 * reach + 1), np.int64)
    for _ in range(SUMMARY_DRAWS):
        kept, _ = noise.summarise(held, rule, scale)
        _note(seen, kept.places % len(exact), kept.values)
    sampled = as_sampled(rule, rule.tau if isinstance(rule, Threshold) else 0)
    noisy = np.arange(-reach, reach + 1)
    laws = [place_law(noisy, value, float(scale), sampled) for value in exact.tolist()]
    chances = [likely * stays for likely, stays in laws]
    runs = times * SUMMARY_DRAWS
    return _of_places(rule, scale, seen, runs, np.array(chances), runs * len(exact))


def _priority(rule: Priority, scale: Fraction, exact: Integers, noise: Noise) -> _Events:
    """Which places are kept depends on the others: the same table again and again."""
    places = np.flatnonzero(exact)
    held = Held(places, exact[places], len(exact))
    reach = _reach(exact, scale)
    seen = np.zeros((len(exact), 2 * reach + 1), np.int64)
    high = rule
    if 2 * scale >= 1:  # with less noise hardly anything is left to add, and that takes long
        high = replace(rule, first=max(rule.first or 1, _HIGH))  # a matter of speed, not of the law
    for i in range(SLOW_DRAWS):
        kept, _ = noise.summarise(held, high if i % 2 else rule, scale)
        _note(seen, kept.places, kept.values)
    plainly = np.zeros_like(seen)
    _note(plainly, *_plain_priority(rule, scale, exact))
    chances = plainly / REFERENCE_DRAWS
    drawn = SLOW_DRAWS * len(exact)
    return _of_places(rule, scale, seen, SLOW_DRAWS, chances, drawn, REFERENCE_DRAWS)


def _plain_priority(rule: Priority, scale: Fraction, exact: Integers) -> tuple[Integers, Integers]:
    """Noise on every place, and the places of highest priority: as the rule is written."""
    random = np.random.default_rng(1)
    shape = (REFERENCE_DRAWS, len(exact))
    lost = -math.expm1(-1 / scale)
    values = exact + random.geometric(lost, shape) - random.geometric(lost, shape)
    priorities = np.abs(values) / (1 - random.random(shape))
    priorities[np.abs(values) < rule.theta] = 0
    last = np.sort(priorities, axis=1)[:, -min(rule.size, len(exact))]
    kept = (priorities >= last[:, None]) & (priorities > 0)
    return np.nonzero(kept)[1], values[kept]


def _of_places(
    rule: Rule,
    scale: Fraction,
    seen: Integers,
    runs: int,
    chances: Floats,
    draws: int,
    reference: int | None = None,
) -> _Events:
    """Each value of each place, and how often each place was kept at all."""

    def name(i: int) -> str:
        if i >= seen.size:
            return f"place {i - seen.size} kept"
        place, value = divmod(i, seen.shape[1])
        return f"place {place} as {value - seen.shape[1] // 2}"

    hits = np.concatenate([seen.ravel(), seen.sum(axis=1)])
    laws = np.concatenate([chances.ravel(), np.minimum(chances.sum(axis=1), 1)])
    return _Events(_summary_words(rule, scale), draws, name, hits, runs, laws, reference)


def _summary_words(rule: Rule, scale: Fraction) -> str:
    return f"{rule.to_dict()['rule']} of all places, scale {float(scale):.6g}"


def _reach(exact: Integers, scale: Fraction) -> int:
    """Noise goes further once in 10¹⁰ draws."""
    return int(np.abs(exact).max(initial=0)) + math.ceil(25 * scale) + 1


def _note(seen: Integers, places: Integers, values: Integers) -> None:
    reach = seen.shape[1] // 2
    np.add.at(seen, (places, np.clip(values, -reach, reach) + reach), 1)

"""An ε that a mechanism certainly loses, seen from its outputs: a lower bound by experiment.

A mechanism runs many times on each of two neighbouring tables, x and x′. If some event E has
probability p on x and p′ on x′, then ε ≥ ln(p / p′). Half of the runs choose the events, the other
half bound their probabilities (Clopper and Pearson 1934), so that whatever was chosen, the bound is
too large with a chance of at most 1 − confidence.

Whoever runs this knows both tables and sees every noisy value. Events are that the likelihood ratio

    ln P[noisy values | x] / P[noisy values | x′]

by the *stated* laws of the noise (`likelihood`) is at least, or at most, some number; and that the
noisy value where the tables first differ is at least, or at most, some number, is odd or even, or
is not there. Any event gives a bound that holds: a ratio that is not the true one, because the
noise is not what it says, makes it weaker, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hushtable.arrays import Floats
from hushtable.auditing.clopper_pearson import largest_chance, smallest_chance
from hushtable.auditing.likelihood import Contest
from hushtable.kernel.noise.bulk import Noise

TESTED = 4
"""So many events are tested; the confidence is shared among them."""
_CANDIDATES = 64


@dataclass(frozen=True)
class LowerBound:
    """An ε that is lost, with this confidence, and the event that shows it."""

    epsilon: float
    event: str
    hits: tuple[int, int]
    """How often the event came on the table that favours it, and on the other."""
    runs: int
    """The tested runs on each table; as many more chose the event."""
    confidence: float


class Runs(NamedTuple):
    """What was seen in many runs on one table: a row of numbers for each."""

    ratio: Floats
    """ln P[seen | x] / P[seen | x′]; infinite where one of them is impossible."""
    value: Floats
    """The noisy value where the tables first differ; not a number where it was not kept."""

    def part(self, where: slice) -> Runs:
        return Runs(self.ratio[where], self.value[where])


class Event(NamedTuple):
    """Something that may be seen in a run."""

    of: Literal["ratio", "value"]
    kind: Literal["at least", "at most", "odd", "even", "missing"]
    bound: float = 0.0

    def seen(self, runs: Runs) -> int:
        """In how many runs it is seen."""
        numbers = getattr(runs, self.of)
        if self.kind == "missing":
            return int(np.isnan(numbers).sum())
        if self.kind in ("odd", "even"):
            return int((numbers % 2 == (self.kind == "odd")).sum())
        return int(
            (numbers >= self.bound if self.kind == "at least" else numbers <= self.bound).sum()
        )

    def __str__(self) -> str:
        name = "log-likelihood ratio" if self.of == "ratio" else "first value that differs"
        bound = f" {self.bound:.3g}" if self.kind.startswith("at ") else ""
        return f"{name} {self.kind}{bound}"


def lower_bound(
    contest: Contest,
    *,
    noise: Callable[[], Noise],
    runs: int,
    confidence: float,
    progress: Callable[[int], None] | None = None,
) -> LowerBound:
    """Run a recipe so often on each of two tables, and say which ε it certainly loses.

    Each run has a source of noise of its own, as each release has.
    """
    tell = progress or (lambda done: None)
    seen = []
    contest.prepare(noise)
    for table in (0, 1):
        rows = []
        for i in range(runs):
            rows.append(contest.run(table, noise()))
            if i % 64 == 0:
                tell(table * runs + i)
        ratio, value = (np.array(column, np.float64) for column in zip(*rows, strict=True))
        seen.append(Runs(ratio, value))
    return bound_from(seen[0], seen[1], confidence=confidence)


def bound_from(first: Runs, second: Runs, *, confidence: float) -> LowerBound:
    """The bound that runs on two tables give: chosen on one half of them, tested on the other."""
    half = len(first.ratio) // 2
    chosen = choose_events(first.part(slice(half)), second.part(slice(half)))
    tested = [runs.part(slice(half, 2 * half)) for runs in (first, second)]
    alpha = (1 - confidence) / (2 * TESTED)
    best: LowerBound | None = None
    for event, favoured in chosen:
        often, seldom = (event.seen(tested[i]) for i in (favoured, 1 - favoured))
        low, high = smallest_chance(often, half, alpha), largest_chance(seldom, half, alpha)
        epsilon = max(math.log(low / high), 0.0) if low > 0 else 0.0
        if best is None or epsilon > best.epsilon:
            best = LowerBound(epsilon, str(event), (often, seldom), half, confidence)
    assert best is not None  # there are always events to choose from
    return best


def choose_events(first: Runs, second: Runs) -> list[tuple[Event, int]]:
    """The events that promise the largest bounds, and the table that each favours: 0 or 1."""
    number, found = len(first.ratio), []
    for event, favoured in _candidates(first, second):
        often, seldom = (event.seen((first, second)[i]) for i in (favoured, 1 - favoured))
        found.append((_promise(often, seldom, number), event, favoured))
    found.sort(key=lambda one: -one[0])
    return [(event, favoured) for _, event, favoured in found[:TESTED]]


def _candidates(first: Runs, second: Runs) -> Iterator[tuple[Event, int]]:
    """Large ratios favour the first table; what favours which otherwise, the runs will show."""
    for number in _numbers(first.ratio, second.ratio):
        yield Event("ratio", "at least", number), 0
        yield Event("ratio", "at most", number), 1
    for favoured in (0, 1):
        for number in _numbers(first.value, second.value):
            yield Event("value", "at least", number), favoured
            yield Event("value", "at most", number), favoured
        yield Event("value", "odd"), favoured
        yield Event("value", "even"), favoured
        yield Event("value", "missing"), favoured


def _numbers(first: Floats, second: Floats) -> list[float]:
    """The different numbers among them, or an even choice."""
    values = np.unique(np.concatenate([first, second]))
    values = values[~np.isnan(values)]
    if len(values) > _CANDIDATES:
        values = values[np.linspace(0, len(values) - 1, _CANDIDATES).astype(int)]
    return list(values.tolist())


def _promise(often: int, seldom: int, number: int) -> float:
    """About the bound that such numbers of hits will give: three deviations to the safe side."""
    if not often:
        return -math.inf
    spread = math.sqrt(max(1 / often - 1 / number, 0.0)) + math.sqrt(1 / (seldom + 1))
    return math.log(often / (seldom + 1)) - 3 * spread

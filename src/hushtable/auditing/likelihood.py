"""How much likelier what was seen in a run is on one table than on its neighbour.

A run is recorded on one table; a replay on the other collects what noise would have been added to
there. The ratio follows from the *stated* laws of the noise:

| draw                  | ln P[seen on x] / P[seen on x′]                                   |
|-----------------------|-------------------------------------------------------------------|
| discrete Laplace      | Σ (abs(seen − v′) − abs(seen − v)) / scale                        |
| splits                | Σ ln(P[decided on x] / P[decided on x′])                          |
| exponential mechanism | eᵢ − e′ᵢ + ln Σ exp e′ⱼ − ln Σ exp eⱼ for the chosen i            |
| summary of all places | as Laplace for what was kept; else by the chance not to be kept   |

For priority samples the last is not exact: their own τ is taken for a given one. Whoever tells
tables apart by a number that is nearly the ratio does nearly as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.auditing.noise_law import as_sampled, place_law
from hushtable.auditing.privacy_check import Recipe, curator_of, same_result
from hushtable.auditing.small_tables import Holdings, Table
from hushtable.auditing.transcript import (
    ChoiceDraw,
    Divergence,
    Draw,
    Recorder,
    Replay,
    SplitDraw,
    SummaryDraw,
    all_places,
)
from hushtable.kernel.maps.rules import Held, Kept, Rule
from hushtable.kernel.noise.bulk import Keep, Noise
from hushtable.kernel.privacy.account import Account
from hushtable.schema import Schema

Exact = NDArray[np.int64] | tuple[Fraction, ...]
"""What noise was added to, or the exponents of a choice."""

_PROBES = 16
_LONGEST_SUM = 4096


@dataclass
class Contest:
    """A recipe on two neighbouring tables, and what its runs on them say about which it was.

    The ratio must be one function of what is seen, whichever table a run was on. Where a few runs
    show that nothing asked depends on earlier answers, what the tables hold at each draw is noted
    once, and ratios are by that. Otherwise each run is replayed on the other table.
    """

    recipe: Recipe
    needs: Literal["counts", "columns"]
    schema: Schema
    epsilon: Fraction
    holdings: Holdings
    tables: tuple[Table, Table]
    fixed: tuple[list[Exact], list[Exact]] | None = None
    """What noise is added to on each table, if that is always the same."""

    def prepare(self, noise: Callable[[], Noise]) -> None:
        """See in a few runs whether what is asked is always the same."""
        seen = [self._replayed(i, *self.recorded(i, noise())) for i in (0, 1) * _PROBES]
        first = seen[0]
        if first is not None and all(same_result(first, one) for one in seen):
            self.fixed = first

    def run(self, table: int, noise: Noise) -> tuple[float, float]:
        """One run on a table: ln P[seen | the first] / P[seen | the second], and a value."""
        made, draws = self.recorded(table, noise)
        if self.fixed is not None:
            return weigh(draws, *self.fixed)
        both = self._replayed(table, made, draws)
        if both is None:  # impossible on the other table
            return (math.inf if table == 0 else -math.inf), math.nan
        return weigh(draws, *both)

    def recorded(self, table: int, noise: Noise) -> tuple[Any, list[Draw]]:
        """What a run on a table makes, and what it drew."""
        recorder = Recorder(noise)
        return self._asked(table, recorder, Account(self.epsilon)), recorder.draws

    def _replayed(
        self, table: int, made: Any, draws: list[Draw]
    ) -> tuple[list[Exact], list[Exact]] | None:
        """What noise is added to on both tables; None if the other cannot look the same."""
        account = Account(self.epsilon)
        other = Collecting(draws, account)
        try:
            again = self._asked(1 - table, other, account)
            other.finish()
        except Divergence:
            return None
        if not same_result(made, again):
            return None
        mine = [_exact(draw) for draw in draws]
        return (mine, other.others) if table == 0 else (other.others, mine)

    def _asked(self, table: int, noise: Noise, account: Account) -> Any:
        held = self.holdings.of(self.tables[table], self.needs)
        return self.recipe(curator_of(held, self.schema, account, noise))


class Collecting(Replay):
    """Answers as an earlier run did, and keeps what it was asked to add noise to."""

    def __init__(self, draws: Sequence[Draw], account: Account) -> None:
        super().__init__(draws, account)
        self.others: list[Exact] = []

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        self.others.append(values.copy())
        return super().add_laplace(values, scale)

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        self.others.append(values.copy())
        return super().exceeding(values, threshold, scale)

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        self.others.append(tuple(exponents))
        return super().choose(exponents)

    def summarise(
        self, held: Held, rule: Rule, scale: Fraction, keep: Keep | None = None
    ) -> tuple[Kept, Fraction]:
        self.others.append(all_places(held))
        return super().summarise(held, rule, scale, keep)


def weigh(
    draws: Sequence[Draw], first: Sequence[Exact], second: Sequence[Exact]
) -> tuple[float, float]:
    """The log-likelihood ratio of a run, and the noisy value where the tables first differ.

    That is not a number if it was not kept. A run that drew for other things than these is weighed
    as if it told nothing.
    """
    if [_form(_exact(draw)) for draw in draws] != [_form(exact) for exact in first]:
        return 0.0, math.nan
    ratio, value = 0.0, math.nan
    for draw, mine, theirs in zip(draws, first, second, strict=True):
        if isinstance(draw, ChoiceDraw):
            ratio += _choice_ratio(draw.choice, mine, theirs)
            continue
        assert isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray)
        if isinstance(draw, SplitDraw):
            ratio += float(replace(draw, exact=mine).log_ratio(theirs))
            continue
        if isinstance(draw, SummaryDraw):
            ratio += _summary_ratio(draw, mine, theirs)
            seen = draw.kept.values[(mine != theirs)[draw.kept.places]]
        else:
            further = np.abs(draw.noisy - theirs) - np.abs(draw.noisy - mine)
            ratio += float(further.sum()) / float(draw.scale)
            seen = draw.noisy[mine != theirs]
        if math.isnan(value) and seen.size:
            value = float(seen.reshape(-1)[0])
    return ratio, value


def _exact(draw: Draw) -> Exact:
    return draw.exponents if isinstance(draw, ChoiceDraw) else draw.exact


def _form(exact: Exact) -> tuple[str, tuple[int, ...]]:
    """What a draw is for: a choice among so many, or noise on an array of some shape."""
    if isinstance(exact, tuple):
        return "choice", (len(exact),)
    return "noise", exact.shape


def _choice_ratio(choice: int, mine: Exact, theirs: Exact) -> float:
    one, other = (np.array(list(map(float, exponents))) for exponents in (mine, theirs))
    return float(one[choice] - other[choice]) + _log_sum(other) - _log_sum(one)


def _log_sum(exponents: NDArray[np.float64]) -> float:
    largest = exponents.max()
    return float(largest + np.log(np.exp(exponents - largest).sum()))


def _summary_ratio(draw: SummaryDraw, first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Places that were kept weigh as any noisy value does; others by their chance to be missing."""
    kept = dict(zip(draw.kept.places.tolist(), draw.kept.values.tolist(), strict=True))
    total = 0.0
    for place in np.flatnonzero(first != second).tolist():
        mine, theirs = int(first[place]), int(second[place])
        if place in kept:
            seen = kept[place]
            total += (abs(seen - theirs) - abs(seen - mine)) / float(draw.scale)
        else:
            rule = as_sampled(draw.rule, draw.kept.tau)
            chances = [_missing(value, float(draw.scale), *rule) for value in (mine, theirs)]
            if min(chances) > 0:
                total += math.log(chances[0] / chances[1])
    return total


@lru_cache(maxsize=4096)
def _missing(value: int, scale: float, theta: int, tau: float, two_sided: bool) -> float:
    """The chance that a place of this value is not kept; 0 where that takes too long to sum."""
    reach = math.ceil(max(theta, tau))
    if reach > _LONGEST_SUM:
        return 0.0
    low = -reach if two_sided else min(value, 0) - _LONGEST_SUM
    noisy = np.arange(low, reach + 1)
    chances, stays = place_law(noisy, value, scale, (theta, tau, two_sided))
    return float((chances * (1 - stays)).sum())

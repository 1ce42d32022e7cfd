"""The exact privacy check: over every neighbour of every small table, is the loss at most ε?

Nothing here is statistical. A run is recorded on one table and replayed on its neighbour; the loss
of that transcript is an exact sum (see `transcript`) and must be at most what the run charged. What
a run returns must be a function of the noisy answers, so both runs must return the same.

    report = check_mechanism("basic", schema, epsilon="1")
    report.holds, report.tight, report.worst

A check of small tables is no proof for large ones, but sensitivities do not know how many other
rows there are: a wrong scale, split, relation or bound on rows shows on tables of two people. The
scores of a choice do know; for them, tables of many people on which they change can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hushtable.auditing.small_tables import (
    Holdings,
    Row,
    Table,
    contents,
    neighbouring_pairs,
    possible_rows,
)
from hushtable.auditing.transcript import Divergence, NoNoise, Recorder, Replay
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.families.mechanism import Mechanism
from hushtable.kernel.curator import Curator
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.noise.bulk import EntropyNoise, Noise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import EpsilonLike, parse_epsilon
from hushtable.schema import Schema

Recipe = Callable[[Curator], Any]
"""Questions to a curator, and whatever is made of the answers."""


@dataclass(frozen=True)
class PairLoss:
    """The privacy loss between two neighbouring tables, for one transcript."""

    loss: Fraction
    """An upper bound; exact where nothing was selected."""
    charged: Fraction
    problem: str | None = None
    """How the two runs differed beyond their noise, which nothing can pay for."""

    @property
    def holds(self) -> bool:
        """Whether what was charged covers the loss."""
        return self.problem is None and self.loss <= self.charged


@dataclass(frozen=True)
class PrivacyReport:
    """What the exact check found over all pairs of neighbours."""

    epsilon: Fraction
    worst: Fraction
    """The largest loss of a pair."""
    pairs: int
    tables: int
    holds: bool
    problem: str | None
    """The first violation found, in words."""
    example: tuple[Table, Table] | None
    """The two tables of that violation, or else of the largest loss."""

    @property
    def tight(self) -> bool:
        """Whether some pair loses ε exactly: less noise would break the guarantee."""
        return self.worst == self.epsilon


def curator_loss(
    recipe: Recipe,
    schema: Schema,
    table: Iterable[Row],
    neighbour: Iterable[Row],
    *,
    epsilon: EpsilonLike,
    needs: Literal["counts", "columns"] = "counts",
    noise: Noise | None = None,
    holdings: Holdings | None = None,
) -> PairLoss:
    """The loss of a function that asks a curator, between two tables."""
    holdings = Holdings(schema) if holdings is None else holdings
    held, other = (holdings.of(tuple(rows), needs) for rows in (table, neighbour))
    return _loss(recipe, schema, held, other, parse_epsilon(epsilon), noise or NoNoise())


def _loss(
    recipe: Recipe, schema: Schema, held: Holding, other: Holding, epsilon: Fraction, noise: Noise
) -> PairLoss:
    accounts = [Account(epsilon) for _ in range(2)]
    recorder = Recorder(noise)
    result = recipe(curator_of(held, schema, accounts[0], recorder))
    replay, problem = Replay(recorder.draws, accounts[1]), None
    try:
        again = recipe(curator_of(other, schema, accounts[1], replay))
        replay.finish()
        if not same_result(result, again):
            problem = "what is returned depends on more than the noisy answers"
    except Divergence as difference:
        problem = str(difference)
    if problem is None and not replay.covered and replay.loss <= accounts[1].spent:
        problem = "noise was drawn before it was charged for"
    return PairLoss(replay.loss, accounts[1].spent, problem)


def curator_of(holding: Holding, schema: Schema, account: Account, noise: Noise) -> Curator:
    """A curator that holds a small table."""
    return Curator(holding, exposure=schema.exposure, account=account, noise=noise)


def check_mechanism(
    mechanism: str | Mechanism,
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    settings: Mapping[str, str] | None = None,
    rows: Sequence[Row] | None = None,
    people: int = 2,
    paths: int = 2,
    holdings: Holdings | None = None,
    more: Sequence[tuple[Table, Table]] = (),
) -> PrivacyReport:
    """Check a mechanism over all neighbours of all small tables.

    `rows` are the rows that people may have, by default every one the schema tells apart and the
    odd ones: keep the schema tiny, or list a few. `paths` transcripts are tried for each pair.
    `more` are neighbouring tables of any size, to be tried as well.
    """
    recipe, needs = recipe_of(mechanism, schema, parse_epsilon(epsilon), settings or {})
    return check_recipe(
        recipe,
        schema,
        epsilon=epsilon,
        needs=needs,
        rows=rows,
        people=people,
        paths=paths,
        holdings=holdings,
        more=more,
    )


def check_recipe(
    recipe: Recipe,
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    needs: Literal["counts", "columns"] = "counts",
    rows: Sequence[Row] | None = None,
    people: int = 2,
    paths: int = 2,
    holdings: Holdings | None = None,
    more: Sequence[tuple[Table, Table]] = (),
) -> PrivacyReport:
    """Check a function that asks a curator, over all neighbours of all small tables."""
    holdings = Holdings(schema) if holdings is None else holdings
    rows = possible_rows(schema) if rows is None else rows
    pairs = [*neighbouring_pairs(rows, schema.neighbours, schema.unit, people), *more]
    worst = _Worst(parse_epsilon(epsilon))
    losses: dict[Any, list[PairLoss]] = {}
    for pair in pairs:
        held, other = (holdings.of(table, needs) for table in pair)
        seen = (contents(held), contents(other))
        if seen not in losses:  # what a curator holds is all that it can tell tables apart by
            losses[seen] = [
                _loss(recipe, schema, held, other, worst.epsilon, noise) for noise in _noises(paths)
            ]
        for found in losses[seen]:
            worst.see(pair, found)
    tables = len({table for pair in pairs for table in pair})
    return worst.report(pairs=len(pairs), tables=tables)


class _Worst:
    """The largest loss so far, and the first violation."""

    def __init__(self, epsilon: Fraction) -> None:
        self.epsilon = epsilon
        self._largest = Fraction(-1)
        self._largest_pair: tuple[Table, Table] | None = None
        self._problem: str | None = None
        self._problem_pair: tuple[Table, Table] | None = None

    def see(self, pair: tuple[Table, Table], found: PairLoss) -> None:
        if found.loss > self._largest:
            self._largest, self._largest_pair = found.loss, pair
        if self._problem is None and not found.holds:
            over = f"a loss of {float(found.loss):.6g} for the {float(found.charged):.6g} charged"
            self._problem, self._problem_pair = found.problem or over, pair

    def report(self, *, pairs: int, tables: int) -> PrivacyReport:
        return PrivacyReport(
            epsilon=self.epsilon,
            worst=max(self._largest, Fraction(0)),
            pairs=pairs,
            tables=tables,
            holds=self._problem is None,
            problem=self._problem,
            example=self._problem_pair or self._largest_pair,
        )


def recipe_of(
    mechanism: str | Mechanism, schema: Schema, epsilon: Fraction, settings: Mapping[str, str]
) -> tuple[Recipe, Literal["counts", "columns"]]:
    """What a mechanism asks and makes of the answers, and what the curator must hold for it."""
    chosen = find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism
    chosen.check(schema, epsilon=epsilon, settings=settings)

    def recipe(curator: Curator) -> Any:
        return chosen.measure(curator, schema, epsilon=epsilon, settings=settings)

    return recipe, chosen.needs


def _noises(paths: int) -> Iterator[Noise]:
    """The likeliest path first, then repeatable random ones."""
    yield NoNoise()
    for seed in range(1, paths):
        yield EntropyNoise(SeededEntropy(seed))


def same_result(one: Any, other: Any) -> bool:
    """Whether two results are equal, arrays and values of ours included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if is_dataclass(one):
        return all(same_result(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same_result(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_result, one, other))
    return bool(one == other)

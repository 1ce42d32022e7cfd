"""The scores of candidates, computed from true data: what the exponential mechanism weighs.

A candidate's score is the same in every round of a network's construction, so it is kept once
known, where the data is kept.
"""

from __future__ import annotations

import math
from typing import Any

from hushtable.arrays import on_every_core
from hushtable.kernel.counting import CodedColumns, RowsAway
from hushtable.kernel.curator.holding import Holding, dense_counts, part_counts
from hushtable.kernel.curator.network_scores import Candidate, CandidateScores, JointCounts
from hushtable.kernel.curator.partition import Marginal
from hushtable.kernel.curator.scores import LargestPart, Score

Memory = dict[Any, Any]
"""What was computed of the data before; as secret as the data."""


def score_values(data: Holding, score: Score | CandidateScores, memory: Memory) -> list[int]:
    """The score of each candidate."""
    if isinstance(score, CandidateScores):
        return _candidate_scores(data, score, memory)
    assert isinstance(score, LargestPart)
    return score.scores(part_counts(data, score.partition))


def _candidate_scores(data: Holding, score: CandidateScores, memory: Memory) -> list[int]:
    known = memory.setdefault(score.measure, {})
    keys = [
        (score.views[child].key, tuple(score.views[parent].key for parent in parents))
        for child, parents in score.candidates
    ]
    fresh = dict(zip(keys, score.candidates, strict=True))
    for key in known.keys() & fresh.keys():
        del fresh[key]
    if isinstance(data, CodedColumns):
        _score_columns(data, score, fresh, known, memory)
    elif isinstance(data, RowsAway):
        _score_away(data, score, fresh, known)
    else:
        for key, candidate in fresh.items():
            known[key] = score.measure.of(_table(data, score, candidate))
    return [known[key] - less for key, less in zip(keys, score.handicaps, strict=True)]


def _score_columns(
    data: CodedColumns,
    score: CandidateScores,
    fresh: dict[Any, Candidate],
    known: dict[Any, int],
    memory: Memory,
) -> None:
    """Score new candidates, those with the same parents together."""
    from hushtable.kernel.counting.joint import WORTH_THREADS, JointCounter

    counter = memory.setdefault(JointCounter, JointCounter(data))
    by_parents: dict[tuple[int, ...], list[Any]] = {}
    for key, candidate in fresh.items():
        by_parents.setdefault(candidate.parents, []).append((key, candidate.child))

    def work(parents: tuple[int, ...]) -> None:
        wanted = by_parents[parents]

        def found(place: int, table: JointCounts) -> None:
            known[wanted[place][0]] = score.measure.of(table)

        counter.tables(
            [score.views[place] for place in parents],
            [score.views[child] for _, child in wanted],
            found,
        )

    if counter.rows < WORTH_THREADS:
        for parents in by_parents:
            work(parents)
    else:
        on_every_core(work, list(by_parents))


def _score_away(
    data: RowsAway, score: CandidateScores, fresh: dict[Any, Candidate], known: dict[Any, int]
) -> None:
    """Score new candidates, whose tables are counted together, those with the same parents next to
    each other."""
    candidates = sorted(fresh.items(), key=lambda pair: pair[1].parents)
    wanted = [[score.views[place] for place in (*c.parents, c.child)] for _, c in candidates]
    for (key, candidate), table in zip(candidates, data.tables(wanted), strict=True):
        counts = dense_counts(table, table.shape)
        known[key] = score.measure.of(counts.reshape(-1, score.views[candidate.child].size))


def _table(data: Holding, score: CandidateScores, candidate: Candidate) -> JointCounts:
    """The joint counts of a candidate, parents × child, from cells."""
    views = [score.views[place] for place in (*candidate.parents, candidate.child)]
    counts = part_counts(data, Marginal(score.shape, views))
    return counts.reshape(math.prod(view.size for view in views[:-1]), views[-1].size)

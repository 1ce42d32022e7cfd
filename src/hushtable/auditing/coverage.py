"""The coverage attack: does the truth lie inside intervals as often as they say?

Releases are made, stored and opened as publishing does, of tables whose counts are known, and asked
all kinds of questions. A promise at 95 % may miss in at most 5 % of releases: each question by
itself, all questions of one kind taken together, and a table of simultaneous intervals as one.

What is averaged over independent releases lies between 0 and 1 and is at most 1 − confidence in the
mean; so the chance that the average is a or more, if the promise is kept, is at most
exp(−releases · KL(a ‖ 1 − confidence)) (Hoeffding). A violation is what has a chance below 10⁻⁹,
shared among all that was compared. Estimates promise nothing: how often they hold is reported.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.auditing.coverage_cases import Case, CaseQuestion
from hushtable.errors import OptionError, QueryError
from hushtable.families.mechanism import Mechanism
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.noise.bulk import Noise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Loss
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.answer import show_percent
from hushtable.query.result import ResultTable
from hushtable.release import Release
from hushtable.release.store import Content
from hushtable.release.writing import write_experiment
from hushtable.schema import Schema

COVERAGE = "coverage"
FALSE_ALARM = 1e-9
"""The chance that an audit blames intervals that keep their promises."""
CONFIDENCES = (0.9, 0.95, 0.999)
TOGETHER = 0.95
"""The confidence of simultaneous intervals."""

# Settings under which summaries leave something out, and the ways to read that differ.
_SUMMARIES: tuple[dict[str, str], ...] = (
    {"size": "20"},
    {"size": "20", "on": "dyadic"},
    {"size": "20", "on": "haar"},
)
VARIANTS: dict[str, tuple[dict[str, str], ...]] = {
    **dict.fromkeys(("threshold", "priority", "filter-threshold", "filter-priority"), _SUMMARIES),
    "filter": (
        {"theta": "8"},
        {"theta": "100"},
        {"theta": "8", "sides": "one"},
        *_SUMMARIES,
        {"size": "20", "on": "dyadic", "consistent": "no"},
    ),
    "sketch": ({}, {"width": "7", "rows": "3"}, {"width": "7", "rows": "2", "estimate": "mean"}),
    # Tables that share attributes, at one level and at several, counted by code and by trees.
    "marginals": (
        {},
        {"ways": "2", "most": "8"},
        {"tables": "age+job, job+sex, age+sex", "shares": "5:2:1"},
        {"tables": "age+job, job+sex, age+sex", "along": "age=tree:2x2x2"},
        {"tables": "age+job@1, job+sex, age, sex+job@1+age", "shares": "3:2:1:4"},
        {"tables": "age+job@1+sex, job+again, age+again", "along": "age=tree:3x2"},
        {"tables": "age+job, age+sex", "along": "age=tents:3"},
        {"tables": "a+b+c, c+d, a+d+e, b+e", "shares": "1:4:2:3"},
    ),
    "mixed": ({}, {"age": "tents:3x2"}),
    "privbayes": ({}, {"degree": "1"}),
    "ispe": ({}, {"reference": "off"}),
    "kdtree": ({}, {"reference": "off"}),
}

Progress = Callable[[int, int], None]
Inside = NDArray[np.bool_]


@dataclass(frozen=True)
class ConfidenceLevel:
    """A confidence, of each interval by itself or of all of a table's together."""

    confidence: float
    together: bool = False

    @property
    def words(self) -> str:
        """For people."""
        return show_percent(self.confidence) + (" all at once" if self.together else "")


CONFIDENCE_LEVELS = (
    *(ConfidenceLevel(confidence) for confidence in CONFIDENCES),
    ConfidenceLevel(TOGETHER, together=True),
)


@dataclass(frozen=True)
class Coverage:
    """How often intervals of one kind of question held, at one level."""

    kind: str
    level: ConfidenceLevel
    promised: int
    kept: int
    estimated: int
    held: int
    problem: str | None = None
    """The least likely shortfall of a promise, if it is no accident."""

    @property
    def share(self) -> float:
        """The share of promises that were kept; 1 where there were none."""
        return self.kept / self.promised if self.promised else 1.0

    @property
    def estimate_share(self) -> float:
        """The share of estimates that held; 1 where there were none."""
        return self.held / self.estimated if self.estimated else 1.0

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "questions": self.kind,
            "confidence": self.level.confidence,
            "simultaneous": self.level.together,
            "promised": self.promised,
            "kept": self.kept,
            "estimated": self.estimated,
            "held": self.held,
            "problem": self.problem,
        }


@dataclass
class _Tried:
    """One question at one level, over all releases of a case: per row of its table."""

    question: CaseQuestion
    level: ConfidenceLevel
    where: str
    releases: int = 0
    promised: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    broken: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    estimated: int = 0
    held: int = 0

    def add(self, inside: Inside, estimates: Inside) -> None:
        """What one release answered; `inside` says which intervals hold the truth."""
        if self.level.together:
            inside, estimates = np.array([inside.all()]), np.array([estimates.any()])
        if not self.releases:
            self.promised, self.broken = (np.zeros(len(inside), np.int64) for _ in range(2))
        self.releases += 1
        self.promised += ~estimates
        self.broken += ~estimates & ~inside
        self.estimated += int(estimates.sum())
        self.held += int((estimates & inside).sum())


@dataclass(frozen=True)
class CoverageAttack:
    """A mechanism, the ε it claims, and how many releases of each table are made."""

    mechanism: Mechanism
    epsilon: Fraction
    releases: int
    noise: Callable[[], Noise]
    statistics: int = 0
    """How many of the releases are asked for means and the like, which takes longer."""

    def run(
        self,
        cases: Sequence[Case],
        variants: Sequence[Mapping[str, str]],
        progress: Progress | None = None,
    ) -> list[Coverage]:
        """Every variant of the settings on every table; rows by kind of question and level."""
        tell = progress or (lambda done, total: None)
        tried: list[_Tried] = []
        pairs = [(case, settings) for case in cases for settings in variants]
        for done, (case, settings) in enumerate(pairs):
            tell(done, len(pairs))
            if self._takes(case.schema, settings):
                tried += self._tried(case, settings)
        return judged(tried)

    def _takes(self, schema: Schema, settings: Mapping[str, str]) -> bool:
        try:
            self.mechanism.check(schema, epsilon=self.epsilon, settings=settings)
        except OptionError:
            return False
        return True

    def _tried(self, case: Case, settings: Mapping[str, str]) -> list[_Tried]:
        asked = ", ".join(f"{key}={value}" for key, value in settings.items())
        where = f"{case.name}{f' ({asked})' if asked else ''}"
        tried = [_Tried(q, level, where) for q in case.questions for level in CONFIDENCE_LEVELS]
        with tempfile.TemporaryDirectory(prefix="hushtable-") as scratch:
            truth = self._stored(Path(scratch, "truth"), case, _cells(case))
            truths = [truth.answer(question.query).values for question in case.questions]
            for number in range(self.releases):
                content = self._measured(case, settings)
                folder = Path(scratch, str(number))
                release = self._stored(folder, case, content)
                slow = number < self.statistics
                answers = [_answer(release, question, slow) for question in case.questions]
                for i, one in enumerate(tried):
                    place = i // len(CONFIDENCE_LEVELS)
                    if (answer := answers[place]) is not None:
                        one.add(*_inside(answer, truths[place], one.level))
        return [one for one in tried if one.releases]

    def _measured(self, case: Case, settings: Mapping[str, str]) -> Content:
        curator = Curator(
            _held(case, self.mechanism.needs),
            exposure=case.schema.exposure,
            account=Account(self.epsilon),
            noise=self.noise(),
        )
        return self.mechanism.measure(
            curator, case.schema, epsilon=self.epsilon, settings=dict(settings)
        )

    def _stored(self, folder: Path, case: Case, content: Content) -> Release:
        loss = Loss(self.epsilon)
        return write_experiment(folder, case.schema, content, loss, mechanism=self.mechanism.name)


def _answer(release: Release, question: CaseQuestion, slow: bool) -> ResultTable | None:
    """None where a release of small tables has none that tells: what is refused is not promised.

    Nor is anything promised of a slow question that is not asked.
    """
    if question.slow and not slow:
        return None
    try:
        return release.answer(question.query)
    except QueryError:
        if not release.tables:
            raise
        return None


def _inside(
    answer: ResultTable, truth: NDArray[Any], level: ConfidenceLevel
) -> tuple[Inside, Inside]:
    """Which intervals hold the truth, and which are estimates."""
    asked = replace(answer, confidence=level.confidence, simultaneous=level.together)
    low, high = asked.bounds
    nothing = np.isnan(truth.astype(np.float64))  # the mean of nobody
    return (low <= truth) & (truth <= high) | nothing, asked.estimates


# ── judging ──────────────────────────────────────────────────────────────────────────────────────


def judged(tried: Sequence[_Tried]) -> list[Coverage]:
    """The shares by kind of question and level, and what cannot be an accident."""
    compared = sum(len(one.broken) for one in tried) + len(tried)
    least = math.log(FALSE_ALARM / max(compared, 1))
    groups: dict[tuple[str, ConfidenceLevel], list[_Tried]] = {}
    for one in tried:
        groups.setdefault((one.question.kind, one.level), []).append(one)
    return [_judged(kind, level, ones, least) for (kind, level), ones in groups.items()]


def _judged(kind: str, level: ConfidenceLevel, ones: Sequence[_Tried], least: float) -> Coverage:
    promised = sum(int(one.promised.sum()) for one in ones)
    broken = sum(int(one.broken.sum()) for one in ones)
    return Coverage(
        kind,
        level,
        promised,
        promised - broken,
        sum(one.estimated for one in ones),
        sum(one.held for one in ones),
        min(_shortfalls(level, ones, least), default=(0.0, None))[1],
    )


def _shortfalls(
    level: ConfidenceLevel, ones: Sequence[_Tried], least: float
) -> Iterator[tuple[float, str | None]]:
    """What is too unlikely, with the logarithm of its chance: one row by itself, or all rows."""
    allowed = 1 - level.confidence
    for one in ones:
        for row, broken in enumerate(one.broken.tolist()):
            chance = log_chance(broken / one.releases, allowed, one.releases)
            if chance < least:
                told = f"{broken:,} of {one.releases:,} intervals at {level.words} missed"
                yield chance, f"{one.where}, {one.question.words(row)}: {told}"
    missed, releases = _average(ones)
    chance = log_chance(missed, allowed, releases)
    if chance < least:
        yield chance, f"{ones[0].question.kind}: {missed:.2%} of intervals at {level.words} missed"


def _average(ones: Sequence[_Tried]) -> tuple[float, int]:
    """The share that missed, averaged over independent releases, and how many these are.

    Questions of one table share its releases: their average is one number for each release.
    """
    tables: dict[str, list[_Tried]] = {}
    for one in ones:
        if len(one.broken):
            tables.setdefault(one.where, []).append(one)
    missed = sum(float(np.mean([one.broken.mean() for one in same])) for same in tables.values())
    releases = sum(same[0].releases for same in tables.values())
    return missed / max(releases, 1), releases


def log_chance(share: float, allowed: float, releases: int) -> float:
    """A bound on the log of the chance that a share so large of independent releases misses."""
    if share <= allowed:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - allowed)) if share < 1 else 0.0
    return -releases * (share * math.log(share / allowed) + rest)


# ── releases ─────────────────────────────────────────────────────────────────────────────────────


def _held(case: Case, needs: Literal["counts", "columns"]) -> Holding:
    flat = case.counts.reshape(-1)
    if needs == "counts":
        codes = np.flatnonzero(flat)
        return Counts(case.schema.shape, codes, flat[codes])
    rows = np.unravel_index(np.repeat(np.arange(len(flat)), flat), case.schema.shape)
    return CodedColumns(case.schema.shape, tuple(column.astype(np.uint16) for column in rows))


def _cells(case: Case) -> Content:
    """The true table as if it were a release of cells."""
    noise = DiscreteLaplace(Fraction(1))
    return Content("cells", {"cells": case.counts}, noise.to_dict(), {})


def short(found: Iterable[Coverage]) -> list[str]:
    """The promises that were not kept, in words."""
    return [one.problem for one in found if one.problem is not None]

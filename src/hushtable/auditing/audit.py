"""A privacy audit of a mechanism: exact over all small tables, and by experiment.

Attacks that look at different things. Two are on the mechanism, under both neighbour relations:

1. the **exact check** (`privacy_check`) replays the same noisy answers on every neighbour of every
   small table and adds up the loss by the scales that noise was asked for;
2. the **lower bound** (`lower_bound`) draws real noise thousands of times on the two tables that
   lose the most, and says which ε the outputs show to be lost. It needs no scale to be believed.
   An ordinary audit does so once for each relation, a nightly one for every schema as well.

A third one looks at the sampler itself, a fourth one at the answers:

3. the **law of the noise** (`noise_law`): every kind of draw that was asked for is made again, up
   to millions of times, and compared with its closed form;
4. **coverage** (`coverage`): releases of known tables are asked all kinds of questions, and the
   truth must lie inside intervals as often as they promise.

A mechanism that passes all may still be wrong on tables that were not tried; one that fails any
is wrong (the second, but for a chance of 1 − confidence over the whole audit, the last two of
10⁻⁹).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from hushtable.auditing.coverage import COVERAGE, VARIANTS, Coverage, CoverageAttack, short
from hushtable.auditing.coverage_cases import MIDDLING, SHAPES, cases_of, middling
from hushtable.auditing.likelihood import Contest
from hushtable.auditing.lower_bound import LowerBound, lower_bound
from hushtable.auditing.noise_law import LAW, LawCheck, check_noise
from hushtable.auditing.privacy_check import PrivacyReport, check_mechanism, recipe_of
from hushtable.auditing.schemas import BUILT_IN, AuditSchema, built_in, small_enough
from hushtable.auditing.small_tables import Holdings
from hushtable.auditing.transcript import Draw
from hushtable.errors import BudgetError, OptionError
from hushtable.families import AUTO, find_mechanism
from hushtable.families.mechanism import Mechanism
from hushtable.kernel.noise.bulk import EntropyNoise, Noise
from hushtable.kernel.privacy.loss import (
    NEIGHBOURS,
    EpsilonLike,
    Neighbours,
    format_epsilon,
    parse_epsilon,
)
from hushtable.schema import Schema

if TYPE_CHECKING:
    from hushtable.kernel.noise.entropy import Entropy

RUNS, NIGHTLY_RUNS = 2000, 10_000
RELEASES, NIGHTLY_RELEASES = 10, 100
"""Of every table whose releases are asked questions."""
_USUAL_SHAPES = ("flat", "clusters")
CONFIDENCE = 0.999
"""Of all lower bounds of an audit together."""
FEWEST_RUNS, MOST_RUNS = 100, 10**7
MOST_RELEASES = 10**6

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Finding:
    """What both attacks found for one schema and one neighbour relation."""

    schema: AuditSchema
    neighbours: Neighbours
    exact: PrivacyReport | None
    bound: LowerBound | None
    refusal: str | None = None
    """The mechanism asked for more than it has, and the curator refused."""

    def caught_by(self, epsilon: Fraction) -> tuple[str, ...]:
        """Which attacks show that more than ε is lost."""
        caught = []
        if self.refusal is not None or (self.exact is not None and not self.exact.holds):
            caught.append("exact check")
        if self.bound is not None and self.bound.epsilon > float(epsilon):
            caught.append("lower bound")
        return tuple(caught)

    def to_dict(self, epsilon: Fraction) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        exact, bound = self.exact, self.bound
        example = None if exact is None else exact.example
        return {
            "schema": self.schema.name,
            "cells": self.schema.schema.cells,
            "kinds_of_rows": [len(self.schema.rows), self.schema.kinds],
            "neighbours": self.neighbours,
            "caught_by": list(self.caught_by(epsilon)),
            "exact": {"holds": False, "problem": self.refusal}
            if exact is None
            else {
                "holds": exact.holds,
                "loss": float(exact.worst),
                "tight": exact.tight,
                "tables": exact.tables,
                "pairs": exact.pairs,
                "problem": exact.problem,
                "example": None if example is None else [list(map(list, t)) for t in example],
            },
            "lower_bound": None
            if bound is None
            else {
                "epsilon": bound.epsilon,
                "event": bound.event,
                "hits": list(bound.hits),
                "runs": bound.runs,
            },
        }


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit of a mechanism found, schema by schema."""

    mechanism: str
    settings: Mapping[str, str]
    epsilon: Fraction
    findings: tuple[Finding, ...]
    left_out: Mapping[str, str]
    """Built-in schemas that the mechanism does not take, and why."""
    noise: tuple[LawCheck, ...] = ()
    """The kinds of draws that it asked for, and whether they follow their laws."""
    coverage: tuple[Coverage, ...] = ()
    """How often intervals held, by kind of question and confidence."""
    confidence: float = CONFIDENCE

    @property
    def holds(self) -> bool:
        """Whether no attack showed a loss above ε, or an interval that is too short."""
        return not self.caught_by

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The attacks that showed one."""
        found = {by for finding in self.findings for by in finding.caught_by(self.epsilon)}
        if any(law.problem for law in self.noise):
            found.add(LAW)
        if short(self.coverage):
            found.add(COVERAGE)
        return tuple(sorted(found))

    @property
    def largest_loss(self) -> float:
        """The largest loss of the exact check, rounded to a float."""
        return max((float(f.exact.worst) for f in self.findings if f.exact), default=0.0)

    @property
    def largest_bound(self) -> float:
        """The largest of the lower bounds."""
        return max((f.bound.epsilon for f in self.findings if f.bound), default=0.0)

    def __repr__(self) -> str:
        from hushtable.auditing.report import verdict

        return f"<Audit of {self.mechanism} at ε = {format_epsilon(self.epsilon)}: {verdict(self)}>"

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain values, for JSON."""
        return {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "epsilon": format_epsilon(self.epsilon),
            "holds": self.holds,
            "caught_by": list(self.caught_by),
            "largest_loss": self.largest_loss,
            "largest_lower_bound": self.largest_bound,
            "confidence": self.confidence,
            "findings": [finding.to_dict(self.epsilon) for finding in self.findings],
            "noise": [
                {"what": law.what, "draws": law.draws, "problem": law.problem} for law in self.noise
            ],
            "coverage": [one.to_dict() for one in self.coverage],
            "left_out": dict(self.left_out),
        }

    def to_markdown(self) -> str:
        """A report to keep."""
        from hushtable.auditing.report import as_markdown

        return as_markdown(self)


def audit(
    mechanism: str | Mechanism,
    schemas: str | Schema | Sequence[str | Schema] | None = None,
    *,
    epsilon: EpsilonLike = "1",
    settings: Mapping[str, Any] | None = None,
    runs: int | None = None,
    releases: int | None = None,
    nightly: bool = False,
    entropy: Entropy | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack a mechanism on small schemas, under both neighbour relations. Reads no data.

    `schemas` are small schemas of one's own or names of built-in ones, by default all of these.
    Lower bounds take `runs` runs on each of two tables; intervals are looked at in `releases`
    releases of each of several tables, 0 for none. `nightly` takes many more of both, and more
    paths.
    Noise is the operating system's unless `entropy` is given, which makes an audit repeatable.
    """
    number = _checked_runs((NIGHTLY_RUNS if nightly else RUNS) if runs is None else runs)
    usual = NIGHTLY_RELEASES if nightly else RELEASES
    made = _checked_releases(usual if releases is None else releases)
    recipe = _found(mechanism)
    job = _Job(
        recipe,
        {key: str(value) for key, value in (settings or {}).items()},
        parse_epsilon(epsilon),
        number,
        3 if nightly else 2,
        entropy,
        progress or (lambda what, done, total: None),
    )
    asked = _asked_schemas(BUILT_IN if schemas is None else schemas)
    taken, left_out = job.accepted(asked, every=schemas is not None)
    checked = [job.checked(one, neighbours) for one in taken for neighbours in NEIGHBOURS]
    tried = _to_try(checked, every=nightly)
    share = (1 - CONFIDENCE) / max(len(tried), 1)
    findings = [
        job.tried(finding, confidence=1 - share) if i in tried else finding
        for i, finding in enumerate(checked)
    ]
    noise = tuple(job.noise_checked(findings))
    open_to = (
        [middling(name) for name in MIDDLING] if schemas is None else [s.schema for s in taken]
    )
    shapes = SHAPES if nightly else _USUAL_SHAPES
    coverage = tuple(job.covered(open_to, shapes, made)) if made else ()
    return Audit(recipe.name, job.settings, job.epsilon, tuple(findings), left_out, noise, coverage)


def _asked_schemas(schemas: str | Schema | Sequence[str | Schema]) -> list[AuditSchema]:
    """Each schema once; findings go by their names, so two that differ may not share one."""
    given = [schemas] if isinstance(schemas, str | Schema) else schemas
    found: dict[str, AuditSchema] = {}
    for one in given:
        if not isinstance(one, str | Schema):
            raise OptionError("schemas must be schemas, or names of built-in ones")
        small = built_in(one) if isinstance(one, str) else small_enough(one)
        if found.setdefault(small.name, small) != small:
            raise OptionError(f"two schemas are named {small.name!r}: rename one of them")
    if not found:
        raise OptionError("name a schema, or leave schemas out for all built-in ones")
    return list(found.values())


def _to_try(findings: Sequence[Finding], *, every: bool) -> set[int]:
    """Which findings get a lower bound: under each relation the one of the largest exact loss."""
    able = [i for i, finding in enumerate(findings) if finding.exact and finding.exact.example]
    if every:
        return set(able)
    worst: dict[str, int] = {}
    for i in able:
        before = worst.setdefault(findings[i].neighbours, i)
        if _loss(findings[i]) > _loss(findings[before]):
            worst[findings[i].neighbours] = i
    return set(worst.values())


def _loss(finding: Finding) -> Fraction:
    return Fraction(0) if finding.exact is None else finding.exact.worst


def _checked_runs(runs: object) -> int:
    if isinstance(runs, bool) or not isinstance(runs, int) or not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise OptionError(f"runs must be a whole number from {FEWEST_RUNS} to {MOST_RUNS:,}")
    return runs


def _checked_releases(releases: object) -> int:
    whole = isinstance(releases, int) and not isinstance(releases, bool)
    if not whole or not 0 <= releases <= MOST_RELEASES:  # type: ignore[operator]
        raise OptionError(f"releases must be a whole number from 0 to {MOST_RELEASES:,}")
    return int(releases)  # type: ignore[call-overload, no-any-return]


def _found(mechanism: str | Mechanism) -> Mechanism:
    if mechanism == AUTO:
        raise OptionError("auto is no mechanism: audit the one that `hush plan` recommends")
    return find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism


@dataclass(frozen=True)
class _Job:
    """A mechanism and how hard to attack it."""

    mechanism: Mechanism
    settings: Mapping[str, str]
    epsilon: Fraction
    runs: int
    paths: int
    entropy: Entropy | None
    progress: Progress
    counted: dict[str, Holdings] = field(default_factory=dict)

    def accepted(
        self, schemas: Sequence[AuditSchema], *, every: bool
    ) -> tuple[list[AuditSchema], dict[str, str]]:
        """The schemas that the mechanism takes; it need not take `every` built-in one."""
        taken, left_out = [], {}
        for one in schemas:
            try:
                for neighbours in NEIGHBOURS:
                    schema = replace(one.schema, neighbours=neighbours)
                    self.mechanism.check(schema, epsilon=self.epsilon, settings=self.settings)
                taken.append(one)
            except OptionError as refusal:
                left_out[one.name] = str(refusal)
                if every or len(left_out) == len(schemas):
                    raise
        return taken, left_out

    def checked(self, small: AuditSchema, neighbours: Neighbours) -> Finding:
        """The exact check of one schema under one relation."""
        self.progress(f"{small.name}, {neighbours}: all small tables", 0, 1)
        try:
            exact = check_mechanism(
                self.mechanism,
                replace(small.schema, neighbours=neighbours),
                epsilon=self.epsilon,
                settings=self.settings,
                rows=small.rows,
                paths=self.paths,
                holdings=self._held(small),
                more=small.crowds(neighbours),
            )
        except BudgetError as refusal:
            return Finding(small, neighbours, None, None, str(refusal))
        return Finding(small, neighbours, exact, None)

    def tried(self, finding: Finding, *, confidence: float) -> Finding:
        """The same with a lower bound, on the two tables that lose the most."""
        name = f"{finding.schema.name}, {finding.neighbours}: many runs"
        try:
            bound = lower_bound(
                self._contest(finding),
                noise=self._noise,
                runs=self.runs,
                confidence=confidence,
                progress=lambda done: self.progress(name, done, 2 * self.runs),
            )
        except BudgetError as refusal:
            return replace(finding, refusal=str(refusal))
        return replace(finding, bound=bound)

    def noise_checked(self, findings: Sequence[Finding]) -> list[LawCheck]:
        """The sampler by itself: a run on each schema says which kinds of draws to try."""
        draws: list[Draw] = []
        for i, finding in enumerate(findings):
            self.progress("the law of the noise", i, len(findings))
            if finding.exact and finding.exact.example:
                with suppress(BudgetError):  # the curator kept it from drawing
                    draws += self._contest(finding).recorded(0, self._noise())[1]
        return check_noise(draws, self._noise)

    def covered(
        self, schemas: Sequence[Schema], shapes: Sequence[str], releases: int
    ) -> list[Coverage]:
        """How often intervals hold, over releases of tables of every shape.

        One that asks for more than it has makes no release; the exact check says so.
        """
        variants = [self.settings] if self.settings else VARIANTS.get(self.mechanism.name, [{}])
        few = min(releases, max(1, releases // 10))
        attack = CoverageAttack(self.mechanism, self.epsilon, releases, self._noise, few)
        with suppress(BudgetError):
            return attack.run(
                [case for schema in schemas for case in cases_of(schema, shapes)],
                variants,
                lambda done, total: self.progress("coverage of the intervals", done, total),
            )
        return []

    def _contest(self, finding: Finding) -> Contest:
        assert finding.exact is not None and finding.exact.example is not None
        schema = replace(finding.schema.schema, neighbours=finding.neighbours)
        recipe, needs = recipe_of(self.mechanism, schema, self.epsilon, self.settings)
        held = self._held(finding.schema)
        return Contest(recipe, needs, schema, self.epsilon, held, finding.exact.example)

    def _noise(self) -> Noise:
        """A source of noise, as each release has its own."""
        return EntropyNoise(self.entropy)

    def _held(self, small: AuditSchema) -> Holdings:
        """Tables counted once: counting does not know the relation."""
        if small.name in BUILT_IN and small == built_in(small.name):
            return _counted(small.name)
        return self.counted.setdefault(small.name, Holdings(small.schema))


@cache
def _counted(name: str) -> Holdings:
    """The tables of a built-in schema, for the audits of all mechanisms."""
    return Holdings(built_in(name).schema)

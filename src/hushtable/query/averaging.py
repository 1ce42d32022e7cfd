"""Averages of independent answers to one question, and the law of their error.

Answers with independent noises of known laws are averaged by 1/variance. Where the variances are
known before anything is drawn, so are the shares, and the noise of the average is a weighted sum of
known noises: its law is as exact as theirs. Shares that follow from noisy values are not, nor is an
average of errors that are more than noise: intervals are then estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from hushtable.arrays import Floats
from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw, NoiseSum, margins_of
from hushtable.query.law.noise_sum import Doubt
from hushtable.query.reader import Answering, Estimates, ModelReader
from hushtable.query.weighing import (
    LawOfFactors,
    Weighing,
    WeighingReader,
    factors_of,
    weigh,
    weighed_law,
    weighed_laws,
)

# Variances are compared down to this.
_LEAST = 1e-100

Found = TypeVar("Found")


def precisions(variances: Floats) -> Floats:
    """What independent answers weigh in their average: 1/variance."""
    return 1 / np.maximum(variances, _LEAST)


def shares_of(variances: Sequence[Sequence[float]]) -> list[Floats]:
    """What each of several independent answers counts in their average, question by question."""
    precision = precisions(np.array(variances))
    return list(precision / precision.sum(axis=0))


def averaged_noise(laws: Iterable[tuple[float, NoiseSum]]) -> NoiseSum:
    """The law of a weighted mean of independent answers."""
    terms: dict[tuple[float, KnownNoise], int] = {}
    doubts: list[Doubt] = []
    for share, law in laws:
        part = law.times(share)
        doubts += part.doubts
        for weight, noise, count in part.terms:
            terms[weight, noise] = terms.get((weight, noise), 0) + count
    return NoiseSum.weighted(terms, tuple(doubts))


@dataclass(frozen=True)
class AveragedLaw:
    """The error of an average whose interval is an estimate.

    Errors of strangers add up as their squares do: exactly if they are normal, else nearly.
    """

    terms: tuple[tuple[float, NoiseLaw], ...]
    """Shares and laws."""

    estimate = True

    @property
    def note(self) -> str:
        """What one of the answers rests on, where it is more than others do."""
        notes = (getattr(law, "note", "") for _, law in self.terms)
        return next((note for note in notes if note), "")

    @property
    def variance(self) -> float:
        return math.fsum(share**2 * law.variance for share, law in self.terms)

    def margins(self, confidence: float) -> tuple[float, float]:
        sides = [(share, margins_of(law, confidence)) for share, law in self.terms]
        below = math.hypot(*(share * side[0] for share, side in sides))
        return below, math.hypot(*(share * side[1] for share, side in sides))

    def half_width(self, confidence: float) -> float:
        return max(self.margins(confidence))


def averaged_law(terms: Sequence[tuple[float, NoiseLaw]], exact: bool) -> NoiseLaw:
    """The law of an average: that of its noise, where the answers have no other error."""
    sums = [(share, law) for share, law in terms if isinstance(law, NoiseSum)]
    if len(sums) < len(terms):
        return AveragedLaw(tuple(terms))
    noise = averaged_noise(sums)
    return noise if exact else AveragedLaw(((1.0, noise),))


# ── readers that average ─────────────────────────────────────────────────────────────────────────


@runtime_checkable
class AveragingReader(Protocol):
    """A reader whose answers are averages, with other shares for every question."""

    @property
    def parts(self) -> tuple[Answering, ...]:
        """Readers of independent noise, whose answers are averaged."""

    @property
    def exact(self) -> bool:
        """Whether answers have no error but noise, whose law is known before it is drawn."""


def is_exact(reader: Answering) -> bool:
    """Whether a reader's answers have no error but noise of laws that are known beforehand."""
    if isinstance(reader, AveragingReader):
        return reader.exact
    return isinstance(reader, WeighingReader) and reader.adds_up


def settled(reader: Answering | SettledReader, weighing: Weighing) -> Answering | SettledReader:
    """A reader that answers all linear questions alike: with the shares that one of them gives.

    The question must follow from what is public, as the shares then do.
    """
    if not isinstance(reader, AveragingReader):
        return reader
    found = answered_by(reader.parts, lambda part: weighed_law(part, weighing))
    if len(found) == 1 and reader.exact:
        return found[0][0]
    shares = shares_of([[law.variance] for _, law in found])
    terms = ((float(share[0]), part) for share, (part, _) in zip(shares, found, strict=True))
    return SettledReader(tuple(terms), reader.exact)


def answered_by(
    readers: Iterable[Answering], ask: Callable[[Answering], Found]
) -> list[tuple[Answering, Found]]:
    """The readers that answer a question, and their answers; if none does, why the first not."""
    found, problems = [], []
    for reader in readers:
        try:
            found.append((reader, ask(reader)))
        except QueryError as problem:
            problems.append(problem)
    if not found:
        raise problems[0]
    return found


@dataclass(frozen=True, eq=False)
class SettledReader:
    """Linear questions, answered by an average whose shares stay."""

    terms: tuple[tuple[float, Answering], ...]
    """Shares, and the readers that have them."""
    exact: bool

    adds_up = True

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and the law of its noise."""
        found = [(share, *weigh(part, weighing)) for share, part in self.terms]
        value = math.fsum(share * value for share, value, _ in found)
        return value, averaged_law([(share, law) for share, _, law in found], self.exact)

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law alone."""
        return self.weighed_laws(weighing)(factors_of(weighing))

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The laws of a linear question for any factors of its boxes."""
        parts = [(share, weighed_laws(part, weighing)) for share, part in self.terms]

        def law(factors: Floats) -> NoiseLaw:
            return averaged_law([(share, of(factors)) for share, of in parts], self.exact)

        return law


@dataclass(frozen=True, eq=False)
class CombinedReader:
    """Several readers of one table: of each question, the average of those that answer it."""

    readers: tuple[Answering, ...]
    alike: bool
    """Whether they surely count the same rows, with noises that do not depend on each other."""
    note: str = ""

    adds_up = False

    @cached_property
    def exact(self) -> bool:
        """Whether answers have no error but noise, whose law is known before it is drawn."""
        return self.alike and all(map(is_exact, self.readers))

    @property
    def estimate(self) -> bool:
        """Whether its intervals are estimates."""
        return not self.exact

    @cached_property
    def parts(self) -> tuple[Answering, ...]:
        """Readers of independent noise, whose answers are averaged."""
        found: list[Answering] = []
        for reader in self.readers:
            found += reader.parts if isinstance(reader, AveragingReader) else (reader,)
        return tuple(found)

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The average count of disjoint boxes, and the law of its error."""
        return self._answer(lambda reader: reader.count(boxes))

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The average answer to a linear question, and the law of its error."""
        return self._answer(lambda reader: weigh(reader, weighing))

    def _answer(self, ask: Callable[[Answering], tuple[float, NoiseLaw]]) -> tuple[float, NoiseLaw]:
        found = answered_by(self.readers, ask)
        shares, law = self._averaged([law for _, (_, law) in found])
        values = (value for _, (value, _) in found)
        return math.fsum(s * v for s, v in zip(shares, values, strict=True)), law

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law alone."""
        found = answered_by(self.readers, lambda reader: weighed_law(reader, weighing))
        return self._averaged([law for _, law in found])[1]

    def _averaged(self, laws: Sequence[NoiseLaw]) -> tuple[list[float], NoiseLaw]:
        shares = [float(share[0]) for share in shares_of([[law.variance] for law in laws])]
        return shares, averaged_law(list(zip(shares, laws, strict=True)), self.exact)

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The average counts of disjoint boxes cut by groups of codes along some axes."""
        asked = answered_by(self.readers, lambda reader: reader.group(boxes, cuts))
        found = [estimates for _, estimates in asked]
        # Rows that have one law in every reader have one law here.
        kinds, law_of_row = np.unique(
            np.stack([each.law_of_row.reshape(-1) for each in found]), axis=1, return_inverse=True
        )
        every = [
            [each.laws[number] for each, number in zip(found, kind, strict=True)]
            for kind in kinds.T.tolist()
        ]
        averages = [self._averaged(laws) for laws in every]
        law_of_row = law_of_row.reshape(-1)
        shares = np.array([share for share, _ in averages]).reshape(len(every), len(found))
        values = sum(shares[law_of_row, number] * each.values for number, each in enumerate(found))
        return Estimates(np.asarray(values), tuple(law for _, law in averages), law_of_row)

    def estimating(self) -> Answering:
        """The same answers where measurements tell them, and estimates of all others."""
        models = tuple(
            reader.estimating() if isinstance(reader, ModelReader) else reader
            for reader in self.readers
        )
        if all(model is reader for model, reader in zip(models, self.readers, strict=True)):
            return self
        return _Modelled(self, CombinedReader(models, False, self.note))


@dataclass(frozen=True, eq=False)
class _Modelled:
    """What measurements tell, and for all else the average of models of them."""

    told: CombinedReader
    models: CombinedReader

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The count of disjoint boxes, and the law of its error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The counts of disjoint boxes cut by groups of codes along some axes."""
        try:
            return self.told.group(boxes, cuts)
        except QueryError:
            return self.models.group(boxes, cuts)

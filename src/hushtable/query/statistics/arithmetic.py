"""Arithmetic of aggregates, and of answers: what is linear stays so as long as it can.

Answers of one release have noise in common; as linear questions, or as ratios of them, they are
combined before their law is looked for. Answers of two draws of noise have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushtable.errors import QueryError
from hushtable.query.aggregate import Sign
from hushtable.query.answer import Answer, Draws, Source
from hushtable.query.law import NoiseSum
from hushtable.query.reader import Answering
from hushtable.query.statistics.combined import CombinedLaw
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import Ratio
from hushtable.query.weighing import same

Form = Linear | Ratio | Answer
"""What an aggregate comes to: a linear question, a ratio of two, or an answer of another kind."""


def answered(reader: Answering, form: Form, draws: Draws = None) -> Answer:
    """The answer to what was asked, in whichever form it is."""
    if isinstance(form, Answer):
        return form
    value, law = form.answer(reader)
    return Answer(value, law, getattr(reader, "note", ""), Source(reader, form, draws))


def joined(reader: Answering, sign: Sign, left: Form, right: Form) -> Form:
    """Two forms as one: linear, or a ratio, where arithmetic leaves it so."""
    match sign, left, right:
        case "-", _, Linear() | Ratio():
            return joined(reader, "+", left, right.times(-1.0))
        case "+", Linear(), Linear():
            return left + right
        case "+", Ratio(), Ratio() if same(left.bottom, right.bottom):
            return Ratio(left.top + right.top, left.bottom, left.offset + right.offset)
        case "+", Ratio(), Linear(constant=True):
            return left.plus(right.offset)
        case "+", Linear(constant=True), Ratio():
            return right.plus(left.offset)
        case "*", Linear(constant=True), Linear() | Ratio():
            return right.times(left.offset)
        case "*", Linear() | Ratio(), Linear(constant=True):
            return left.times(right.offset)
        case "/", Linear() | Ratio(), Linear(constant=True):
            return left.times(1 / _divisor(right.offset))
        case "/", Linear(offset=0.0), Linear(offset=0.0, exact=True):
            return Ratio(left, right.middle)
    return _apart(sign, answered(reader, left), answered(reader, right))


def calculated(sign: Sign, left: Answer | float, right: Answer | float) -> Answer:
    """Arithmetic of answers, or of one and a number."""
    answers = [operand for operand in (left, right) if isinstance(operand, Answer)]
    sources = [answer.source for answer in answers if answer.source is not None]
    if sources and all(_may_join(operand, sources[0].reader) for operand in (left, right)):
        reader, _, draws = sources[0]
        return answered(reader, joined(reader, sign, _form(left), _form(right)), draws)
    return _apart(sign, _as_answer(left), _as_answer(right))


def _may_join(operand: Answer | float, reader: Answering) -> bool:
    """Whether an operand is a number, or an answer of this reader."""
    if not isinstance(operand, Answer):
        return True
    return operand.source is not None and operand.source.reader is reader


def _form(operand: Answer | float) -> Form:
    if not isinstance(operand, Answer):
        return Linear.exactly((), float(operand))
    assert operand.source is not None  # they may be joined
    asked: Any = operand.source.asked
    return Linear.count(asked) if isinstance(asked, tuple) else asked


def _as_answer(operand: Answer | float) -> Answer:
    return operand if isinstance(operand, Answer) else Answer(float(operand), NoiseSum(()))


def _apart(sign: Sign, left: Answer, right: Answer) -> Answer:
    """Arithmetic of answers that are not both linear questions of one release."""
    law = CombinedLaw(sign, left, right)
    one, other = left.source, right.source
    strangers = one is not None and other is not None and one.is_stranger_of(other)
    match sign, left.law, right.law:
        case "+" | "-", NoiseSum() as mine, NoiseSum() as theirs if strangers:
            both = NoiseSum.weighted(
                _added(_terms(mine), _terms(theirs)), mine.doubts + theirs.doubts
            )
            return Answer(law.value, both, left.note)
    return Answer(law.value, law, left.note)


def _terms(law: NoiseSum) -> dict[tuple[float, Any], int]:
    return {(weight, noise): count for weight, noise, count in law.terms}


def _added(one: Mapping[Any, int], other: Mapping[Any, int]) -> dict[Any, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def _divisor(number: float) -> float:
    if number == 0:
        raise QueryError("this divides by zero")
    return number

"""Arithmetic of aggregates, and of answers: what is linear stays so as long as it can.

Answers of one release have noise in common; as linear questions, or as ratios of them, they are
combined before their law is looked for. Answers of two releases have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushtable.errors import QueryError
from hushtable.query.aggregate import Sign
from hushtable.query.answer import Answer
from hushtable.query.law import NoiseSum
from hushtable.query.reader import Answering
from hushtable.query.statistics.combined import CombinedLaw
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import Ratio
from hushtable.query.weighing import same

Form = Linear | Ratio | Answer
"""What an aggregate comes to: a linear question, a ratio of two, or an answer of another kind."""


def answered(reader: Answering, form: Form) -> Answer:
    """The answer to what was asked, in whichever form it is."""
    if isinstance(form, Answer):
        return form
    value, law = form.answer(reader)
    return Answer(value, law, getattr(reader, "note", ""), (reader, form))


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
    readers = [answer.source[0] for answer in answers if answer.source is not None]
    if readers and all(_may_join(operand, readers[0]) for operand in (left, right)):
        form = joined(readers[0], sign, _form(left), _form(right))
        return answered(readers[0], form)
    return _apart(sign, _as_answer(left), _as_answer(right))


def _may_join(operand: Answer | float, reader: Answering) -> bool:
    """Whether an operand is a number, or an answer of this reader."""
    if not isinstance(operand, Answer):
        return True
    return operand.source is not None and operand.source[0] is reader


def _form(operand: Answer | float) -> Form:
    if not isinstance(operand, Answer):
        return Linear.exactly((), float(operand))
    asked = operand.source[1]
    return Linear.count(asked) if isinstance(asked, tuple) else asked


def _as_answer(operand: Answer | float) -> Answer:
    return operand if isinstance(operand, Answer) else Answer(float(operand), NoiseSum(()))


def _apart(sign: Sign, left: Answer, right: Answer) -> Answer:
    """Arithmetic of answers that are not both linear questions of one release."""
    law = CombinedLaw(sign, left, right)
    sources = [answer.source[0] for answer in (left, right) if answer.source is not None]
    strangers = len(sources) == 2 and sources[0] is not sources[1]
    match sign, left.law, right.law:
        case "+" | "-", NoiseSum() as one, NoiseSum() as other if strangers:
            both = NoiseSum.weighted(_added(_terms(one), _terms(other)))
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

"""Arithmetic of aggregates, and of answers: what is linear stays so as long as it can.

Answers of one release have noise in common; as linear questions, or as ratios of them, they are
combined before their law is looked for. Answers of two draws of noise have none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hushtable.errors import QueryError
from hushtable.query.aggregate import Sign
from hushtable.query.answer import Answer, Draws, Source
from hushtable.query.law import NoiseSum
from hushtable.query.reader import Answering
from hushtable.query.statistics.combined import CombinedLaw, Slope
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import Ratio
from hushtable.query.weighing import same, same_weights, scaled, weigh

Form = Linear | Ratio | Answer
"""What an aggregate comes to: a linear question, a ratio of two, or an answer of another kind."""


def answered(reader: Answering, form: Form, draws: Draws = None) -> Answer:
    """The answer to what was asked, in whichever form it is."""
    if isinstance(form, Answer):
        return form if form.source is None else replace(form, source=form.source.drawn_as(draws))
    value, law = form.answer(reader)
    return Answer(value, law, getattr(reader, "note", ""), Source(reader, form, draws))


def joined(reader: Answering, sign: Sign, left: Form, right: Form) -> Form:
    """Two forms as one: linear, or a ratio, where arithmetic leaves it so."""
    if sign == "-" and (nothing := _difference_of_same(left, right)) is not None:
        return nothing
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
    slope = Slope(reader, partial(_slope, reader, sign, left, right))
    found = _apart(sign, answered(reader, left), answered(reader, right), slope)
    return replace(found, source=Source(reader, found.law))


def _difference_of_same(left: Form, right: Form) -> Form | None:
    """What is asked twice differs by nothing, wherever in its bins it is; exact sums cancel anyway.

    Of nobody, it stays what is not a number.
    """
    match left, right:
        case Linear(exact=False), Linear() if _alike(left, right):
            return Linear.exactly(())
        case Ratio(), Ratio() if not left.top.exact and _alike(left.top, right.top):
            if same(left.bottom, right.bottom):
                nothing = Linear.exactly(scaled(left.top.middle, 0.0))
                return Ratio(nothing, left.bottom, left.offset - right.offset)
        case Answer(source=Source() as mine), Answer(source=Source() as theirs):
            if mine.reader is theirs.reader and mine.asked == theirs.asked:
                return Answer(float(left.value) - float(right.value), NoiseSum(()), left.note)
    return None


def _alike(left: Linear, right: Linear) -> bool:
    pairs = (left.low, right.low), (left.middle, right.middle), (left.high, right.high)
    return left.offset == right.offset and all(same_weights(*pair) for pair in pairs)


def _slope(reader: Answering, sign: Sign, left: Form, right: Form) -> Linear | None:
    """The linear question whose noise is nearly the error of what two forms make."""
    one, other = _tangent(reader, left), _tangent(reader, right)
    if one is None or other is None:
        return None
    a, b = (float(answered(reader, form).value) for form in (left, right))
    match sign:
        case "+":
            return one + other
        case "-":
            return one + other.times(-1.0)
        case "*":
            return one.times(b) + other.times(a)
        case "/":
            return one.times(1 / b) + other.times(-a / b**2) if b else None


def _tangent(reader: Answering, form: Form) -> Linear | None:
    match form:
        case Linear():
            return form
        case Ratio(top, bottom, offset):
            ratio, count = form.answer(reader)[0] - offset, weigh(reader, bottom)[0]
            if not (count > 0 and math.isfinite(ratio)):
                return None
            return (top + Linear.exactly(scaled(bottom, -ratio))).times(1 / count)
        case Answer(law=CombinedLaw(slope=Slope(reader=asked, linear=linear))) if asked is reader:
            return linear()
    return None


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
    if isinstance(asked, Linear | Ratio):
        return asked
    return Linear.count(asked) if isinstance(asked, tuple) else operand


def _as_answer(operand: Answer | float) -> Answer:
    return operand if isinstance(operand, Answer) else Answer(float(operand), NoiseSum(()))


def _apart(sign: Sign, left: Answer, right: Answer, slope: Slope | None = None) -> Answer:
    """Arithmetic of answers that are not both linear questions of one release."""
    if sign == "-" and left is right:
        return Answer(float(left.value) - float(right.value), NoiseSum(()), left.note)
    one, other = left.source, right.source
    strangers = one is not None and other is not None and one.is_stranger_of(other)
    law = CombinedLaw(sign, left, right, strangers, slope)
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

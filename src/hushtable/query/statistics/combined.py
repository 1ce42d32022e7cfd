"""Arithmetic of statistics that are not linear: intervals that hold at once are combined."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hushtable.query.aggregate import Sign
from hushtable.query.answer import Answer
from hushtable.query.law import farther_end, simultaneous
from hushtable.query.reader import Answering
from hushtable.query.statistics.linear import Linear
from hushtable.query.weighing import weigh


@dataclass(frozen=True)
class Slope:
    """Who answered, and what to ask of them; nothing, where no linear question comes close."""

    reader: Answering
    linear: Callable[[], Linear | None]


@dataclass(frozen=True, eq=False)
class CombinedLaw:
    """The error of a sum, difference, product or quotient of two answers, whatever they share."""

    sign: Sign
    left: Answer
    right: Answer
    strangers: bool = False
    """Whether they surely have no noise in common."""
    slope: Slope | None = None
    """Of answers of one reader: the linear question whose noise is nearly the error."""

    @property
    def value(self) -> float:
        return calculate(self.sign, float(self.left.value), float(self.right.value))

    @cached_property
    def variance(self) -> float:
        """For small errors; where it is not known what they share, the most that there can be."""
        if self.slope is not None and (linear := self.slope.linear()) is not None:
            return weigh(self.slope.reader, linear.middle)[1].variance
        a, b = float(self.left.value), float(self.right.value)
        va, vb = self.left.law.variance, self.right.law.variance
        match self.sign:
            case "*":
                va, vb = va * b**2, vb * a**2
            case "/" if b:
                va, vb = va / b**2, vb * (a / b**2) ** 2
            case "/":
                return math.inf
        return va + vb if self.strangers else (math.sqrt(va) + math.sqrt(vb)) ** 2

    @property
    def estimate(self) -> bool:
        return self.left.estimate or self.right.estimate

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(self.value, self.ends(confidence))

    def ends(self, confidence: float) -> tuple[float, float]:
        """What any two values of the operands' intervals make."""
        each = simultaneous(confidence, 2)
        left, right = self.left.interval(each), self.right.interval(each)
        if self.sign == "/" and right[0] <= 0 <= right[1]:
            return -math.inf, math.inf
        found = [calculate(self.sign, a, b) for a, b in itertools.product(left, right)]
        if any(map(math.isnan, found)):  # infinity less infinity
            return -math.inf, math.inf
        return min(found), max(found)


def calculate(sign: Sign, left: float, right: float) -> float:
    """Plain arithmetic; a quotient by zero is not a number."""
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right if right else math.nan

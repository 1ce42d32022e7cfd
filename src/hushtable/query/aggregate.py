"""What a SELECT may ask of each group of rows: counts, sums, means, quantiles, and arithmetic.

These are questions only; `statistics` has their answers. The boxes of an aggregate are the rows
that its FILTER leaves of the whole table, None for all; the WHERE clause and the groups are cut out
of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hushtable.query.box import Boxes

Sign = Literal["+", "-", "*", "/"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number that stands in the SELECT list."""

    value: float


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT(*), or COUNT(x): how many rows of disjoint boxes."""

    boxes: Boxes | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """SUM(x): the values of an attribute as the schema clips them; NULL counts nothing."""

    axis: int
    boxes: Boxes | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """AVG(x), of the rows that have a value."""

    axis: int
    boxes: Boxes | None = None


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that a share of the rows that have one is below: MEDIAN(x) for one half."""

    axis: int
    share: float
    boxes: Boxes | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """VARIANCE(x), or with `root` STDDEV(x); of a sample, over n − 1, or of all rows."""

    axis: int
    boxes: Boxes | None = None
    root: bool = False
    sample: bool = True


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two aggregates or numbers, and what is done with them."""

    sign: Sign
    left: Aggregate
    right: Aggregate


@dataclass(frozen=True, slots=True)
class Overall:
    """SUM(…) OVER (): an aggregate of all groups together, beside each of them."""

    operand: Aggregate


Aggregate = Number | Count | Sum | Mean | Quantile | Spread | Arithmetic | Overall


@dataclass(frozen=True, slots=True)
class Named:
    """An aggregate of a query, and what its column is called; ORDER BY may name hidden ones."""

    name: str
    aggregate: Aggregate


# ── HAVING ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two aggregates, such as COUNT(*) >= 100."""

    sign: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Aggregate
    right: Aggregate


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions joined by AND, or by OR."""

    every: bool
    operands: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """NOT operand."""

    operand: Having


Having = Compared | Joined | Negated

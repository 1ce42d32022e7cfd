"""What a SELECT asks of each group: aggregates, arithmetic of them, and HAVING."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Compared,
    Count,
    Having,
    Joined,
    Mean,
    Negated,
    Number,
    Overall,
    Quantile,
    Sign,
    Spread,
    Sum,
)
from hushtable.query.box import Box, Boxes
from hushtable.query.literal import sql_name
from hushtable.query.predicate import MAX_DEPTH, All, Any, Constant, Formula, boxes_of
from hushtable.query.sql.condition import COMPARISONS, operands
from hushtable.query.sql.row_value import EVERYWHERE, Linear, Piece, RowReader, known, not_null
from hushtable.query.sql.syntax import (
    called,
    exact,
    met,
    refuse_extras,
    without_parentheses,
    written,
)
from hushtable.schema import Dates, Edges, IntegerRange, Schema

AGGREGATE_HELP = (
    "aggregates are COUNT, SUM, AVG, MEDIAN, QUANTILE_CONT(x, 0.9), VARIANCE and STDDEV"
)
_SIGNS: dict[type[exp.Expression], Sign] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
}
_REAL_TYPES = {"FLOAT", "DOUBLE", "REAL", "DECIMAL"}
_SPREADS: dict[str, tuple[bool, bool]] = {
    "VARIANCE": (False, True),
    "VARIANCEPOP": (False, False),
    "STDDEV": (True, True),
    "STDDEVSAMP": (True, True),
    "STDDEVPOP": (True, False),
}
"""Variances and their roots, as the parser calls them: whether a root, whether of a sample."""
_QUANTILES = ("QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE_CONT", "PERCENTILE_DISC", "QUANTILE")
_OWN_NAMES = (*_QUANTILES, "MEAN")
_REFUSED: dict[type[exp.Expression], str] = {
    exp.Min: "MIN is one person's value, which noise hides; ask QUANTILE_CONT(x, 0.01)",
    exp.Max: "MAX is one person's value, which noise hides; ask QUANTILE_CONT(x, 0.99)",
    exp.Round: "is not rounded, its interval would not hold; ask for it as it is",
}


def is_aggregate(node: exp.Expression) -> bool:
    """Whether an expression asks something of a group of rows."""
    if node.find(exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Window):
        return True
    return any(called(part) in _OWN_NAMES for part in node.find_all(exp.Anonymous))


@dataclass(frozen=True)
class AggregateReader:
    """Reads aggregates; `tables` are the names of the table, `aliases` aggregates with a name."""

    schema: Schema
    tables: set[str]
    aliases: Mapping[str, Aggregate]
    windows: bool = True
    """Whether SUM(…) OVER () may stand here."""

    def read(self, node: exp.Expression, depth: int = 0) -> Aggregate:
        """An aggregate, a number, or arithmetic of them."""
        node = without_parentheses(node)
        if depth > MAX_DEPTH:
            raise QueryError("the expression is nested too deeply")
        sign = _SIGNS.get(type(node))
        if sign is not None:
            refuse_extras(node, {"this", "expression"}, AGGREGATE_HELP)
            return Arithmetic(
                sign, self.read(node.this, depth + 1), self.read(node.expression, depth + 1)
            )
        match node:
            case exp.Literal() if not node.is_string:
                return Number(float(exact(node)))
            case exp.Neg():
                inner = self.read(node.this, depth + 1)
                if isinstance(inner, Number):
                    return Number(-inner.value)
                return Arithmetic("-", Number(0.0), inner)
            case exp.Cast() | exp.Nullif() | exp.Coalesce():
                return self._same(node, depth)
            case exp.Window():
                return self._overall(node, depth)
            case exp.Column():
                return self._named(node)
            case exp.Filter():
                where = node.expression.this
                return self._aggregate(without_parentheses(node.this), self._rows(where))
            case _:
                return self._aggregate(node, EVERYWHERE)

    def _rows(self, where: exp.Expression) -> Formula:
        return RowReader(self.schema, self.tables).condition(where)

    def _named(self, node: exp.Column) -> Aggregate:
        """An aggregate of the SELECT list by its alias."""
        name = node.name.casefold()
        if not node.table and name in self.aliases:
            return self.aliases[name]
        raise QueryError(
            f"{met(node)} stands outside an aggregate; write AVG({written(node)}), "
            "or put a condition on it into WHERE"
        )

    def _same(self, node: exp.Expression, depth: int) -> Aggregate:
        """What changes no number here: a cast to real numbers, NULLIF(…, 0), COALESCE(…, 0)."""
        if isinstance(node, exp.Cast):
            refuse_extras(node, {"this", "to", "safe", "type", "_type"}, AGGREGATE_HELP)
            kind = node.to
            if kind.this.name not in _REAL_TYPES or kind.expressions:
                raise QueryError(f"{met(node)} is not supported; cast aggregates to DOUBLE")
        else:
            others = [node.expression] if isinstance(node, exp.Nullif) else node.expressions
            if [str(other.this) for other in others] not in (["0"], ["0.0"]):
                raise QueryError(f"{met(node)} is not supported; it takes an aggregate and 0")
        return self.read(node.this, depth + 1)

    def _overall(self, node: exp.Window, depth: int) -> Aggregate:
        """SUM(COUNT(*)) OVER (): what all groups have together."""
        if not self.windows:
            raise QueryError(f"{met(node)} cannot stand in HAVING, nor beside HAVING or ROLLUP")
        example = "SUM(COUNT(*)) OVER () is the count of all groups"
        if node.args.get("partition_by") or node.args.get("order"):
            raise QueryError(f"{met(node)}: only OVER () is answered; {example}")
        refuse_extras(node, {"this", "over"}, example)
        if not isinstance(node.this, exp.Sum) or not is_aggregate(node.this.this):
            raise QueryError(f"{met(node)} is not answered; {example}")
        inner = self.read(node.this.this, depth + 1)
        if not _adds_up(inner):
            raise QueryError(f"{met(node)}: only counts and sums add up over groups; {example}")
        return Overall(inner)

    # ── single aggregates ────────────────────────────────────────────────────────────────────────

    def _aggregate(self, node: exp.Expression, rows: Formula) -> Aggregate:
        if type(node) in _REFUSED:
            reason = _REFUSED[type(node)]
            raise QueryError(reason if reason[0].isupper() else f"{met(node.this)} {reason}")
        _refuse_distinct(node)
        if isinstance(node, exp.Count):
            return self._count(node, rows)
        if isinstance(node, exp.CountIf):
            return Count(self._boxes(All((rows, self._rows(node.this)))))
        if isinstance(node, exp.Sum | exp.Avg) or called(node) == "MEAN":
            return self._of_numbers(node, rows)
        share = _share_of(node)
        if share is not None:
            axis, boxes = self._single(share[0], node, rows)
            return Quantile(axis, share[1], boxes)
        spread = _SPREADS.get(type(node).__name__.upper())
        if spread is not None:
            refuse_extras(node, {"this"}, AGGREGATE_HELP)
            axis, boxes = self._single(node.this, node, rows)
            return Spread(axis, boxes, root=spread[0], sample=spread[1])
        raise QueryError(f"{met(node)} is not supported; {AGGREGATE_HELP}")

    def _count(self, node: exp.Count, rows: Formula) -> Aggregate:
        """COUNT(*), or the rows that have a value."""
        refuse_extras(node, {"this", "big_int"}, "COUNT takes *, or one expression")
        if isinstance(node.this, exp.Star):
            refuse_extras(node.this, set(), "the count is COUNT(*)")
            return Count(self._boxes(rows))
        if node.this is None:
            raise QueryError(f"{met(node)} is not supported; the count is COUNT(*)")
        pieces = RowReader(self.schema, self.tables).read(node.this)
        held = Any(tuple(known(piece, self.schema) for piece in pieces))
        return Count(self._boxes(All((rows, held))))

    def _of_numbers(self, node: exp.Expression, rows: Formula) -> Aggregate:
        """SUM or AVG of an expression that is linear in attributes."""
        refuse_extras(node, {"this", "expressions"}, AGGREGATE_HELP)
        argument = node.expressions[0] if node.this == "MEAN" or called(node) else node.this
        pieces = [
            Piece(All((rows, piece.where)), piece.value)
            for piece in RowReader(self.schema, self.tables).read(argument)
        ]
        for piece in pieces:
            self._check_number(piece, node)
        if isinstance(node, exp.Sum):
            return self._sum(pieces)
        if len(pieces) == 1 and _one_attribute(pieces[0].value) is not None:
            axis = _one_attribute(pieces[0].value)
            assert axis is not None
            return Mean(axis, self._boxes(pieces[0].where))
        held = Any(tuple(known(piece, self.schema) for piece in pieces))
        return Arithmetic("/", self._sum(pieces), Count(self._boxes(held)))

    def _check_number(self, piece: Piece, node: exp.Expression) -> None:
        """Refuse what cannot be added up, saying which attribute it is."""
        if isinstance(piece.value, Linear):
            return
        axis = getattr(piece.value, "axis", None)
        if axis is None:
            raise QueryError(f"{met(node)} is of texts or conditions; give numbers: THEN 1 ELSE 0")
        self._check_axis(axis, node)
        raise QueryError(
            f"{met(node)}: sums of rounded values are not answered; leave the rounding away"
        )

    def _check_axis(self, axis: int, node: exp.Expression) -> None:
        """Refuse labels and dates where numbers are needed."""
        attribute = self.schema.attributes[axis]
        if isinstance(attribute.values, IntegerRange | Edges):
            return
        name = sql_name(attribute.name)
        what = "dates" if isinstance(attribute.values, Dates) else "labels"
        raise QueryError(
            f"{met(node)}: {name} has {what}, not numbers; ask COUNT(*) … GROUP BY {name}"
        )

    def _sum(self, pieces: list[Piece]) -> Aggregate:
        """The sum of what pieces are: multiples of sums and of counts."""
        parts: list[Aggregate] = []
        for piece in pieces:
            assert isinstance(piece.value, Linear)
            axes = [axis for axis, _ in piece.value.terms]
            for axis, factor in piece.value.terms:
                others = (not_null(other, self.schema) for other in axes if other != axis)
                boxes = self._boxes(All((piece.where, *others)))
                parts += _times(factor, Sum(axis, boxes))
            boxes = self._boxes(known(piece, self.schema))
            parts += _times(piece.value.constant, Count(boxes))
        return _added(parts or [Number(0.0)])

    def _single(
        self, argument: exp.Expression, node: exp.Expression, rows: Formula
    ) -> tuple[int, Boxes | None]:
        """The one attribute of a quantile or a variance, and the rows that count."""
        pieces = RowReader(self.schema, self.tables).read(argument)
        for piece in pieces:
            self._check_number(piece, node)
        axis = _one_attribute(pieces[0].value) if len(pieces) == 1 else None
        if axis is None:
            raise QueryError(f"{met(node)} takes a single attribute; conditions go into FILTER")
        return axis, self._boxes(All((rows, pieces[0].where)))

    def _boxes(self, formula: Formula) -> Boxes | None:
        """The rows on which a formula holds, None for all."""
        if _always(formula):
            return None
        boxes = boxes_of(formula, self.schema)
        return None if boxes == (Box.full(self.schema.shape),) else boxes

    # ── HAVING ───────────────────────────────────────────────────────────────────────────────────

    def having(self, node: exp.Expression, depth: int = 0) -> Having:
        """A condition on aggregates."""
        node = without_parentheses(node)
        if depth > MAX_DEPTH:
            raise QueryError("HAVING is nested too deeply")
        match node:
            case exp.And() | exp.Or():
                parts = tuple(self.having(part, depth + 1) for part in operands(node))
                return Joined(isinstance(node, exp.And), parts)
            case exp.Not():
                return Negated(self.having(node.this, depth + 1))
            case exp.Between():
                refuse_extras(node, {"this", "low", "high"}, _HAVING_HELP)
                value = self.read(node.this)
                low, high = (self.read(node.args[end]) for end in ("low", "high"))
                return Joined(True, (Compared(">=", value, low), Compared("<=", value, high)))
        sign = COMPARISONS.get(type(node))
        if sign is None:
            raise QueryError(f"{met(node)} is not supported in HAVING; {_HAVING_HELP}")
        refuse_extras(node, {"this", "expression"}, _HAVING_HELP)
        return Compared(sign, self.read(node.this), self.read(node.expression))


_HAVING_HELP = "it compares aggregates and numbers, joined by AND, OR and NOT"


def _always(formula: Formula) -> bool:
    match formula:
        case Constant(value):
            return value is True
        case All(parts):
            return all(_always(part) for part in parts)
        case _:
            return False


def _adds_up(aggregate: Aggregate) -> bool:
    """Whether that of all groups together is the sum of that of each."""
    match aggregate:
        case Count() | Sum():
            return True
        case Arithmetic("+" | "-", left, right):
            return _adds_up(left) and _adds_up(right)
        case Arithmetic("*", Number(), other) | Arithmetic("*" | "/", other, Number()):
            return _adds_up(other)
        case _:
            return False


def _added(parts: list[Aggregate]) -> Aggregate:
    """The sum of aggregates, in halves, so that it is not nested deeply."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return Arithmetic("+", _added(parts[:middle]), _added(parts[middle:]))


def _times(factor: Fraction, aggregate: Aggregate) -> list[Aggregate]:
    """A multiple of an aggregate; none of zero times it."""
    if factor == 0:
        return []
    if factor == 1:
        return [aggregate]
    return [Arithmetic("*", Number(float(factor)), aggregate)]


def _one_attribute(value: object) -> int | None:
    """The attribute that a value is, if it is one as it stands."""
    if isinstance(value, Linear) and len(value.terms) == 1 and value.constant == 0:
        axis, factor = value.terms[0]
        return axis if factor == 1 else None
    return None


def _share_of(node: exp.Expression) -> tuple[exp.Expression, float] | None:
    """What a quantile is of, and its share."""
    match node:
        case exp.Median():
            refuse_extras(node, {"this"}, AGGREGATE_HELP)
            return node.this, 0.5
        case exp.Quantile():
            return node.this, _share(node.args["quantile"])
        case exp.WithinGroup(this=exp.PercentileCont() | exp.PercentileDisc()):
            terms = node.expression.expressions
            if len(terms) != 1:
                raise QueryError(f"{met(node)}: WITHIN GROUP (ORDER BY x) takes one attribute")
            refuse_extras(terms[0], {"this", "desc", "nulls_first"}, AGGREGATE_HELP)
            share = _share(node.this.this)
            return terms[0].this, 1 - share if terms[0].args.get("desc") else share
        case exp.PercentileCont() | exp.PercentileDisc():
            raise QueryError(f"write {met(node)} WITHIN GROUP (ORDER BY x)")
        case exp.Anonymous() if called(node) in _QUANTILES:
            if len(node.expressions) != 2:
                raise QueryError(f"{met(node)}: write QUANTILE_CONT(x, 0.9)")
            return node.expressions[0], _share(node.expressions[1])
        case _:
            return None


def _share(node: exp.Expression) -> float:
    node = without_parentheses(node)
    if isinstance(node, exp.Literal) and not node.is_string and 0 <= exact(node) <= 1:
        return float(exact(node))
    raise QueryError(f"a quantile takes one share from 0 to 1, such as 0.9, not {met(node)}")


def _refuse_distinct(node: exp.Expression) -> None:
    inner = node.this
    if isinstance(inner, exp.Distinct):
        raise QueryError(
            f"{met(node)} cannot be answered: noise hides which values occur; "
            "ask COUNT(*) … GROUP BY the attribute, and see which intervals are above zero"
        )
    if isinstance(inner, exp.Order):
        raise QueryError(f"{met(node)} is not supported; {AGGREGATE_HELP}")

"""GROUP BY: attributes, levels of their hierarchies, and expressions by their values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, compress, product

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.grouping import Case, Cases, Group
from hushtable.query.literal import sql_name
from hushtable.query.predicate import All, Any, Atom, Constant, Formula, Holds, Not, boxes_of
from hushtable.query.sql import stepwise
from hushtable.query.sql.row_value import Own, Piece, RowReader, known
from hushtable.query.sql.stepwise import Label, Stepwise
from hushtable.query.sql.syntax import (
    called,
    column_name,
    find_attribute,
    met,
    natural,
    without_parentheses,
)
from hushtable.schema import Dates, Labels, Schema

MOST_SETS = 1_000
GROUP_HELP = "GROUP BY takes attributes, LEVEL(attribute, k) and expressions of attributes"
Term = Group | Cases
"""A term of GROUP BY, its column without a name."""


@dataclass(frozen=True)
class GroupReader:
    """Reads terms of GROUP BY; `tables` are the names that the table goes by."""

    schema: Schema
    tables: set[str]

    def read(self, node: exp.Expression) -> Term:
        """An attribute, LEVEL(attribute, k), or an expression with a case for each value."""
        node = without_parentheses(node)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return Group(find_attribute(column_name(node, self.tables), self.schema), None, "")
        if called(node) == "LEVEL":
            return self._level(node)
        if not node.find(exp.Column):
            raise QueryError(f"{met(node)} is not supported as a column; {GROUP_HELP}")
        return Cases("", self._cases(node))

    def name(self, term: Term) -> str:
        """What a term is called in a message, empty for an expression."""
        if isinstance(term, Cases):
            return ""
        name = sql_name(self.schema.attributes[term.axis].name)
        return name if term.level is None else f"LEVEL({name}, {term.level})"

    def _level(self, node: exp.Expression) -> Group:
        """LEVEL(attribute, k), with k checked against the hierarchy."""
        arguments = [without_parentheses(argument) for argument in node.expressions]
        if len(arguments) != 2 or not isinstance(arguments[0], exp.Column):
            raise QueryError("LEVEL takes an attribute and a depth, as in LEVEL(occupation, 1)")
        axis = find_attribute(column_name(arguments[0], self.tables), self.schema)
        attribute = self.schema.attributes[axis]
        if attribute.hierarchy is None:
            raise QueryError(f"{attribute.name} has no hierarchy, so LEVEL does not apply to it")
        height = attribute.hierarchy.height
        level = natural(arguments[1])
        if level is None or level > height:
            raise QueryError(
                f"LEVEL({sql_name(attribute.name)}, k) takes a whole k from 0 (the root) "
                f"to {height}, the height of the hierarchy, not {met(arguments[1])}"
            )
        return Group(axis, level, "")

    def _cases(self, node: exp.Expression) -> tuple[Case, ...]:
        """The values of an expression in ascending order, NULL last, and where it has each."""
        found, null = self.values(node)
        labels = _ordered(list(found), node)
        parts = [
            Case(label, boxes_of(_plainest(where), self.schema))
            for label, where in [*((label, found[key]) for key, label in labels), (None, null)]
        ]
        return tuple(case for case in parts if case.boxes)

    def values(self, node: exp.Expression) -> tuple[dict[Label, Formula], Formula]:
        """The values of an expression, and where it has each; and where it is NULL."""
        pieces = RowReader(self.schema, self.tables).read(node)
        found: dict[Label, list[Formula]] = {}
        for piece in pieces:
            for label, where in self._values(piece, node):
                found.setdefault(label, []).append(where)
        null = Not(Any(tuple(Holds(known(piece, self.schema)) for piece in pieces)))
        return {label: Any(tuple(where)) for label, where in found.items()}, null

    def _values(self, piece: Piece, node: exp.Expression) -> list[tuple[Label, Formula]]:
        """The values of a piece, and where it has each."""
        value = piece.value
        if isinstance(value, Own):
            value = self._listed(value.axis)
        elif not isinstance(value, Stepwise | str | bool):
            value = RowReader(self.schema, self.tables).rounded(value, stepwise.exactly, node)
        if isinstance(value, Stepwise):
            axis = value.axis
            return [(label, _both(piece.where, Atom(axis, codes))) for label, codes in value.steps]
        label = value if isinstance(value, str | bool) else _constant(value)
        return [(label, piece.where)]

    def _listed(self, axis: int) -> Stepwise:
        """The labels, or the dates, of an attribute one by one."""
        attribute = self.schema.attributes[axis]
        if isinstance(attribute.values, Labels):
            return stepwise.of_label(axis, attribute, str)
        assert isinstance(attribute.values, Dates)
        return stepwise.of_date_start(axis, attribute, attribute.values.by)


def _both(where: Formula, atom: Atom) -> Formula:
    return atom if where == Constant(True) else All((where, atom))


def _plainest(where: Formula) -> Formula:
    """A formula without an OR or AND of one part."""
    while isinstance(where, All | Any) and len(where.operands) == 1:
        where = where.operands[0]
    return where


def _constant(value: object) -> Fraction:
    constant = getattr(value, "constant", None)
    assert isinstance(constant, Fraction)
    return constant


def _ordered(
    labels: list[Label], node: exp.Expression
) -> list[tuple[Label, int | float | str | bool]]:
    """Values in ascending order, each with what it is shown as: whole numbers all, or none."""
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        raise QueryError(f"{met(node)} gives texts and numbers, or conditions; give one of them")
    if Fraction not in kinds:
        return [(label, label) for label in sorted(labels)]  # type: ignore[misc]
    whole = all(isinstance(label, Fraction) and label.denominator == 1 for label in labels)
    return [(key, int(key) if whole else float(key)) for key in sorted(labels)]


# ── ROLLUP, CUBE and GROUPING SETS ───────────────────────────────────────────────────────────────


def grouping_sets(group: exp.Expression) -> list[list[exp.Expression]] | None:
    """The terms of each grouping set of a GROUP BY; None where there is no ROLLUP or the like."""
    parts = [*group.expressions]
    for key in ("rollup", "cube", "grouping_sets"):
        added = group.args.get(key) or []
        parts += added if isinstance(added, list) else [added]
    if not any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in parts):
        return None
    sets: list[list[exp.Expression]] = [[]]
    for part in parts:
        choices = _choices(part)
        if len(sets) * len(choices) > MOST_SETS:
            raise QueryError(f"GROUP BY has more than {MOST_SETS} grouping sets")
        sets = [[*before, *added] for before, added in product(sets, choices)]
    return sets


def _choices(part: exp.Expression) -> list[list[exp.Expression]]:
    """The sets of terms that one element of GROUP BY stands for."""
    match part:
        case exp.Rollup():
            units = _units(part)
            return [list(chain(*units[:k])) for k in range(len(units), -1, -1)]
        case exp.Cube():
            units = _units(part)
            return [
                list(chain(*compress(units, choice)))
                for choice in product((True, False), repeat=len(units))
            ]
        case exp.GroupingSets():
            return [found for inner in part.expressions for found in _choices(inner)]
        case _:
            return [_members(part)]


def _units(part: exp.Expression) -> list[list[exp.Expression]]:
    """The columns of ROLLUP or CUBE; columns in parentheses go together."""
    if not part.expressions:
        raise QueryError(f"write the columns in parentheses: GROUP BY {part.key.upper()} (a, b)")
    if len(part.expressions) > 12:
        raise QueryError(f"{part.key.upper()} takes at most 12 columns")
    return [_members(unit) for unit in part.expressions]


def _members(part: exp.Expression) -> list[exp.Expression]:
    if isinstance(part, exp.Tuple):
        return list(part.expressions)
    return [part]

"""What is asked on a page: read from the parameters of a URL, written as SQL and as a URL again.

A question is all that a link carries, so that whoever gets the link sees the same. Parameters:

| parameter | meaning |
|---|---|
| `by`, `at` | the attribute that has a row for each value, and how coarsely it is seen |
| `and`, `and_at` | the second one, of a heat map |
| `is.NAME` | only these values or groups of an attribute (may stand several times) |
| `from.NAME`, `to.NAME` | only this range of an attribute that has an order, both ends included |
| `missing.NAME` | also, or only, rows without a declared value |
| `show`, `of` | count, share, mean, median or sum, and of which attribute |
| `a`, `b` | two rows whose difference is asked for |
| `confidence`, `together`, `estimate` | how intervals are meant |
| `sql` | a statement in the place of all of the above but the last |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from hushtable.errors import QueryError
from hushtable.query.literal import sql_name, sql_text
from hushtable.schema import Attribute, Edges, IntegerRange, Schema
from hushtable.web.grain import Grain, default_grain, grain_called

Parameters = Sequence[tuple[str, str]]

SHOWN = {
    "count": "Number of people",
    "share": "Share in percent",
    "mean": "Mean of …",
    "median": "Median of …",
    "sum": "Sum of …",
}
"""What can be shown of each group, and what that is called."""

OF_AN_ATTRIBUTE = ("mean", "median", "sum")
_FUNCTIONS = {"mean": "AVG", "median": "MEDIAN", "sum": "SUM"}
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
_LONGEST = 60
"""Of a value that a message repeats."""


@dataclass(frozen=True)
class By:
    """An attribute whose values have a row each."""

    attribute: Attribute
    grain: Grain

    def sql(self) -> str:
        """The column of SELECT and GROUP BY."""
        return self.grain.sql(sql_name(self.attribute.name))

    def code(self) -> str:
        """What a URL calls its grain; nothing where that goes without saying."""
        return "" if self.grain == default_grain(self.attribute) else self.grain.code

    def condition(self, label: str | None) -> str:
        """What is true of the rows of one group alone."""
        return self.grain.condition(self.attribute, label)


@dataclass(frozen=True)
class Filter:
    """The values of an attribute that are looked at."""

    attribute: Attribute
    values: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    missing: bool = False

    def sql(self) -> str:
        """The condition in WHERE."""
        name = sql_name(self.attribute.name)
        parts = []
        if len(self.values) == 1:
            parts.append(f"{name} = {sql_text(self.values[0])}")
        elif self.values:
            parts.append(f"{name} IN ({', '.join(map(sql_text, self.values))})")
        ends = [
            f"{name} {sign} {self._end(end)}"
            for sign, end in ((">=", self.first), (self._last_sign(), self.last))
            if end is not None
        ]
        if ends:
            parts.append(" AND ".join(ends))
        if self.missing:
            parts.append(f"{name} IS NULL")
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

    def _end(self, end: str) -> str:
        if not isinstance(self.attribute.values, IntegerRange | Edges):
            return sql_text(end)
        if not _NUMBER.fullmatch(end):
            raise QueryError(f"{self.attribute.name}: give numbers as the ends of a range")
        return end

    def _last_sign(self) -> str:
        """Bins end before an edge, but for the last of all."""
        values = self.attribute.values
        if not isinstance(values, Edges):
            return "<="
        return "<=" if self.last == edge_text(values.edges[-1]) else "<"

    def words(self) -> str:
        """The condition as a person says it."""
        said = list(self.values)
        if self.first is not None and self.last is not None:
            said.append(f"{self.first} to {self.last}")
        elif self.first is not None:
            said.append(f"{self.first} or more")
        elif self.last is not None:
            said.append(f"up to {self.last}")
        return " or ".join([*said, *(["no value"] if self.missing else [])])

    def parameters(self) -> list[tuple[str, str]]:
        name = self.attribute.name
        ends = (("from", self.first), ("to", self.last))
        return [
            *((f"is.{name}", value) for value in self.values),
            *((f"{key}.{name}", end) for key, end in ends if end is not None),
            *([(f"missing.{name}", "on")] if self.missing else []),
        ]


@dataclass(frozen=True)
class Question:
    """A table that is asked for, or a statement of SQL."""

    table: str
    by: tuple[By, ...] = ()
    filters: tuple[Filter, ...] = ()
    show: str = "count"
    of: Attribute | None = None
    compared: tuple[str, str] | None = None
    confidence: float = 0.95
    together: bool = False
    estimate: bool = False
    own_sql: str | None = field(default=None)

    # ── as SQL ───────────────────────────────────────────────────────────────────────────────────

    def sql(self) -> str:
        """The statement that asks for it."""
        if self.own_sql is not None:
            return self.own_sql
        columns = [by.sql() for by in self.by]
        lines = [f"SELECT {', '.join([*columns, self._shown()])}", f"FROM {self._from}"]
        conditions = self._conditions() if self.by or self.show != "share" else []
        if conditions:
            lines.append(f"WHERE {' AND '.join(conditions)}")
        if columns:
            lines.append(f"GROUP BY {', '.join(str(i + 1) for i in range(len(columns)))}")
        return "\n".join(lines)

    def difference_sql(self) -> str | None:
        """The statement that asks for the difference of two rows, if two are compared."""
        if self.compared is None or len(self.by) != 1:
            return None
        first, second = (
            self._aggregate(f" FILTER (WHERE {self.by[0].condition(label)})")
            for label in self.compared
        )
        difference = f"{first} - {second}"
        if self.show == "share":
            difference = f"100.0 * ({difference}) / COUNT(*)"
        lines = [f"SELECT {difference} AS difference", f"FROM {self._from}"]
        if self.filters:
            lines.append(f"WHERE {' AND '.join(self._conditions())}")
        return "\n".join(lines)

    @property
    def _from(self) -> str:
        return sql_name(self.table)

    def _conditions(self) -> list[str]:
        return [one.sql() for one in self.filters]

    def _shown(self) -> str:
        if self.show != "share":
            return self._aggregate()
        if self.by:
            return "100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent"
        some = f" FILTER (WHERE {' AND '.join(self._conditions())})" if self.filters else ""
        return f"100.0 * COUNT(*){some} / COUNT(*) AS percent"

    def _aggregate(self, some: str = "") -> str:
        if self.show in OF_AN_ATTRIBUTE:
            assert self.of is not None
            return f"{_FUNCTIONS[self.show]}({sql_name(self.of.name)}){some}"
        return f"COUNT(*){some}"

    # ── as a URL ─────────────────────────────────────────────────────────────────────────────────

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of its URL."""
        meant = [
            *([] if self.confidence == 0.95 else [("confidence", f"{self.confidence:g}")]),
            *([("together", "on")] if self.together else []),
            *([("estimate", "on")] if self.estimate else []),
        ]
        if self.own_sql is not None:
            return [("sql", self.own_sql), *meant]
        return [
            *(
                pair
                for keys, by in zip((("by", "at"), ("and", "and_at")), self.by, strict=False)
                for pair in zip(keys, (by.attribute.name, by.code()), strict=True)
                if pair[1]
            ),
            *([] if self.by else [("by", "-")]),
            *(pair for one in self.filters for pair in one.parameters()),
            *([] if self.show == "count" else [("show", self.show)]),
            *([] if self.of is None else [("of", self.of.name)]),
            *(zip("ab", self.compared, strict=True) if self.compared else ()),
            *meant,
        ]

    def url(self) -> str:
        """What follows the release's address: a question mark and the parameters."""
        return "?" + urlencode(self.parameters())

    # ── questions near it ────────────────────────────────────────────────────────────────────────

    def within(self, by: By, label: str | None) -> Question:
        """The same for the rows of one group alone."""
        chosen = by.grain.filter_of(by.attribute, label)
        kept = tuple(one for one in self.filters if one.attribute != by.attribute)
        narrowed = Filter(by.attribute, **chosen)
        return replace(self, filters=(*kept, narrowed), compared=None)

    def without(self, one: Filter) -> Question:
        """The same for all values of an attribute."""
        filters = tuple(other for other in self.filters if other != one)
        return replace(self, filters=filters, compared=None)

    def split(self, *by: By) -> Question:
        """The same with a row for each value of other attributes."""
        return replace(self, by=by, compared=None)


def read_question(schema: Schema, parameters: Parameters, *, start: str | None) -> Question:
    """The question of a URL; without any parameter, the counts of the attribute `start`."""
    given = [(key, value.strip()) for key, value in parameters if value.strip()]
    last = dict(given)
    base = Question(
        schema.name,
        confidence=_confidence(last.get("confidence")),
        together="together" in last,
        estimate="estimate" in last,
        own_sql=last.get("sql"),
    )
    if base.own_sql is not None:
        return base
    by = _grouped(schema, last, start)
    show, of = _shown(schema, last)
    pair = (last.get("a"), last.get("b"))
    compared = (pair[0], pair[1]) if pair[0] and pair[1] and len(by) == 1 else None
    return replace(
        base,
        by=by,
        filters=_filters(schema, given),
        show=show,
        of=of,
        compared=compared,
    )


def edge_text(edge: float) -> str:
    """An edge of bins as it is written in a URL and in SQL."""
    return str(int(edge)) if edge == int(edge) else repr(edge)


def by_of(attribute: Attribute, code: str = "") -> By:
    """An attribute at a grain by its code; the usual one without."""
    return By(attribute, grain_called(attribute, code) if code else default_grain(attribute))


def _grouped(schema: Schema, last: dict[str, str], start: str | None) -> tuple[By, ...]:
    first = last.get("by", start)
    chosen = [(first, last.get("at", "")), (last.get("and"), last.get("and_at", ""))]
    found = [by_of(schema.attribute(name), at) for name, at in chosen if name and name != "-"]
    if len(found) == 2 and found[0].attribute == found[1].attribute:
        return tuple(found[:1])
    return tuple(found)


def _shown(schema: Schema, last: dict[str, str]) -> tuple[str, Attribute | None]:
    show = last.get("show", "count")
    if show not in SHOWN:
        raise QueryError(f"show is one of {', '.join(SHOWN)}, not {show[:_LONGEST]!r}")
    if show not in OF_AN_ATTRIBUTE:
        return show, None
    if "of" not in last:
        raise QueryError(f"choose the attribute of which the {show} is asked for")
    return show, schema.attribute(last["of"])


def _filters(schema: Schema, given: Iterable[tuple[str, str]]) -> tuple[Filter, ...]:
    """One for each attribute that is named, in the order of the schema."""
    found: dict[int, Filter] = {}
    for key, value in given:
        what, dot, name = key.partition(".")
        if not dot or what not in ("is", "from", "to", "missing"):
            continue
        axis = schema.index(name)
        one = found.get(axis, Filter(schema.attributes[axis]))
        match what:
            case "is":
                one = replace(one, values=(*one.values, value))
            case "from":
                one = replace(one, first=value)
            case "to":
                one = replace(one, last=value)
            case "missing":
                one = replace(one, missing=True)
        found[axis] = one
    return tuple(found[axis] for axis in sorted(found))


def _confidence(text: str | None) -> float:
    try:
        level = 0.95 if text is None else float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise QueryError("confidence is a number between 0 and 1, such as 0.95")
    return level

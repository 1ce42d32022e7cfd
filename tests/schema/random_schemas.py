"""Random schemas of every kind, with labels that are odd but legal."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from hushtable.schema import (
    Attribute,
    CountColumn,
    Dates,
    Edges,
    Hierarchy,
    IntegerRange,
    Labels,
    Origin,
    Schema,
    Unit,
    nominal,
    ordinal,
)

ODD = ["*", "(all)", '"', "'", "a;b", "a,b", "é", "日本", "\\", "x\ny", "#", "a.b", "[0, 1)", "😀"]

labels = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
        lambda text: text == text.strip() and text != ""
    ),
)
names = st.text("abcdefghijklmnopqrstuvwxyzéß -'\"", min_size=1, max_size=8).filter(
    lambda text: text == text.strip() and text != ""
)
whole = st.integers(-(2**53) + 1, 2**53 - 1)
numbers = whole | st.floats(-1e15, 1e15)


@st.composite
def trees(draw: Any, leaves: list[str], spare: list[str]) -> Any:
    """A ragged tree with these leaves in this order; group names are taken from the spare ones."""
    level: list[Any] = list(leaves)
    while spare and draw(st.booleans()):
        start = draw(st.integers(0, len(level) - 1))
        stop = draw(st.integers(start + 1, len(level)))
        level[start:stop] = [{spare.pop(): level[start:stop]}]
    return level


@st.composite
def hierarchies(draw: Any, leaves: list[str] | None = None) -> Hierarchy:
    spare = draw(st.lists(labels, unique=True, max_size=6))
    leaves = leaves or draw(st.lists(labels, unique=True, min_size=1, max_size=8))
    return Hierarchy.from_tree(
        draw(trees(leaves, [label for label in spare if label not in leaves]))
    )


@st.composite
def values(draw: Any) -> IntegerRange | Edges | Labels:
    kind = draw(st.sampled_from(["range", "edges", "labels"]))
    if kind == "range":
        low = draw(st.integers(-(10**6), 10**6))
        return IntegerRange(low, low + draw(st.integers(0, 8) | st.integers(0, 10**12)))
    if kind == "edges":
        edges = draw(st.lists(numbers, min_size=2, max_size=8, unique_by=float))
        return Edges(tuple(sorted(edges)))
    return Labels(tuple(draw(st.lists(labels, unique=True, min_size=1, max_size=8))))


def moments(name: str, column: str, zone: str | None) -> st.SearchStrategy[Attribute]:
    """Attributes of each part of a moment."""
    days = Dates(date(2020, 1, 1), date(2020, 12, 31), "month")
    parts = [
        ("hour", IntegerRange(0, 23)),
        ("hour", Edges((0, 6.5, 24))),
        ("weekday", Labels(("Sunday", "Monday"))),
        ("quarter", IntegerRange(1, 4)),
        ("year", IntegerRange(1990, 2030)),
        ("date", days),
        (None, days),
    ]
    return st.sampled_from(
        [ordinal(name, values, origin=Origin(column, part, zone)) for part, values in parts]
    )


@st.composite
def attributes(draw: Any, name: str) -> Attribute:
    column = draw(st.none() | st.just("the same column"))
    if draw(st.integers(0, 3)) == 0:
        zone = draw(st.sampled_from([None, "Europe/Berlin", "Etc/GMT+5", "UTC"]))
        return draw(moments(name, column, zone))
    outside = draw(st.sampled_from(["drop", "other"]))
    if draw(st.booleans()):
        hierarchy = draw(hierarchies())
        longest = max(map(len, hierarchy.leaves))
        prefix = draw(st.none() | st.integers(longest, 200)) if longest <= 200 else None
        origin = Origin(column, prefix=prefix)
        return nominal(name, hierarchy, outside=outside, origin=origin)
    coded = draw(values())
    if not isinstance(coded, Labels):
        outside = draw(st.sampled_from(["clip", "drop", "other"]))
    hierarchy = None
    if coded.size <= 9 and draw(st.booleans()):
        leaves = [str(coded.label(code)) for code in range(coded.size)]
        if len(set(leaves)) == len(leaves):
            hierarchy = draw(hierarchies(leaves))
    marks = st.sampled_from([None, ".", ","])
    decimal = draw(marks) if isinstance(coded, IntegerRange | Edges) else None
    origin = Origin(column, decimal=decimal)
    return ordinal(name, coded, outside=outside, hierarchy=hierarchy, origin=origin)


@st.composite
def schemas(draw: Any) -> Schema:
    drawn = draw(st.lists(names, unique_by=str.casefold, min_size=2, max_size=5))
    most = st.integers(1, 10**9)
    person = st.builds(Unit, st.just(drawn[0]), most)
    counted = st.builds(CountColumn, st.just(drawn[0]), most)
    whose = draw(st.none() | person | counted)
    return Schema(
        name=draw(names),
        budget=draw(st.fractions(Fraction(1, 10**6), 100)),
        neighbours=draw(st.sampled_from(["add-remove", "replace-one"])),
        unit=whose if isinstance(whose, Unit) else None,
        counts=whose if isinstance(whose, CountColumn) else None,
        reviewed=draw(st.booleans()),
        attributes=tuple(draw(attributes(name)) for name in drawn[1:]),
    )


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, 2**64, 10**400, -(10**400)])
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from([*ODD, "\ud800", "\0", " a ", "", "clip", "drop", "other", "1/3"])
)
junk = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4) | labels, inner)
    ),
    max_leaves=12,
)

_ATTRIBUTE_KEYS = ["range", "edges", "labels", "hierarchy", "tree", "values", "outside", "bins"]
_ATTRIBUTE_KEYS += ["from", "part", "zone", "prefix", "decimal", "dates", "by"]

junk_attributes = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "A", "b"]) | junk,
        "kind": st.sampled_from(["ordinal", "nominal"]),
    },
    optional=dict.fromkeys(_ATTRIBUTE_KEYS, junk),
)
near_schemas = st.fixed_dictionaries(
    {
        "name": st.just("x") | junk,
        "budget": st.just("1") | junk,
        "attribute": st.lists(junk_attributes, max_size=3) | junk,
    },
    optional=dict.fromkeys(["neighbours", "unit", "counts", "reviewed", "attributes"], junk),
)
"""Dictionaries that come near to a schema, so that reading them gets far."""

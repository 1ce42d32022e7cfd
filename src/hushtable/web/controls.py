"""The fields by which a person filters an attribute."""

from __future__ import annotations

from dataclasses import dataclass

from hushtable.schema import Attribute, Dates, Edges, IntegerRange
from hushtable.web.question import Filter, edge_text

MOST_LISTED = 500
"""Values that a list has; of more, one is typed."""


@dataclass(frozen=True)
class Control:
    """A field, or two, for one attribute."""

    name: str
    form: str
    """list (of values and groups), numbers, ends (chosen from a list), dates or text."""
    options: tuple[tuple[str, str], ...]
    """Of a list: each value, and how it is shown."""
    chosen: tuple[str, ...]
    first: str
    last: str
    low: str
    high: str
    missing: bool | None
    """Whether rows without a value are wanted; None where there are none."""
    active: bool


def control_of(attribute: Attribute, one: Filter | None) -> Control:
    """The fields for an attribute, filled in as the question has it."""
    form, options = _form(attribute)
    first, last = _ends(attribute)
    return Control(
        attribute.name,
        form,
        options,
        one.values if one else (),
        (one.first or "") if one else "",
        (one.last or "") if one else "",
        first,
        last,
        None if attribute.other is None else bool(one and one.missing),
        one is not None,
    )


def _form(attribute: Attribute) -> tuple[str, tuple[tuple[str, str], ...]]:
    match attribute.values:
        case IntegerRange():
            return "numbers", ()
        case Dates():
            return "dates", ()
        case Edges(edges):
            if len(edges) > MOST_LISTED:
                return "numbers", ()
            return "ends", tuple((edge_text(edge), edge_text(edge)) for edge in edges)
    return _listed(attribute)


def _listed(attribute: Attribute) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Values and groups, those inside a group set in from it."""
    nodes = attribute.hierarchy.nodes[1:] if attribute.hierarchy else ()
    if max(len(nodes), attribute.declared) > MOST_LISTED:
        return "text", ()
    if not nodes:
        labels = [str(attribute.label(code)) for code in range(attribute.declared)]
        return "list", tuple((label, label) for label in labels)
    blank = "\N{NO-BREAK SPACE}" * 3
    return "list", tuple((node.label, blank * (node.depth - 1) + node.label) for node in nodes)


def _ends(attribute: Attribute) -> tuple[str, str]:
    match attribute.values:
        case Edges(edges):
            return edge_text(edges[0]), edge_text(edges[-1])
    return str(attribute.label(0)), str(attribute.label(attribute.declared - 1))

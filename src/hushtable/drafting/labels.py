"""Values that are names of something: truth values, ordered labels, categories; or free text."""

from __future__ import annotations

from typing import Any

from hushtable.drafting.looks import Look
from hushtable.drafting.numbers import MAX_VALUES
from hushtable.drafting.ordered import calendar_order, known_order, natural_order, numeric_order
from hushtable.drafting.proposal import NO_LABELS, LeftOut, Proposal, can_be_label, one_attribute

_LONG = 40  # characters, on average, of free text
_FEW = 20
_RARE = 5


def recognise_nothing(look: Look) -> LeftOut | None:
    """Columns that tell nothing."""
    if not look.distinct:
        return LeftOut("it has no values")
    if look.distinct == 1 and not look.blank:
        return LeftOut("all rows have the same value: there is nothing to count")
    return None


def recognise_truth(look: Look) -> Proposal | None:
    """True and false, by the type or as tools write them."""
    few = look.listed[:_FEW]
    if look.kind == "truth" or {text.lower() for text in few} <= {"true", "false"}:
        values = {"values": ["true", "false"]}
        return one_attribute(look, "nominal", values, "truth values")
    return None


def recognise_labels(look: Look) -> Proposal | LeftOut:
    """Whatever is of no other kind: some labels, or too many to list."""
    length = sum(map(len, look.listed)) / len(look.listed)
    if look.distinct > _FEW and length > _LONG:
        return LeftOut("its values are long and many: it looks like free text")
    if look.distinct > MAX_VALUES:
        return LeftOut(
            f"more than {MAX_VALUES} different values: an id, free text, or names to be listed in"
            " a file, hierarchy = …"
        )
    labels = [text for text in look.listed if can_be_label(text)]
    if not labels:
        return LeftOut("none of its values can be a label")
    other = NO_LABELS if len(labels) < look.distinct else ""
    kind, values, why, looked = _described(labels)
    rare = int((look.counts < _RARE).sum())
    if looked and rare:
        why.append(f"fewer than {_RARE} rows have {rare} of them")
    return one_attribute(look, kind, values, *why, looked=looked, other=other)


def _described(labels: list[str]) -> tuple[str, dict[str, Any], list[str], str]:
    """The kind of an attribute with these labels, its values, why, and what of them was seen."""
    days = calendar_order(labels)
    if days is not None:
        return "ordinal", {"labels": days}, ["months or weekdays, in their order"], ""
    for order, how in ((numeric_order, "of the numbers in them"), (known_order, "of this scale")):
        ordered = order(labels)
        if ordered is not None:
            why = [f"{len(labels)} labels, in the order {how}"]
            return "ordinal", {"labels": ordered}, why, "the labels; put all that are possible"
    why = [f"{len(labels)} different values, without an order"]
    if len({label.casefold() for label in labels}) < len(labels):
        why.append("some differ by case only: they are read as different")
    looked = "the values; put all that are possible"
    return "nominal", {"values": natural_order(labels)}, why, looked

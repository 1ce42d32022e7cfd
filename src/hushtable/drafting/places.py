"""Codes of places: digits of which the first ones tell the larger place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters, digits
from typing import Any

from hushtable.drafting.looks import Look
from hushtable.drafting.names import is_id, is_place, is_where, is_zip
from hushtable.drafting.proposal import LeftOut, Proposal, one_attribute

MAX_PLACES = 10_000
"""The most codes that a draft lists."""
_TOO_MANY = f"more than {MAX_PLACES:,} codes of places"

_FEW_WORDS = 3
_LOOKED = "the codes; put the official list"
# Codes of the United States: state, county, tract, block group, block. Others are tried.
_LEVELS = {5: (2,), 11: (2, 5), 12: (2, 5, 11), 15: (2, 5, 11, 12)}
_TRIED = (2, 3)
_SHAPES = str.maketrans(digits + ascii_letters, "0" * len(digits) + "a" * len(ascii_letters))


def recognise_places(look: Look) -> Proposal | LeftOut | None:
    """Codes by their name and shape: as many digits in each, perhaps with a sign in between."""
    if look.kind not in ("text", "number") or not _may_be_places(look):
        return None
    words = [text for text in look.listed if not any(map(str.isdigit, text))]
    places = [text for text in look.listed if text not in set(words)] if words else look.listed
    if len(words) > _FEW_WORDS or len(places) < 2 or not _are_places(look.name, places):
        return None
    length = max(map(len, places))
    levels = _levels(look.name, [place.zfill(length) for place in places])
    if look.complete and look.distinct <= MAX_PLACES:
        return _listed(look, places, levels, length, words)
    if any(len(place) < length for place in places):
        return LeftOut(f"{_TOO_MANY}, some without the zero they begin with: write them with it")
    return _shortened(look, levels)


def _may_be_places(look: Look) -> bool:
    """Whether a column is called a place, or at least tells no rows apart."""
    return is_place(look.name) or (look.present > 2 * look.distinct and not is_id(look.name))


def _are_places(name: str, places: Sequence[str]) -> bool:
    shapes: set[str] = set()
    for place in places:
        shapes.add(place.translate(_SHAPES))
        if len(shapes) > 2:
            return False
    shape = max(shapes, key=len)
    if len(shapes) == 1 and shape.strip("0"):  # signs or letters among the digits
        return is_place(name) and len(shape) >= 5 and shape.count("0") > len(shape) / 2
    if any(shape.strip("0") for shape in shapes):
        return False
    if len(shapes) == 1 and len(shape) >= 5:
        zeros = any(place.startswith("0") for place in places)
        return is_where(name) or zeros
    # As numbers, codes have lost the zero they begin with.
    lost = len(shapes) == 2 and min(map(len, shapes)) == len(shape) - 1
    return is_place(name) and len(shape) >= 4 and (lost or len(shapes) == 1)


def _levels(name: str, places: Sequence[str]) -> tuple[int, ...]:
    """How many characters tell a larger place, where these make groups of several places."""
    length = len(places[0])
    sign = re.search("[^0-9A-Za-z]", places[0])
    tried: Sequence[int] = _LEVELS.get(length, _TRIED)
    if sign is not None:
        tried = (sign.start(),)
    elif is_zip(name):
        tried = (3,) if length == 5 else (2,)
    levels: list[int] = []
    most = 1
    for level in tried:
        groups = {place[:level] for place in places}
        if most < len(groups) < len(places) and level < length:
            levels.append(level)
            most = len(groups)
    return tuple(levels)


def _listed(
    look: Look, places: Sequence[str], levels: tuple[int, ...], length: int, words: Sequence[str]
) -> Proposal:
    why = [f"{len(places)} codes of places, {length} characters long"]
    if levels:
        why[0] += f": grouped by their first {' and '.join(map(str, levels))}"
    if any(len(place) < length for place in places):
        why.append("some have lost the zero they begin with; groups are named with it")
    values = {"tree": _tree(places, levels, length)} if levels else {"values": sorted(places)}
    other = "values that are no such codes count as other" if words else ""
    return one_attribute(look, "nominal", values, *why, looked=_LOOKED, other=other)


def _tree(places: Sequence[str], levels: tuple[int, ...], length: int) -> Any:
    """Groups of groups by ever more of the first characters."""
    if not levels:
        return sorted(places)
    groups: dict[str, list[str]] = {}
    for place in sorted(places, key=lambda place: place.zfill(length)):
        groups.setdefault(place.zfill(length)[: levels[0]], []).append(place)
    return {group: _tree(below, levels[1:], length) for group, below in groups.items()}


def _shortened(look: Look, levels: tuple[int, ...]) -> Proposal | LeftOut:
    """Of too many codes, those of larger places."""
    import pyarrow.compute as pc

    for level in reversed(levels):
        starts = pc.unique(pc.utf8_slice_codeunits(look.texts, 0, level)).to_pylist()
        groups = [start for start in starts if len(start) == level and start.isalnum()]
        if len(groups) > MAX_PLACES:
            continue
        above = tuple(shorter for shorter in levels if shorter < level)
        values = {"tree" if above else "values": _tree(groups, above, level)}
        found = one_attribute(
            look,
            "nominal",
            {"from": look.name, "prefix": level, **values},
            f"{_TOO_MANY}: read by their first {level} characters",
            "to publish all of them, list them in a file: hierarchy = …",
            looked=_LOOKED,
        )
        return found.called(f"{look.name}_first{level}")
    return LeftOut(
        f"{_TOO_MANY}: list them in a file, hierarchy = …, or read their first characters,"
        " prefix = …"
    )

"""Columns that say whose a row is, or how many people it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hushtable.drafting.bins import round_up
from hushtable.drafting.looks import Look
from hushtable.drafting.names import is_amount, is_id, is_person, is_personal
from hushtable.drafting.numbers import MAX_VALUES
from hushtable.drafting.proposal import LeftOut
from hushtable.drafting.written import toml_value

_FEW, _SOME, _MANY = 10, 20, 1000
_is_id: Callable[[str], Any] = re.compile(
    r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32,}|[^@ ]+@[^@ ]+\.[a-zA-Z]+"
).fullmatch

_ONCE = "every value occurs once: it looks like an id"


def recognise_ids(look: Look) -> LeftOut | None:
    """Ids of rows, each of which occurs once, and of people, who may have several rows."""
    if look.kind not in ("number", "text") or _has_fractions(look):
        return None
    if is_personal(look.name):
        return LeftOut("its name says that it identifies people")
    by_name = is_id(look.name) and not is_amount(look.name)
    text = bool(look.words)
    if look.unique and look.present >= (_FEW if by_name else _SOME if text else _MANY):
        return LeftOut(_ONCE if not text else f"{_ONCE}, a name or free text")
    by_look = all(map(_is_id, look.listed))
    person = by_look or (by_name and is_person(look.name))
    if person and look.distinct >= _SOME and look.present < _MANY * look.distinct:
        return LeftOut(
            f"it looks like the id of a person, with up to {look.most:,} rows; see unit above",
            names_people=True,
        )
    if by_name and look.distinct > MAX_VALUES:
        return LeftOut("it looks like an id; if it names people, see unit above", names_people=True)
    return None


def _has_fractions(look: Look) -> bool:
    return bool((look.numbers != np.round(look.numbers)).any())


def unit_hint(looks: Sequence[Look]) -> list[str]:
    """A unit to be considered, for columns that look like ids of people."""
    if not looks:
        return []
    best = max(looks, key=lambda look: (is_person(look.name), look.distinct))
    others = "".join(f", or {look.name!r}" for look in looks if look is not best)
    lines = [
        f"{best.name!r}{others} looks like the id of a person. If people can have several rows, all"
        " rows of a",
        "person are protected only with the next line. Its number is from the data: put one that is"
        " publicly",
        "known, or a smaller one, which means less noise; of people with more rows, some are"
        " dropped.",
        f"unit = {{ column = {toml_value(best.name)}, max_rows = {round_up(best.most)} }}",
    ]
    if best.complete and (enough := _enough(best)) < best.most:
        lines.append(f"max_rows = {enough} would keep about nine rows in ten")
    return lines


def _enough(look: Look) -> int:
    """The first round number of rows per person that keeps nine rows in ten."""
    most = 1
    while np.minimum(look.counts, most).sum() < 0.9 * look.present:
        most = round_up(most + 1)
    return most


def people_counted(looks: Sequence[Look], keys: dict[str, Look]) -> Look | None:
    """The column that says how many people a row stands for, if one looks like that.

    Such a table has a row for every combination of its other columns, none of which tells rows
    apart by itself.
    """
    for look in looks:
        others = [other for other in looks if other is not look]
        if look.name not in keys or not keys[look.name].unique or not others:
            continue
        if any(other.unique or _has_fractions(other) for other in others):
            continue
        if _are_counts(look):
            return look
    return None


def _are_counts(look: Look) -> bool:
    if look.words or look.blank or _has_fractions(look) or not len(look.numbers):
        return False
    return bool(look.numbers.min() >= 0 and look.numbers.max() > 1)

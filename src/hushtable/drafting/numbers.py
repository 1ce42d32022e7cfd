"""Numbers: ranges, bins, codes of categories, and values that stand for a missing one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.drafting.amounts import as_numbers
from hushtable.drafting.bins import binned
from hushtable.drafting.looks import Look
from hushtable.drafting.names import is_age, is_amount, is_code
from hushtable.drafting.proposal import (
    NO_LABELS,
    LeftOut,
    Proposal,
    can_be_label,
    number_text,
    one_attribute,
)

MAX_VALUES = 1000
"""The most values that a draft lists."""
MAX_RANGE = 256
"""Whole numbers further apart are put into bins."""
LARGEST = 2**50

_FEW_WORDS = 5
_LIFE = 50  # an age from which on a column holds ages of all kinds of people
_FEW = 15
_LONG = 20  # characters
_OFTEN = 5  # rows that a code has on average
_FULL = 0.7  # of the numbers from the first code to the last, where the others are codes too

_MISSING_BELOW = {-1.0, -2.0, -3.0, -7.0, -8.0, -9.0, -88.0, -97.0, -98.0, -99.0, -999.0, -9999.0}
_MISSING_ABOVE = {float(9 * (10**k - 1) // 9 - i) for k in range(2, 10) for i in range(4)}


def recognise_numbers(look: Look) -> Proposal | LeftOut | None:
    """Columns of numbers, up to a few words that stand for a missing one."""
    amounts = as_numbers(look)
    if amounts is not None:
        plain, mark = amounts
        return _with_mark(_measures(plain), mark)
    if _are_numbers(look) and _are_whole(look) and is_category(look):
        return codes(look)
    return _measures(look)


def _with_mark(found: Proposal | LeftOut | None, mark: str) -> Proposal | LeftOut | None:
    """Numbers that are read with a decimal mark, from text with separators or currencies."""
    if not isinstance(found, Proposal):
        return found
    why = f"amounts with currencies or separators, read with {mark!r} as the decimal mark"
    return replace(found, tables=({**found.tables[0], "decimal": mark},), why=(why, *found.why))


def _measures(look: Look) -> Proposal | LeftOut | None:
    """Numbers that are no codes of categories."""
    if not _are_numbers(look):
        return None
    if np.abs(look.numbers).max() > LARGEST:
        return LeftOut("its numbers are too large: an id, or to be divided by a round number")
    numbers, missing = _without_missing(look)
    words = [*look.words, *map(number_text, missing)]
    kept = np.isin(look.numbers, numbers)
    values, why, looked = _measured(look, look.numbers[kept], look.number_counts[kept], missing)
    other = f"{_quoted(words)} seem{'s' * (len(words) == 1)} to stand for no value: other"
    return one_attribute(look, "ordinal", values, *why, looked=looked, other=other if words else "")


def _are_whole(look: Look) -> bool:
    small = np.abs(look.numbers).max() <= LARGEST
    return bool(small and (look.numbers == np.round(look.numbers)).all())


def _are_numbers(look: Look) -> bool:
    """Whether there are few words beside the numbers, or few rows that have one."""
    if len(look.words) > len(look.numbers) or not len(look.numbers):
        return False
    return len(look.words) <= _FEW_WORDS or look.number_counts.sum() > 0.9 * look.present


def _quoted(words: list[str]) -> str:
    if len(words) > _FEW_WORDS or not all(w.isprintable() and len(w) < _LONG for w in words):
        return f"{len(words)} values that are no numbers"
    return ", ".join(words)


def is_category(look: Look) -> bool:
    """Whether whole numbers are codes of categories rather than amounts."""
    numbers = np.setdiff1d(look.numbers, list(_MISSING_BELOW))
    distinct = len(numbers)
    if not 1 <= distinct <= MAX_VALUES or numbers[0] < 0:
        return False
    low, high = numbers[0], numbers[-1]
    if _has_leading_zeros(look) or (low, high) == (0, 1):
        return True
    if is_amount(look.name):
        return False
    often = look.present >= _OFTEN * distinct
    if distinct <= 2 or (low == 1 and high <= _FEW) or (is_code(look.name) and often):
        return True
    step = math.gcd(*(int(number) for number in numbers - low))
    gaps = distinct < ((high - low) / step + 1) / 2
    return often and gaps and (low >= 100 or distinct <= _FEW)


def _has_leading_zeros(look: Look) -> bool:
    return any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in look.listed)


def codes(look: Look) -> Proposal:
    """Categories that are written as numbers, in the order of these; words come last."""
    numbers = sorted(set(look.listed) - set(look.words), key=lambda text: (float(text), text))
    why = [f"{len(numbers)} different whole numbers: codes of categories"]
    first, last = int(float(numbers[0])), int(float(numbers[-1]))
    every = [str(number) for number in range(first, last + 1)]
    if _FULL * len(every) < len(numbers) < len(every) and set(numbers) < set(every):
        numbers = every
        why[0] += ", listed with those between them"
    if len(numbers) > 2 and numbers == every:
        why.append(f'if they are amounts: kind = "ordinal", range = [{first}, {last}]')
    words = [word for word in look.words if can_be_label(word)]
    looked = "the values; put the list of codes"
    values = {"values": [*numbers, *words]}
    other = NO_LABELS if len(words) < len(look.words) else ""
    return one_attribute(look, "nominal", values, *why, looked=looked, other=other)


def _without_missing(look: Look) -> tuple[NDArray[np.float64], list[float]]:
    """The numbers without those that stand for a missing one: far from all others."""
    numbers = np.unique(look.numbers)
    below = [n for n in numbers if n in _MISSING_BELOW]
    rest = numbers[~np.isin(numbers, below)]
    if len(rest) < _FEW_WORDS or rest[0] < 0:
        below, rest = [], numbers
    kept = rest
    while len(kept) > _FEW_WORDS and kept[-1] in _MISSING_ABOVE:
        kept = kept[:-1]
    above = [float(n) for n in rest[len(kept) :]]
    if above and kept[-1] > above[0] / 2:
        above, kept = [], rest
    return kept, [float(n) for n in below] + above


def _measured(
    look: Look, numbers: NDArray[np.float64], counts: NDArray[np.int64], missing: list[float]
) -> tuple[dict[str, Any], list[str], str]:
    """Values of an ordinal attribute that fit the numbers, why, and what of them was seen."""
    low, high = float(numbers.min()), float(numbers.max())
    whole = bool((numbers == np.round(numbers)).all())
    different = f"{len(np.unique(numbers))} different" if look.complete else look.different
    seen = f"{number_text(low)} to {number_text(high)}, {different}"
    if whole and is_age(look.name) and low >= 0 and _LIFE <= high <= 120:
        last = 99 if high <= 99 else 120
        return {"range": [0, last]}, [f"ages in years, 0 to {last}; in the data {seen}"], ""
    if whole and high - low < MAX_RANGE:
        why = [f"whole numbers {seen}: a range"]
        if high - low < _FEW and not is_amount(look.name):
            why.append('if they are codes of categories: kind = "nominal" with values')
        return {"range": [int(low), int(high)]}, why, "both ends"
    clipped = not (look.blank or look.words or missing)
    values, how = binned(numbers, counts, whole=whole, clipped=clipped)
    kind = "whole numbers" if whole else "numbers"
    return values, [f"{kind} {seen}: {how}"], "how far the bins go, and how wide they are"

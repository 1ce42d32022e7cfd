"""Labels that have an order: by the numbers in them, or as everyone knows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hushtable.schema.origin import WEEKDAYS

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_CALENDARS = tuple(
    tuple(name[:length] for name in names) for names in (_MONTHS, WEEKDAYS) for length in (None, 3)
)
_SCALES = tuple(
    tuple(scale.split(", "))
    for scale in (
        "very low, low, medium low, medium, mid, moderate, medium high, high, very high",
        "very bad, bad, okay, ok, good, very good",
        "very poor, poor, fair, average, good, very good, excellent, outstanding",
        "never, rarely, seldom, sometimes, often, usually, always",
        "strongly disagree, disagree, neutral, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "very unlikely, unlikely, likely, very likely",
        "none, minimal, mild, moderate, severe, critical",
        "minor, moderate, major, critical",
        "xxs, xs, s, m, l, xl, xxl, xxxl",
        "extra small, small, medium, large, extra large",
        "primary, lower secondary, secondary, upper secondary, tertiary",
        "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
        "baby, infant, child, teen, teenager, young adult, adult, senior",
        "young, middle aged, old",
        "cold, cool, mild, warm, hot",
    )
)
_BELOW = r"<=?|≤|under|below|less than|fewer than|up to|at most|until"
_ABOVE = r">=?|≥|\+|over|above|more than|at least|from|(?:and|or) (?:over|older|above|more)"
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")
_BETWEEN = re.compile(r"-|–|—|\bto\b|\band under\b|\bbis\b|\.\.+")
_is_below = re.compile(rf"(?:{_BELOW})(?![a-z])").match
_is_above = re.compile(rf"(?:{_ABOVE})(?![a-z])").search


def calendar_order(labels: Sequence[str]) -> list[str] | None:
    """All months or weekdays, written as these labels are, if they are such."""
    for calendar in _CALENDARS:
        for written in (str.title, str.lower, str.upper):
            names = list(map(written, calendar))
            if len(labels) > 1 and set(labels) <= set(names):
                return names
    return None


def known_order(labels: Sequence[str]) -> list[str] | None:
    """The labels of a scale that everyone knows, such as low, medium, high."""
    plain = {re.sub(r"[-_ ]+", " ", label).casefold(): label for label in labels}
    for scale in _SCALES:
        if 1 < len(labels) == len(plain) and plain.keys() <= set(scale):
            return [plain[word] for word in scale if word in plain]
    return None


def numeric_order(labels: Sequence[str]) -> list[str] | None:
    """Labels with numbers in them, in the order of these, if they are alike otherwise.

    >>> numeric_order(["10-19", "65+", "0-9", "20-64"]), numeric_order([">50K", "<=50K"])
    (['0-9', '10-19', '20-64', '65+'], ['<=50K', '>50K'])
    """
    found = {label: _span(label) for label in labels}
    spans = {label: span for label, span in found.items() if span is not None}
    alike = len({rest for _, rest in spans.values()}) == 1
    if len(labels) < 2 or len(spans) < len(labels) or not alike:
        return None
    return sorted(spans, key=lambda label: (spans[label][0], label))


def _span(label: str) -> tuple[tuple[float, int, float], str] | None:
    """Where a label stands among others, and what else is written in it."""
    text = label.casefold()
    numbers = [float(found.replace(",", "")) for found in _NUMBER.findall(text)]
    if not 1 <= len(numbers) <= 2:
        return None
    side = -1 if _is_below(text) else 1 if _is_above(text) else 0
    rest = _NUMBER.sub(" ", text)
    for pattern in (rf"(?:{_BELOW})(?![a-z])", rf"(?:{_ABOVE})(?![a-z])", _BETWEEN.pattern):
        rest = re.sub(pattern, " ", rest)
    return (numbers[0], side, numbers[-1]), " ".join(sorted(set(rest.split())))


def natural_order(labels: Sequence[str]) -> list[str]:
    """Labels as people sort them: 2 before 10.

    >>> natural_order(["b10", "b2", "a"])
    ['a', 'b2', 'b10']
    """

    def key(label: str) -> tuple[list[tuple[int, int, str]], str]:
        pieces = re.findall(r"[0-9]+|[^0-9]+", label)
        return [
            (0, int(piece), "") if piece.isdigit() else (1, 0, piece.casefold()) for piece in pieces
        ], label

    return sorted(labels, key=key)

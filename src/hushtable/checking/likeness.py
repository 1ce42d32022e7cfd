"""Values that are hardly different from what the schema declares, and how they differ."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable

_MARKS = re.compile(
    r"[-_.,;:'’\"/](?![0-9])"
)  # a sign or a point before digits is part of a number
_WHOLE = re.compile(r"0*([0-9]+?)(?:\.0*)?")
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?", re.IGNORECASE)
_DECORATION = re.compile(r"[\s$€£¥%'’_,]")


def _without_zeros(text: str) -> str:
    whole = _WHOLE.fullmatch(text)
    return whole.group(1) if whole else text


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(character for character in parts if not unicodedata.combining(character))


_STEPS: dict[str, Callable[[str], str]] = {
    "accents": _without_accents,
    "case": str.casefold,
    "blanks": lambda text: "".join(text.split()),
    "punctuation": lambda text: _MARKS.sub("", text),
    "leading or trailing zeros": _without_zeros,
}


def _folded(text: str, without: str | None = None) -> str:
    for name, step in _STEPS.items():
        text = text if name == without else step(text)
    return text


class Lookalikes:
    """Finds the declared label that a value is but for its case, blanks, accents or zeros.

    >>> Lookalikes(["Male", "Female"]).find("male")
    ('Male', ('case',))
    >>> Lookalikes(["a b", "AB"]).find("ab") is None  # it could be either
    True
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._labels: dict[str, str | None] = {}
        for label in labels:
            folded = _folded(label)
            self._labels[folded] = None if folded in self._labels else label

    def find(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        """The label, and the differences without which it would be that label."""
        label = self._labels.get(_folded(text))
        if label is None:
            return None
        needed = (name for name in _STEPS if _folded(text, name) != _folded(label, name))
        return label, tuple(needed) or ("spelling",)


def looks_like_number(text: str) -> bool:
    """Whether a number is written with signs that are not read: 1,234 or $5 or 12 %.

    >>> looks_like_number("$1,234.50"), looks_like_number("unknown")
    (True, False)
    """
    return _NUMBER.fullmatch(_DECORATION.sub("", text)) is not None


def in_words(names: Collection[str]) -> str:
    """A list as it is read out.

    >>> in_words(["case", "blanks", "accents"])
    'case, blanks and accents'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last

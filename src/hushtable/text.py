"""Text from others, shown as text: it commands no terminal, and nothing of it stays unseen.

Labels may hold any character, and schemas and releases may come from anyone. Whatever prints or
draws such text sends it through here; files and `to_arrow` keep it as it is.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

# Printable as far as Python knows, and yet nothing is seen of them: what Unicode calls default
# ignorable (joiners, fillers, variation selectors), and the blank of Braille.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    r"""Text with control, bidirectional and invisible characters and line breaks as escapes.

    That includes the selectors that make an emoji of a sign: which one it is stays readable.

    >>> plain("a\x1b[31m\u202eb\n") == r"a\x1b[31m\u202eb\n"
    True
    """
    if _all_visible(text):
        return text
    return "".join(c if _is_visible(c) else c.encode("unicode_escape").decode() for c in text)


def plain_json(content: Any, *, indent: int | None = None) -> str:
    r"""A JSON document whose strings mean what they are, such characters written as \u escapes."""
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    lines = text.split("\n")  # within strings, JSON has no line breaks
    return "\n".join(line if _all_visible(line) else _escaped_json(line) for line in lines)


def figure_text(text: str) -> str:
    r"""Text for matplotlib, which would read mathematics between two dollar signs."""
    return plain(text).replace("$", r"\$")


def _escaped_json(line: str) -> str:
    return "".join(c if _is_visible(c) else json.dumps(c)[1:-1] for c in line)


def _all_visible(text: str) -> bool:
    return text.isprintable() and not _UNSEEN.search(text)


def _is_visible(character: str) -> bool:
    # Blanks other than the common one, such as that before a French colon, are no danger.
    return _all_visible(character) or unicodedata.category(character) == "Zs"

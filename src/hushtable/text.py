"""Text from others, shown as text: it commands no terminal, and nothing of it stays unseen.

Labels may hold any character, and schemas and releases may come from anyone. Whatever prints or
draws such text sends it through here; files and `to_arrow` keep it as it is.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any


def plain(text: str) -> str:
    r"""Text with control, bidirectional and zero-width characters and line breaks as escapes.

    >>> plain("a\x1b[31m\u202eb\n") == r"a\x1b[31m\u202eb\n"
    True
    """
    if text.isprintable():
        return text
    return "".join(c if _is_visible(c) else repr(c)[1:-1] for c in text)


def plain_json(content: Any, *, indent: int | None = None) -> str:
    r"""A JSON document whose strings mean what they are, such characters written as \u escapes."""
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    lines = text.split("\n")  # within strings, JSON has no line breaks
    return "\n".join(line if line.isprintable() else _escaped_json(line) for line in lines)


def figure_text(text: str) -> str:
    r"""Text for matplotlib, which would read mathematics between two dollar signs."""
    return plain(text).replace("$", r"\$")


def _escaped_json(line: str) -> str:
    return "".join(c if _is_visible(c) else json.dumps(c)[1:-1] for c in line)


def _is_visible(character: str) -> bool:
    # Blanks other than the common one, such as that before a French colon, are no danger.
    return character.isprintable() or unicodedata.category(character) == "Zs"

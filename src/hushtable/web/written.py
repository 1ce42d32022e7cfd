"""Names and texts as SQL writes them."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def written_name(name: str) -> str:
    """A name in SQL, in quotes where it would be read as something else."""
    from sqlglot.tokens import Tokenizer

    if _PLAIN.fullmatch(name) and name.upper() not in Tokenizer.KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"

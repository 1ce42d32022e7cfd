"""Amounts with currencies and separators: which mark is the decimal one, and the plain numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from hushtable.drafting.looks import Look
from hushtable.kernel.counting.encoding.amounts import amount_form

_FEW = 15
_NEGATIVE = re.compile("^[(]|[-\u2212]")
_FORMS = {mark: re.compile(amount_form(mark)) for mark in (".", ",")}


def as_numbers(look: Look) -> tuple[Look, str] | None:
    """A column of amounts as one of plain numbers, and their decimal mark; None for any other.

    What can be read with either mark, such as 1,234, has the point: a comma is the decimal mark
    only where more values can be read that way.
    """
    if look.kind != "text" or not look.words:
        return None
    fitting = {
        mark: sum(form.fullmatch(text) is not None for text in look.words)
        for mark, form in _FORMS.items()
    }
    mark = "," if fitting[","] > fitting["."] else "."
    if fitting[mark] <= 0.9 * len(look.words) or not (len(look.numbers) or fitting[mark] > _FEW):
        return None
    import pyarrow as pa

    texts = look.texts.to_pylist()
    numbers = (text for text, is_number in zip(texts, look.is_number, strict=True) if is_number)
    if not all(map(_FORMS[mark].fullmatch, numbers)):  # such as 1e5, beside amounts
        return None
    plain = [_plain(text, mark) for text in texts]
    return replace(look, texts=pa.array(plain, pa.string())), mark


def _plain(text: str, mark: str) -> str:
    """An amount as a plain number; any other text as it is."""
    if not _FORMS[mark].fullmatch(text):
        return text
    sign = "-" if _NEGATIVE.search(text) else ""
    return sign + re.sub(f"[^0-9{mark}]", "", text).replace(mark, ".")

"""Amounts as people write them, $1,234.50 or 1.234,50 €, with the decimal mark that is declared.

Which mark is which is never guessed from other rows: 1,234 is a thousand and something, or one and
a bit, by what the schema says. A text of no such form is no number. As in `encode`, every
expression is total: only text of a known form is cleaned and cast.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_CURRENCY = "([$€£¥₹₽₩₺₫₴₦₱₪฿]|[A-Z]{3}|[A-Z]{1,2}[$])"
_BLANK = "[ \u00a0\u202f]"
_MINUS = "\\-\u2212"


def amount(text: Any, decimal: str) -> Any:
    """The number that a text stands for, as a 64-bit float; NULL for what is none."""
    import ibis

    size = text.re_replace(f"[^0-9{decimal}]", "").replace(decimal, ".").try_cast("float64")
    is_amount = text.re_search(f"^({amount_form(decimal)})$")
    is_negative = text.re_search(f"^[(]|[{_MINUS}]")
    return ibis.cases(
        (is_amount & is_negative, -size), (is_amount, size), else_=ibis.null("float64")
    )


@cache
def amount_form(decimal: str) -> str:
    """How amounts are written: with a sign or in brackets, a currency on one side, or in percent.

    Separators stand between groups of three digits, or there are none.
    """
    thousands = f"['’\u00a0\u202f {'.' if decimal == ',' else ','}]"
    whole = f"([0-9]{{1,3}}({thousands}[0-9]{{3}})+|[0-9]+)"
    digits = f"({whole}([{decimal}][0-9]*)?|[{decimal}][0-9]+)"
    sign = f"([+{_MINUS}]{_BLANK}?)?"
    before = f"{_CURRENCY}{_BLANK}?{sign}{digits}"
    after = f"{digits}({_BLANK}?({_CURRENCY}|%))?"
    return f"{sign}({before}|{after})|[(]({before}|{after})[)]"

"""Pages from templates: all text from others is escaped, and what would stay unseen is shown."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hushtable.text import plain
from hushtable.web.exchange import Reply

HTML = "text/html; charset=utf-8"
_ONE_DIGIT_UP = Context(prec=1, rounding=ROUND_CEILING)


def render(template: str, *, status: int = 200, **values: Any) -> Reply:
    """A page."""
    text = _templates().get_template(template).render(values)
    return Reply(status, HTML, text.encode("utf-8", "backslashreplace"))


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("hushtable.web"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["raw_value"] = _RawValue
    templates.filters["data"] = data_block
    templates.filters["at_most"] = at_most
    return templates


def at_most(bound: float) -> Markup:
    """A small bound, rounded up to one digit.

    >>> at_most(2.93e-30)
    Markup('3·10<sup>−30</sup>')
    """
    digit, exponent = Decimal(bound).normalize(_ONE_DIGIT_UP).as_tuple()[1:]
    return Markup("{}·10<sup>{}</sup>").format(digit[0], str(exponent).replace("-", "−"))


class _RawValue(str):
    """The value of a field: it must come back as it was, so nothing in it is replaced."""

    __slots__ = ()


def _shown(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return str(value) if isinstance(value, _RawValue) else plain(value)


def data_block(value: Any) -> Markup:
    """Plain values inside a <script> of data: nothing in them can end it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))

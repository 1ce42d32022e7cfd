"""Tables that others wrote, checked against their form: a frozen struct for each kind of table.

A form reads like a specification: its fields, their types and bounds, and in words what each must
be. What is wrong with a table is said in one line, in those words and without any of its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert

MAX_TEXT = 2000

# This many digits are far beyond any noise, and any part of a budget.
_RATIO = re.compile(r"(?!0+(/|$))[0-9]{1,250}(/(?!0+$)[0-9]{1,250})?")
# What msgspec says of a problem, and the way to it through the table.
_PROBLEM = re.compile(r"(?P<said>.*?)( - at (`key` in )?`\$(?P<way>[^`]*)`)?", re.DOTALL)

Form = TypeVar("Form", bound=Struct)


class Line(str):
    """Text that is shown: no line breaks, no commands to a terminal, no endless lines."""

    words = "a line of text"

    @classmethod
    def read(cls, value: Any) -> Self:
        if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_TEXT:
            raise ValueError
        return cls(value)


class Ratio(Fraction):
    """A positive ratio, written as text."""

    words = "a positive ratio of few digits"

    @classmethod
    def read(cls, value: Any) -> Self:
        if not isinstance(value, str) or not _RATIO.fullmatch(value):
            raise ValueError
        return cls(value)


def told(words: str) -> Meta:
    """What a field must be, in words."""
    return Meta(description=words)


def fill(
    form: type[Form], content: Any, what: str, refuse: Callable[[str], Exception] = ValueError
) -> Form:
    """A table as its form; one that does not fit is refused in a line that says `what` it is."""
    try:
        return convert(content, form, dec_hook=lambda kind, value: kind.read(value))
    except ValidationError as problem:
        line = _refusal(form, content, what, str(problem))
    except UnicodeEncodeError:  # half of a character, which JSON can write and UTF-8 cannot
        line = f"{what} has characters that no text may have"
    raise refuse(line)  # here, so that no value is kept as its context


def _refusal(form: type[Struct], content: Any, what: str, problem: str) -> str:
    found = _PROBLEM.fullmatch(problem)
    assert found is not None  # whatever the text
    said, names = found["said"], re.findall(r"\.(\w+)", found["way"] or "")
    # Not by the way: a key may end like one. Tables that refuse keys have no tables inside.
    if form.__struct_config__.forbid_unknown_fields and "unknown field" in said:
        return _unknown_key(form.__struct_encode_fields__, content, what)
    if said.startswith("Object missing required field"):
        return f"{what} has no {'.'.join([*names, said.split('`')[1]])!r}"
    if not names:
        return f"{what} must be a table"
    return f"{'.'.join(names)!r} in {what} must be {_words(form, names)}"


def _unknown_key(known: Sequence[str], content: dict[str, Any], what: str) -> str:
    """The first key that a table should not have, and which one may be meant."""
    from difflib import get_close_matches

    key = next(key for key in content if key not in known)
    close = get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"unknown key {key!r} in {what}; {hint}"


def _words(form: Any, names: Sequence[str]) -> str:
    """What the field must be to which names lead; of a list, what the whole list must be."""
    hint = get_type_hints(form, include_extras=True)[names[0]]
    if isinstance(hint, type) and issubclass(hint, Struct) and names[1:]:
        return _words(hint, names[1:])
    if hasattr(hint, "__metadata__"):
        return str(hint.__metadata__[-1].description)
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return getattr(hint, "words", "true or false" if hint is bool else "a table")

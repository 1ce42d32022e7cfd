"""What does not fit its form is refused in the form's words, and without any of its values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from hushtable.errors import SchemaError
from hushtable.forms import Line, Ratio, fill, told

SECRET = "a secret"


class Inner(Struct, frozen=True):
    share: Ratio
    side: Literal["left", "right"] = "left"


class Outer(Struct, frozen=True):
    title: Line
    inner: Inner
    size: Annotated[int, Meta(ge=1, le=9, description="a number from 1 to 9")] = 1
    parts: Annotated[list[Inner], told("a list of parts")] = []
    sure: bool = True


class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    width: Any = 0
    height: Any = 0


GOOD = {"title": "t", "inner": {"share": "1/2"}}
PART = {"share": "1/2"}

REFUSED: list[tuple[Any, str]] = [
    ({**GOOD, "size": 0}, "'size' in it must be a number from 1 to 9"),
    ({**GOOD, "size": 2.0}, "'size' in it must be a number from 1 to 9"),
    ({**GOOD, "size": True}, "'size' in it must be a number from 1 to 9"),
    ({**GOOD, "size": 10**400}, "'size' in it must be a number from 1 to 9"),
    ({**GOOD, "size": SECRET}, "'size' in it must be a number from 1 to 9"),
    ({**GOOD, "title": f"{SECRET}\n"}, "'title' in it must be a line of text"),
    ({**GOOD, "title": SECRET * 1000}, "'title' in it must be a line of text"),
    ({**GOOD, "sure": 1}, "'sure' in it must be true or false"),
    ({**GOOD, "inner": [SECRET]}, "'inner' in it must be a table"),
    ({**GOOD, "inner": {}}, "it has no 'inner.share'"),
    ({**GOOD, "inner": {**PART, "side": SECRET}}, "'inner.side' in it must be 'left' or 'right'"),
    (
        {**GOOD, "inner": {**PART, "side": f"{SECRET} - at `$.size`"}},
        "'inner.side' in it must be 'left' or 'right'",
    ),
    ({**GOOD, "parts": [PART, {"share": SECRET}]}, "'parts.share' in it must be a list of parts"),
    ({**GOOD, 5: SECRET}, "it must be a table"),
    ("\ud800", "it has characters that no text may have"),
    ({**GOOD, "inner": "\ud800"}, "it has characters that no text may have"),
    ({**GOOD, "\ud800": SECRET}, "it has characters that no text may have"),
    ({"inner": PART}, "it has no 'title'"),
    ([SECRET], "it must be a table"),
    (None, "it must be a table"),
    *(
        ({**GOOD, "inner": {"share": share}}, f"'inner.share' in it must be {Ratio.words}")
        for share in ("0", "00/1", "1/0", "1/00", "-1", "1.5", "1/2\n", "٣", "9" * 251, 1, None)
    ),
]


@pytest.mark.parametrize(("content", "line"), REFUSED)
def test_what_does_not_fit_is_refused_without_its_values(content: Any, line: str) -> None:
    with pytest.raises(SchemaError) as caught:
        fill(Outer, content, "it", SchemaError)
    assert str(caught.value) == line
    assert caught.value.__context__ is None, "which may quote a value"


def test_what_fits_has_its_types_and_may_say_more() -> None:
    filled = fill(Outer, {**GOOD, "size": 9, "parts": [PART], "more": SECRET}, "it")
    assert filled == Outer(Line("t"), Inner(Ratio(1, 2)), 9, [Inner(Ratio(1, 2))])


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("widht", "did you mean 'width'?"),
        ("x", "known: width, height"),
        ("a` - at `$.width", "known: width, height"),
        ("a - at `$.width`", "known: width, height"),
        ("a` - at `$.nowhere", "known: width, height"),
    ],
)
def test_a_key_that_is_not_known_comes_with_those_that_are(key: str, hint: str) -> None:
    with pytest.raises(ValueError, match="unknown key") as caught:
        fill(Closed, {"width": 1, key: 2}, "it")
    assert str(caught.value) == f"unknown key {key!r} in it; {hint}"

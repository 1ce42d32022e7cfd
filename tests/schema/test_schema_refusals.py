"""What is no schema is refused in one clear line, and nothing else ever happens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from arx_files import read_arx
from hypothesis import HealthCheck, given, settings
from random_schemas import junk, near_schemas

from hushtable.errors import HushError, SchemaError
from hushtable.schema import Hierarchy, IntegerRange, Labels, Schema, ordinal
from hushtable.schema.files import MAX_HIERARCHY


def content(*attributes: Any, **more: Any) -> dict[str, Any]:
    return {"name": "x", "budget": "1", "attribute": list(attributes), **more}


def attribute(**more: Any) -> dict[str, Any]:
    return {"name": "a", "kind": "nominal" if "values" in more else "ordinal", **more}


def tree(below: Any) -> dict[str, Any]:
    return {"name": "a", "kind": "nominal", "tree": below}


def deep(levels: int) -> Any:
    below: Any = ["leaf"]
    for level in range(levels):
        below = {f"group{level}": below}
    return below


def nested(levels: int) -> Any:
    below: Any = []
    for _ in range(levels):
        below = [below]
    return below


AGE = attribute(range=[0, 9])

REFUSED = [
    (content({**AGE, "name": "age"}, {**AGE, "name": "age"}), "two attributes are called 'age'"),
    (content({**AGE, "name": "Age"}, {**AGE, "name": "aGE"}), "two attributes are called 'aGE'"),
    (content({**AGE, "name": "Straße"}, {**AGE, "name": "STRASSE"}), "two attributes"),
    (content({**AGE, "name": "id"}, unit={"column": "ID"}), "both the unit and an attribute"),
    (content(attribute(values=["u", "v", "u"])), "'u' stands twice"),
    (content(attribute(labels=["u", "v", "u"])), "'u' stands twice"),
    (content(attribute(labels=[1, "1"])), "'1' stands twice"),
    (content(tree(["u", "v", "u"])), "'u' stands twice"),
    (content(tree({"g": ["u"], "h": ["u"]})), "'u' stands twice"),
    (content(tree({"g": ["u", "g"]})), "'g' is both a value and a group"),
    (content(tree({"g": {"h": ["g"]}})), "'g' stands twice"),
    (content(tree({"g": 0})), "tables and lists"),
    (content(tree("leaf")), "tables and lists"),
    (content(tree([["leaf"]])), "labels must be text"),
    (content(tree([])), "no values"),
    (content(tree(deep(500))), "deeper than 100 levels"),
    (content(tree(nested(50_000))), "labels must be text"),
    (content(attribute(range=[5, 4])), r"range \[5, 4\] is reversed or empty"),
    (content(attribute(range=[0])), "two integers"),
    (content(attribute(range=[])), "two integers"),
    (content(attribute(range=[0, 1, 2])), "two integers"),
    (content(attribute(range=[0, 1.0])), "two integers"),
    (content(attribute(range=[False, True])), "two integers"),
    (content(attribute(range={"low": 0})), "'range' .* must be two integers"),
    (content(attribute(range=[0, 2**53])), "2\\^53"),
    (content(attribute(range=[-(2**53), 0])), "2\\^53"),
    (content(attribute(range=[10**5000, 0])), "2\\^53"),
    (content(attribute(edges=[0, 2, 1])), "increase strictly"),
    (content(attribute(edges=[0, 0])), "increase strictly"),
    (content(attribute(edges=[0])), "at least two"),
    (content(attribute(edges=[0, float("nan"), 1])), "finite"),
    (content(attribute(edges=[0, float("inf")])), "finite"),
    (content(attribute(edges=[-float("inf"), 0])), "finite"),
    (content(attribute(edges=[0, 10**400])), "finite"),
    (content(attribute(edges=["0", "1"])), "must be numbers"),
    (content(attribute(edges=[False, True])), "must be numbers"),
    (content(attribute(labels=[])), "at least one label"),
    (content(attribute(labels=[""])), "is empty"),
    (content(attribute(labels=[" a"])), "blanks around it"),
    (content(attribute(labels=["a\0b"])), "no text may have"),
    (content(attribute(labels=["\ud800"])), "no text may have"),
    (content(attribute(labels=[None])), "labels must be text"),
    (content(attribute(labels=[10**5000])), "less than 64 bits"),
    (content(attribute(labels="abc")), "'labels' .* must be a list of labels"),
    (content(attribute(labels=["u"], outside="clip")), "'clip' needs a range or edges"),
    (content(attribute(range=[0, 1], outside="keep")), "outside must be one of"),
    (content(attribute(range=[0, 1], outside=["drop"])), "outside must be one of"),
    (content(attribute(range=[0, 1], edges=[0, 1])), "exactly one of range, edges, labels"),
    (content(attribute()), "exactly one of range, edges, labels"),
    (content({"name": "a", "kind": "nominal"}), "exactly one of hierarchy, tree, values"),
    (content(attribute(range=[0, 1], tree=["1", "0"])), "order of the values"),
    (content(attribute(range=[0, 1], tree=["0", "2"])), "no leaf '1'"),
    (content(attribute(range=[0, 1], hierarchy="h.csv")), "not allowed here"),
    (content(attribute(range=[0, 1], hierarchy="h.csv", tree=["0", "1"])), "either hierarchy or"),
    (content(attribute(range=[0, 1], ranges=[0, 1])), "unknown key 'ranges'.*did you mean 'range'"),
    (content(attribute(range=[0, 1], zzzz=1)), "unknown key 'zzzz'.*known: name"),
    (content(AGE, bugdet="1"), "unknown key 'bugdet'.*did you mean 'budget'"),
    (content(AGE, unit={"colum": "id"}), "unknown key 'colum'.*did you mean 'column'"),
    (content(AGE, unit={"max_rows": 3}), "unit has no 'column'"),
    (content(AGE, unit={"column": "id", "max_rows": 0}), "at least 1"),
    (content(AGE, unit={"column": "id", "max_rows": True}), "whole number"),
    (content(AGE, unit={"column": "id", "max_rows": 10**400}), "at most"),
    (content(AGE, people=0), "whole number above zero"),
    (content(AGE, people="many"), "whole number above zero"),
    (content(AGE, people=True), "whole number above zero"),
    (content(AGE, people=1e5), "whole number above zero"),
    (content(AGE, people=10**400), "whole number above zero"),
    (content(AGE, people=48_842), "round number"),
    (content(AGE, people=101), "round number"),
    (content(AGE, unit="id"), "unit must be a table"),
    (content({"kind": "ordinal", "range": [0, 1]}), "every attribute needs a name"),
    (content({**AGE, "name": " a"}), "without blanks around it"),
    (content({**AGE, "name": "a\nb"}), "printable"),
    (content({**AGE, "name": "a" * 201}), "at most 200"),
    (content({**AGE, "kind": "numeric"}), "kind must be 'ordinal' or 'nominal'"),
    (content(), "at least one attribute"),
    (content(AGE, attribute=AGE), r"\[\[attribute\]\]"),
    (content(AGE, name=7), "the table's name must be text"),
    (content(AGE, neighbours="add"), "neighbours must be 'add-remove' or 'replace-one'"),
    (content(AGE, neighbours=nested(5000)), "neighbours must be"),
    (content(AGE, reviewed="yes"), "true or false"),
    ({"budget": "1", "attribute": [AGE]}, "no 'name'"),
    ({"name": "x", "attribute": [AGE]}, "no 'budget'"),
    ({"name": "x", "budget": "1"}, "no 'attribute'"),
    ([AGE], "the schema must be a table"),
    ("\ud800", "the schema has characters that no text may have"),
    (content("\ud800"), "every attribute needs a name"),
    (content({**AGE, "dates": "\ud800"}), "has characters that no text may have"),
    *(
        (content(AGE, budget=budget), "positive decimal number")
        for budget in ("0", "-1", "nan", "inf", "", None, True, [], nested(50_000), 10**5000, "1/0")
    ),
]


@pytest.mark.parametrize(("refused", "why"), REFUSED)
def test_what_is_no_schema_is_refused_in_one_line(refused: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why) as caught:
        Schema.from_dict(refused)
    assert "\n" not in str(caught.value) and str(caught.value).isprintable()


def test_the_schema_these_refusals_start_from_is_fine() -> None:
    assert Schema.from_dict(content(AGE, unit={"column": "id"})).cells == 10


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(near_schemas | junk)
def test_anything_is_a_schema_or_refused(anything: Any) -> None:
    try:
        schema = Schema.from_dict(anything)
    except HushError as problem:
        assert "\n" not in str(problem)
    else:
        assert Schema.from_dict(schema.to_dict()) == schema


def test_values_made_in_python_are_checked_as_well() -> None:
    with pytest.raises(SchemaError, match="labels must be text"):
        Labels((1, 2))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="fewer leaves"):
        ordinal("a", IntegerRange(0, 10**15), hierarchy=Hierarchy.flat(["0", "1"]))
    with pytest.raises(IndexError):
        ordinal("a", IntegerRange(0, 1)).label(2)


# ── files ────────────────────────────────────────────────────────────────────────────────────────

PATHS = [
    ("a;b\na;b\n", "line 2: its value stands twice"),
    ("a;b;*\nb;a;*\n", "two parents"),
    ("a;b;a\n", "above itself"),
    ("a;g;*\na2;g;h;*\n", "line 2: one of its labels has two parents"),
    ("a;*\nb;a;*\n", "line 1: its value is also a group"),
    ("a;;*\n", "is empty"),
    ("", "no values"),
    ("\n \n;;\n", "no values"),
    ('"a;b\n', "not a well-formed CSV"),
    ('a;"b"c\n', "not a well-formed CSV"),
    (";".join(f"g{i}" for i in range(101)), "deeper than 100 levels"),
    ("x" * 200_000 + ";*\n", "not a well-formed CSV"),
]


@pytest.mark.parametrize(("text", "why"), PATHS)
def test_what_is_no_hierarchy_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(SchemaError, match=why) as caught:
        read_arx(tmp_path / "h.csv")
    assert "h.csv" in str(caught.value) and "\n" not in str(caught.value)


def test_hierarchy_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with open(tmp_path / "huge.csv", "wb") as huge:
        huge.truncate(MAX_HIERARCHY + 1)
    (tmp_path / "binary.csv").write_bytes(b"\x89PNG\xff\xfe\0")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, why in [
        ("none.csv", "there is no file"),
        ("huge.csv", "larger than 64 MiB"),
        ("binary.csv", "not UTF-8"),
        ("pipe.csv", "not a file"),
        ("/dev/zero", "outside the schema's folder"),
        (".", "not a file"),
        ("n\nn.csv", "there is no file"),
        ("n\0n.csv", "cannot be read"),
        ("n" * 5000, "cannot be read|there is no file"),
    ]:
        schema = tmp_path / "s.toml"
        schema.write_text(
            'name = "x"\nbudget = "1"\n[[attribute]]\nname = "a"\nkind = "nominal"\n'
            f"hierarchy = {_toml_text(name)}\n"
        )
        with pytest.raises(SchemaError, match=why) as caught:
            Schema.load(schema)
        assert str(caught.value).isprintable()


def _toml_text(text: str) -> str:
    return '"' + text.replace("\n", "\\n").replace("\0", "\\u0000") + '"'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name = ", "not valid TOML"),
        ("name = " + "[" * 100_000, "not valid TOML"),
        (".".join(["a"] * 100_000) + " = 1", "dotted key of many parts"),
        ("[" + " . ".join(["'a b'", '"c"'] * 50_000) + "]", "dotted key of many parts"),
        ("name = " + "9" * 5000, "not valid TOML"),
        ("budget = 0x" + "f" * 5000 + '\nname="x"\nattribute=[]', "'budget' in the schema must be"),
        ("budget = 2020-01-01\nname='x'\nattribute=[]", "'budget' in the schema must be"),
        ("name = 'x'\nname = 'y'", "not valid TOML"),
    ],
)
def test_files_that_are_no_schema_are_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(SchemaError, match=why) as caught:
        Schema.load(tmp_path / "s.toml")
    assert "s.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_a_schema_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    schema = Schema.from_dict(content(AGE))
    with pytest.raises(SchemaError, match="cannot be written"):
        schema.save(tmp_path / "none" / "s.toml")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SchemaError, match="cannot be written"):
        schema.save(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]

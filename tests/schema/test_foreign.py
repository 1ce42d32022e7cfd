"""Schemas of other tools become drafts; what they do not say is left out, with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import SchemaError
from hushtable.schema import Edges, IntegerRange, Labels, Unit
from hushtable.schema.foreign import Draft, import_schema


def imported(folder: Path, name: str, content: Any) -> Draft:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return import_schema(path, name="t")


SMARTNOISE = """
"":
  PUMS:
    PUMS:
      max_ids: 3
      row_privacy: false
      rows: 1000
      pid: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 100}
      income: {type: float, lower: 0, upper: 500}
      married: {type: boolean}
      race: {type: string, cardinality: 6}
      unbounded: {type: int}
"""


def test_smartnoise_metadata(tmp_path: Path) -> None:
    draft = imported(tmp_path, "m.yaml", SMARTNOISE)
    age, income, married = draft.schema.attributes
    assert age.values == IntegerRange(0, 100)
    assert isinstance(income.values, Edges) and income.values.edges[::20] == (0, 500)
    assert married.values == Labels(("true", "false"))
    assert draft.schema.unit == Unit("pid", 3) and not draft.schema.reviewed
    assert dict(draft.left_out).keys() == {"race", "unbounded"}


def test_row_privacy_has_no_unit(tmp_path: Path) -> None:
    text = SMARTNOISE.replace("row_privacy: false", "row_privacy: true")
    assert imported(tmp_path, "m.yaml", text).schema.unit is None


def test_mbi_domains(tmp_path: Path) -> None:
    draft = imported(tmp_path, "domain.json", {"age": 85, "sex": 2})
    assert draft.schema.shape == (85, 2) and draft.left_out == ()


def test_csvw_tables_with_hierarchies(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("cook;services;*\nguard;services;*\nnurse;health;*\n")
    columns = [
        {"titles": "Age", "datatype": {"base": "integer", "minimum": 0, "maximum": 99}},
        {"name": "sex", "datatype": {"base": "string", "format": "^(F|M)$"}},
        {"name": "job", "hierarchy": "jobs.csv"},
        {"name": "area", "titles": {"en": ["Area"]}, "hierarchy": {"N": ["a", "b"], "S": ["c"]}},
        {"name": "note", "datatype": "string"},
        {"name": "code", "datatype": {"base": "string", "format": "[A-Z]{3}"}},
        {"name": "made", "virtual": True},
    ]
    draft = imported(tmp_path, "t-metadata.json", {"tableSchema": {"columns": columns}})
    assert [a.name for a in draft.schema.attributes] == ["Age", "sex", "job", "Area"]
    assert draft.schema.attribute("sex").values == Labels(("F", "M"))
    jobs = draft.schema.attribute("job").hierarchy
    assert jobs is not None and jobs.find("services") is not None
    assert dict(draft.left_out).keys() == {"note", "code"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.yaml", "a: [1, 2"),
        ("m.yaml", "just text"),
        ("m.yaml", "a: {b: {c: 1}}"),
        ("m.yaml", "a: {b: {c: {x: {type: string}}}}"),
        ("m.yaml", "a: {b: {c: {x: {type: int, lower: 5, upper: 1}}}}"),
        ("m.yaml", "a: &a [*a]"),
        ("d.json", "[1]"),
        ("d.json", "{"),
        ("d.json", {"age": "85"}),
        ("d.json", {"age": 0}),
        ("d.json", {}),
        ("c.json", {"tableSchema": 1}),
        ("c.json", {"tableSchema": {"columns": [{"datatype": "integer"}]}}),
        ("c.json", {"tableSchema": {"columns": [{"name": "a"}, {"name": "a"}]}}),
        ("c.json", {"tableSchema": {"columns": [{"name": "a", "hierarchy": "no.csv"}]}}),
        ("c.json", {"tables": []}),
    ],
)
def test_what_is_none_of_them_is_one_line(tmp_path: Path, name: str, content: Any) -> None:
    with pytest.raises(SchemaError) as told:
        imported(tmp_path, name, content)
    assert "\n" not in str(told.value)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=8,
)


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(st.sampled_from(["tableSchema", "tables", "a", "b"]), junk), junk)
def test_junk_is_a_draft_or_a_schema_error(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any], column: Any
) -> None:
    folder = tmp_path_factory.mktemp("junk")
    nested = {"x": {"y": {"z": {"age": column, "b": content}}}}
    columns = {"tableSchema": {"columns": [column, {"name": "a", "datatype": column}]}}
    for name, text in (("a.json", content), ("b.yaml", nested), ("c.json", columns)):
        try:
            imported(folder, name, text)
        except SchemaError as told:
            assert "\n" not in str(told)

"""A schema is the same after any trip through a file, and means what its file says."""

from __future__ import annotations

import json
import tempfile
import unicodedata
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from arx_files import read_arx
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schemas import hierarchies, labels, schemas

from hushtable.errors import SchemaError
from hushtable.schema import Edges, Hierarchy, Labels, Schema, nominal, ordinal

DATA = Path(__file__).parents[3] / "shared" / "data"
ADULT = sorted((DATA / "adult").glob("*hierarchy*.csv"))
INDP = DATA / "acs" / "indp_hierarchy.csv"

EXAMPLE = """
name = "census"
budget = "3"
unit = { column = "person_id", max_rows = 4 }
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 100]
[[attribute]]
name = "income"
kind = "ordinal"
edges = [0, 10, 20.5]
outside = "other"
[[attribute]]
name = "grade"
kind = "ordinal"
labels = ["low", "mid", "high"]
[[attribute]]
name = "work"
kind = "nominal"
hierarchy = "work.csv"
"""


@settings(deadline=None, max_examples=60)
@given(schemas())
def test_a_schema_is_the_same_after_toml_and_json(schema: Schema) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.toml"
        schema.save(path)
        assert Schema.load(path) == schema
        assert [entry.name for entry in Path(folder).iterdir()] == ["schema.toml"]
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_file_means_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "work.csv").write_text("nurse;health;*\ndoctor;health;*\nclerk;*\n")
    path = tmp_path / "census.toml"
    path.write_text(EXAMPLE)
    schema = Schema.load(path)
    age, income, grade, work = schema.attributes
    assert schema.shape == (101, 3, 3, 3) and schema.source == path
    assert schema.neighbours == "add-remove" and schema.reviewed
    assert schema.unit is not None and schema.unit.max_rows == 4
    assert [a.outside for a in schema.attributes] == ["clip", "other", "drop", "drop"]
    assert (age.label(100), income.label(1), income.label(2)) == (100, "[10, 20.5]", None)
    assert grade.label(2) == "high" and grade.hierarchy is None
    assert work.hierarchy is not None and work.hierarchy.leaves == ("nurse", "doctor", "clerk")
    schema.save(tmp_path / "copy.toml")
    (tmp_path / "work.csv").unlink()
    assert Schema.load(tmp_path / "copy.toml") == schema


def test_the_deepest_hierarchy_that_is_read_can_be_written(tmp_path: Path) -> None:
    paths = [[f"leaf{i}", *(f"group{j}" for j in range(i, 99))] for i in range(99)]
    schema = Schema.from_dict(
        {
            "name": "x",
            "budget": "1",
            "attribute": [
                {"name": "a", "kind": "nominal", "tree": Hierarchy.from_paths(paths).to_tree()}
            ],
        }
    )
    schema.save(tmp_path / "deep.toml")
    assert Schema.load(tmp_path / "deep.toml") == schema


def test_lists_make_the_same_schema_as_tuples() -> None:
    """Which is known by its value, so that what was worked out for it is found again."""
    edges: Any = [0, 1, 2]
    names: Any = ["a", "b"]
    attributes: Any = [ordinal("x", Edges(edges)), ordinal("y", Labels(names))]
    schema = Schema("t", Fraction(1), attributes)
    same = (ordinal("x", Edges((0, 1, 2))), ordinal("y", Labels(("a", "b"))))
    assert hash(schema) == hash(Schema("t", Fraction(1), same))
    edges[0] = names[0] = attributes[0] = None
    assert schema == Schema("t", Fraction(1), same)


def test_a_range_of_10_to_the_12_is_not_enumerated(tmp_path: Path) -> None:
    attribute = {"name": "id", "kind": "ordinal", "range": [1, 10**12], "outside": "other"}
    schema = Schema.from_dict({"name": "x", "budget": "1", "attribute": [attribute]})
    schema.save(tmp_path / "huge.toml")
    assert Schema.load(tmp_path / "huge.toml").shape == (10**12 + 1,)
    assert schema.attributes[0].label(10**12 - 1) == 10**12
    with pytest.raises(SchemaError, match="fewer leaves"):
        Schema.from_dict(
            {"name": "x", "budget": "1", "attribute": [{**attribute, "tree": ["1", "2"]}]}
        )


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None)
@given(hierarchies())
def test_nodes_are_contiguous_and_levels_cover_all_codes(hierarchy: Hierarchy) -> None:
    assert hierarchy.nodes[0].start == 0 and hierarchy.nodes[0].stop == len(hierarchy.leaves)
    for depth in range(hierarchy.height + 2):
        covered = [c for node in hierarchy.level(depth) for c in range(node.start, node.stop)]
        assert covered == list(range(hierarchy.size))
    for code, leaf in enumerate(hierarchy.leaves):
        found = hierarchy.find(leaf)
        assert found is not None and (found.start, found.stop) == (code, code + 1)
    for node in hierarchy.nodes:
        children = [n for n in hierarchy.level(node.depth + 1) if node.start <= n.start < node.stop]
        assert node.is_leaf or len(children) > 1, "an only child is no node of its own"
        assert all(hierarchy.find(name) == node for name in (node.label, *node.aliases))
    names = [name for node in hierarchy.nodes for name in (node.label, *node.aliases)]
    assert len(set(names)) == len(names)
    assert Hierarchy.from_tree(hierarchy.to_tree()) == hierarchy


@settings(deadline=None)
@given(hierarchies(), st.data())
def test_a_restricted_hierarchy_keeps_order_and_the_names_above(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.sampled_from(hierarchy.leaves), min_size=1, unique=True))
    kept.sort(key=hierarchy.leaves.index)
    small = hierarchy.restricted(kept)
    assert small.leaves == tuple(kept)
    for node in hierarchy.nodes:
        inside = [leaf for leaf in hierarchy.leaves[node.start : node.stop] if leaf in kept]
        for name in (node.label, *node.aliases):
            found = small.find(name)
            below = small.leaves[found.start : found.stop] if found else ()
            assert list(below) == inside
    if len(kept) > 1:
        with pytest.raises(SchemaError, match="order"):
            hierarchy.restricted(kept[::-1])


def test_chains_of_only_children_become_one_node_with_all_names() -> None:
    hierarchy = Hierarchy.from_tree({"all": {"life": {"animals": ["cat", "dog"]}}})
    assert [node.label for node in hierarchy.nodes] == ["all", "cat", "dog"]
    assert hierarchy.find("animals") == hierarchy.find("life") == hierarchy.nodes[0]
    lone = Hierarchy.from_paths([["ant", "insects", "*"], ["cat", "*"]])
    assert lone.leaves == ("ant", "cat") and lone.find("insects") == lone.find("ant")


def test_a_label_that_is_its_own_parent_is_one_node() -> None:
    paths = Hierarchy.from_paths([["N", "N", "*"], ["1", "A", "*"], ["2", "A", "*"]])
    tree = Hierarchy.from_tree({"*": [{"N": ["N"]}, {"A": {"A": ["1", "2"]}}]})
    assert paths == tree and paths.leaves == ("N", "1", "2")


@pytest.mark.parametrize("taken", [["*"], ["*", "(all)"], ["*", "(all)", "((all))"]])
def test_the_root_finds_a_name_that_no_value_has(taken: list[str]) -> None:
    hierarchy = Hierarchy.flat([*taken, "x"])
    assert hierarchy.leaves == (*taken, "x")
    assert hierarchy.nodes[0].label not in hierarchy.leaves


def is_one_line(label: str) -> bool:
    return not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in label)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(labels.filter(is_one_line), unique=True, min_size=1),
    st.sampled_from(";,"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_arx_files_are_read_with_either_delimiter(
    leaves: list[str], delimiter: str, newline: str
) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    leaves = [leaf for leaf in leaves if leaf not in ("any", "*")] or ["x"]
    lines = [delimiter.join(map(quoted, (leaf, "any", "*", ""))) for leaf in leaves]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.csv"
        path.write_bytes(("\ufeff" + newline.join(["", *lines, "", ""])).encode())
        assert read_arx(path) == Hierarchy.from_paths([[leaf, "any", "*"] for leaf in leaves])


def test_arx_labels_may_hold_the_other_delimiter_without_quotes(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("Sales, retail;Work\nSales, other, etc, etc;Work\nNone;Work\n")
    assert read_arx(path).leaves == ("Sales, retail", "Sales, other, etc, etc", "None")
    path.write_text("Sales; retail,Work\nOther,Work\nNurse,Work\n")
    assert read_arx(path).leaves == ("Sales; retail", "Other", "Nurse")


@pytest.mark.skipif(not ADULT, reason="the Adult hierarchies are not on this machine")
def test_the_adult_hierarchies_are_read(tmp_path: Path) -> None:
    for path in ADULT:
        hierarchy = read_arx(path)
        lines = [line.split(";") for line in path.read_text().splitlines()]
        assert sorted(hierarchy.leaves) == sorted(line[0] for line in lines)
        for line in lines:
            code = hierarchy.leaves.index(line[0])
            assert all(n and n.start <= code < n.stop for n in map(hierarchy.find, line))


@pytest.mark.skipif(not INDP.exists(), reason="the ACS hierarchy is not on this machine")
def test_the_acs_industries_are_read(tmp_path: Path) -> None:
    hierarchy = read_arx(INDP)
    lines = INDP.read_text().splitlines()
    assert hierarchy.size == len(lines) and "N" in hierarchy.leaves
    schema = Schema.from_dict(
        {
            "name": "acs",
            "budget": "1",
            "attribute": [{"name": "INDP", "kind": "nominal", "tree": hierarchy.to_tree()}],
        }
    )
    assert schema.attributes[0] == nominal("INDP", hierarchy)
    schema.save(tmp_path / "acs.toml")
    assert Schema.load(tmp_path / "acs.toml") == schema

"""A schema from anyone reads hierarchies in its own folder only, and nothing that is none."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from arx_files import read_arx

from hushtable.errors import OptionError, SchemaError
from hushtable.schema import Schema
from hushtable.schema.files import MAX_HIERARCHY, HierarchyFolders, read_text
from hushtable.schema.foreign import import_schema

GOOD = "cook;services;*\nguard;services;*\nnurse;health;*\n"
LEAVES = ("cook", "guard", "nurse")


def toml_schema(folder: Path, hierarchy: str) -> Path:
    path = folder / "s.toml"
    path.write_text(
        'name = "t"\nbudget = "1"\n[[attribute]]\nname = "a"\nkind = "nominal"\n'
        f"hierarchy = {json.dumps(hierarchy)}\n"
    )
    return path


def csvw_schema(folder: Path, hierarchy: str) -> Path:
    path = folder / "s.json"
    columns = [{"name": "a", "hierarchy": hierarchy}]
    path.write_text(json.dumps({"tableSchema": {"columns": columns}}))
    return path


def load_toml(path: Path, **options: object) -> Schema:
    return Schema.load(path, **options)  # type: ignore[arg-type]


def load_csvw(path: Path, **options: object) -> Schema:
    return import_schema(path, name="t", **options).schema  # type: ignore[arg-type]


FORMATS = [(toml_schema, load_toml), (csvw_schema, load_csvw)]

Write = Callable[[Path, str], Path]
Load = Callable[..., Schema]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of a schema, beside one that is not its own but has a good hierarchy."""
    (tmp_path / "own" / "sub").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "h.csv").write_text(GOOD)
    (tmp_path / "own-too").mkdir()  # a name that begins alike is another folder
    (tmp_path / "own-too" / "h.csv").write_text(GOOD)
    return tmp_path / "own"


def foreign_names(own: Path) -> list[str]:
    """Every way to name a file outside."""
    secret = own.parent / "secret"
    (own / "link.csv").symlink_to(secret / "h.csv")
    (own / "relative.csv").symlink_to("../secret/h.csv")
    (own / "twice.csv").symlink_to("link.csv")
    (own / "folder").symlink_to(secret)
    return [
        str(secret / "h.csv"),
        "../secret/h.csv",
        "sub/../../secret/h.csv",
        "../own-too/h.csv",
        "link.csv",
        "relative.csv",
        "twice.csv",
        "folder/h.csv",
        "/etc/passwd",
        "/dev/zero",
    ]


@pytest.mark.parametrize(("write", "load"), FORMATS)
def test_a_hierarchy_outside_the_schema_s_folder_is_refused(
    own: Path, write: Write, load: Load
) -> None:
    for name in foreign_names(own):
        with pytest.raises(SchemaError, match="outside the schema's folder") as caught:
            load(write(own, name))
        assert "--allow-path" in str(caught.value)
        assert not any(leaf in str(caught.value) for leaf in LEAVES)


@pytest.mark.parametrize(("write", "load"), FORMATS)
def test_whether_a_file_outside_exists_is_not_told(own: Path, write: Write, load: Load) -> None:
    with pytest.raises(SchemaError, match="outside the schema's folder"):
        load(write(own, "../secret/nowhere.csv"))


@pytest.mark.parametrize(("write", "load"), FORMATS)
def test_hierarchies_within_the_folder_are_read(own: Path, write: Write, load: Load) -> None:
    (own / "h.csv").write_text(GOOD)
    (own / "sub" / "h.csv").write_text(GOOD)
    (own / "inside.csv").symlink_to("sub/h.csv")
    (own.parent / "door").symlink_to(own)  # the folder itself may be reached by a link
    for folder in (own, own.parent / "door"):
        for name in ("h.csv", "sub/h.csv", "inside.csv", "sub/../h.csv", str(own / "h.csv")):
            assert load(write(folder, name)).shape == (3,)


def test_a_schema_in_the_current_folder_reads_beside_itself(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "h.csv").write_text(GOOD)
    toml_schema(own, "h.csv")
    monkeypatch.chdir(own)
    assert Schema.load("s.toml").shape == (3,)


@pytest.mark.parametrize(("write", "load"), FORMATS)
def test_the_owner_can_allow_other_folders(own: Path, write: Write, load: Load) -> None:
    secret = own.parent / "secret"
    for name in (str(secret / "h.csv"), "../secret/h.csv"):
        path = write(own, name)
        assert load(path, allow_paths=[own.parent / "own-too", secret]).shape == (3,)
        assert load(path, allow_paths=[str(own.parent)]).shape == (3,)
        with pytest.raises(SchemaError, match="outside"):
            load(path, allow_paths=[own.parent / "own-too"])


def test_one_allowed_folder_may_be_given_as_text(own: Path) -> None:
    """Taken apart into characters, it would allow everything."""
    path = toml_schema(own, "../secret/h.csv")
    assert Schema.load(path, allow_paths=str(own.parent / "secret")).shape == (3,)
    with pytest.raises(SchemaError, match="outside"):
        Schema.load(path, allow_paths=str(own.parent / "own-too"))


@pytest.mark.parametrize("folder", ["nowhere", "s.toml", "a\0b", "x" * 5000])
def test_an_allowed_folder_must_be_one(own: Path, folder: str) -> None:
    (own / "h.csv").write_text(GOOD)
    with pytest.raises(OptionError, match="there is no folder"):
        Schema.load(toml_schema(own, "h.csv"), allow_paths=[own / folder])


# ── what changes while one looks ─────────────────────────────────────────────────────────────────


def swap_after_the_check(monkeypatch: pytest.MonkeyPatch, swap: Callable[[], None]) -> None:
    """Whoever may write in the schema's folder does so between the check and the opening."""
    check = HierarchyFolders._inside

    def checked(folders: HierarchyFolders, name: str) -> object:
        found = check(folders, name)
        swap()
        return found

    monkeypatch.setattr(HierarchyFolders, "_inside", checked)


@pytest.mark.parametrize("what", ["file", "folder", "folder above"])
def test_a_link_put_in_the_place_of_what_was_checked_is_not_followed(
    own: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = own / "sub" / "deep" / "h.csv"
    place.parent.mkdir()
    place.write_text("inside;*\n")
    outside = own.parent / "secret"
    (outside / "deep").mkdir()
    (outside / "deep" / "h.csv").write_text(GOOD)
    swapped = {"file": place, "folder": place.parent, "folder above": own / "sub"}[what]

    def swap() -> None:
        swapped.rename(own / "before")
        swapped.symlink_to(outside / swapped.relative_to(own / "sub"))

    path = toml_schema(own, "sub/deep/h.csv")
    assert Schema.load(path).shape == (1,)
    swap_after_the_check(monkeypatch, swap)
    with pytest.raises(SchemaError, match=r"h\.csv cannot be read"):
        Schema.load(path)
    assert place.read_text() == GOOD, "an attacker would have led there"


def test_the_schema_s_folder_is_the_one_it_was_when_it_was_read(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        own.rename(own.with_name("before"))
        own.symlink_to(own.parent / "secret")

    (own / "h.csv").write_text("inside;*\n")
    path = toml_schema(own, "h.csv")
    swap_after_the_check(monkeypatch, swap)
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(path)


def test_a_pipe_put_in_the_place_of_what_was_checked_is_not_waited_for(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "h.csv").write_text(GOOD)

    def swap() -> None:
        (own / "h.csv").unlink()
        os.mkfifo(own / "h.csv")

    swap_after_the_check(monkeypatch, swap)
    with pytest.raises(SchemaError, match="not a file"):
        Schema.load(toml_schema(own, "h.csv"))


def test_a_file_that_grows_meanwhile_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "h.csv"
    path.write_text(GOOD)
    measure = os.fstat

    def grown(handle: int) -> os.stat_result:
        status = measure(handle)
        with path.open("a") as file:
            file.write(GOOD * 100)
        return status

    monkeypatch.setattr("hushtable.schema.files.os.fstat", grown)
    with pytest.raises(SchemaError, match="larger than"):
        read_text(path, limit=2 * len(GOOD))


def test_no_descriptor_stays_open(own: Path) -> None:
    (own / "h.csv").write_text(GOOD)
    os.mkfifo(own / "pipe")
    (own / "sub" / "h.csv").write_text(GOOD)
    before = os.open(own, os.O_RDONLY)
    os.close(before)
    for name in ("h.csv", "sub/h.csv", "nowhere.csv", "sub/nowhere/h.csv", "pipe", ".", "sub"):
        with contextlib.suppress(SchemaError):
            Schema.load(toml_schema(own, name))
    after = os.open(own, os.O_RDONLY)
    os.close(after)
    assert before == after


# ── form ─────────────────────────────────────────────────────────────────────────────────────────

SECRET = "hunter2"

NO_HIERARCHIES = {
    "a list of words": f"{SECRET}\nother\n",
    "a list of users": f"root:x:0:0:root:/root:/bin/sh\n{SECRET}:x:1:1::/:/bin/false\n",
    "a configuration": f"[login]\npassword = {SECRET}\n",
    "a table": f"id;name;town\n1;{SECRET};Ulm\n2;other;Bonn\n",
    "a table with commas": f"id,name,town\n1,{SECRET},Ulm\n2,other,Bonn\n",
    "a script": f"#!/bin/sh\nlogin {SECRET}; exit\n",
    "JSON": json.dumps({"a": [SECRET, "b"], "c": "d"}, indent=1),
    "control characters": f"{SECRET}\x1b[31m;*\nb;*\n",
    "a quoted line break": f'"{SECRET}\nx";*\nb;*\n',
    "C1 characters": f"{SECRET}\x9b31m;*\nb;*\n",
    "two roots": f"{SECRET};a\nb;c\n",
    "a line without a root": f"a;*\n{SECRET}\n",
    "an empty label": f"{SECRET};;*\n",
    "a value twice": f"{SECRET};*\n{SECRET};*\n",
    "two parents": f"a;{SECRET};*\nb;{SECRET};h;*\n",
    "a circle": f"{SECRET};b;{SECRET};*\n",
    "a group that is a value": f"{SECRET};*\nb;{SECRET};*\n",
    "too deep": f"{SECRET};" + ";".join(f"g{i}" for i in range(101)),
    "an open quote": f'"{SECRET};*\n',
}


@pytest.mark.parametrize("name", NO_HIERARCHIES)
def test_what_does_not_look_like_a_hierarchy_is_refused_and_not_quoted(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "h.csv").write_text(NO_HIERARCHIES[name])
    with pytest.raises(SchemaError) as caught:
        Schema.load(toml_schema(tmp_path, "h.csv"))
    message = str(caught.value)
    assert "h.csv" in message and SECRET not in message and message.isprintable()


def test_a_refusal_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    for text, line in [("a;*\n\n\nb;*\na;*\n", 5), ("\n\na;g;*\ng;*\n", 4), ("a;*\nb;*\nc\n", 3)]:
        path.write_text(text)
        with pytest.raises(SchemaError, match=rf"h\.csv, line {line}: "):
            read_arx(path)


def test_a_hierarchy_larger_than_any_manifest_is_refused_unread(tmp_path: Path) -> None:
    with open(tmp_path / "h.csv", "wb") as huge:
        huge.truncate(MAX_HIERARCHY + 1)
    with pytest.raises(SchemaError, match="larger than 64 MiB"):
        Schema.load(toml_schema(tmp_path, "h.csv"))


def test_branches_may_differ_in_length(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("nurse;health;*\ndoctor;health;*\nclerk;*\n")
    assert read_arx(tmp_path / "h.csv").leaves == ("nurse", "doctor", "clerk")


def test_a_pipe_inside_the_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "h.csv")
    with pytest.raises(SchemaError, match="not a file"):
        Schema.load(toml_schema(tmp_path, "h.csv"))

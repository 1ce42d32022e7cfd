"""Every command that reads a schema file refuses hierarchies elsewhere, unless told otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Hush
from .test_help import COMMANDS, command_at

SCHEMA = """
name = "jobs"
budget = "1"
[[attribute]]
name = "job"
kind = "nominal"
hierarchy = "../secret/h.csv"
"""

USES: dict[tuple[str, ...], list[str]] = {
    ("publish",): ["t.csv", "--schema", "s.toml", "-e", "1", "-m", "basic", "-o", "out"],
    ("check",): ["t.csv", "--schema", "s.toml"],
    ("plan",): ["s.toml", "-e", "1"],
    ("budget",): ["s.toml"],
    ("schema", "check"): ["s.toml"],
    ("schema", "import"): ["s.json", "-o", "out"],
    ("audit",): ["basic", "--schema", "s.toml", "--runs", "100", "--releases", "5", "--seed", "1"],
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with schemas that name a file of another one."""
    for name in ("own", "secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret" / "h.csv").write_text("cook;*\nnurse;*\n")
    own = tmp_path / "own"
    (own / "s.toml").write_text(SCHEMA)
    columns = [{"name": "job", "hierarchy": "../secret/h.csv"}]
    (own / "s.json").write_text(json.dumps({"tableSchema": {"columns": columns}}))
    (own / "t.csv").write_text("job\ncook\nnurse\ncook\n")
    monkeypatch.chdir(own)
    return own


@pytest.mark.usefixtures("fewer_draws")
@pytest.mark.parametrize("command", USES, ids=" ".join)
def test_a_hierarchy_elsewhere_needs_the_owner_s_word(
    hush: Hush, own: Path, command: tuple[str, ...]
) -> None:
    before = sorted(own.iterdir())
    refused = hush(*command, *USES[command])
    assert refused.code == 2 and refused.out == "" and refused.err.count("\n") == 1
    assert "outside the schema's folder" in refused.err and "cook" not in refused.err
    assert sorted(own.iterdir()) == before, "nothing is written, and no ledger made"
    allowed = ["--allow-path", "nosuch/..", "--allow-path", "../secret"]
    (own / "nosuch").mkdir()
    assert hush(*command, *USES[command], *allowed).code == 0


def test_no_command_that_reads_a_schema_is_forgotten() -> None:
    def parameters(path: tuple[str, ...]) -> set[str]:
        return {parameter.name or "" for parameter in command_at(path).params}

    # `generate` writes its schema; `import` reads one of another tool; `explore` does not end.
    reading = {c for c in COMMANDS if {"schema", "schemas"} & parameters(c)} - {("generate",)}
    assert reading | {("schema", "import")} == set(USES) | {("explore",)}
    assert all("allow_paths" in parameters(command) for command in {*USES, ("explore",)})


def test_the_owner_s_page_needs_the_owner_s_word_too(hush: Hush, own: Path) -> None:
    refused = hush("explore", "--schema", "s.toml", "--no-browser")
    assert refused.code == 2 and refused.out == "" and refused.err.count("\n") == 1
    assert "outside the schema's folder" in refused.err and "cook" not in refused.err


def test_an_allowed_folder_that_is_not_there_is_one_line(hush: Hush, own: Path) -> None:
    refused = hush("schema", "check", "s.toml", "--allow-path", "nowhere")
    assert refused.code == 2 and "there is no folder 'nowhere'" in refused.err

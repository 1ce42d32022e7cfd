"""The folder tree is the architecture: who may import whom, anywhere in a file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "hushtable"

# What each part may import of the others; its own files are always allowed.
ALLOWED: dict[str, set[str]] = {
    "text": set(),
    "errors": {"text"},
    "compiled": set(),
    "scratch": set(),
    "processes": set(),
    "privacy.loss": {"errors"},
    "privacy": {"errors", "privacy.loss", "processes", "scratch"},
    "schema": {"errors", "privacy.loss"},
    "ledgers": {"errors", "privacy", "schema"},
    "counting": {"compiled", "errors", "schema", "scratch"},
    "remembered": set(),
    "summaries": {"errors", "remembered"},
    "noise": {"compiled", "errors", "privacy.loss", "processes", "remembered", "summaries"},
    "transforms": {"compiled", "errors", "remembered", "schema"},
    "curator": {
        "errors",
        "privacy.loss",
        "privacy",
        "counting",
        "noise",
        "summaries",
        "transforms",
    },
    "query": {"errors", "schema", "summaries", "text", "transforms"},
    "release": {
        "errors",
        "schema",
        "query",
        "privacy.loss",
        "scratch",
        "summaries",
        "text",
        "transforms",
    },
    "planner": {"errors", "schema", "query", "privacy.loss", "summaries", "transforms"},
    "mechanisms": {
        "errors",
        "schema",
        "curator",
        "planner",
        "transforms",
        "query",
        "release",
        "privacy.loss",
        "summaries",
    },
    "cli.signals": set(),
    "cli.show": {"cli.signals", "errors", "query", "release", "text"},
    "cli.analyst": {"errors", "query", "release", "cli.show"},
}
# The end of the line: these may use everything.
FREE = {
    "__init__",
    "__main__",
    "publishing",
    "synthesizer",
    "drafting",
    "evaluation",
    "cli.owner",
    "cli.planning",
    "cli.reproducing",
    "cli.evaluating",
    "cli.auditing",
    "cli.main",
    "cli.__main__",
    "cli",
}
COMMANDS = ("main", "owner", "planning", "analyst", "reproducing", "evaluating", "auditing")

FILES = sorted(SOURCE.rglob("*.py"))


def part_of(module: str) -> str:
    """The most specific part that a module of hushtable belongs to."""
    names = module.split(".")
    return next(
        (".".join(names[:k]) for k in (2, 1) if ".".join(names[:k]) in ALLOWED.keys() | FREE),
        names[0],
    )


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(module_of(path))
    if part in FREE:
        return
    inside = {name.removeprefix("hushtable.") for name in imports_of(path) if "hushtable." in name}
    for name in inside:
        other = part_of(name)
        assert other == part or other in ALLOWED[part], f"{part} must not import {name}"


def test_every_part_is_known() -> None:
    assert {part_of(module_of(path)) for path in FILES} <= ALLOWED.keys() | FREE


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_randomness_comes_through_one_door(path: Path) -> None:
    """Only post-processing and experiments may use ordinary randomness; nothing unpickles."""
    part, text = part_of(module_of(path)), path.read_text(encoding="utf-8")
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"pickle", "random", "marshal", "shelve"}
    if part not in {"release", "evaluation"}:
        assert "np.random" not in text and "numpy.random" not in text
    if path.name != "entropy.py":
        assert "urandom" not in text or part == "noise"


def test_heavy_engines_stay_in_their_rooms() -> None:
    homes = {
        "ibis": {"counting"},
        "duckdb": {"counting", "evaluation"},
        "numba": {"compiled"},
        "sqlite3": {"privacy"},
        "cryptography": {"noise", "evaluation"},
        "sqlglot": {"query"},
        "matplotlib": {"evaluation", "release"},
        "click": {f"cli.{name}" for name in COMMANDS},
    }
    for path in FILES:
        roots = {name.split(".")[0] for name in imports_of(path)}
        for library, rooms in homes.items():
            assert library not in roots or part_of(module_of(path)) in rooms, (path, library)

"""Every command explains itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from hushtable.cli.main import app

from .conftest import Hush


def command_at(path: tuple[str, ...]) -> click.Command:
    """The command of that name, also where it is installed beside ours."""
    found: click.Command = app
    for name in path:
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), name)
        assert below is not None
        found = below
    return found


def commands(group: click.Group = app, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """All of them by name; the one that is installed beside ours is not loaded for it."""
    found = []
    for name in group.list_commands(click.Context(group)):
        below = group.commands.get(name)
        inner = commands(below, (*path, name)) if isinstance(below, click.Group) else None
        found += inner or [(*path, name)]
    return found


COMMANDS = commands()


def test_all_commands_are_found() -> None:
    assert len(COMMANDS) >= 8 and ("schema", "draft") in COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_an_example_and_json(hush: Hush, command: tuple[str, ...]) -> None:
    shown = hush(*command, "--help")
    assert shown.code == 0
    assert f"Example: hush {' '.join(command)}" in " ".join(shown.out.split())
    assert "--json" in shown.out


def test_hush_alone_shows_its_commands(hush: Hush) -> None:
    for arguments in ([], ["--help"], ["schema"]):
        assert "Commands" in hush(*arguments).out
    assert hush("--version").out.startswith("hushtable ")


def test_an_unknown_command_or_option_is_one_line(hush: Hush) -> None:
    for arguments in (["frobnicate"], ["info", "--frobnicate"], ["query"]):
        refused = hush(*arguments)
        assert refused.code == 2 and refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("hushtable", "python -m hushtable"),
        pytest.param("hushtable.cli", "hush", marks=pytest.mark.thorough),
    ],
)
def test_the_package_runs_like_hush(module: str, name: str, tmp_path: Path) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)

    shown = call()
    assert shown.returncode == 0 and f"Usage: {name} [OPTIONS]" in shown.stdout
    assert f"Usage: {name} schema check" in call("schema", "check", "--help").stdout
    assert call("--version").stdout.startswith("hushtable ")
    refused = call("info", "nowhere")
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr.startswith("hush: nowhere: there is no such folder; a release is")
    assert '"error"' in call("info", "nowhere", "--json").stdout


def test_importing_the_package_s_main_runs_nothing() -> None:
    import hushtable.__main__

    assert hushtable.__main__.run is not None

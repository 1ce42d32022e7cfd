"""Every command explains itself."""

from __future__ import annotations

import pytest

from hushtable.cli.main import app

from .conftest import Hush


def commands(group: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = getattr(group, "commands", None)
    if below is None:
        return [path]
    return [found for name, command in below.items() for found in commands(command, (*path, name))]


COMMANDS = commands(app)


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

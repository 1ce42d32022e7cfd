"""Completion in shells: the command that prints a script for one, and what may stand where."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class

from hushtable.cli.show import print_json, print_lines

NAMES = ("hush", "hushtable")
"""The scripts that are installed, all of them the same."""

SHELLS = ("bash", "zsh", "fish")


def scripts(shell: str) -> str:
    """What a shell must read so that the arguments of both scripts can be completed."""
    kind = get_completion_class(shell)
    assert kind is not None
    return "\n".join(
        kind(click.Command(name), {}, name, f"_{name.upper()}_COMPLETE").source() for name in NAMES
    )


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def completion(shell: str, as_json: bool) -> None:
    """Print a script that completes commands, options, mechanisms and files in bash, zsh or fish.

    \b
    bash, in ~/.bashrc:                   eval "$(hush completion bash)"
    zsh, in ~/.zshrc after compinit:      eval "$(hush completion zsh)"
    fish, in ~/.config/fish/config.fish:  hush completion fish | source

    Example: hush completion bash
    """
    script = scripts(shell)
    print_json({"shell": shell, "script": script}) if as_json else print_lines(script)


# ── what may stand where ─────────────────────────────────────────────────────────────────────────


def folders(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Folders, such as releases."""
    return [CompletionItem(begun, type="dir")]


def files(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Files and the folders on the way."""
    return [CompletionItem(begun, type="file")]


def mechanisms(_: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of mechanisms; where `auto` is the default, also that."""
    from hushtable.families import AUTO, MECHANISMS

    return _beginning(begun, [*MECHANISMS, *([AUTO] if parameter.default == AUTO else [])])


def settings(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Settings of the mechanism that was named before."""
    from hushtable.families import MECHANISMS, about_mechanism

    named = context.params.get("mechanism") or context.params.get("mechanisms")
    name = named[0] if isinstance(named, tuple) else named
    if name not in MECHANISMS:
        return []
    return _beginning(begun, [f"{setting.name}=" for setting in about_mechanism(name).settings])


def workloads(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Names of workloads, or files of questions."""
    from hushtable.workload.parsing import PLAIN

    named = _beginning(begun, [*PLAIN, "marginals:", "level:"])
    return [CompletionItem(name) for name in named] or files(context, parameter, begun)


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]

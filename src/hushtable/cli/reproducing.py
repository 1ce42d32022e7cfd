"""`hush reproduce` is the command of another package, which is found where it is installed."""

from __future__ import annotations

import click

from hushtable.errors import OptionError

NAME = "reproduce"


def reproduce_command() -> click.Command:
    """The command that runs the papers' experiments, or one that says how to install it."""
    from importlib.metadata import entry_points  # only here: it brings in a tenth of a start

    for found in entry_points(group="hushtable.commands", name=NAME):
        command: click.Command = found.load()
        return command
    return _missing


@click.command(
    NAME,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def _missing() -> None:
    """Run experiments of the papers again (a package of its own: hushtable-papers)."""
    raise OptionError(
        "the papers' experiments are a package of their own: pip install hushtable-papers"
        " (in a checkout of hushtable: pip install -e papers)"
    )

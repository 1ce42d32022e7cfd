"""The command about mechanisms: what each is for, its settings, its limits and its page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from hushtable.cli import completing
from hushtable.cli.analyst import json_option
from hushtable.cli.show import print_json, print_points, print_table, say

if TYPE_CHECKING:
    from hushtable.families.about import About, Setting


@click.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=completing.mechanisms)
@json_option
def mechanisms(name: str | None, as_json: bool) -> None:
    """List the mechanisms, or the settings and limits of one.

    A mechanism is a way to publish: hush publish --mechanism NAME --set KEY=VALUE. Without one,
    auto publishes what hush plan recommends.

    Example: hush mechanisms filter-priority
    """
    from hushtable import families

    if name is not None:
        about = families.about_mechanism(name)
        print_json(about.to_dict()) if as_json else _print_one(about)
        return
    known = list(families.mechanisms().values())
    if as_json:
        print_json({"mechanisms": [about.to_dict() for about in known]})
        return
    rows = [[about.name, about.good_for, about.intervals] for about in known]
    print_table(None, ["mechanism", "good for", "intervals"], rows, left=3)
    say("hush mechanisms NAME lists the settings of one; hush plan says how accurate each would be")


def _print_one(about: About) -> None:
    say(f"{about.name}: {about.releases}")
    say(f"good for: {about.good_for}")
    say(f"intervals: {about.intervals}")
    if about.settings:
        columns = ["--set", "what it is", "takes", "default"]
        rows = [_row(setting) for setting in about.settings]
        print_table("settings", columns, rows, left=4)
        for setting in about.settings:
            say(f"example: --mechanism {shlex.quote(about.name)} {_example(setting)}")
    else:
        say("settings: none")
    say("limits:")
    print_points(about.limits)
    say(f"page: {about.page_path}")
    if about.paper:
        say(f"paper: {about.paper}")


def _row(setting: Setting[object]) -> list[str]:
    default = setting.default if setting.default is not None else setting.otherwise
    return [setting.name, setting.meaning, setting.takes, default or "none"]


def _example(setting: Setting[object]) -> str:
    return " ".join(
        f"--set {shlex.quote(f'{key}={value}')}" for key, value in setting.example_settings.items()
    )

"""Commands that make a table up, to try things on: demo, generate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.options import check_new, key_values
from hushtable.cli.publishing import STEPS
from hushtable.cli.show import print_json, print_table, row_bar, say, step_bar
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.evaluation.demo import Story


@click.command()
@click.option("--out", "-o", type=FilePath, default=Path("hushtable-demo"), show_default=True)
@click.option("--rows", default=500_000, show_default=True, help="How many people to generate.")
@json_option
def demo(out: Path, rows: int, as_json: bool) -> None:
    """Tell the whole story on a generated census: publish it, query it, draw a picture.

    Example: hush demo
    """
    from hushtable.evaluation.demo import run_demo

    with step_bar({"generate": "generating a census", **STEPS}, quiet=as_json) as progress:
        story = run_demo(out, rows, progress)
    if as_json:
        print_json(story.to_dict())
        return
    _tell(story)


def _tell(story: Story) -> None:
    """The story for people."""
    say(f"A generated census was published with ε = {story.epsilon} by {story.release.mechanism}.")
    say("The owner sees the true counts; an analyst has the release alone:")
    rows = []
    for question, _, true, answer in story.answers:
        low, high = answer.interval(0.95)
        hit = "yes" if low <= true <= high else "no (1 in 20 is)"
        half = f"{(high - low) / 2:,.0f}"
        rows.append([question, f"{true:,}", f"{answer.value:,.0f}", f"± {half}", hit])
    columns = ["", "true", "released", "95 %", "truth inside"]
    print_table(None, columns, rows)
    where = story.answers[2][1]
    say(f"picture: {story.picture}")
    say(f"schema:  {story.folder / 'census.toml'}   (what the owner declared)")
    say(f'try:     hush query {story.release.folder} "{where}"')
    say(f"         hush info {story.release.folder}")
    say(f"         hush budget {story.folder / 'census.toml'}")


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--out", "-o", type=FilePath, required=True, help="The Parquet file to write.")
@click.option("--schema", "-s", type=FilePath, help="Its schema file.  [default: beside it]")
@click.option("--rows", type=int, help="How many rows.  [default: its own]")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of it.")
@click.option("--seed", default=1, show_default=True, help="Another seed, other people.")
@json_option
def generate(
    name: str,
    out: Path,
    schema: Path | None,
    rows: int | None,
    settings: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Make up a table to try things on, with its schema: no one in it ever lived.

    NAME is census, survey, brazil or us (people; survey has sixteen columns), timing, sparse,
    sparse-skewed, sparse-2d, sparse-2d-skewed, continuous or random (grids of counts).

    Example: hush generate brazil --rows 1000000 -o brazil.parquet --schema brazil.toml
    """
    from hushtable.generators import generate as make_up
    from hushtable.generators import own_dataset

    if out.suffix != ".parquet":
        raise OptionError(f"{out.name} must end in .parquet")
    described = schema or out.with_suffix(".toml")
    check_new(out)
    check_new(described)
    made = make_up(name, rows, seed=seed, settings=key_values(settings))
    with row_bar("making up rows", quiet=as_json) as progress:
        made.write(out, progress)
    own_dataset(made.schema).save(described)
    if as_json:
        facts = {"name": name, "rows": made.rows, "cells": made.schema.cells, "seed": seed}
        print_json({"file": str(out), "schema": str(described), **facts})
        return
    say(f"wrote {out}: {made.rows:,} rows of {made.schema.cells:,} cells; schema {described}")
    say(f"try: hush publish {out} --schema {described} --epsilon 1 -o {out.stem}.release")

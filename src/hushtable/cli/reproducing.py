"""The command that runs the papers' experiments again, and says what still holds."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.show import print_json, print_table, row_bar
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.evaluation.figures import Figure, Reproduced, Setting

_GOES_ON = "(what is done is kept: the same command goes on from there)"


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Small sizes: to see that everything works.")
@click.option(
    "--out",
    "-o",
    type=FilePath,
    help="The folder for results.  [default: reproduce; reproduce-quick]",
)
@click.option("--data", metavar="NAME=FOLDER", multiple=True, help="A real table that you have.")
@click.option("--all", "every", is_flag=True, help="All experiments, one after the other.")
@json_option
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    out: Path | None,
    data: tuple[str, ...],
    every: bool,
    as_json: bool,
) -> None:
    """Run experiments of the papers again: measure, draw, and judge what the papers say.

    Without a NAME, list the experiments. A run that was stopped goes on where it was.

    Example: hush reproduce privelet-brazil --quick
    """
    from hushtable.evaluation.figures import FIGURES, Setting

    if not names and not every:
        _list(FIGURES, as_json)
        return
    chosen = _chosen(FIGURES, names, every)
    setting = Setting(quick=quick, data=_folders(data))
    folder = out or Path("reproduce-quick" if quick else "reproduce")
    found = []
    for figure in chosen:
        found.append(_run(figure, folder, setting, as_json))
        if not as_json:
            _tell(found[-1])
    if as_json:
        print_json({"quick": quick, "experiments": [one.to_dict() for one in found]})


def _list(figures: dict[str, Figure], as_json: bool) -> None:
    if as_json:
        facts = [{"name": f.name, "title": f.title, "minutes": f.minutes} for f in figures.values()]
        print_json({"experiments": facts})
        return
    rows = [[figure.name, figure.title, _duration(figure.minutes)] for figure in figures.values()]
    print_table(None, ["experiment", "what", "takes about"], rows, left=2)
    print("try: hush reproduce NAME --quick   (small sizes; without --quick, the papers' sizes)")


def _duration(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _chosen(figures: dict[str, Figure], names: tuple[str, ...], every: bool) -> list[Figure]:
    if every and names:
        raise OptionError("name experiments or give --all, not both")
    for name in names:
        if name not in figures:
            near = difflib.get_close_matches(name, figures, n=1, cutoff=0)
            raise OptionError(f"there is no experiment {name!r}; did you mean {near[0]}?")
    return [figures[name] for name in (figures if every else dict.fromkeys(names))]


def _folders(pairs: tuple[str, ...]) -> dict[str, Path]:
    """Where tables are that cannot be made up: `adult=FOLDER`."""
    folders = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not equals or not name.strip():
            raise OptionError("--data takes name=folder")
        if not Path(folder).is_dir():
            raise OptionError(f"--data {name.strip()}: there is no folder {folder!r}")
        folders[name.strip()] = Path(folder)
    return folders


def _run(figure: Figure, folder: Path, setting: Setting, quiet: bool) -> Reproduced:
    from hushtable.evaluation.figures import reproduce as run_figure

    try:
        with row_bar(figure.name, quiet=quiet) as progress:
            return run_figure(figure, folder, setting, progress)
    except KeyboardInterrupt as stopped:
        stopped.add_note(_GOES_ON)
        raise


def _tell(done: Reproduced) -> None:
    from rich.markup import escape

    from hushtable.evaluation.figures.reproducing import holds_text

    rows = [
        [escape(s.paper), escape(s.seen), holds_text(s), escape(s.why)] for s in done.statements
    ]
    columns = ["the paper says", "seen here", "holds", "why"]
    print_table(done.figure.title, columns, rows, left=4)
    print(f"verdict: {done.verdict}")
    for plot in done.plots:
        print(f"plot:    {plot}")

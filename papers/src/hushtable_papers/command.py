"""The command that runs the papers' experiments again, and says what still holds."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushtable.cli.analyst import json_option
from hushtable.cli.show import print_json, print_table, row_bar, say
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable_papers import Figure, Reproduced, Scope

_GOES_ON = "what is done is kept, and the same command goes on from there"


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Small sizes: to see that everything works.")
@click.option(
    "--out",
    "-o",
    type=click.Path(),
    help="The folder for results.  [default: reproduce; reproduce-quick]",
)
@click.option(
    "--data",
    metavar="NAME=FOLDER",
    multiple=True,
    help="A real table that you have. adult: adult.csv and adult_hierarchy_COLUMN.csv, as ARX "
    "ships them, for ispe-alpha1, ispe-iterations, ispe-xi, ispe-sizes, privbayes-marginals and "
    "privbayes-classification. commuting: one .csv with the columns origin, destination and flow, "
    "for sparse-origins.",
)
@click.option("--all", "every", is_flag=True, help="All experiments, one after the other.")
@json_option
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    out: str | None,
    data: tuple[str, ...],
    every: bool,
    as_json: bool,
) -> None:
    """Run experiments of the papers again: measure, draw, and judge what the papers say.

    Without a NAME, list the experiments. A run that was stopped goes on where it was.

    Example: hush reproduce privelet-brazil --quick
    """
    from hushtable_papers import FIGURES, Scope

    folder = _results(out, quick)
    folders = _folders(data)
    if not names and not every:
        _list(FIGURES, as_json, asked=bool(quick or out or data))
        return
    chosen = _chosen(FIGURES, names, every)
    _check_tables(folders, chosen)
    scope = Scope(quick=quick, data=folders)
    found = []
    for figure in chosen:
        found.append(_run(figure, folder, scope, as_json))
        if not as_json:
            _tell(found[-1])
    if as_json:
        print_json({"quick": quick, "experiments": [one.to_dict() for one in found]})


def _results(out: str | None, quick: bool) -> Path:
    if out is None:
        return Path("reproduce-quick" if quick else "reproduce")
    if not out.strip():
        raise OptionError("--out takes a folder; it is empty")
    return Path(out)


def _list(figures: dict[str, Figure], as_json: bool, asked: bool) -> None:
    """The experiments; `asked` if options were given that only a run can heed."""
    if as_json:
        facts = [{"name": f.name, "title": f.title, "minutes": f.minutes} for f in figures.values()]
        print_json({"experiments": facts})
        return
    rows = [[figure.name, figure.title, _duration(figure.minutes)] for figure in figures.values()]
    print_table(None, ["experiment", "what", "takes about"], rows, left=2)
    if asked:
        say("nothing was run: name experiments, or give --all")
    say("try: hush reproduce NAME --quick   (small sizes; without --quick, the papers' sizes)")


def _duration(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _chosen(figures: dict[str, Figure], names: tuple[str, ...], every: bool) -> list[Figure]:
    if every and names:
        raise OptionError("name experiments or give --all, not both")
    for name in names:
        if name not in figures:
            near = difflib.get_close_matches(name, figures, n=1, cutoff=0.6)
            advice = f"did you mean {near[0]}?" if near else "`hush reproduce` lists them"
            raise OptionError(f"there is no experiment {name!r}; {advice}")
    return [figures[name] for name in (figures if every else dict.fromkeys(names))]


def _folders(pairs: tuple[str, ...]) -> dict[str, Path]:
    """Where tables are that cannot be made up, by their names."""
    folders = {}
    for pair in pairs:
        name, _, folder = (part.strip() for part in pair.partition("="))
        if not name or not folder:
            raise OptionError("--data takes name=folder, for instance adult=FOLDER")
        _check_known(name)
        if not Path(folder).is_dir():
            raise OptionError(f"--data {name}: there is no folder {folder!r}")
        folders[name] = Path(folder)
    return folders


def _check_known(table: str) -> None:
    from hushtable_papers.reproducing import REAL_TABLES

    if table not in REAL_TABLES:
        raise OptionError(f"--data: no table {table!r} is known; known: {', '.join(REAL_TABLES)}")


def _check_tables(folders: dict[str, Path], chosen: list[Figure]) -> None:
    """Each table is read by one of the experiments, and can be: known before hours of work."""
    from hushtable_papers.reproducing import READERS, REAL_TABLES

    for name, folder in folders.items():
        if not any(figure.name in READERS[name] for figure in chosen):
            raise OptionError(f"--data {name} is read only by {', '.join(READERS[name])}")
        REAL_TABLES[name](folder)


def _run(figure: Figure, folder: Path, scope: Scope, quiet: bool) -> Reproduced:
    from hushtable_papers import reproduce as run_figure

    try:
        with row_bar(figure.name, quiet=quiet) as progress:
            return run_figure(figure, folder, scope, progress)
    except KeyboardInterrupt as stopped:
        stopped.add_note(_GOES_ON)
        raise


def _tell(done: Reproduced) -> None:
    from hushtable_papers.reproducing import holds_text

    rows = [[s.paper, s.seen, holds_text(s), s.why] for s in done.statements]
    columns = ["the paper says", "seen here", "holds", "why"]
    print_table(done.figure.title, columns, rows, left=4)
    say(f"verdict: {done.verdict}")
    for plot in done.plots:
        say(f"plot:    {plot}")

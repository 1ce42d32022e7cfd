"""The command that attacks mechanisms: what they lose, and whether their intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli import completing
from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.options import allow_option, key_values
from hushtable.cli.show import print_json, print_table, row_bar, say
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.auditing.audit import Audit, Progress
    from hushtable.schema import Schema


# What fits a narrow terminal; the report has all of it.
SHOWN = ("schema", "neighbours", "pairs", "exact loss", "lower bound", "verdict")


@click.command()
@click.argument(
    "mechanisms", metavar="[MECHANISM]...", nargs=-1, shell_complete=completing.mechanisms
)
@click.option(
    "--schema",
    "-s",
    "schemas",
    multiple=True,
    help="A small schema file, or the name of a built-in one.  [default: all built-in ones]",
)
@click.option("--epsilon", "-e", default="1", show_default=True, help="The ε that is claimed.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Of one mechanism.",
    shell_complete=completing.settings,
)
@click.option("--runs", type=int, help="Runs on each of two tables, 100 at least.  [default: 2000]")
@click.option("--releases", type=int, help="Of each table, for coverage.  [default: 10]")
@click.option("--nightly", is_flag=True, help="Minutes, not seconds: more runs, on every schema.")
@click.option("--seed", type=int, help="Noise that can be repeated.  [default: the system's]")
@click.option("--out", "-o", type=FilePath, help="Also write a report: a new .md file.")
@allow_option
@json_option
def audit(
    mechanisms: tuple[str, ...],
    schemas: tuple[str, ...],
    epsilon: str,
    settings: tuple[str, ...],
    runs: int | None,
    releases: int | None,
    nightly: bool,
    seed: int | None,
    out: Path | None,
    allow_paths: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Attack mechanisms on small tables: do they lose more than ε? Reads no data.

    All neighbours of all small tables are checked exactly, under both relations, a lower bound on ε
    is shown by experiment, noise is compared with its law, and the truth must lie inside intervals
    as often as they promise. Without a name every mechanism is audited. Exits with 1 if more than ε
    is lost or intervals are too short. Built-in schemas: range, other, two, one-row, several-rows,
    ladder, tree, grid, trees, bits.

    Example: hush audit privelet --schema ladder --schema tree --epsilon 1
    """
    from hushtable.auditing.audit import audit as attack
    from hushtable.evaluation.seeded_entropy import SeededEntropy

    _check_report(out)
    if settings and len(mechanisms) != 1:
        raise OptionError("--set is for one mechanism: name it")
    options: dict[str, Any] = {
        "schemas": [_schema(name, allow_paths) for name in schemas] or None,
        "epsilon": epsilon,
        "settings": key_values(settings),
        "runs": runs,
        "releases": releases,
        "nightly": nightly,
        "entropy": None if seed is None else SeededEntropy(seed),
    }
    left_out: dict[str, str] = {}
    with _bar(quiet=as_json) as progress:
        if mechanisms:
            chosen = dict.fromkeys(mechanisms)
            found = [attack(name, **options, progress=progress) for name in chosen]
        else:
            found, left_out = _all_audits(progress, options)
    if as_json:
        print_json(_plain(found, left_out) | ({} if out is None else {"report": str(out)}))
    else:
        _print(found, left_out)
    if out is not None:
        _write(out, _report(found))
        if not as_json:
            say(f"wrote {out}")
    return 0 if all(audit.holds for audit in found) else 1


def _all_audits(progress: Progress, options: dict[str, Any]) -> tuple[list[Audit], dict[str, str]]:
    """Every mechanism, and why one is left out: it needs settings, or other schemas."""
    from hushtable.auditing.audit import audit as attack
    from hushtable.families import MECHANISMS

    found: list[Audit] = []
    left_out: dict[str, str] = {}
    for name in MECHANISMS:
        try:
            found.append(attack(name, **options, progress=progress))
        except OptionError as refusal:
            left_out[name] = str(refusal)
    if not found:
        raise OptionError(next(iter(left_out.values())))
    return found, left_out


def _report(found: list[Audit]) -> str:
    from hushtable.auditing.report import summary

    return found[0].to_markdown() if len(found) == 1 else summary(found)


def _plain(found: list[Audit], left_out: dict[str, str]) -> dict[str, Any]:
    if len(found) == 1:
        return found[0].to_dict()
    holds, audits = all(audit.holds for audit in found), [audit.to_dict() for audit in found]
    return {"holds": holds, "audits": audits, "left_out": left_out}


def _check_report(out: Path | None) -> None:
    if out is None:
        return
    if out.suffix.lower() != ".md":
        raise OptionError(f"{out.name} must end in .md")
    try:
        free = out.parent.is_dir() and not out.exists()
    except OSError as problem:
        raise OptionError(f"{out.name} cannot be written: {problem.strerror}") from None
    if not free:
        why = "is there already" if out.exists() else "is in a folder that is not there"
        raise OptionError(f"{out} {why}")


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise OptionError(f"{out} cannot be written: {problem.strerror}") from None


def _schema(name: str, allow_paths: tuple[Path, ...]) -> str | Schema:
    """A built-in schema by name, or one from a file."""
    from hushtable.auditing.schemas import BUILT_IN
    from hushtable.schema import Schema

    if name in BUILT_IN:
        return name
    if not Path(name).exists():
        raise OptionError(
            f"{name!r} is no schema file, nor one of the built-in schemas {', '.join(BUILT_IN)}"
        )
    return Schema.load(Path(name), allow_paths=allow_paths)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar that says which schema and relation is under attack."""
    with row_bar("auditing", quiet) as tell:
        yield lambda what, done, total: tell(done, total)


def _print(found: list[Audit], left_out: dict[str, str]) -> None:
    from hushtable.auditing.report import SUMMARY, problems, summary_row
    from hushtable.kernel.privacy.loss import format_epsilon

    if len(found) == 1:
        _print_one(found[0])
    else:
        title = f"ε = {format_epsilon(found[0].epsilon)}"
        print_table(title, SUMMARY, [summary_row(audit) for audit in found], left=1)
        for audit in found:
            for problem in problems(audit):
                say(f"{audit.mechanism}: {problem}")
    for name, reason in left_out.items():
        say(f"{name} left out: {reason}")


def _print_one(found: Audit) -> None:
    from hushtable.auditing.report import (
        COLUMNS,
        COVERED,
        coverage_rows,
        noise_words,
        problems,
        rows,
        sentence,
    )
    from hushtable.kernel.privacy.loss import format_epsilon

    title = f"{found.mechanism} at ε = {format_epsilon(found.epsilon)}"
    shown = [COLUMNS.index(name) for name in SHOWN]
    print_table(title, list(SHOWN), [[row[i] for i in shown] for row in rows(found)], left=2)
    say(f"Noise: {noise_words(found)}.")
    if found.coverage:
        print_table("truth inside intervals", COVERED, coverage_rows(found), left=1)
    for problem in problems(found):
        say(problem)
    for name, reason in found.left_out.items():
        say(f"{name} left out: {reason}")
    say(sentence(found))

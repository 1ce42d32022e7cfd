"""The command that looks ahead: what each mechanism would give, before anything is spent."""

from __future__ import annotations

import math
import shlex
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.completing import workloads
from hushtable.cli.options import allow_option, csv_options, proxy_options
from hushtable.cli.show import print_json, print_table, row_bar, say, waiting
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.evaluation.proxy import ProxyPlan, Trial
    from hushtable.evaluation.shapes import ShapeForecast
    from hushtable.families.forecast import Forecast
    from hushtable.kernel.counting import CsvFormat
    from hushtable.planner import Plan
    from hushtable.schema import Schema


_NAMED = {1: "1 attribute", 2: "2 attributes", 3: "3 attributes", 4: "4 or more"}
"""Columns of errors, by how many attributes questions name."""

_LONGEST = 60
"""Of a setting that is told; a manifest has all of it."""


@click.command()
@click.argument("schema", metavar="SCHEMA", type=FilePath)
@click.option("--epsilon", "-e", required=True, help="The ε that would be spent, as a decimal.")
@click.option(
    "--workload",
    "-w",
    default="everyday",
    show_default=True,
    help="What will be asked.",
    shell_complete=workloads,
)
@click.option("--error", type=float, help="Also say which ε makes a typical count this exact.")
@click.option("--people", type=int, help="About how many rows there are.  [default: the schema's]")
@click.option("--typical", type=float, default=1.0, show_default=True, help="Rows per used cell.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    help="Also try what cannot be forecast on made-up tables: continuous, random or sparse.",
)
@proxy_options
@click.option("--runs", type=int, help="Of each mechanism on the proxy.  [default: 3]")
@click.option("--budgets", is_flag=True, help="Let the levels of trees have shares of ε.")
@click.option("--plot", type=FilePath, help="Draw error against size of question: .png or .svg.")
@allow_option
@csv_options
@json_option
def plan(
    schema: Path,
    epsilon: str,
    workload: str,
    error: float | None,
    people: int | None,
    typical: float,
    shapes: tuple[str, ...],
    proxy: str | None,
    public: bool,
    proxy_table: str | None,
    runs: int | None,
    budgets: bool,
    plot: Path | None,
    allow_paths: tuple[Path, ...],
    csv: CsvFormat | None,
    as_json: bool,
) -> None:
    """Forecast how accurate each mechanism would be. Reads no private data and spends nothing.

    A workload is everyday (questions about one to three attributes), ranges, prefixes,
    identity, nodes, total, paper, marginals:2, level:attribute=1, a file of SQL queries, or a
    sum: "2*ranges + marginals:1".

    With --proxy, mechanisms whose error depends on the data are tried on public rows, and all are
    listed as measured there: of a public table, or drawn from an earlier release.

    hush mechanisms says what each mechanism is for.

    Example: hush plan census.toml --epsilon 1 --workload "ranges + marginals:2"

    Example: hush plan census.toml --epsilon 1 --proxy last-year.release
    """
    from hushtable.planner import plan as make_plan
    from hushtable.schema import Schema

    if error is not None and not 0 < error < math.inf:
        raise OptionError("--error must be a number above zero")
    _check_plot(plot)
    described = Schema.load(schema, allow_paths=allow_paths)
    declared: dict[str, Any] = {"epsilon": epsilon, "workload": workload, "people": people}
    declared |= {"typical": typical, "budgets": budgets}
    measured = _on_proxy(described, declared, proxy, public, proxy_table, runs, csv, quiet=as_json)
    with waiting("planning", quiet=as_json):
        found = measured.plan if measured else make_plan(described, **declared)
        tried = _tried(found, shapes)
    needed = {f.mechanism: f.epsilon_for(error) for f in found.forecasts} if error else {}
    if plot is not None and found.forecasts:
        from hushtable.evaluation.plan_picture import draw_plan

        draw_plan(found, plot)
    if as_json:
        told = _told(found, error, needed) | (measured.figures() if measured else {})
        print_json(told | {"shapes": [t.to_dict() for t in tried]})
        return
    _print_tables(found, error, needed)
    if measured:
        _print_trials(measured)
        _print_choice(measured, schema, proxy or "", public, proxy_table)
    else:
        _print_recommended(found, schema, error, needed)
    _print_shapes(tried)


def _on_proxy(
    schema: Schema,
    declared: dict[str, Any],
    proxy: str | None,
    public: bool,
    proxy_table: str | None,
    runs: int | None,
    csv: CsvFormat | None,
    *,
    quiet: bool,
) -> ProxyPlan | None:
    """What was measured on the proxy, if there is one."""
    if proxy is None:
        about = {"--public": public or None, "--proxy-table": proxy_table, "--runs": runs}
        for name, given in about.items():
            if given is not None:
                raise OptionError(f"{name} is about --proxy, which is not given")
        return None
    from hushtable.evaluation.proxy import RUNS, plan_on_proxy

    asked: dict[str, Any] = {
        "proxy": proxy,
        "public": public,
        "proxy_table": proxy_table,
        "runs": RUNS if runs is None else runs,
    }
    with row_bar("trying mechanisms", quiet) as progress:
        return plan_on_proxy(schema, **declared, **asked, csv=csv, progress=progress)


def _print_trials(found: ProxyPlan) -> None:
    """Measured errors beside forecasts, the best first; then what was not tried."""
    named = sorted({number for trial in found.trials for number in trial.by_attributes})
    columns = ["mechanism", "measured", "of the runs", "forecast"]
    columns += [*(_NAMED[number] for number in named), "seconds"]
    rows = [
        [
            trial.mechanism,
            _short(trial.measured),
            _spread(trial),
            _short(None if trial.forecast is None else trial.forecast.rmse),
            *(_short(trial.by_attributes.get(number)) for number in named),
            f"{trial.seconds:.1f}" if trial.errors else "–",
        ]
        for trial in found.trials
    ]
    rows_told = f"{found.stand_in.rows:,} rows"
    title = f"std. error of {found.questions:,} questions on {found.stand_in.title} ({rows_told})"
    print_table(title, columns, rows)
    if found.refused:
        refused = [[trial.mechanism, trial.problem] for trial in found.refused]
        print_table("not tried", ["mechanism", "why"], refused, left=2)


def _spread(trial: Trial) -> str:
    if not trial.errors:
        return "–"
    return f"{_short(min(trial.errors))} … {_short(max(trial.errors))}"


def _print_choice(
    found: ProxyPlan, schema: Path, proxy: str, public: bool, table: str | None
) -> None:
    """What `auto` would publish, and what to know of how it was chosen."""
    best = found.recommended
    for note in found.notes:
        say(note)
    if best is None:
        say(f"Nothing is recommended: {found.why_not()}.")
        return
    say(f"Recommended: {best.mechanism}{_settings(best.parameters)}.")
    words = ["--proxy", proxy, *["--public"] * public]
    words += [] if table is None else ["--proxy-table", table]
    _print_command(found.plan, schema, f" {shlex.join(words)}")


def _tried(found: Plan, shapes: tuple[str, ...]) -> list[ShapeForecast]:
    """The errors of mechanisms that depend on the data, on made-up tables of declared shapes."""
    if not shapes:
        return []
    from hushtable.evaluation.shapes import forecast_on_shape
    from hushtable.families import DATA_DEPENDENT

    if found.people is None:
        raise OptionError("--shape makes up a table: say by --people how many rows it has")
    return [
        forecast
        for shape in dict.fromkeys(shapes)
        for forecast in forecast_on_shape(
            found.schema,
            epsilon=found.epsilon,
            shape=shape,
            people=found.people,
            mechanisms=("basic", *DATA_DEPENDENT),
        )
    ]


def _print_shapes(tried: list[ShapeForecast]) -> None:
    if not tried:
        return
    shapes = list(dict.fromkeys(forecast.shape for forecast in tried))
    errors = {(f.mechanism, f.shape): _short(f.rmse) for f in tried}
    rows = [
        [mechanism, *(errors[mechanism, shape] for shape in shapes)]
        for mechanism in dict.fromkeys(forecast.mechanism for forecast in tried)
    ]
    print_table("std. error of random ranges of made-up tables", ["mechanism", *shapes], rows)


def _check_plot(plot: Path | None) -> None:
    if plot is None:
        return
    if plot.suffix.lower() not in (".png", ".svg"):
        raise OptionError(f"{plot.name} must end in .png or .svg")
    if plot.exists() or not plot.parent.is_dir():
        raise OptionError(f"{plot} is there already, or its folder is not")


def _told(found: Plan, error: float | None, needed: dict[str, Fraction]) -> dict[str, Any]:
    from hushtable.kernel.privacy.loss import format_epsilon

    told = found.to_dict()
    if error is not None:
        told["error"] = error
        for entry in told["mechanisms"]:
            entry["epsilon_for_error"] = format_epsilon(needed[entry["mechanism"]])
    return told


def _print_tables(found: Plan, error: float | None, needed: dict[str, Fraction]) -> None:
    if found.summaries:
        _print_summaries(found)
    if found.forecasts:
        _print_forecasts(found, error, needed)


def _print_recommended(
    found: Plan, schema: Path, error: float | None, needed: dict[str, Fraction]
) -> None:
    from hushtable.families.forecast import Forecast

    best = found.recommended
    if best is None:
        say(f"Nothing is recommended: {found.why_not()}.")
        return
    if isinstance(best, Forecast):
        _print_words(found, best, error, needed)
    else:
        say(f"Recommended: {best.mechanism}{_settings(best.parameters)},", end=" ")
        say("whose size follows the occupied cells.")
    _print_command(found, schema)


def _print_forecasts(found: Plan, error: float | None, needed: dict[str, Fraction]) -> None:
    """Exact errors: of a typical question, by how many attributes are named, and the worst."""
    from hushtable.kernel.privacy.loss import format_epsilon

    epsilon = format_epsilon(found.epsilon)
    title = (
        f"{found.schema.name}: {found.workload.name} at ε = {epsilon}, {found.schema.neighbours}"
    )
    named = sorted({number for forecast in found.forecasts for number in forecast.by_attributes})
    bounded = any(forecast.bound is not None for forecast in found.forecasts)
    columns = ["mechanism", "typical ±", "± at 2ε", "std. error"]
    columns += [_NAMED[number] for number in named]
    columns += ["worst", *(["paper's bound"] if bounded else []), "memory"]
    columns += [f"ε for ± {error:g}"] if error else []
    columns += ["of the people"] if found.people else []
    rows = []
    for forecast in found.forecasts:
        row = [forecast.mechanism, _short(forecast.margin())]
        row += [_short(forecast.margin(2 * forecast.epsilon)), _short(forecast.rmse)]
        row += [_short(forecast.by_attributes.get(number)) for number in named]
        row += [_short(forecast.worst), *([_short(forecast.bound)] if bounded else [])]
        row += [_bytes(forecast.resources.memory)]
        row += [format_epsilon(needed[forecast.mechanism])] if error else []
        row += [f"{forecast.rmse / found.people:.2%}"] if found.people else []
        rows.append(row)
    print_table(title, columns, rows)


def _print_words(
    found: Plan, best: Forecast, error: float | None, needed: dict[str, Fraction]
) -> None:
    """The same in words that a data owner needs."""
    from hushtable.families import DATA_DEPENDENT
    from hushtable.families.forecast import about
    from hushtable.kernel.privacy.loss import format_epsilon

    margin = best.margin()
    say(f"Recommended: {best.mechanism}{_settings(best.parameters)}.")
    count = 10 ** max(3, math.ceil(math.log10(2 * margin)) if margin > 0 else 0)
    low, high = (f"{round(count + sign * margin):,}" for sign in (-1, 1))
    say(
        f"A count of {count:,} would be ± {_short(margin)} at 95 %: the true number lies between"
        f" {low} and {high}, 95 times in 100."
    )
    twice = _short(best.margin(2 * found.epsilon))
    say(f"Twice the ε would make that ± {twice}.", end="")
    say(f" ± {error:g} takes ε = {format_epsilon(needed[best.mechanism])}." if error else "")
    say(
        f"From about {about(best.useful_from)} people on, a typical question errs by less than"
        " it counts, if people were spread evenly."
    )
    if not found.workload.exact:
        say("Axes of millions of values are averaged over an even choice of their ranges.")
    say(
        f"Not listed, for their error depends on the data: {', '.join(DATA_DEPENDENT)}."
        " Publishing more than one to compare them costs ε each time; --proxy tries them on public"
        " rows."
    )
    if found.worth_trying:
        say(
            f"With ε·people so small for {found.schema.cells:,} cells,"
            f" {', '.join(found.worth_trying)} often errs less on ranges of skewed tables; --proxy"
            " tells on rows like yours."
        )


def _print_command(found: Plan, schema: Path, given: str = "") -> None:
    from hushtable.kernel.privacy.loss import format_epsilon
    from hushtable.workload import DEFAULT

    named, out = found.workload.name, f"{found.schema.name}.release"
    asked = "" if named == DEFAULT else f" --workload {shlex.quote(named)}"
    declared = found.people if found.people != found.schema.people else None
    asked += "" if declared is None else f" --people {declared}"
    asked += "" if found.typical == 1 else f" --typical {found.typical:g}"
    say(
        f"To publish it: hush publish DATA --schema {shlex.quote(str(schema))}"
        f" --epsilon {format_epsilon(found.epsilon)}{asked}{given} -o {shlex.quote(out)}"
    )


def _print_summaries(found: Plan) -> None:
    """What summaries of a sparse table would be like, if the declared figures are right."""
    rows = [
        [
            one.mechanism,
            one.parameters["on"],
            _short(one.rmse),
            f"{one.size:,.0f}",
            f"{one.noise_share:.0%}",
            *map(_short, (one.point, one.range, one.subset)),
        ]
        for one in found.summaries
    ]
    people = f"{found.summaries[0].people:,} people"
    title = f"summaries of a sparse table, if it holds {people} spread evenly"
    columns = ["mechanism", "on", "std. error", "kept", "of them noise", "one cell"]
    columns += ["1 % range", "1 % of cells"]
    print_table(title, columns, rows, left=2)


def _settings(parameters: dict[str, str]) -> str:
    if not parameters:
        return ""
    pairs = ((key, value or "none") for key, value in parameters.items())
    return " with " + ", ".join(f"{key}={_cut(value)}" for key, value in pairs)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _short(number: float | None) -> str:
    """Three digits, or all of a large number's whole part."""
    if number is None:
        return "–"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bytes(size: int) -> str:
    for unit, step in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= step:
            return f"{size / step:,.1f} {unit}"
    return "< 1 MiB"

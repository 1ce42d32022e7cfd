"""The `hush` command: each command imports what it needs when it runs, and nothing before."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import click

from hushtable import __version__
from hushtable.cli import (
    analyst,
    auditing,
    budgeting,
    checking,
    completing,
    evaluating,
    listing,
    planning,
    publishing,
    reporting,
    reproducing,
    schemas,
    serving,
    show,
    signals,
    trying,
)
from hushtable.cli.show import print_json, warn
from hushtable.errors import HushError
from hushtable.text import plain


class _Commands(click.Group):
    """Our commands, and the one that may be installed beside them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), reproducing.NAME])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name == reproducing.NAME:
            return reproducing.reproduce_command()
        return super().get_command(context, name)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the command that was meant; not every version of click does."""
        name = arguments[0]
        if not name.startswith("-") and self.get_command(context, name) is None:
            close = get_close_matches(name, self.list_commands(context), 1)
            context.fail(
                f"No such command {name!r}." + "".join(f" Did you mean {c!r}?" for c in close)
            )
        return super().resolve_command(context, arguments)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hushtable", message="%(prog)s %(version)s")
def app() -> None:
    """Publish tables of people under differential privacy, and query what was published."""


@app.group("schema")
def schema_group() -> None:
    """Write and check the public description of a table."""


for _command in (checking.check, listing.mechanisms, planning.plan, publishing.publish):
    app.add_command(_command)
for _command in (budgeting.budget, analyst.query, analyst.info, analyst.export):
    app.add_command(_command)
for _command in (evaluating.evaluate, auditing.audit, completing.completion):
    app.add_command(_command)
for _command in (reporting.report, serving.explore, serving.serve):
    app.add_command(_command)
for _command in (trying.demo, trying.generate):
    app.add_command(_command)
schema_group.add_command(schemas.schema_draft)
schema_group.add_command(schemas.schema_check)
schema_group.add_command(schemas.schema_import)


def run(name: str | None = None) -> NoReturn:
    """Run the command line, called by this name: bad input is one clear line and exit code 2."""
    warnings.formatwarning = _one_line
    show.escape_what_cannot_be_shown()
    signals.stop_cleanly()
    arguments = sys.argv[1:] or ["--help"]
    if arguments == ["schema"]:
        arguments.append("--help")
    try:
        code = app.main(arguments, prog_name=name or called_name(), standalone_mode=False)
        signals.check_stopped()
    except HushError as problem:
        _fail_if_stopped(problem)  # engines answer a signal by an error of their own
        _fail(str(problem))
    except (KeyboardInterrupt, click.Abort) as problem:
        # Click puts an error of its own in the place of the one that has the notes.
        replaced = problem.__cause__ or problem.__context__
        stopped = replaced if isinstance(problem, click.Abort) and replaced else problem
        _fail_if_stopped(stopped)
        _fail(": ".join(["stopped", *getattr(stopped, "__notes__", ())]), code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except click.ClickException as problem:
        _fail(problem.format_message())
    except Exception as problem:
        _fail_if_stopped(problem)
        _fail(_internal(problem), code=1)
    sys.exit(code if isinstance(code, int) else 0)


def called_name() -> str:
    """The name of the script that was called: `hush`, or `hushtable`."""
    name = Path(sys.argv[0]).stem
    return name if name in completing.NAMES else completing.NAMES[0]


def _fail_if_stopped(problem: BaseException) -> None:
    """After a signal, whatever came of it ends the command: with 128 and the signal's number.

    By now all is cleaned up; a thread of an engine that has not noticed is not waited for.
    """
    if not signals.received:
        return
    said = [str(problem)] if isinstance(problem, HushError) else getattr(problem, "__notes__", [])
    try:
        _fail(": ".join(["stopped", *said]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + signals.received[0])


def _one_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"hush: {plain(' '.join(str(message).split()))}\n"


def _fail(line: str, *, code: int = 2) -> NoReturn:
    line = " ".join(line.split())
    if "--json" in sys.argv:
        print_json({"error": plain(line)}, indent=None)
    else:
        warn(line)
    sys.exit(code)


def _internal(problem: Exception) -> str:
    """Where it broke, without the exception's own text, which may quote a value of the data."""
    frames = traceback.extract_tb(problem.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
    notes = "".join(f" ({note})" for note in getattr(problem, "__notes__", ()))
    return f"internal error: {type(problem).__name__} at {place}; please report it{notes}"

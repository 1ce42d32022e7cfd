"""The `hush` command: each command imports what it needs when it runs, and nothing before."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import NoReturn

import typer

from hushtable.cli import analyst, owner
from hushtable.errors import HushError

app = typer.Typer(
    name="hush",
    help="Publish tables of people under differential privacy, and query what was published.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
schema_app = typer.Typer(
    help="Write and check the public description of a table.", rich_markup_mode=None
)

app.command("demo")(owner.demo)
schema_app.command("draft")(owner.schema_draft)
schema_app.command("check")(owner.schema_check)
app.add_typer(schema_app, name="schema")
app.command("publish")(owner.publish)
app.command("budget")(owner.budget)
app.command("query")(analyst.query)
app.command("info")(analyst.info)
app.command("export")(analyst.export)


@app.callback(invoke_without_command=True)
def _options(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        from hushtable import __version__

        print(f"hushtable {__version__}")
        raise typer.Exit


def run() -> NoReturn:
    """Run the command line: bad input is one clear line and exit code 2."""
    command = typer.main.get_command(app)
    arguments = sys.argv[1:] or ["--help"]
    if arguments == ["schema"]:
        arguments.append("--help")
    try:
        code = command.main(arguments, prog_name="hush", standalone_mode=False)
    except HushError as problem:
        _fail(str(problem))
    except (KeyboardInterrupt, typer.Abort):
        _fail("stopped", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as problem:
        if hasattr(problem, "format_message"):  # the parser's own complaints
            _fail(problem.format_message())
        _fail(_internal(problem), code=1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(line: str, *, code: int = 2) -> NoReturn:
    line = " ".join(line.split())
    if "--json" in sys.argv:
        print(json.dumps({"error": line}, ensure_ascii=False))
    else:
        print(f"hush: {line}", file=sys.stderr)
    sys.exit(code)


def _internal(problem: Exception) -> str:
    """Where it broke, without the exception's own text, which may quote a value of the data."""
    frames = traceback.extract_tb(problem.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
    return f"internal error: {type(problem).__name__} at {place}; please report it"

"""`hush check` and `publish --check`: a look at the table before anything is spent."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

from .conftest import Hush

SCHEMA = """name = "town"
budget = "3"
reviewed = {reviewed}
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 99]
[[attribute]]
name = "sex"
kind = "nominal"
values = ["Male", "Female"]
"""
# A label in the wrong case, a command to the terminal, an age beyond the range, a broken line.
TABLE = 'age,sex\n30,male\n31,male\n130,Female\n,Female\n40,\x1b[31mx\n50,Male\n5,"x\n'


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def town(tmp_path: Path) -> Path:
    folder = tmp_path / "town"
    folder.mkdir()
    (folder / "town.csv").write_text(TABLE)
    (folder / "town.toml").write_text(SCHEMA.format(reviewed="true"))
    return folder


def check(town: Path, *more: object) -> list[object]:
    return ["check", town / "town.csv", "--schema", town / "town.toml", *more]


def publish(town: Path, *more: object) -> list[object]:
    options = ["--schema", town / "town.toml", "-e", "1", "-m", "basic", "-o", town / "r", *more]
    return ["publish", town / "town.csv", *options]


def contents(*folders: Path) -> dict[Path, bytes]:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


def test_the_report_says_what_becomes_of_the_rows_and_what_to_do(hush: Hush, town: Path) -> None:
    told = hush(*check(town))
    assert told.code == 0 and told.err == ""
    lines = told.out.splitlines()
    assert lines[0] == "From the true table, not for publication: for the data owner only."
    assert lines[1] == "town: 6 rows read, 2 kept (33 %)"
    assert lines[2:4] == ["  4 dropped by the schema", "  1 more line is no row"]
    assert "'male'" in told.out and "the schema has 'Male'" in told.out
    assert "3 rows (50 %) are dropped because of 'sex'" in told.out
    assert "above 99" in told.out and "clipped" in told.out
    assert "add only ones that are publicly known" in told.out
    assert "Cells: 2 of 200 are occupied; rows in each, on average: 1 " in told.out
    assert lines[-1].startswith("next: hush plan")


def test_values_are_shown_as_text(hush: Hush, town: Path) -> None:
    for more in ([], ["--json"]):
        told = hush(*check(town, *more))
        assert "\x1b" not in told.out + told.err and "x1b[31mx" in told.out


def test_a_check_spends_nothing_and_leaves_nothing(
    hush: Hush, town: Path, state_folder: Path
) -> None:
    hush(*publish(town))
    before = contents(town, state_folder)
    assert before and hush(*check(town)).code == 0
    assert contents(town, state_folder) == before


def test_a_draft_is_checked_too(hush: Hush, town: Path) -> None:
    (town / "town.toml").write_text(SCHEMA.format(reviewed="false"))
    told = hush(*check(town))
    assert told.code == 0 and "a draft: review it" in told.out and "next:" not in told.out


def test_the_report_is_written_where_it_is_asked_for(hush: Hush, town: Path) -> None:
    out = town / "report.json"
    told = hush(*check(town, "--json", "-o", out)).json
    assert told["owner_only"].startswith("From the true table")
    assert (told["rows"], told["kept"], told["broken_lines"]) == (6, 2, 1)
    assert told["attributes"][1]["values"][0]["hint"] == "the schema has 'Male'"
    assert json.loads(out.read_text()) == told
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    refused = hush(*check(town, "-o", out))
    assert refused.code == 2 and "is there already" in refused.err and refused.out == ""


def test_a_refusal_quotes_no_value(hush: Hush, town: Path) -> None:
    (town / "town.csv").write_text("age,gender\n30,Zyxwvut\n")
    refused = hush(*check(town))
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert "no column 'sex'" in refused.err and "Zyxwvut" not in refused.err + refused.out


# ── publish ──────────────────────────────────────────────────────────────────────────────────────


def spent(hush: Hush, town: Path) -> str:
    told: str = hush("budget", town / "town.toml", "--json").json["spent"]
    return told


@pytest.mark.parametrize("rows", ["", "30,male\n", "30,Male\n"])
def test_publishing_says_nothing_of_rows(hush: Hush, town: Path, rows: str) -> None:
    """Whoever hears of a refusal or a warning would tell an empty table from one with a row."""
    (town / "town.csv").write_text(f"age,sex\n{rows}")
    done = hush(*publish(town))
    assert done.code == 0 and done.err == ""
    said = hush(*publish(town)[:-1], town / "again").out.replace("again", "r")
    assert done.out.replace("2 of 3", "") == said.replace("1 of 3", "")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_nobody_to_ask_is_a_refusal(hush: Hush, town: Path, more: list[str]) -> None:
    refused = hush(*publish(town, "--check", *more))
    assert refused.code == 2 and "--yes" in refused.err + refused.out
    assert "town" not in refused.out and spent(hush, town) == "0"


@pytest.mark.parametrize(("answer", "paid"), [("n\n", "0"), ("\n", "0"), ("y\n", "1")])
def test_publish_looks_first_and_asks(
    hush: Hush, town: Path, monkeypatch: pytest.MonkeyPatch, answer: str, paid: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    told = hush(*publish(town, "--check"))
    assert told.code == 0 and "the schema has 'Male'" in told.out and "publish? [y/N]" in told.out
    assert ("nothing spent" in told.out) == (paid == "0")
    assert spent(hush, town) == paid and (town / "r").exists() == (paid == "1")


def test_publish_takes_a_yes_beforehand(hush: Hush, town: Path) -> None:
    told = hush(*publish(town, "--check", "--yes", "--json")).json
    assert told["check"]["kept"] == 2 and told["left"] == "2"


def test_what_cannot_be_published_is_refused_before_anyone_looks(hush: Hush, town: Path) -> None:
    (town / "r").mkdir()
    refused = hush(*publish(town, "--check", "--yes"))
    assert refused.code == 2 and refused.out == "" and "never overwritten" in refused.err


def test_schema_check_leads_to_a_look(hush: Hush, town: Path) -> None:
    last = hush("schema", "check", town / "town.toml").out.splitlines()[-1]
    assert last == f"next: hush check DATA --schema {town / 'town.toml'}"

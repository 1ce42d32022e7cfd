"""What the budget command shows of a dataset's tables, and how a budget is raised."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest

from hushtable.kernel.privacy.history import chained
from hushtable.publishing import ChangedSchemaWarning

from .conftest import Hush

SCHEMA = """name = "{}"
dataset = "clinic"
budget = "3"
unit = "one row per person"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, {}]
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Two tables about the same people."""
    for name, top in {"patients": 9, "visits": 9}.items():
        (tmp_path / f"{name}.toml").write_text(SCHEMA.format(name, top))
        (tmp_path / f"{name}.csv").write_text("age\n1\n5\n9\n")
    return tmp_path


def publish(clinic: Path, table: str, epsilon: str, out: str) -> list[object]:
    files = [clinic / f"{table}.csv", "-s", clinic / f"{table}.toml", "-o", clinic / out]
    return ["publish", *files, "-e", epsilon, "-m", "basic"]


def test_each_release_is_told_with_its_table_and_each_table_with_its_sum(
    hush: Hush, clinic: Path
) -> None:
    for table, epsilon, out in (
        ("patients", "1", "a.release"),
        ("visits", "0.5", "b.release"),
        ("visits", "0.25", "c.release"),
    ):
        assert hush(*publish(clinic, table, epsilon, out)).code == 0
    for schema in ("patients.toml", "visits.toml"):  # whichever is asked
        told = hush("budget", clinic / schema, "--json").json
        assert [entry["table"] for entry in told["releases"]] == ["patients", "visits", "visits"]
        assert told["tables"] == [
            {"table": "patients", "spent": "1", "releases": 1},
            {"table": "visits", "spent": "0.75", "releases": 2},
        ]
        assert (told["dataset"], told["spent"]) == ("clinic", "1.75")
    shown = hush("budget", clinic / "patients.toml").out.splitlines()
    assert ["patients", "1", "1"] in [line.split() for line in shown]
    assert ["visits", "0.75", "2"] in [line.split() for line in shown]


def test_entries_of_older_software_have_no_table(hush: Hush, clinic: Path) -> None:
    assert hush(*publish(clinic, "patients", "1", "a.release")).code == 0
    forget_tables(clinic / "clinic.ledger", Path(os.environ["HUSHTABLE_STATE"]))
    told = hush("budget", clinic / "visits.toml", "--json").json
    assert told["releases"][0]["table"] is None and told["spent"] == "1"
    assert told["tables"][0] == {"table": None, "spent": "1", "releases": 1}
    rows = [line.split() for line in hush("budget", clinic / "visits.toml").out.splitlines()]
    assert ["–", "1", "1"] in rows and ["visits", "0", "0"] in rows
    assert hush(*publish(clinic, "visits", "1", "b.release")).err == ""


def forget_tables(ledger: Path, state: Path) -> None:
    """Write a ledger as software that noted no tables would have written it."""
    with closing(sqlite3.connect(ledger)) as db, db:
        before = "0" * 64
        for sequence, body in db.execute("SELECT sequence, body FROM event").fetchall():
            event = json.loads(body)
            event.pop("table", None), event.pop("attributes", None)
            body = json.dumps(event, sort_keys=True, separators=(",", ":"))
            before = chained(before, body)
            db.execute("UPDATE event SET body=?, hash=? WHERE sequence=?", (body, before, sequence))
    (note,) = state.glob("*.json")
    note.write_text(json.dumps(json.loads(note.read_text()) | {"hash": before}))


def test_raising_a_budget_needs_a_yes_where_nobody_can_be_asked(hush: Hush, clinic: Path) -> None:
    for more in ([], ["--json"]):
        refused = hush("budget", clinic / "visits.toml", "--raise", "5", *more)
        assert refused.code == 2 and "add --yes" in refused.err + refused.out
        assert (refused.err + refused.out).count("\n") == 1
    assert not (clinic / "clinic.ledger").exists()
    assert hush("budget", clinic / "visits.toml", "--raise", "5", "--yes").code == 0
    refused = hush("budget", clinic / "visits.toml", "--raise", "5", "--yes")
    assert refused.code == 2 and "never lowered" in refused.err


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_owner_is_asked(
    hush: Hush, clinic: Path, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    asked: list[str] = []

    def confirm(question: str, *, default: bool) -> bool:
        asked.append(question)
        assert default is False
        return answer

    monkeypatch.setattr(click, "confirm", confirm)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert hush(*publish(clinic, "visits", "1", "a.release")).code == 0
    done = hush("budget", clinic / "visits.toml", "--raise", "5")
    assert done.code == 0
    assert asked == ["raise the budget of clinic from 3 to 5? This cannot be undone."]
    assert ("not raised, nothing changed" in done.out) is not answer
    told = hush("budget", clinic / "visits.toml", "--json").json
    assert told["budget"] == ("5" if answer else "3")


def test_where_schema_and_ledger_differ_it_is_said_which_counts(hush: Hush, clinic: Path) -> None:
    schema = clinic / "visits.toml"
    done = hush("budget", schema, "--raise", "5", "--yes")
    line = 'the schema says budget = "3", but the ledger\'s 5 counts:'
    assert f'{line} write budget = "5" in visits.toml' in done.out.splitlines()
    told = hush("budget", schema, "--json").json
    assert (told["budget"], told["schema_budget"]) == ("5", "3")
    schema.write_text(schema.read_text().replace('"3"', '"7"'))
    line = 'the schema says budget = "7", but the ledger\'s 5 counts:'
    shown = hush("budget", schema).out.splitlines()
    assert f"{line} to raise it, hush budget {schema} --raise 7" in shown
    schema.write_text(schema.read_text().replace('"7"', '"5"'))
    assert "counts:" not in hush("budget", schema).out


def test_bins_that_changed_are_pointed_out_before_paying_and_in_the_budget(
    hush: Hush, clinic: Path
) -> None:
    assert hush(*publish(clinic, "patients", "0.1", "a.release")).err == ""
    assert hush(*publish(clinic, "visits", "0.1", "b.release")).err == ""  # alike in both tables
    (clinic / "visits.toml").write_text(SCHEMA.format("visits", 4))
    assert "'age' is not what it was" in hush("budget", clinic / "visits.toml").out
    assert hush("budget", clinic / "patients.toml", "--json").json["changed"] == []
    with pytest.warns(ChangedSchemaWarning) as told:
        assert hush(*publish(clinic, "visits", "0.1", "c.release")).code == 0
    (line,) = (str(one.message) for one in told if one.category is ChangedSchemaWarning)
    assert line.startswith("'age' is not what it was when released before (b.release, table 'vis")
    assert line.endswith("so counts of the two cannot be compared or added up")
    assert hush(*publish(clinic, "visits", "0.1", "d.release")).err == ""  # said when it changed
    assert hush(*publish(clinic, "patients", "0.1", "e.release")).err == ""  # its own stayed


def test_a_new_table_with_other_bins_of_an_attribute_is_pointed_out_too(
    hush: Hush, clinic: Path
) -> None:
    (clinic / "visits.toml").write_text(SCHEMA.format("visits", 4))
    assert hush(*publish(clinic, "patients", "0.1", "a.release")).err == ""
    with pytest.warns(ChangedSchemaWarning, match="a.release, table 'patients'"):
        assert hush(*publish(clinic, "visits", "0.1", "b.release")).code == 0
    named = (clinic / "visits.toml").read_text().replace('name = "age"', 'name = "years"')
    (clinic / "visits.toml").write_text(named)
    (clinic / "visits.csv").write_text("years\n1\n")
    assert hush(*publish(clinic, "visits", "0.1", "c.release")).err == ""

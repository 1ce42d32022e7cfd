"""The mistakes that people make most: each is one line that says what is wrong and what to do."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable import publish
from hushtable.kernel.counting.readers import csvfile

from .conftest import Hush

SCHEMA = """name = "town"
budget = "3"
[[attribute]]
name = "age"
kind = "ordinal"
edges = [0, 10, 20, 30]
[[attribute]]
name = "sex"
kind = "nominal"
values = ["Male", "Female"]
"""
TABLE = "age,sex\n" + "".join(f"{i % 30},{('Male', 'Female')[i % 2]}\n" for i in range(60))
NEEDED = "the table has no column {!r}; the schema needs 'age', 'sex'"
PUBLISH = "publish {} -s town.toml -e 1 -m basic -o new.release"
COUNT = "SELECT COUNT(*) FROM town"


def write_tables(folder: Path) -> None:
    """A table as it should be, and as it is by mistake."""
    texts = {
        "town.csv": TABLE,
        "hash.csv": TABLE.replace(",", "#"),
        "headless.csv": TABLE.split("\n", 1)[1],
        "empty.csv": "",
        "ages.csv": TABLE.replace("age", "ages", 1),
        "gender.csv": TABLE.replace("sex", "gender", 1),
        "quote.csv": TABLE.replace("age", '"age', 1),
        "text.parquet": TABLE,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes(TABLE.replace("sex", "sex,Größe", 1).encode("latin-1"))
    (folder / "wide.csv").write_bytes(TABLE.encode("utf-16"))
    (folder / "torn.csv.gz").write_bytes(gzip.compress(TABLE.encode())[:-20])
    columns = {"age": pa.array([1]), "sexes": pa.array(["Male"])}
    pq.write_table(pa.table(columns), folder / "sexes.parquet")


def write_schemas(folder: Path) -> None:
    texts = {
        "town.toml": SCHEMA,
        "draft.toml": f"reviewed = false\n{SCHEMA}",
        "typo.toml": SCHEMA.replace("budget", "bugdet"),
        "key.toml": SCHEMA.replace("edges", "edge"),
        "kind.toml": SCHEMA.replace("nominal", "categorical"),
        "quotes.toml": SCHEMA.replace('"town"', "town"),
        "big.toml": SCHEMA.replace('"3"', '"4"'),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder in which 1 of 3 was spent on a release, with its state, and a copy of both."""
    place = tmp_path_factory.mktemp("made")
    folder = place / "town"
    (folder / "folder").mkdir(parents=True)
    write_tables(folder)
    write_schemas(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHTABLE_STATE", str(place / "state"))
        patch.chdir(folder)
        publish("town.csv", "town.toml", epsilon="1", mechanism="basic", out="town.release")
    return place, shutil.copytree(place, tmp_path_factory.mktemp("kept") / "made")


@pytest.fixture
def town(made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder as it was, where it was: a ledger is known by its place."""
    place, kept = made
    shutil.rmtree(place)
    shutil.copytree(kept, place)
    monkeypatch.setenv("HUSHTABLE_STATE", str(place / "state"))
    monkeypatch.chdir(place / "town")
    return place / "town"


# What is typed, and the line that comes of it.
MISTAKES: dict[str, tuple[str, str]] = {
    # ── the table
    "a file that is not there": (PUBLISH.format("twon.csv"), "there is no file 'twon.csv'"),
    "a folder": (
        PUBLISH.format("folder"),
        "'folder' is a folder; name its files, as in 'FOLDER/*.parquet'",
    ),
    "an empty file": (
        PUBLISH.format("empty.csv"),
        "the CSV file is empty, or its first line is: it must begin with a line of the names of its"
        " columns",
    ),
    "an unknown delimiter": (
        PUBLISH.format("hash.csv"),
        f"{NEEDED.format('age')}; its first line has no ',': say by --csv-delimiter what separates"
        " names",
    ),
    "the wrong delimiter": (
        f"{PUBLISH.format('town.csv')} --csv-delimiter ;",
        f"{NEEDED.format('age')}; its first line has no ';': say by --csv-delimiter what separates"
        " names",
    ),
    "a delimiter in words": (
        f"{PUBLISH.format('town.csv')} --csv-delimiter tab",
        "the CSV delimiter must be a single plain character, such as ;",
    ),
    "no header": (
        PUBLISH.format("headless.csv"),
        f"{NEEDED.format('age')}; a CSV file must begin with a line of their names",
    ),
    "a column of another name": (PUBLISH.format("gender.csv"), NEEDED.format("sex")),
    "a column of a name that is close": (
        PUBLISH.format("ages.csv"),
        f"{NEEDED.format('age')} (its column 1 has a name like 'age': rename it, or say from = …)",
    ),
    "the same in Parquet": (
        PUBLISH.format("sexes.parquet"),
        f"{NEEDED.format('sex')} (its column 2 has a name like 'sex': rename it, or say from = …)",
    ),
    "a quote left open in the header": (
        PUBLISH.format("quote.csv"),
        "the first line of the CSV file is no well-formed list of names; check its quotes",
    ),
    "another encoding": (
        PUBLISH.format("latin.csv"),
        "the first line of the CSV file is not UTF-8 text; if it is in another encoding, name it by"
        " --csv-encoding, such as latin-1 or cp1252",
    ),
    "an encoding that is none": (
        f"{PUBLISH.format('latin.csv')} --csv-encoding latin-99",
        "the CSV encoding is not one that Python knows; try latin-1",
    ),
    "UTF-16": (
        PUBLISH.format("wide.csv"),
        "CSV files in UTF-16 and UTF-32 are not read, since one damaged line would change all below"
        " it; convert the file, as in: iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv",
    ),
    "half of a packed file": (
        PUBLISH.format("torn.csv.gz"),
        "torn.csv.gz could not be opened; check that it is complete",
    ),
    "text that is called Parquet": (
        PUBLISH.format("text.parquet"),
        "text.parquet could not be opened; check that it is complete and readable",
    ),
    "a release instead of the table": (
        PUBLISH.format("town.release"),
        "town.release is a release; DATA is the table, a CSV or Parquet file",
    ),
    # ── the schema
    "no schema": ("publish town.csv -e 1 -o new.release", "Missing option '--schema' / '-s'."),
    "a schema that is not there": ("plan no.toml -e 1", "there is no file no.toml"),
    "the table instead of the schema": (
        "plan town.csv -e 1",
        "town.csv is not valid TOML: a schema is a TOML file, which hush schema draft DATA -o"
        " S.toml drafts",
    ),
    "a draft that nobody reviewed": (
        "publish town.csv -s draft.toml -e 1 -o new.release",
        "the schema is a draft made by looking at the data: review it, then set reviewed = true",
    ),
    "a key that is mistyped": (
        "schema check typo.toml",
        "typo.toml: unknown key 'bugdet' in the schema; did you mean 'budget'?",
    ),
    "a key of an attribute that is mistyped": (
        "schema check key.toml",
        "key.toml: attribute 'age': unknown key 'edge' in an ordinal attribute; did you mean"
        " 'edges'?",
    ),
    "a kind that is none": (
        "schema check kind.toml",
        "kind.toml: attribute 'sex': kind must be 'ordinal' or 'nominal'",
    ),
    "a text without quotes": (
        "schema check quotes.toml",
        "quotes.toml is not valid TOML: Invalid value (at line 1, column 8)",
    ),
    "a schema file that exists": (
        "schema draft town.csv -o town.toml",
        "town.toml is there already; choose another name",
    ),
    # ── ε, the budget and what is written
    "a comma in ε": (
        "publish town.csv -s town.toml -e 1,0 -o new.release",
        "epsilon must be a positive decimal number with a point, such as 0.5",
    ),
    "ε in words": (
        "plan town.toml -e one",
        "epsilon must be a positive decimal number with a point, such as 0.5",
    ),
    "ε of zero": ("plan town.toml -e 0", "epsilon must be above zero, such as 0.5"),
    "ε below zero": ("plan town.toml -e -1", "epsilon must be above zero, such as 0.5"),
    "more than is left": (
        "publish town.csv -s town.toml -e 2.5 -o new.release",
        "epsilon 2.5 does not fit: 2 is left of the budget of 3; spend no more than that, or raise"
        " the budget (hush budget SCHEMA --raise E)",
    ),
    "a budget raised in the schema alone": (
        "publish town.csv -s big.toml -e 1 -o new.release --ledger town.toml.ledger",
        "the schema's budget is 4 but the ledger's is 3: to raise it, use `hush budget SCHEMA"
        " --raise 4`",
    ),
    "a budget raised without a yes": (
        "budget town.toml --raise 4",
        "nobody can be asked here (no terminal, or --json): add --yes to say yes beforehand",
    ),
    "a budget lowered": (
        "budget town.toml --raise 2 --yes",
        "the budget is 3; it can be raised above that, never lowered",
    ),
    "another ledger": (
        f"{PUBLISH.format('town.csv')} --ledger other.ledger",
        "ledger '{folder}/other.ledger': the dataset 'town' has a ledger already,"
        " '{folder}/town.toml.ledger': use it (--ledger) or move it here; for other people, name"
        " the dataset otherwise. A second budget begins with `hush budget SCHEMA --new-ledger"
        ' "why"`',
    ),
    "a reservation that is none": (
        "budget town.toml --void 12",
        "ledger '{folder}/town.toml.ledger': the ledger has no reservation '12'; hush budget"
        " SCHEMA lists them",
    ),
    "a release that exists": (
        "publish town.csv -s town.toml -e 1 -o town.release",
        "town.release is there already; releases are never overwritten: choose another name",
    ),
    "a folder that does not exist": (
        "publish town.csv -s town.toml -e 1 -o no/new.release",
        "there is no folder no: make it first",
    ),
    "no name for the release": (
        "publish town.csv -s town.toml -e 1",
        "Missing option '--out' / '-o'.",
    ),
    "a command that is mistyped": ("publsh", "No such command 'publsh'. Did you mean 'publish'?"),
    # ── releases and questions
    "a release that is not there": (
        f"query twon.release|{COUNT}",
        "twon.release: there is no such folder; a release is the folder that hush publish made",
    ),
    "a folder that is no release": (
        "info folder",
        "folder: this is no whole release, manifest.json is missing",
    ),
    "the table instead of the release": (
        f"query town.csv|{COUNT}",
        "town.csv: a release is a folder, and this is a file",
    ),
    "the question before the release": (
        f"query|{COUNT}|town.release",
        'the release comes first, then the SQL: hush query RELEASE "SELECT …"',
    ),
    "the release before the table": (
        "evaluate town.release town.csv",
        "the table comes first, then the release: hush evaluate DATA RELEASE",
    ),
    "a table that is mistyped": (
        "query town.release|SELECT COUNT(*) FROM twon",
        "there is no table 'twon'; this release holds town",
    ),
    "an attribute that is mistyped": (
        "query town.release|agee >= 10",
        "there is no attribute 'agee'; did you mean age?",
    ),
    "a value in other case": (
        "query town.release|sex = 'male'",
        "sex has no value 'male'; did you mean 'Male'?",
    ),
    "a value in the wrong quotes": (
        'query town.release|sex = "Male"',
        "compare sex with a value, and write texts in '…': sex = 'Male'",
    ),
    "a threshold inside a bin": (
        "query town.release|age < 15",
        "age: 15 lies inside the bin [10, 20); use 10 or 20",
    ),
    "more rows than the cap": (
        "query town.release|SELECT age, sex, COUNT(*) FROM town GROUP BY age, sex|--rows|2",
        "GROUP BY would give 6 rows, the cap is 2; group by fewer attributes or by LEVEL, narrow"
        " the WHERE, or raise the cap (hush query --rows 6, row_cap in Python)",
    ),
    "SQL that changes something": (
        "query town.release|DELETE FROM town",
        "a release never changes: ask a SELECT, or give its condition alone",
    ),
    "a confidence in percent": (
        f"query town.release|{COUNT}|--confidence|95",
        "confidence must lie strictly between 0 and 1, not 95.0",
    ),
    "an ending that is not known": (
        "export town.release -o cells.doc",
        "cells.doc must end in .parquet, .csv, .xlsx",
    ),
}


def words(typed: str) -> list[str]:
    command, *more = typed.split("|")
    return [*command.split(), *more]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_costs_nothing(hush: Hush, town: Path, mistake: str) -> None:
    typed, line = MISTAKES[mistake]
    before = sorted(path.name for path in town.iterdir())
    refused = hush(*words(typed))
    expected = line.replace("{folder}", str(town))
    assert (refused.code, refused.out, refused.err) == (2, "", f"hush: {expected}\n")
    assert sorted(path.name for path in town.iterdir()) == before
    assert hush("budget", "town.toml", "--json").json["spent"] == "1"


@pytest.mark.parametrize("mistake", ["more than is left", "a threshold inside a bin"])
def test_for_machines_it_is_the_same_line(hush: Hush, town: Path, mistake: str) -> None:
    typed, line = MISTAKES[mistake]
    refused = hush(*words(typed), "--json")
    assert (refused.code, refused.err) == (2, "") and json.loads(refused.out) == {"error": line}


@pytest.mark.parametrize(("name", "choices"), [("mechanism", "basic, privelet"), ("workload", "")])
def test_a_name_that_is_none_is_answered_by_all_that_there_are(
    hush: Hush, town: Path, name: str, choices: str
) -> None:
    refused = hush(*words(PUBLISH.format("town.csv").replace("-m basic", f"--{name} rnges")))
    assert refused.code == 2 and f"there is no {name} 'rnges'; " in refused.err
    assert choices in refused.err and refused.err.count("\n") == 1


def test_a_table_that_may_not_be_read_is_named(
    hush: Hush, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, PermissionError(13, "Permission denied"))
    refused = hush(*words(PUBLISH.format("town.csv")))
    line = "hush: town.csv could not be opened: change who may read it\n"
    assert (refused.code, refused.err) == (2, line)


def refuse(monkeypatch: pytest.MonkeyPatch, problem: OSError) -> None:
    def opened(*_: object) -> None:
        raise problem

    monkeypatch.setattr(csvfile, "opened", opened)


def test_a_folder_that_may_not_be_written_is_named(
    hush: Hush, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", made)
    refused = hush(*words(PUBLISH.format("town.csv")))
    line = "hush: 'new.release' cannot be written: Permission denied\n"
    assert (refused.code, refused.err) == (2, line)


ADVICE: dict[str, tuple[str, str]] = {
    "labels in other case": (TABLE.lower(), "differ from labels by case alone"),
    "line breaks inside quotes": ('age,sex\n1,"Ma\nle"\n', "--csv-multiline"),
    "bytes of another encoding": ("age,sex\n1,Mäle\n", "--csv-encoding"),
}


@pytest.mark.parametrize("mistake", ADVICE)
def test_what_only_values_tell_is_told_by_check_alone(hush: Hush, town: Path, mistake: str) -> None:
    """To refuse it, or to warn, would tell of rows: publishing takes it as it is."""
    text, advice = ADVICE[mistake]
    (town / "odd.csv").write_bytes(text.encode("latin-1"))
    assert advice in hush("check", "odd.csv", "-s", "town.toml").out
    assert hush(*words(PUBLISH.format("odd.csv"))).err == ""


@pytest.mark.parametrize("text", [TABLE.replace(",", ";"), TABLE.replace("age,sex", "AGE,Sex")])
def test_a_usual_delimiter_and_columns_in_other_case_are_no_mistakes(
    hush: Hush, town: Path, text: str
) -> None:
    (town / "odd.csv").write_text(text)
    assert hush("check", "odd.csv", "-s", "town.toml", "--json").json["kept"] == 60

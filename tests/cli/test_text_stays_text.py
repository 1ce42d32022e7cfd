"""Labels and names from anyone are printed as text: all of it, and nothing a terminal obeys."""

from __future__ import annotations

import ast
import csv
import json
import shlex
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.errors import HushError
from hushtable.schema import Schema
from hushtable.text import figure_text, plain, plain_json

from .conftest import Hush, Outcome
from .test_help import COMMANDS

SOURCE = Path(hushtable.__file__).parent

# What a terminal obeys, what nobody sees, and what Rich or matplotlib would take for their own.
LABELS = {
    "\x1b[31mred\x1b[0m": r"\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07": r"\x1b]0;owned\x07",
    "csi\x9b31m": r"csi\x9b31m",
    "del\x7f": r"del\x7f",
    "two\nlines": r"two\nlines",
    "over\rwritten": r"over\rwritten",
    "a\tb": r"a\tb",
    "\u202egnp.exe": r"\u202egnp.exe",
    "\u2066isolated\u2069": r"\u2066isolated\u2069",
    "zero\u200bwidth": r"zero\u200bwidth",
    "soft\xadhyphen": r"soft\xadhyphen",
    "line\u2028separator": r"line\u2028separator",
    "tag\U000e0041": r"tag\U000e0041",
    "grapheme\u034fjoiner": r"grapheme\u034fjoiner",
    "fillers\u115f\u1160\u3164\uffa0": r"fillers\u115f\u1160\u3164\uffa0",
    "khmer\u17b4\u17b5": r"khmer\u17b4\u17b5",
    "mongolian\u180b\u180d\u180f": r"mongolian\u180b\u180d\u180f",
    "heart\u2764\ufe0f\ufe00": "heart\u2764" r"\ufe0f\ufe00",
    "selectors\U000e0100\U000e01ef": r"selectors\U000e0100\U000e01ef",
    "braille\u2800blank": r"braille\u2800blank",
    "[/x]": "[/x]",
    "[other]": "[other]",
    "[bold]b[/bold]": "[bold]b[/bold]",
    "[link=http://a.b]c[/link]": "[link=http://a.b]c[/link]",
    "1:100:x": "1:100:x",
    ":smile:": ":smile:",
    "$x^2$": "$x^2$",
    "$\\bad{$": "$\\bad{$",
    "=cmd|'/c calc'!A0": "=cmd|'/c calc'!A0",
    "back\\slash": "back\\slash",
    "naïve\xa0ünïcode 日本 😀": "naïve\xa0ünïcode 日本 😀",
    "Q" * 300: "Q" * 300,
}
NAMES = ("[/red] :100: $\\bad{$", "[other]", "$x^2$; $(touch boom)")
DATASET, KIND, LEVEL = NAMES
LABEL = list(LABELS)
LONG = LABEL[-1]
GROUPED = f'SELECT "{KIND}", COUNT(*) AS "[n] :100:" FROM "{DATASET}" GROUP BY "{KIND}"'
GOOD_ATTRIBUTE = {"name": KIND, "kind": "nominal", "values": ["known"]}
GOOD_COLUMN = {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 9}}


# Of these Python says that they are printable, and nothing is printed.
UNSEEN = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164}
UNSEEN |= {*range(0xFE00, 0xFE10), 0xFFA0, *range(0xE0100, 0xE01F0)}


def is_harmless(character: str) -> bool:
    if ord(character) in UNSEEN:
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


def harmless(text: str) -> bool:
    return all(character == "\n" or is_harmless(character) for character in text)


def unfolded(text: str) -> str:
    """A table's text without the blanks and line breaks that lay it out."""
    return "".join(text.split())


def shows(text: str, shown: str) -> bool:
    return unfolded(shown) in unfolded(text)


def hostile_schema() -> dict[str, Any]:
    return {
        "name": DATASET,
        "budget": "9",
        "attribute": [
            {"name": KIND, "kind": "nominal", "values": LABEL},
            {"name": LEVEL, "kind": "ordinal", "labels": LABEL[:2]},
        ],
    }


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a hostile schema and a table of its labels."""
    monkeypatch.chdir(tmp_path)
    Schema.from_dict(hostile_schema()).save(tmp_path / "s.toml")
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([KIND, LEVEL])
        writer.writerows([label, LABEL[0]] for label in LABEL if "\n" not in label)
    return tmp_path


@pytest.fixture
def released(hush: Hush, own: Path) -> Path:
    done = hush("publish", "t.csv", "-s", "s.toml", "-e", "1", "-m", "basic", "-o", "r")
    assert done.code == 0, done.err
    return own


def plainly(done: Outcome, *shown: str, code: int = 0) -> Outcome:
    """What a command said, all of it harmless, with these texts in it."""
    assert done.code == code, done
    assert harmless(done.out) and harmless(done.err)
    for text in shown:
        assert shows(done.out + done.err, text), (text, done)
    return done


# ── every command ────────────────────────────────────────────────────────────────────────────────


def test_schema_commands(hush: Hush, own: Path) -> None:
    plainly(hush("schema", "check", "s.toml"), *NAMES, LABELS[LABEL[0]])
    told = plainly(hush("schema", "check", "s.toml", "--json")).json
    assert told["schema"]["attribute"][0]["values"] == LABEL
    (own / "odd.csv").write_text("a\x1b[31m,[/x]\n1,2\n", encoding="utf-8")
    plainly(hush("schema", "draft", "odd.csv", "-o", "d.toml"), code=2)
    columns = [{"name": KIND}, {"name": "\x1b[1m"}, GOOD_COLUMN]
    (own / "csvw.json").write_text(json.dumps({"tableSchema": {"columns": columns}}))
    plainly(hush("schema", "import", "csvw.json", "-o", "i.toml"), KIND, r"\x1b[1m")
    told = plainly(hush("schema", "import", "csvw.json", "-o", "j.toml", "--json")).json
    assert set(told["left_out"]) == {KIND, "\x1b[1m"}


def test_plan(hush: Hush, own: Path) -> None:
    done = plainly(hush("plan", "s.toml", "-e", "1", "--plot", "p.svg"), DATASET)
    command = done.out.partition("To publish it: ")[2].splitlines()[0]
    assert shlex.split(command)[-1] == f"{DATASET}.release", "pasted, a name is one word"
    assert (own / "p.svg").stat().st_size > 1000
    assert plainly(hush("plan", "s.toml", "-e", "1", "--json")).json["dataset"] == DATASET


def test_check(hush: Hush, own: Path) -> None:
    """Values that do not fit are quoted: whatever they hold, they are text."""
    Schema.from_dict(hostile_schema() | {"attribute": [GOOD_ATTRIBUTE]}).save(own / "odd.toml")
    few = {label: shown for label, shown in LABELS.items() if len(shown) < 40 and "\n" not in label}
    for label, shown in few.items():
        with open("u.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[KIND], [label]])
        plainly(hush("check", "u.csv", "-s", "odd.toml"), DATASET, KIND, shown)
        told = plainly(hush("check", "u.csv", "-s", "odd.toml", "--json")).json
        assert told["attributes"][0]["values"][0]["text"] == shown


def test_publish_and_budget(hush: Hush, own: Path) -> None:
    options = ["-s", "s.toml", "-e", "1", "-m", "basic"]
    done = plainly(hush("publish", "t.csv", *options, "-o", "a\x1b[2J"), DATASET, r"a\x1b[2J")
    words = shlex.split(done.out.partition("try: ")[2])
    assert words[:2] == ["hush", "query"] and DATASET in words[-1] and len(words) == 4
    plainly(hush("publish", "t.csv", *options, "-o", "b", "--json"))
    plainly(hush("budget", "s.toml"), DATASET, r"a\x1b[2J")
    told = plainly(hush("budget", "s.toml", "--json")).json
    assert told["dataset"] == DATASET and "a\x1b[2J" in told["releases"][0]["release"]


def test_query(hush: Hush, released: Path) -> None:
    shown = plainly(hush("query", "r", GROUPED), KIND, "[n] :100:", *list(LABELS.values())[:-1])
    assert shown.out.count("Q") == len(LONG), "a long label is folded, not cut"
    rows = plainly(hush("query", "r", GROUPED, "--json")).json["rows"]
    assert [row[KIND] for row in rows] == LABEL
    plainly(hush("query", "r", f"\"{KIND}\" = '\x1b[31mred\x1b[0m'"))
    plainly(hush("query", "r", f"\"{KIND}\" = 'no\x1b[31m[/x]'"), r"no\x1b[31m[/x]", code=2)
    refused = plainly(hush("query", "r", "\"a\x9b[/x]\" = 'b'", "--json"), code=2)
    assert r"a\x9b[/x]" in refused.json["error"]


def test_info(hush: Hush, released: Path) -> None:
    plainly(hush("info", "r", "--verify"), *NAMES, LABELS[LABEL[0]])
    told = plainly(hush("info", "r", "--json")).json
    assert told["schema"]["attribute"][0]["values"] == LABEL


def test_info_of_a_network(hush: Hush, own: Path) -> None:
    options = ["-s", "s.toml", "-e", "1", "-m", "privbayes", "--set", "rows=20"]
    assert hush("publish", "t.csv", *options, "-o", "n").code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plainly(hush("info", "n", "--plot", "n.svg"), f"{KIND} ←", f"{LEVEL} ←")
    assert (own / "n.svg").stat().st_size > 1000


def test_what_a_manifest_says_is_text(hush: Hush, released: Path) -> None:
    path = released / "r" / "manifest.json"
    content = json.loads(path.read_bytes())
    content |= {"mechanism": "[/x]", "reservation": "[other] :100: [bold]"}
    content["privacy"] |= {"guarantee": "[link=a]b[/link]", "unit": ":smile: [/]"}
    path.write_text(json.dumps(content))
    told = plainly(hush("info", "r"), "[/x]", "[other] :100: [bold]", "[link=a]b[/link]")
    assert shows(told.out, ":smile: [/]")


def test_export(hush: Hush, released: Path) -> None:
    import pyarrow.parquet as pq

    plainly(hush("export", "r", "-o", "c\x1b[1m.parquet"), r"c\x1b[1m.parquet")
    assert set(pq.read_table("c\x1b[1m.parquet")[KIND].to_pylist()) == set(LABEL), "files are data"
    told = plainly(hush("export", "r", "-o", "c.csv", "--json")).json
    assert told["file"] == "c.csv"
    plainly(hush("export", "r", "-o", "c.xlsx"), "use .parquet", code=2)  # XML cannot hold \x1b


def test_evaluate(hush: Hush, released: Path) -> None:
    done = hush("evaluate", "t.csv", "r", "--queries", "20", "--plot", "e.svg")
    plainly(done, DATASET)
    told = plainly(hush("evaluate", "t.csv", "r", "--queries", "20", "--json")).json
    assert told["dataset"] == DATASET


@pytest.mark.usefixtures("fewer_draws")
def test_audit(hush: Hush, own: Path) -> None:
    small = hostile_schema()
    small["attribute"] = small["attribute"][1:]
    Schema.from_dict(small).save(own / "small.toml")
    options = ["--schema", "small.toml", "--runs", "100", "--releases", "5", "--seed", "1"]
    plainly(hush("audit", "basic", *options), DATASET)
    plainly(hush("audit", "basic", *options, "--json"))
    plainly(hush("audit", "x\x1b[1m", *options), r"x\x1b[1m", code=2)


def test_commands_that_read_no_schema(hush: Hush, own: Path) -> None:
    plainly(hush("generate", "census", "--rows", "10", "-o", "g\x1b[1m.parquet"), r"g\x1b[1m")
    plainly(hush("generate", "\x1b[1m[/x]", "-o", "h.parquet"), r"\x1b[1m[/x]", code=2)
    plainly(hush("mechanisms", "\x1b[1m[/x]"), r"\x1b[1m[/x]", code=2)
    plainly(hush("completion", "\x1b[1m[/x]"), r"\x1b[1m[/x]", code=2)
    plainly(hush("reproduce"))
    plainly(hush("reproduce", "\x1b[1m[/x]"), r"\x1b[1m[/x]", code=2)
    plainly(hush("demo", "-o", "demo\x1b[1m[x]", "--rows", "500"), r"demo\x1b[1m[x]")


TRIED = {
    *(("schema", name) for name in ("check", "draft", "import")),
    *((name,) for name in ("plan", "publish", "budget", "query", "info", "export", "evaluate")),
    *((name,) for name in ("audit", "check", "generate", "reproduce", "demo")),
    # Below where refused, in tests/web where not.
    *((name,) for name in ("explore", "serve", "report")),
    *((name,) for name in ("mechanisms", "completion")),
}


SPEND = ["-s", "s.toml", "-e", "1", "-o", "o"]


def test_every_command_was_tried_above() -> None:
    assert set(COMMANDS) == TRIED


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "no\x1b[31m.release"],
        ["info", "no\udcff.release"],
        ["explore", "no\x1b[31m.release"],
        ["serve", "no\x1b[31m"],
        ["report", "no\x1b[31m.release", "-o", "o\x1b.html"],
        ["query", "no[/x].release", "x"],
        ["schema", "check", "no\u202e.toml"],
        ["plan", "[/x]", "-e", "\x1b"],
        ["frob\x1b[31mnicate"],
        ["info", "--frob\x1b[31mnicate"],
        ["publish", "\x1b", "-s", "s.toml", "-e", "1", "-o", "o"],
        ["publish", "t.csv", "-s", "s.toml", "-e", "1", "-m", "\x9b[/x]", "-o", "o"],
        [
            "publish",
            "t.csv",
            "-s",
            "s.toml",
            "-e",
            "1",
            "-m",
            "basic",
            "--set",
            "\x1b=1",
            "-o",
            "o",
        ],
        ["plan", *SPEND[1:4], "--workload", "\x1b[/x]"],
    ],
    ids=ascii,
)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_refusals_are_text(hush: Hush, own: Path, arguments: list[str], as_json: list[str]) -> None:
    refused = plainly(hush(*arguments, *as_json), code=2)
    assert (refused.out + refused.err).count("\n") == 1
    if as_json:
        assert refused.json["error"]


# ── Python ───────────────────────────────────────────────────────────────────────────────────────


def test_results_of_python_are_text(hush: Hush, released: Path) -> None:
    release = hushtable.open("r")
    table = release.table(KIND)
    lines = repr(table).splitlines()
    assert len(lines) == 1 + 20 + 1 and harmless(repr(table))  # twenty rows are shown
    assert all(shown in repr(table) for shown in list(LABELS.values())[:20])
    assert table.to_arrow()[KIND].to_pylist() == LABEL
    for thing in (release, release.count()):
        assert harmless(repr(thing)) and harmless(str(thing))
    assert repr(release.schema).isprintable()  # Python's own, as for any text


def test_errors_are_text() -> None:
    assert str(HushError("a\x1b[31m\n\u202eb")) == r"a\x1b[31m\n\u202eb"


def test_plain_text() -> None:
    for label, shown in LABELS.items():
        assert plain(label) == shown
    some = [
        chr(code)
        for code in (*range(0x2100), *range(0xD7FE, 0xE002), *range(0, 0x110000, 997), *UNSEEN)
    ]
    assert all(is_harmless(c) or (harmless(plain(c)) and len(plain(c)) >= 2) for c in some)
    assert harmless(plain_json(some, indent=2))
    assert all(json.loads(plain_json({"x": c})) == {"x": c} for c in some)


def test_figures_read_no_mathematics() -> None:
    from matplotlib.cbook import is_math_text

    for text in (*LABELS, *NAMES, "$", "$$", r"\$a\$", "$a$ and \\$"):
        assert not is_math_text(figure_text(text))
        assert figure_text(text).replace(r"\$", "$") == plain(text), "as matplotlib will show it"


# ── doors ────────────────────────────────────────────────────────────────────────────────────────


def test_text_leaves_through_one_door() -> None:
    """Only cli/show.py prints."""
    files = set(SOURCE.rglob("*.py"))
    door = SOURCE / "cli" / "show.py"
    assert door in files and printed_by(door)
    for path in files - {door}:
        assert not printed_by(path), path


def printed_by(path: Path) -> list[str]:
    """What a file calls that prints."""
    calls = [
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    ]
    printing = (".echo", ".secho", "stdout.write", "stderr.write")
    return [name for name in calls if name == "print" or name.endswith(printing)]


def test_a_terminal_gets_the_same_text(
    hush: Hush, released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    shown = hush("query", "r", GROUPED).out
    assert "\x1b[1m" in shown, "Rich writes for a terminal"
    assert not any(danger in shown for danger in ("\x1b[31m", "\x1b]", "\x07", "\x9b", "\u202e"))
    assert all(shows(shown, LABELS[label]) for label in LABEL[:-1])
    assert shown.count("Q") == len(LONG)

"""What a draft makes of a column of text: one table, drafted once, a claim for every column.

Each column of the table is one kind of column that people have. The draft of the very file must
load, and must lose none of its rows.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from hushtable.drafting import draft_schema, write_draft
from hushtable.kernel.counting import code_table
from hushtable.schema import Schema
from hushtable.schema.foreign import Draft

ROWS = 400


def n(*numbers: float) -> list[str]:
    return [f"{number:g}" for number in numbers]


def whole(low: int, high: int, step: int = 1) -> list[str]:
    return [str(number) for number in range(low, high + 1, step)]


COUNTIES = ("01001", "01005", "36001", "36005")
TRACTS = [f"{county}{tract:06}" for county in COUNTIES for tract in (100, 201, 202)]
HEAVY = [f"{1.11**i:.2f}" for i in range(-20, 80)]
INCOME = [*["0"] * 9, *(str(round(900 * 1.07**i)) for i in range(89)), "-4000", "890000"]

# Name of the column → its values, over and over → what the draft says of it.
COLUMNS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    # ── dates and times ──
    "day": (["2024-01-15", "2024-03-02"], [{"dates": ["2024-01-01", "2024-03-31"], "by": "day"}]),
    "born": (["1931-02-03", "2007-11-30"], [{"dates": ["1931-01-01", "2007-12-31"], "by": "year"}]),
    "signed": (["2019-02", "2024-11"], [{"dates": ["2019-01-01", "2024-12-31"], "by": "month"}]),
    "slashed": (["2024/01/15", "2024/1/5"], [{"dates": ["2024-01-01", "2024-01-31"]}]),
    "ended": (
        ["2023-01-01", "9999-12-31", "2023-02-01", "still"],
        [{"dates": ["2023-01-01", "2023-02-28"], "by": "day", "outside": "other"}],
    ),
    "pickup": (
        ["2024-02-01 08:15:00", "2024-02-29 23:59", ""],
        [
            {"name": "pickup_date", "from": "pickup", "part": "date", "by": "day"}
            | {"dates": ["2024-02-01", "2024-02-29"], "outside": "other"},
            {"name": "pickup_weekday", "from": "pickup", "part": "weekday", "outside": "other"},
            {"name": "pickup_hour", "from": "pickup", "part": "hour", "outside": "other"},
        ],
    ),
    # ── amounts ──
    "price": ([f"${i},{i + 1:03}.50" for i in range(1, 31)], [{"decimal": "."}]),
    "cost": (["12", "999", "1,200", "13,400", "(2,000)"], [{"decimal": "."}]),
    "preis": ([f"{i}.{i + 100},5 €" for i in range(1, 31)], [{"decimal": ","}]),
    "fee": (["$1", "$2", "$5"] * 9 + [f"${i}.00" for i in range(20)], [{"decimal": "."}]),
    "share": ([f"{i} %" for i in range(30)], [{"decimal": "."}]),
    "called": (
        ["2024-02-01", "2024-02-28 10:30"],
        [
            {"name": "called_date", "part": "date", "outside": "other"},
            {"name": "called_weekday", "part": "weekday", "outside": "other"},
            {"name": "called_hour", "part": "hour", "outside": "other"},
        ],
    ),
    "seen": (
        ["2024-02-01T08:15:00Z", "2024-02-11T08:15:00+02:00"],
        [{"name": f"seen_{part}", "part": part, "zone": "UTC"} for part in ("date", "weekday")]
        + [{"name": "seen_hour", "part": "hour", "zone": "UTC"}],
    ),
    "opens": (["08:15", "9:30:10", "23:59"], [{"from": "opens", "part": "hour"}]),
    "opens_hour": (["am", "pm"], [{"values": ["am", "pm"]}]),  # a name that a part would take
    # ── amounts ──
    "age": (whole(17, 90), [{"range": [0, 99], "outside": "clip"}]),
    "oldage": (whole(30, 104), [{"range": [30, 104]}]),
    "childs age": (whole(3, 17), [{"range": [3, 17]}]),
    "rooms": (whole(1, 9), [{"range": [1, 9]}]),
    "minutes": (whole(0, 999), [{"bins": {"first": 0, "last": 400, "width": 20}}]),
    "height": (
        [f"{1.4 + i / 100:.2f}" for i in range(60)],
        [{"bins": {"first": 1.4, "last": 2, "width": 0.02}}],
    ),
    "stars": (n(1, 1.5, 2, 2.5, 5), [{"bins": {"first": 1, "last": 5.5, "width": 0.5}}]),
    "latitude": (
        [f"{40.5 + i / 300:.4f}" for i in range(130)],
        [{"bins": {"first": 40.5, "last": 40.94, "width": 0.02}}],
    ),
    "fare": (
        HEAVY,
        [{"edges": [0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]}],
    ),
    "income": (INCOME, [{"kind": "ordinal", "outside": "clip"}]),
    # ── values that stand for a missing one ──
    "children": (["0", "1", "2", "3", "7", "N"], [{"range": [0, 7], "outside": "other"}]),
    "wait": ([*whole(0, 40), "-9"], [{"range": [0, 40], "outside": "other"}]),
    "hours": ([*whole(0, 60), "999", "998"], [{"range": [0, 60], "outside": "other"}]),
    "dose": ([*whole(0, 60), "NA", "", "null"], [{"range": [0, 60], "outside": "other"}]),
    "score": ([*whole(0, 98), "99"], [{"range": [0, 99], "outside": "clip"}]),
    "change": (whole(-9, 20), [{"range": [-9, 20], "outside": "clip"}]),
    # ── codes ──
    "SEX": (["1", "2"], [{"kind": "nominal", "values": ["1", "2"]}]),
    "RAC": (whole(1, 9), [{"kind": "nominal", "values": whole(1, 9)}]),
    "EDU": ([*whole(1, 12), "N"], [{"values": [*whole(1, 12), "N"]}]),
    "answer": (["-9", "1", "2"], [{"values": ["-9", "1", "2"]}]),
    "flag": (["0", "1"], [{"values": ["0", "1"]}]),
    "floats": (["1.0", "2.0", "10.0"], [{"values": ["1.0", "2.0", "10.0"]}]),
    "INDP": (
        ["170", "1090", "8680", "9920", "N"],
        [{"values": ["170", "1090", "8680", "9920", "N"]}],
    ),
    "month code": (["01", "02", "11"], [{"kind": "nominal", "values": ["01", "02", "11"]}]),
    "zone_id": (whole(1, 30)[:12] + whole(14, 30), [{"kind": "nominal", "values": whole(1, 30)}]),
    # ── places ──
    "tract": (
        TRACTS,
        [
            {
                "tree": {
                    "01": {"01001": TRACTS[:3], "01005": TRACTS[3:6]},
                    "36": {"36001": TRACTS[6:9], "36005": TRACTS[9:]},
                }
            }
        ],
    ),
    "PUMA": (
        ["01-00301", "01-00302", "25-00503"],
        [{"tree": {"01": ["01-00301", "01-00302"], "25": ["25-00503"]}}],
    ),
    "zip": (["02138", "02139", "10001"], [{"tree": {"021": ["02138", "02139"], "100": ["10001"]}}]),
    "county_fips": (
        ["1001", "1003", "36061"],
        [{"tree": {"01": ["1001", "1003"], "36": ["36061"]}}],
    ),
    "origin": (["36001", "36003"], [{"kind": "nominal", "values": ["36001", "36003"]}]),
    # ── labels ──
    "smoker": (["TRUE", "False"], [{"kind": "nominal", "values": ["true", "false"]}]),
    "signed up": (["yes", "no", ""], [{"values": ["no", "yes"], "outside": "other"}]),
    "agreed": (["Y", ""], [{"values": ["Y"], "outside": "other"}]),
    "salary": ([">50K", "<=50K"], [{"kind": "ordinal", "labels": ["<=50K", ">50K"]}]),
    "age group": (
        ["10-19", "65+", "0-9", "20-64"],
        [{"kind": "ordinal", "labels": ["0-9", "10-19", "20-64", "65+"]}],
    ),
    "band": (
        ["18 to 24", "65 and over", "25 to 64", "under 18"],
        [{"labels": ["under 18", "18 to 24", "25 to 64", "65 and over"]}],
    ),
    "grade": (["Grade 10", "Grade 2", "Grade 1"], [{"labels": ["Grade 1", "Grade 2", "Grade 10"]}]),
    "quarter": (["2024-Q2", "2023-Q4"], [{"labels": ["2023-Q4", "2024-Q2"]}]),
    "rating": (
        ["medium", "high", "very-high", "low"],
        [{"labels": ["low", "medium", "high", "very-high"]}],
    ),
    "weekday": (
        ["Tue", "Mon", "Sun"],
        [{"labels": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "outside": "drop"}],
    ),
    "town": (["b10", "b2", "a", "?"], [{"values": ["a", "b2", "b10"], "outside": "other"}]),
    "odd": (['quote " and \\', "tab\tin", "é"], [{"kind": "nominal", "outside": "drop"}]),
}

LEFT_OUT = {
    "nothing": ([""], "no values"),
    "missing": (["NA", "", "n/a"], "no values"),
    "constant": (["7"], "same value"),
    "american": (["12/31/2024", "1/2/2024"], "2024-12-31"),
    "german": (["31.12.2024", "1.2.2024"], "2024-12-31"),
    "date": (["20241231", "20240102"], "2024-12-31"),
    "timestamp": (["1700000000", "1700000500"], "2024-12-31"),
    "trip_id": (whole(1, ROWS), "occurs once"),
    "label": ([f"item {i}" for i in range(ROWS)], "occurs once"),
    "rider_id": ([f"r{i % 130}" for i in range(ROWS)], "id of a person"),
    "device": ([f"{i % 130:032x}" for i in range(ROWS)], "id of a person"),
    "surname": (["Abel", "Babel", "Cabel"], "identifies people"),
    "remark": (
        [f"{i % 99}: a long story about what has happened here" for i in range(ROWS)],
        "free text",
    ),
    "huge": (["123456789012345678", "123456789012345679"], "too large"),
}


def rows_of(columns: Iterable[list[str]]) -> list[tuple[str, ...]]:
    return list(zip(*(islice(cycle(values), ROWS) for values in columns), strict=True))


@dataclass(frozen=True)
class Drafted:
    data: Path
    draft: Draft
    file: Path
    text: str

    def blocks(self, column: str) -> list[dict[str, Any]]:
        tables: list[dict[str, Any]] = tomllib.loads(self.text)["attribute"]
        return [table for table in tables if table.get("from", table["name"]) == column]


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Drafted:
    folder = tmp_path_factory.mktemp("columns")
    values = {name: found[0] for name, found in (COLUMNS | LEFT_OUT).items()}
    with open(folder / "t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(values)
        writer.writerows(rows_of(values.values()))
    draft = draft_schema(folder / "t.csv", name="t")
    write_draft(draft, folder / "t.toml")
    return Drafted(folder / "t.csv", draft, folder / "t.toml", (folder / "t.toml").read_text())


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_is_understood(column: str, drafted: Drafted) -> None:
    blocks = drafted.blocks(column)
    expected = COLUMNS[column][1]
    assert len(blocks) == len(expected), dict(drafted.draft.left_out).get(column)
    for block, wanted in zip(blocks, expected, strict=True):
        assert {key: block.get(key) for key in wanted} == wanted


@pytest.mark.parametrize("column", LEFT_OUT)
def test_a_column_is_left_out_with_the_reason_and_what_to_do(column: str, drafted: Drafted) -> None:
    assert LEFT_OUT[column][1] in dict(drafted.draft.left_out)[column]


def test_a_draft_loads_and_loses_no_row_of_its_file(drafted: Drafted) -> None:
    schema = Schema.load(drafted.file)
    assert schema == drafted.draft.schema and not schema.reviewed
    assert len(code_table(drafted.data, schema).columns[0]) == ROWS
    assert schema.attribute("opens_hour_").column == "opens"  # the name was taken


def test_every_attribute_says_why_and_what_was_read_off_the_data(drafted: Drafted) -> None:
    heads = [block.split("name = ")[0] for block in drafted.text.split("[[attribute]]\n")[1:]]
    assert len(heads) == len(drafted.draft.schema.attributes)
    assert all(head.startswith("# ") and head.count("\n") <= 6 for head in heads)
    for name, public in (("age", True), ("rooms", False), ("pickup_hour", True)):
        lines = " ".join(drafted.draft.notes[name])
        assert ("from the data" in lines) != public
    assert "whole numbers 1 to 9, 9 different: a range" in drafted.text
    assert "whole numbers 0 to 40, 41 different: a range" in drafted.text  # -9 is none of them
    assert "# -9 seems to stand for no value: other" in drafted.text


def test_large_amounts_have_a_bin_and_so_have_zeros_and_losses(drafted: Drafted) -> None:
    (income,) = drafted.blocks("income")
    edges = income["edges"]
    assert edges[0] <= -4000 and edges[-1] >= 400_000 and {0, 1} < set(edges)
    assert all(float(f"{edge:.2g}") == edge for edge in edges)  # round numbers
    assert len(edges) < 60


def test_a_person_s_rows_are_a_hint_that_decides_nothing(drafted: Drafted) -> None:
    assert drafted.draft.schema.unit is None
    assert '\n# unit = { column = "rider_id", max_rows = 4 }\n' in drafted.text
    assert "is from the data" in drafted.text and "'device'" in drafted.text
    assert "people =" not in drafted.text.split("\n\n")[1]  # so few rows are nobody's estimate

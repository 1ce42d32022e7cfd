"""Derived attributes and tables of counts in schema files: what they mean, and what is refused."""

from __future__ import annotations

import json
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import SchemaError
from hushtable.schema import CountColumn, Edges, IntegerRange, Labels, Origin, Schema, ordinal
from hushtable.schema.bins import MAX_BINS, even_edges
from hushtable.schema.origin import WEEKDAYS

EXAMPLE = """
name = "journeys"
budget = "3"
counts = "commuters"
[[attribute]]
name = "pickup_hour"
kind = "ordinal"
from = "pickup"
part = "hour"
zone = "America/New_York"
[[attribute]]
name = "day"
kind = "ordinal"
from = "pickup"
part = "weekday"
outside = "other"
[[attribute]]
name = "county"
kind = "nominal"
from = "tract"
prefix = 5
values = ["36061", "36047"]
[[attribute]]
name = "age"
kind = "ordinal"
bins = { first = 0, last = 100, width = 10 }
"""


def content(*attributes: Any, **more: Any) -> dict[str, Any]:
    return {"name": "x", "budget": "1", "attribute": list(attributes), **more}


def when(**more: Any) -> dict[str, Any]:
    return {"name": "a", "kind": "ordinal", **more}


DATES = ["2020-01-01", "2020-12-31"]
AGE = when(range=[0, 9])
CODE = {"name": "a", "kind": "nominal", "values": ["36061", "36047"]}


def test_a_file_says_where_each_attribute_comes_from(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(EXAMPLE)
    schema = Schema.load(tmp_path / "s.toml")
    hour, day, county, age = schema.attributes
    assert hour.origin == Origin("pickup", "hour", "America/New_York")
    assert (hour.values, hour.outside) == (IntegerRange(0, 23), "clip")
    assert (day.values, day.size) == (Labels(WEEKDAYS), 8)
    assert county.origin == Origin("tract", prefix=5)
    assert (age.values, age.origin, age.column) == (
        Edges(tuple(range(0, 101, 10))),
        Origin(),
        "age",
    )
    assert schema.columns == ("pickup", "tract", "age", "commuters")
    assert schema.counts == CountColumn("commuters", 10**9)
    assert schema.protects == "one person counted in commuters"
    schema.save(tmp_path / "copy.toml")
    assert Schema.load(tmp_path / "copy.toml") == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_schema_without_them_is_written_as_before() -> None:
    written = Schema.from_dict(content(AGE, CODE | {"name": "b"})).to_dict()
    assert list(written) == ["name", "budget", "neighbours", "attribute"]
    assert [list(table) for table in written["attribute"]] == [
        ["name", "kind", "range", "outside"],
        ["name", "kind", "values", "outside"],
    ]


REFUSED = [
    (content(when(part="minute")), "part must be one of hour, weekday, month, quarter, year, date"),
    (content(when(part=["hour"])), "part must be one of"),
    (content(when(part="year")), "exactly one of range, edges, labels, dates, bins"),
    (content(when(part="date")), "exactly one of range"),
    (content(when(part="date", range=[0, 1])), "part = 'date' needs dates"),
    (content(when(part="hour", dates=DATES)), "part = 'hour' is a number"),
    (content(when(part="hour", labels=["1"])), "part = 'hour' is a number"),
    (content(when(part="hour", by="day")), "exactly one of range"),
    (content(when(part="hour", range=[1, 24])), "numbers 0 to 23 only"),
    (content(when(part="month", edges=[0, 6, 12])), "numbers 1 to 12 only"),
    (content(when(part="quarter", range=[1, 5])), "numbers 1 to 4 only"),
    (content(when(part="weekday", labels=["Mon"])), "must be of Monday, Tuesday"),
    (content(when(part="weekday", range=[0, 6])), "must be of Monday, Tuesday"),
    (content({**CODE, "part": "hour"}), "part = 'hour' is a number"),
    (content(when(range=[0, 9], zone="UTC")), "zone goes with part or dates"),
    (content(when(part="hour", zone="localtime")), "zone must be the name of a time zone"),
    (content(when(part="hour", zone="../../etc/passwd")), "zone must be the name"),
    (content(when(part="hour", zone="+02:00")), "zone must be the name"),
    (content(when(part="hour", zone="A" * 101)), "zone must be the name"),
    (content(when(part="hour", zone=2)), "zone must be the name"),
    (content({**CODE, "prefix": 0}), "at least 1"),
    (content({**CODE, "prefix": 201}), "at most 200"),
    (content({**CODE, "prefix": 10**400}), "at most 200"),
    (content({**CODE, "prefix": True}), "whole number"),
    (content({**CODE, "prefix": "5"}), "whole number"),
    (content({**CODE, "prefix": 4}), "no prefix of 4 characters is as long as every label"),
    (content({**AGE, "prefix": 1}), "prefix goes with labels"),
    (content({**CODE, "prefix": 9, "zone": "UTC"}), "give one"),
    (content(when(part="weekday", prefix=9)), "give one"),
    (content({**AGE, "from": ""}), "the column of an attribute must be text"),
    (content({**AGE, "from": 5}), "the column of an attribute must be text"),
    (content({**AGE, "form": "b"}), "unknown key 'form'.*did you mean 'from'"),
    (content({**AGE, "from": "x"}, when(name="b", range=[0, 1], **{"from": "X"})), "column 'x' in"),
    (content({**AGE, "from": "id"}, unit={"column": "ID"}), "both the unit and an attribute"),
    (content({**AGE, "from": "n"}, counts="N"), "'N' counts people"),
    (content(AGE, counts="n", unit={"column": "id"}), "exclude each other"),
    (content(AGE, counts="n", dataset="d"), 'says unit = "one row per person"'),
    (content(AGE, counts={"column": "n", "most": 0}), "most must be at least 1"),
    (content(AGE, counts={"column": "n", "most": 10**9 + 1}), "at most 1000000000"),
    (content(AGE, counts={"column": "n", "most": True}), "most must be a whole number"),
    (content(AGE, counts={"column": "n", "most": 2.0}), "most must be a whole number"),
    (content(AGE, counts={"column": "n", "least": 1}), "unknown key 'least' in counts"),
    (content(AGE, counts={"most": 1}), "counts has no 'column'"),
    (content(AGE, counts=3), "counts must be a table"),
    (content(AGE, counts=" n"), "the column of counts must be text"),
    (content(when(bins=[0, 1])), "bins must be a table"),
    (content(when(bins={"first": 0, "last": 1})), "bins has no 'width'"),
    (content(when(bins={"first": 0, "last": 10, "width": 3})), "whole number of widths"),
    (content(when(bins={"first": 0, "last": 10, "width": 0})), "width is above zero"),
    (content(when(bins={"first": 1, "last": 0, "width": -1})), "width is above zero"),
    (content(when(bins={"first": 0, "last": True, "width": 1})), "must be numbers"),
    (content(when(bins={"first": 0, "last": float("inf"), "width": 1})), "must be numbers"),
    (content(when(bins={"first": 0, "last": 10**5000, "width": 10**5000})), "finite"),
    (content(when(bins={"first": 0, "last": MAX_BINS + 1, "width": 1})), "at most 1,000,000"),
    (content(when(bins={"first": 0, "last": 1e300, "width": 1e-300})), "at most 1,000,000"),
]


@pytest.mark.parametrize(("refused", "why"), REFUSED)
def test_what_cannot_be_derived_is_refused_in_one_line(refused: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why) as caught:
        Schema.from_dict(refused)
    assert "\n" not in str(caught.value) and str(caught.value).isprintable()


def test_a_table_of_counts_may_share_a_dataset_if_everyone_is_counted_once() -> None:
    shared = content(AGE, counts="n", dataset="d", unit="one row per person")
    schema = Schema.from_dict(shared)
    assert schema.counts == CountColumn("n") and schema.unit is None
    assert Schema.from_dict(schema.to_dict()) == schema


# ── zones ────────────────────────────────────────────────────────────────────────────────────────


def load_zone(folder: Path, zone: str) -> Schema:
    ordinal("a", IntegerRange(0, 23), origin=Origin(part="hour", zone=zone))  # its form is right
    (folder / "s.toml").write_text(
        'name = "x"\nbudget = "1"\n[[attribute]]\nname = "a"\nkind = "ordinal"\n'
        f'part = "hour"\nzone = "{zone}"\n'
    )
    return Schema.load(folder / "s.toml")


def test_a_zone_that_nobody_knows_is_refused_in_a_file_but_opens_in_a_release(
    tmp_path: Path,
) -> None:
    with pytest.raises(SchemaError, match=r"'a': there is no time zone .* mean 'Europe/Berlin'"):
        load_zone(tmp_path, "Europe/Berlyn")
    with pytest.raises(SchemaError, match="write it like"):
        load_zone(tmp_path, "BST")
    opened = Schema.from_dict(content(when(part="hour", zone="Mars/Olympus")))
    assert opened.attributes[0].origin.zone == "Mars/Olympus"


def test_a_machine_without_time_zones_refuses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(zone: str) -> Any:
        raise zoneinfo.ZoneInfoNotFoundError(zone)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", unknown)
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert load_zone(tmp_path, "Europe/Berlin").attributes[0].origin.zone == "Europe/Berlin"


# ── bins ─────────────────────────────────────────────────────────────────────────────────────────


@given(
    st.integers(-1000, 1000), st.integers(1, 300), st.integers(1, 50), st.sampled_from([1, 10, 100])
)
def test_bins_are_the_edges_one_would_write(first: int, width: int, count: int, unit: int) -> None:
    written = [(first + i * width) / unit for i in range(count + 1)]
    assert even_edges(first / unit, written[-1], width / unit) == tuple(written)


def test_whole_edges_are_integers() -> None:
    edges = even_edges(0.0, 2.5, 0.5)
    assert edges == (0, 0.5, 1, 1.5, 2, 2.5)
    assert [type(edge) for edge in edges[:3]] == [int, float, int]

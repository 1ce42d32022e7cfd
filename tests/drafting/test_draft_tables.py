"""What a draft makes of whole tables: typed columns, streams, many values, counts, odd names."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from itertools import cycle, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.drafting import draft_schema, looks, places, write_draft
from hushtable.drafting.bins import binned
from hushtable.errors import DataError
from hushtable.kernel.counting import CsvFormat, code_table
from hushtable.schema import Schema
from hushtable.schema.foreign import Draft

MOMENTS = [datetime(2024, 5, 1, 8, 30), datetime(2024, 5, 31, 22), None] * 10


def typed() -> pa.Table:
    return pa.table(
        {
            "when": pa.array(MOMENTS, pa.timestamp("us", "America/New_York")),
            "local": pa.array(MOMENTS, pa.timestamp("ms")),
            "day": pa.array([date(2020, 1, 2), date(2024, 5, 6), None] * 10),
            "clock": pa.array([time(8, 30), time(22), None] * 10),
            "member": [True, False, None] * 10,
            "price": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("2.50")] * 10),
            "kids": pa.array([0.0, 3.0, float("nan")] * 10),
            "job": pa.array(["a", "b", "b"] * 10).dictionary_encode(),
            "list": [[1], [2], [2]] * 10,
        }
    )


def by_name(draft: Draft) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in draft.tables}


class Once:
    """A stream that can be read once, and tells no names."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader(7)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._reader.__arrow_c_stream__(requested_schema)


def sources(folder: Path) -> Iterator[Any]:
    table = typed()
    pq.write_table(table, folder / "t.parquet")
    yield from (table, folder / "t.parquet", table.to_reader(7), Once(table))


def test_typed_columns_are_understood_wherever_they_come_from(tmp_path: Path) -> None:
    """Moments beside other columns, also from what can be read only once."""
    for data in sources(tmp_path):
        draft = draft_schema(data, name="t")
        found = by_name(draft)
        hour = {"kind": "ordinal", "from": "when", "part": "hour", "zone": "UTC"}
        assert found["when_hour"] == {"name": "when_hour", **hour, "outside": "other"}
        assert "zone" not in found["local_hour"] and found["local_date"]["by"] == "day"
        assert (found["day"]["dates"], found["day"]["by"]) == (
            ["2020-01-01", "2024-12-31"],
            "month",
        )
        assert found["clock_hour"]["part"] == "hour"
        assert found["member"]["values"] == ["true", "false"]
        assert found["price"]["bins"] == {"first": 1.5, "last": 3, "width": 0.5}
        assert (found["kids"]["range"], found["kids"]["outside"]) == ([0, 3], "other")
        assert found["job"]["values"] == ["a", "b"]
        assert dict(draft.left_out) == {"list": "not plain values"}
        assert len(code_table(typed(), draft.schema).columns[0]) == 30


def test_rows_that_stand_for_people_are_a_hint(tmp_path: Path) -> None:
    pairs = list(product(["36001", "36003", "34001"], repeat=2))
    table = {"from": [a for a, _ in pairs], "to": [b for _, b in pairs], "flow": range(9)}
    draft = draft_schema(pa.table(table | {"flow": list(table["flow"])}), name="t")
    assert [a.name for a in draft.schema.attributes] == ["from", "to"]
    assert 'counts = "flow"' in draft.hints and draft.schema.counts is None
    write_draft(draft, tmp_path / "t.toml")
    text = (tmp_path / "t.toml").read_text()
    (tmp_path / "t.toml").write_text(text.replace("# counts", "counts"))
    counts = Schema.load(tmp_path / "t.toml").counts
    assert counts is not None and counts.column == "flow"


@pytest.mark.parametrize(
    "columns",
    [
        {"town": ["a", "b", "a", "b"], "flow": [1, 2, 3, 4]},  # a pair of rows is alike
        {"town": ["a", "b", "c", "d"], "flow": [1, 2, -3, 4]},
        {"town": ["a", "a", "b", "b"], "sex": ["f", "m"] * 2, "flow": [1.5, 2, 3, 4]},
        {"town": ["a", "a", "b", "b"], "sex": ["f", "m"] * 2, "paid": [1, 2, 3, 4]},
        {"key": ["a", "b", "c", "d"], "flow": [1, 2, 3, 4]},  # an id tells rows apart by itself
    ],
)
def test_other_numbers_are_no_counts_of_people(columns: dict[str, list[Any]]) -> None:
    hints = draft_schema(pa.table(columns), name="t").hints
    assert not any("counts" in hint for hint in hints)


def test_too_many_places_are_read_by_their_first_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_PLACES", 40)
    tracts = [f"{s}{c:03}{t:06}" for s in ("01", "36") for c in range(1, 20) for t in (1, 2)]
    table = pa.table({"tract": tracts, "sex": ["f", "m"] * 38})
    (county, _) = draft_schema(table, name="t").tables
    assert (county["name"], county["from"], county["prefix"]) == ("tract_first5", "tract", 5)
    assert len(county["tree"]["36"]) == 19
    monkeypatch.setattr(places, "MAX_PLACES", 1)
    assert "prefix" in dict(draft_schema(table, name="t").left_out)["tract"]


def test_columns_of_very_many_values_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequent values and both ends of a sorted column are still seen; blanks are all counted."""
    monkeypatch.setattr(looks, "MOST_KEPT", 500)
    rows = 20_000
    moments = np.datetime64("2024-01-01T00:00:00") + np.arange(rows).astype("timedelta64[m]") * 24
    amounts = [0.0 if i % 3 else float(i) + 0.25 for i in range(rows)]
    blank = [None if i % 4 == 0 else f"text {i}" for i in range(rows)]
    table = pa.table({"when": moments, "paid": amounts, "text": blank, "sex": ["f", "m"] * 10_000})
    draft = draft_schema(table, name="t")
    found = by_name(draft)
    assert found["when_date"]["dates"] == ["2024-01-01", "2024-11-30"]
    assert found["paid"]["edges"][:2] == [0, 0.01] and "very many" in draft.notes["paid"][0]
    assert dict(draft.left_out).keys() == {"text"}
    seen = looks._tallied(["text"], table.select(["text"]).to_reader(1000))[0]
    assert seen.blank == rows // 4 and seen.distinct <= 1000 and not seen.complete
    assert 0.9 < seen.present / (rows - seen.blank) < 1.1


def test_ids_are_counted_to_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "MOST_KEPT", 100)
    ids = [i % 900 for i in range(3600)] + [7] * 13
    random.Random(1).shuffle(ids)
    table = pa.table({"user_id": ids, "sex": ["f"] * 3000 + ["m"] * 613})
    hints = draft_schema(table, name="t").hints
    assert 'unit = { column = "user_id", max_rows = 20 }' in hints  # 17 of one person
    assert "max_rows = 4 would keep about nine rows in ten" in hints


def test_names_that_no_attribute_can_have_are_left_out(tmp_path: Path) -> None:
    names = ["Age", "age", "a\x07b", "x" * 201, 'q"\\', "marital-status"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    (tmp_path / "t.csv").write_text(f"{header}\n" + "1,2,3,4,5,6\n2,3,4,5,6,7\n" * 5)
    draft = draft_schema(tmp_path / "t.csv", name="t")
    assert [a.name for a in draft.schema.attributes] == ["Age", 'q"\\', "marital-status"]
    write_draft(draft, tmp_path / "t.toml")
    assert Schema.load(tmp_path / "t.toml") == draft.schema


def test_a_file_that_is_written_in_another_way_can_be_drafted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("größe~ort\n1~a\n2~b\n".encode("latin-1"))
    form = CsvFormat("~", "latin-1")
    draft = draft_schema(tmp_path / "t.csv", name="t", csv=form)
    assert [a.name for a in draft.schema.attributes] == ["größe", "ort"]


def test_a_table_without_attributes_is_refused() -> None:
    with pytest.raises(DataError, match="write the schema by hand"):
        draft_schema(pa.table({"x": [1, 1, 1]}), name="t")


@pytest.mark.parametrize("seed", range(8))
def test_bins_are_round_and_hold_what_they_are_made_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 7)
    shapes = [rng.lognormal(0, 1 + seed / 3, 500), rng.normal(5, 1, 500), rng.normal(0, 1, 500)]
    for numbers in shapes:
        numbers = np.unique(numbers * scale)
        values, _ = binned(numbers, np.ones(len(numbers), np.int64), whole=False, clipped=False)
        attribute = {"name": "x", "kind": "ordinal", **values}
        schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": [attribute]})
        edges = schema.attributes[0].values.edges  # type: ignore[union-attr]
        assert edges[0] <= numbers.min() and numbers.max() <= edges[-1] and 5 < len(edges) < 60
        assert np.histogram(numbers, edges)[0].max() < 0.4 * len(numbers)
        assert all(float(f"{edge:.4g}") == pytest.approx(edge) for edge in edges)


PIECES = st.sampled_from(
    [
        *("", "0", "1", "-9", "999", "1e5", "1.5", "007", "36061", "inf", "-0", "NA", "$1,000"),
        *("2024-01-02", "2024-01-02 10:30Z", "2024-02-28T23:59:59+05:30", "12/31/2024", "08:15"),
        *("Mon", "low", "high", "10-19", "65+", "TRUE", "false", "é", "a b", "*", "x" * 300),
        *('"', "'", "\\", "#", "[1]", "{a=1}", "x\x7fy", "\x1b[0m", "\u2028"),
    ]
)
NAMES = ("a", "b", "c", "zip", "origin", "n", "user_id", "age", "date", "price", "sex", "code")


@settings(max_examples=10)
@given(st.data())
def test_whatever_columns_hold_the_draft_loads_and_loses_no_row(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 30))
    column = st.lists(PIECES, min_size=1, max_size=3)
    table = pa.table({name: list(islice(cycle(data.draw(column)), rows)) for name in NAMES})
    table = table.append_column("any", pa.array(["x", "y"] * 15)[:rows])
    draft = draft_schema(table, name="t")
    with TemporaryDirectory() as folder:
        write_draft(draft, Path(folder) / "t.toml")
        assert Schema.load(Path(folder) / "t.toml") == draft.schema
    assert "could not be described" not in dict(draft.left_out).values()
    assert len(code_table(table, draft.schema).columns[0]) == rows

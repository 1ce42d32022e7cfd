"""Tables of coded rows that stay in Spark are those of the rows here, and all of one reading.

Tasks run here, on a frame of ours (`spark_here.py`). The real one is in tests/engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import spark_here
from slow_encoding import make
from spark_here import ATTRIBUTES, BOUNDED, COUNTED, SALT, Frame, Loss, Part, split, table

import hushtable as ht
from hushtable.errors import DataError, HushError, OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.marginals.ask.marginals import Marginals
from hushtable.kernel.counting import Counts, KnownTables, code_table, held_rows
from hushtable.kernel.counting.engines.spark import count as spark_count
from hushtable.kernel.counting.engines.spark import rows as spark_rows
from hushtable.kernel.counting.engines.spark import tasks
from hushtable.kernel.counting.engines.spark.parcels import GONE, Receiver, Sender
from hushtable.kernel.curator import Curator, Grid, Marginal, View, Whole
from hushtable.kernel.curator.holding import dense_counts, part_counts, projected, split_data
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.dataset_ledger import open_ledger
from hushtable.schema import Schema

TOWN, AGE = (View(axis, np.arange(size)) for axis, size in enumerate(BOUNDED.shape))
DECADE = View(1, np.arange(BOUNDED.shape[1]) // 10)
ALL_AGES = View(1, np.zeros(BOUNDED.shape[1], np.int64))
WANTED = [[], [TOWN], [AGE], [TOWN, DECADE], [TOWN, AGE], [DECADE, TOWN], [ALL_AGES], [TOWN]]
SCHEMAS = pytest.mark.parametrize("schema", [BOUNDED, COUNTED], ids=["bounded", "counted"])


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_count, "BUCKETS", 8)


def laid_out(found: Counts) -> list[int]:
    return dense_counts(found, found.shape).reshape(-1).tolist()


def tables_here(whole: Any, schema: Schema, wanted: Any = WANTED) -> list[list[int]]:
    """The same tables, each counted by itself from rows that are here."""
    rows = code_table(whole, schema, salt=SALT)
    partitions = [
        Marginal(schema.shape, views) if views else Whole(schema.shape) for views in wanted
    ]
    return [part_counts(rows, partition).tolist() for partition in partitions]


def tables_there(frame: Any, schema: Schema, foreseen: Any = None) -> list[list[int]]:
    with held_rows(frame, schema, foreseen=foreseen, salt=SALT) as rows:
        assert isinstance(rows, KnownTables if foreseen else spark_rows.KeptRows)
        found = [laid_out(found) for found in rows.tables(WANTED)]
        assert [laid_out(rows.table(views)) for views in WANTED[:2]] == found[:2]
    assert not spark_here.KEPT, "nothing is kept for longer"
    return found


@SCHEMAS
@pytest.mark.parametrize("foreseen", [None, WANTED[1:], WANTED], ids=["kept", "some", "known"])
@pytest.mark.parametrize("together", [1, 2**16])
def test_tables_are_those_of_the_rows_here(
    on_spark: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    schema: Schema,
    foreseen: Any,
    together: int,
) -> None:
    monkeypatch.setattr(tasks, "_TOGETHER", together)
    monkeypatch.setattr(tasks, "_PACKED", 50)
    whole = table(1000)
    frame = on_spark(*split(whole, 3))
    if foreseen and len(foreseen) < len(WANTED):
        with pytest.raises(OptionError, match="was not counted"):
            tables_there(frame, schema, foreseen)
    else:
        assert tables_there(frame, schema, foreseen) == tables_here(whole, schema)


def test_tables_without_rows_are_empty(on_spark: Callable[..., Any]) -> None:
    for frame in (on_spark(), on_spark(table(0), table(0))):
        for foreseen in (None, WANTED):
            assert not sum(map(sum, tables_there(frame, BOUNDED, foreseen)))


@pytest.mark.parametrize("most", [1, 203, 2**22])
def test_tables_are_counted_a_few_at_a_time(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Those that were foreseen, too; but all of them of one reading."""
    asked: list[tuple[int, ...]] = []
    count = tasks.counted_tables

    def counted(batches: Any, tables: tasks.Tables) -> Any:
        asked.append(tables.cells)
        return count(batches, tables)

    monkeypatch.setattr(spark_rows, "_AT_ONCE", most)
    monkeypatch.setattr(tasks, "counted_tables", counted)
    whole = table(300)
    here = tables_here(whole, BOUNDED)
    for foreseen in (None, WANTED):
        asked.clear()
        assert tables_there(on_spark(whole), BOUNDED, foreseen) == here
        jobs = {cells for cells in asked if cells}
        assert all(sum(cells) <= most or len(cells) == 1 for cells in jobs)
    assert (len({*asked}) > 2) == (most < 2**22)


def test_tables_for_which_there_is_no_memory_are_refused_before_anything_is_read(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what is free is for them, half for their noise."""
    changing = Changing(1)
    wanted = [[TOWN, AGE], [AGE], []]
    cells = TOWN.size * AGE.size + AGE.size + 1
    monkeypatch.setattr(spark_rows, "available_memory", lambda: 48 * cells - 1)
    with (
        pytest.raises(OptionError, match=r"may take .* GiB of memory here"),
        held_rows(on_spark(*changing.parts), BOUNDED, foreseen=wanted, salt=SALT),
    ):
        pass
    assert changing.read == [[]]
    monkeypatch.setattr(spark_rows, "available_memory", lambda: 48 * cells)
    with held_rows(on_spark(*changing.parts), BOUNDED, foreseen=wanted, salt=SALT):
        assert changing.read != [[]]


def test_only_tables_come_back(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    rows = Frame.toLocalIterator

    def watched(frame: Frame) -> Iterator[Any]:
        for row in rows(frame):
            fetched.append(len(row[-1] or b""))
            yield row

    monkeypatch.setattr(Frame, "toLocalIterator", watched)
    whole = table(20_000)
    for foreseen in (None, [[TOWN]]):
        fetched.clear()
        with held_rows(on_spark(whole), COUNTED, foreseen=foreseen, salt=SALT) as held:
            assert laid_out(held.table([TOWN])) == tables_here(whole, COUNTED, [[TOWN]])[0]
        assert 0 < sum(fetched) <= 16 * (1 + TOWN.size)


# ── runs of tasks ────────────────────────────────────────────────────────────────────────────────


class Changing:
    """Parts of a table that have other rows whenever they are read."""

    def __init__(self, parts: int) -> None:
        self.read: list[list[int]] = [[] for _ in range(parts)]
        self.parts = [self._part(place) for place in range(parts)]

    def _part(self, place: int) -> Part:
        def run() -> list[Any]:
            self.read[place].append(10 * place + len(self.read[place]) + 1)
            return table(200, seed=self.read[place][-1]).to_batches()

        return run

    def readings(self) -> list[list[list[int]]]:
        """The tables of every reading that there may have been."""
        return [
            tables_here(pa.concat_tables([table(200, seed=a), table(200, seed=b)]), BOUNDED)
            for a in self.read[0]
            for b in self.read[1]
        ]


@pytest.mark.parametrize("foreseen", [None, WANTED], ids=["kept", "known"])
@pytest.mark.parametrize("lost", [{(0, 1): 0}, {(1, 1): 0}, {(1, 2): 1}], ids=str)
def test_all_tables_are_of_one_reading(
    on_spark: Callable[..., Any], lost: Loss, foreseen: Any
) -> None:
    changing = Changing(2)
    found = tables_there(on_spark(*changing.parts, lost=dict(lost)), BOUNDED, foreseen)
    readings = changing.readings()
    assert found in readings and len(readings) > 1


@pytest.mark.parametrize("torn", [1, 2, 3])
def test_a_torn_reading_is_let_go_before_the_next(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, torn: int
) -> None:
    """Each attempt reads the table again, and of those that failed nothing is kept."""
    lost: Loss = {}
    kept: list[int] = []
    keep = Frame.localCheckpoint

    def watched(frame: Frame) -> Frame:
        kept.append(len(spark_here.KEPT))
        lost.update({(1, 1): 0} if len(kept) <= torn else {})
        return keep(frame)

    monkeypatch.setattr(Frame, "localCheckpoint", watched)
    changing = Changing(2)
    frame = on_spark(*changing.parts, lost=lost)
    if torn < 3:
        assert tables_there(frame, BOUNDED) in changing.readings()
    else:
        with pytest.raises(DataError, match="lost parts of the table"):
            tables_there(frame, BOUNDED)
    assert kept == [0] * min(torn + 1, 3) and not spark_here.KEPT
    assert all(len(read) >= len(kept) for read in changing.read)


def test_what_others_do_to_the_table_does_not_end_a_run(on_spark: Callable[..., Any]) -> None:
    """Rows that are kept are not read again, whoever changes the table, or asks the same of it."""
    changing = Changing(2)
    frame = on_spark(*changing.parts)
    with held_rows(frame, BOUNDED, salt=SALT) as rows:
        assert len(spark_here.KEPT) == 1
        first = laid_out(rows.table([TOWN]))
        with held_rows(frame, BOUNDED, salt=SALT) as others:
            assert laid_out(others.table([TOWN])) != first
        assert laid_out(rows.table([TOWN])) == first
    assert [len(read) for read in changing.read] == [2, 2]


@pytest.mark.parametrize("stopped", [RuntimeError, KeyboardInterrupt])
def test_nothing_fails_when_rows_are_let_go(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, stopped: type[BaseException]
) -> None:
    """By then all is published."""

    def drop(frame: Any) -> None:
        spark_here.KEPT.remove(frame)
        raise stopped

    monkeypatch.setattr(spark_rows, "drop_checkpoint", drop)
    whole = table(200)
    assert tables_there(on_spark(whole), BOUNDED) == tables_here(whole, BOUNDED)


def test_parcels_that_were_not_there_at_first_are_not_counted() -> None:
    """Not even where the seals are those that were there."""
    one = Sender(0, 1)
    first = Receiver()
    assert list(first.payloads(iter([one.parcel(0, b""), one.seals(b"v")]))) == [b""]

    def notes(*batches: Any) -> set[Any]:
        count = tasks.following(None, 2, tasks.send_sums, first.view())
        return {note for sent in count(iter(batches)) for note in sent["note"].to_pylist()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "_place", lambda: 0)
        assert notes(one.parcel(0, b""), one.seals(b"v")) == {None}
        assert notes(one.seals(b"v"), Sender(0, 1).parcel(0, b"")) == {GONE}
        assert notes(Sender(0, 1).seals(b"v")) == {GONE}
        assert notes(one.seals(b"v"), Sender(1, 1).excuse("1.4.2")) == {"1.4.2"}


@pytest.mark.parametrize("lost_there", [0, 1, 2])
def test_rows_that_were_lost_are_not_made_again(
    on_spark: Callable[..., Any], lost_there: int
) -> None:
    """By then noise may have been drawn for these: the command ends."""
    lost: Loss = {}
    changing = Changing(2)
    with held_rows(on_spark(*changing.parts, lost=lost), BOUNDED, salt=SALT) as rows:
        first = laid_out(rows.table([TOWN]))
        lost[("kept", lost_there)] = 0
        told = rows.tables([[TOWN], [AGE]])
        with pytest.raises(DataError, match="no longer has the rows that were first read"):
            next(told)
        assert not lost
    assert [first] == [reading[1] for reading in changing.readings()]


def test_all_rows_made_again_are_not_taken_for_those_that_were_kept(
    on_spark: Callable[..., Any],
) -> None:
    """They agree with each other."""
    whole = table(200)
    with (
        held_rows(on_spark(whole), BOUNDED, salt=SALT) as rows,
        held_rows(on_spark(whole), BOUNDED, salt=SALT) as again,
    ):
        assert isinstance(rows, spark_rows.KeptRows) and isinstance(again, spark_rows.KeptRows)
        assert laid_out(rows.table([TOWN])) == laid_out(again.table([TOWN]))
        rows._frame._parts = again._frame._parts
        with pytest.raises(DataError, match="no longer has the rows that were first read"):
            rows.table([TOWN])


def test_tasks_without_parcels_have_no_part_in_a_count(
    on_spark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark may have more tasks than there are buckets."""
    assert list(tasks.following(None, 2, tasks.send_sums)(iter([]))) == []
    monkeypatch.setattr(spark_count, "BUCKETS", 2)
    whole = table(300)
    assert tables_there(on_spark(whole), BOUNDED) == tables_here(whole, BOUNDED)


# ── the curator ──────────────────────────────────────────────────────────────────────────────────


def test_rows_that_are_away_are_counted_in_tables_alone(on_spark: Callable[..., Any]) -> None:
    whole = table(300)
    with held_rows(on_spark(whole), BOUNDED, salt=SALT) as rows:
        here = code_table(whole, BOUNDED, salt=SALT)
        for views in ([DECADE], [DECADE, TOWN]):
            shape = tuple(view.size for view in views)
            seen = dense_counts(projected(rows, views), shape)
            assert np.array_equal(seen, dense_counts(projected(here, views), shape))
        grid = Grid([np.arange(size) for size in BOUNDED.shape])
        curator = Curator(
            rows,
            exposure=BOUNDED.exposure,
            account=Account(Fraction(1)),
            noise=EntropyNoise(SeededEntropy(1)),
        )
        for ask in (
            lambda: part_counts(rows, grid),
            lambda: split_data(rows, Marginal(BOUNDED.shape, [TOWN])),
            lambda: dense_counts(rows, BOUNDED.shape),
            lambda: curator.noisy_counts(grid, epsilon="1"),
        ):
            with pytest.raises(OptionError, match="only tables of attributes are counted"):
                ask()


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        ("privbayes", {}),
        ("privbayes", {"score": "I"}),
        ("marginals", {}),
        ("marginals", {"tables": "town,town+age", "along": "age=tree:10x10"}),
    ],
    ids=str,
)
def test_a_release_is_the_same_as_of_rows_here(
    on_spark: Callable[..., Any], tmp_path: Path, mechanism: str, settings: dict[str, str]
) -> None:
    """With the same draws, to the last digit."""
    whole, contents = table(2000), []
    town, age = ATTRIBUTES
    sex = {"name": "id", "kind": "ordinal", "range": [0, 9], "outside": "clip"}
    for number, data in enumerate((whole, on_spark(*split(whole, 2)))):
        described = make(town, age, sex, name=f"people {number}", budget="9")
        ht.publish(
            data,
            described,
            epsilon="1",
            out=tmp_path / f"out{number}",
            ledger=tmp_path / f"ledger{number}",
            mechanism=mechanism,
            settings=settings,
            entropy=SeededEntropy(7),
        )
        contents.append({p.name: p.read_bytes() for p in (tmp_path / f"out{number}").glob("*.npy")})
    assert contents[0] == contents[1] and contents[0]


def test_only_spark_is_told_beforehand_which_tables_will_be_asked_for(
    on_spark: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To know them may take a search."""
    told: list[int] = []
    tables = Marginals.tables

    def watched(mechanism: Marginals, schema: Schema, *, settings: Any) -> Any:
        told.append(1)
        return tables(mechanism, schema, settings=settings)

    monkeypatch.setattr(Marginals, "tables", watched)
    for number, data in enumerate((table(50), on_spark(table(50)))):
        unit = {"column": "id", "max_rows": 2}
        schema = make(*ATTRIBUTES, name=f"people {number}", unit=unit)
        given = {"out": tmp_path / f"out{number}", "ledger": tmp_path / f"ledger{number}"}
        ht.publish(data, schema, epsilon="0.5", mechanism="marginals", **given)
        assert len(told) == number


def test_rows_that_are_lost_after_paying_stay_paid(
    on_spark: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: Loss = {}
    frame = on_spark(*Changing(2).parts, lost=lost)

    def step(name: str) -> None:
        if name == "draw":
            lost[("kept", 1)] = 0

    with pytest.raises(HushError, match=r"no longer has the rows.*stays spent: noise was drawn"):
        ht.publish(
            frame,
            BOUNDED,
            epsilon="0.5",
            out=tmp_path / "out",
            ledger=tmp_path / "ledger",
            mechanism="privbayes",
            progress=step,
        )
    assert not spark_here.KEPT and not (tmp_path / "out").exists()
    assert open_ledger(BOUNDED, tmp_path / "ledger").state().spent == Fraction(1, 2)

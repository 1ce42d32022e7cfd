"""What Spark's tasks send each other adds up to the table's counts, whatever Spark does with them.

Tasks run here, on a frame of ours (`spark_here.py`). The real one is in tests/engines.
"""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from spark_here import BOUNDED, COUNTED, PLAIN, SALT, Loss, Part, split, table

from hushtable.errors import DataError
from hushtable.kernel.counting import code_table, count_table
from hushtable.kernel.counting.engines.spark import count as spark_count
from hushtable.kernel.counting.engines.spark import tasks
from hushtable.kernel.counting.engines.spark.parcels import TORN, Receiver, Sender
from hushtable.kernel.counting.readers.readable import readable
from hushtable.schema import Schema


def cells(data: Any, schema: Schema) -> Counter[int]:
    found = count_table(data, schema, salt=SALT)
    assert (np.diff(found.codes) > 0).all()
    return Counter(dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)))


@pytest.mark.parametrize("schema", [BOUNDED, COUNTED], ids=["bounded", "counted"])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_tasks_count_what_the_engine_counts_here(
    on_spark: Callable[..., Any], schema: Schema, parts: int
) -> None:
    whole = table(2000)
    assert cells(on_spark(*split(whole, parts)), schema) == cells(whole, schema)


def test_parts_without_rows_count_nothing(on_spark: Callable[..., Any]) -> None:
    assert cells(on_spark(table(0), table(0)), BOUNDED) == Counter()
    whole = table(30)
    assert cells(on_spark(table(0), whole), BOUNDED) == cells(whole, BOUNDED)


def test_columns_hold_the_rows_that_count(on_spark: Callable[..., Any]) -> None:
    whole = table(2000)
    for schema in (BOUNDED, COUNTED):
        found = code_table(on_spark(*split(whole, 3)), schema, salt=SALT)
        here = code_table(whole, schema, salt=SALT)
        assert rows_of(found) == rows_of(here)
        assert [column.dtype for column in found.columns] == [c.dtype for c in here.columns]


def rows_of(data: Any) -> Counter[Any]:
    people = data.people_of_rows().tolist()
    return Counter(zip(*(column.tolist() for column in data.columns), people, strict=True))


def test_a_person_with_most_of_the_rows_fills_no_task(on_spark: Callable[..., Any]) -> None:
    """Rows that are alike travel as one, and come back a few at a time."""
    whole = pa.concat_tables([table(300), *[table(1)] * 3000])
    assert cells(on_spark(*split(whole, 2)), BOUNDED) == cells(whole, BOUNDED)
    packed = pa.record_batch({"person": ["a", "b"], "n": pa.array([10**6, 2], pa.int64())})
    plain = pa.schema([("person", pa.string())])
    sizes, people = [], Counter[str]()
    for batch in tasks.expanded(iter([packed.serialize().to_pybytes()]), plain):
        sizes.append(len(batch))
        people.update(batch["person"].to_pylist())
    assert people == {"a": 10**6, "b": 2} and max(sizes) <= 2**17


# ── runs of tasks ────────────────────────────────────────────────────────────────────────────────


def changing() -> Part:
    """A part of a table that has other rows whenever it is read."""
    times = iter(range(1, 100))
    return lambda: table(500, seed=next(times)).to_batches(max_chunksize=100)


LOSSES = [{(stage, reader): 0} for stage in (1, 2) for reader in (1, 2)]
LOSSES[:0] = [{(0, reader): task} for reader in (1, 2) for task in (0, 1)]


@pytest.mark.parametrize("lost", LOSSES, ids=str)
def test_no_count_mixes_two_runs_of_a_task(on_spark: Callable[..., Any], lost: Loss) -> None:
    """The table has other rows whenever it is read, and its counts are those of one reading."""
    read: list[list[int]] = [[], []]

    def part(place: int) -> Part:
        def run() -> list[Any]:
            read[place].append(len(read[0]) * 10 + place + 1)
            return table(500, seed=read[place][-1]).to_batches()

        return run

    found = cells(on_spark(part(0), part(1), lost=dict(lost)), BOUNDED)
    readings = [
        cells(pa.concat_tables([table(500, seed=a), table(500, seed=b)]), BOUNDED)
        for a in read[0]
        for b in read[1]
    ]
    assert found in readings and len(readings) > 1


def test_what_is_lost_each_time_is_not_counted(on_spark: Callable[..., Any]) -> None:
    class Always(dict[tuple[int, int], int]):
        def pop(self, key: Any, default: Any = None) -> Any:
            return 0 if key == (0, 1) else default

    frame = on_spark(table(50), changing(), lost=Always({(0, 1): 0}))
    with pytest.raises(DataError, match="lost parts of the table while it was counted, 3 times"):
        count_table(frame, BOUNDED, salt=SALT)


def sealed(*sent: Any) -> str | None:
    """What a receiver of these batches finds wrong."""
    receiver = Receiver()
    list(receiver.payloads(iter(sent)))
    receiver.view()
    return receiver.note


def test_seals_say_what_is_torn() -> None:
    one, two, again = Sender(0, 2), Sender(1, 2), Sender(0, 2)
    both = [one.seals(b"v"), two.seals(b"v")]
    assert sealed() is None and sealed(*both) is None
    assert sealed(one.parcel(1, b"x"), *both) is None
    wrong = {
        "two runs of a task": [*both, again.seals(b"v")],
        "a run for each bucket": [one.seals(b"v")[:1], again.seals(b"v")[1:], two.seals(b"v")],
        "rows of another run": [*both, again.parcel(0, b"x")],
        "rows without a seal": [one.seals(b"v"), two.parcel(0, b"x")],
        "a bucket that lacks a seal": [one.seals(b"v"), two.seals(b"v").slice(0, 1)],
        "two views": [one.seals(b"v"), two.seals(b"w")],
    }
    for what, sent in wrong.items():
        assert sealed(*sent) == TORN, what


@pytest.mark.parametrize(("buckets", "note"), [(2, None), (1, TORN)])
def test_a_reading_that_ends_before_all_parts_is_torn(buckets: int, note: str | None) -> None:
    receiver = Receiver(2)
    list(receiver.payloads(iter([Sender(0, buckets).seals(b"v")])))
    receiver.view()
    assert receiver.note == note


def test_what_the_owner_reads_has_all_parts() -> None:
    receiver = next(spark_count.attempts())
    list(receiver.payloads(iter([Sender(0, spark_count.PARTS - 1).seals(b"v")])))
    receiver.view()
    assert receiver.note == TORN


def test_views_tell_evaluations_apart() -> None:
    views = []
    for sender in (Sender(0, 1), Sender(0, 1)):
        receiver = Receiver()
        list(receiver.payloads(iter([sender.seals(b"")])))
        views.append(receiver.view())
    assert views[0] != views[1]


def test_tasks_are_sent_with_all_that_they_need(tmp_path: Path) -> None:
    """They are read and run where nothing of ours can be imported."""
    from pyspark import cloudpickle

    spark_count.send_by_value()
    rows = pa.table({"c0": [1, 2, 2]})
    sql = "SELECT c0 AS cell FROM hush_rows"
    encoder = tasks.Encoder(tasks._version(), (), sql, {}, None, rows.schema, ("?",))
    sent = [
        tasks.encoding(encoder, 2, tasks.send_cells),
        tasks.following(None, 2, tasks.send_sums),
    ]
    (tmp_path / "tasks").write_bytes(cloudpickle.dumps((sent, rows.to_batches())))
    script = tmp_path / "executor.py"
    script.write_text(EXECUTOR)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "tasks")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.stdout, done.stderr) == ("[1, 2, 1, 2]\n", "")


EXECUTOR = """
import pickle, sys
from types import SimpleNamespace
import numpy as np
import pyspark
sys.modules["hushtable"] = None
pyspark.TaskContext.get = lambda: SimpleNamespace(partitionId=lambda: 0)
(encode, add), rows = pickle.load(open(sys.argv[1], "rb"))
payloads = (p for b in add(encode(iter(rows))) for p in b["payload"].to_pylist() if p)
found = np.concatenate([np.frombuffer(p, np.int64).reshape(2, -1) for p in payloads], axis=1)
print(found[:, np.argsort(found[0])].ravel().tolist())
"""


# ── executors ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("schema", [PLAIN, BOUNDED], ids=["plain", "bounded"])
@pytest.mark.parametrize(("version", "said"), [("1.4.2", "has duckdb 1.4.2"), ("none", "has no")])
def test_executors_with_another_engine_are_refused(
    on_spark: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    schema: Schema,
    version: str,
    said: str,
) -> None:
    whole = table(30)
    if schema is PLAIN:
        plain = readable(whole.select(["town", "age"]), ["town", "age"]).schema
        monkeypatch.setattr(spark_count, "declared_types", lambda *_: plain)
        whole = whole.select(["town", "age"])
    frame = on_spark(*split(whole, 2))
    assert cells(frame, schema)
    monkeypatch.setattr(tasks, "_version", lambda: version)
    with pytest.raises(DataError, match=f"an executor {said}.*pip install duckdb=="):
        count_table(frame, schema, salt=SALT)


def test_a_task_fails_without_the_words_of_what_failed() -> None:
    def rows() -> Iterator[Any]:
        yield table(3).to_batches()[0]
        raise ValueError("canary-4711")

    encoder = tasks.Encoder(
        tasks._version(), (), "SELECT 1 AS bucket FROM hush_rows", {}, None, table(0).schema
    )
    task = tasks.encoding(encoder, 2, tasks.send_persons)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "_place", lambda: 0)
        with pytest.raises(RuntimeError, match="could not be counted") as failed:
            list(task(rows()))
    assert "canary" not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__context__ is None


def test_what_reads_a_stream_twice_is_given_all_of_it_twice() -> None:
    rows = pa.table({"c0": [1, 2, 3]})
    sql = "SELECT a.c0 AS cell FROM hush_rows a JOIN hush_rows b USING (c0)"
    encoder = tasks.Encoder(tasks._version(), (), sql, {}, None, rows.schema)
    with tasks._rows(encoder, iter(rows.to_batches())) as found:
        assert sorted(found.fetchall()) == [(1,), (2,), (3,)]

"""Tables of Spark are published from where they are: classic, by Spark Connect, through Ibis."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from tests.shared_spark import Spark, spark, spark_environment

import hushtable as ht
from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting import CodedColumns, code_table, count_table, held_rows
from hushtable.kernel.counting.engines.clusters import SparkTable, files_on_spark
from hushtable.kernel.counting.engines.spark import tables, tasks
from hushtable.kernel.counting.engines.spark.parcels import Sender
from hushtable.kernel.curator import Marginal, View
from hushtable.kernel.curator.holding import dense_counts, part_counts
from hushtable.schema import Schema

pytestmark = [
    pytest.mark.thorough,
    # PySpark warns of a pandas that it does not know, which is not used here.
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SALT = "5a17" * 8
CANARY = "canary-4711"
TOML = """
name = "people"
budget = "5"
unit = { column = "id", max_rows = 2 }
[[attribute]]
name = "town"
kind = "nominal"
values = ["north", "south"]
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 99]
"""


@pytest.fixture(scope="module")
def sparks() -> Spark:
    return spark()


@pytest.fixture(params=["classic", "connect"])
def session(request: pytest.FixtureRequest, sparks: Spark) -> Any:
    return getattr(sparks, request.param)


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "people.toml"
    path.write_text(TOML)
    return path


@pytest.fixture
def schema(schema_file: Path) -> Schema:
    return Schema.load(schema_file)


def people(rows: int = 3000) -> Any:
    source = np.random.default_rng(1)
    towns = np.array(["north", "south", "elsewhere"])[source.integers(0, 3, rows)]
    ages, ids = source.integers(-5, 105, rows), source.integers(0, rows // 3, rows)
    ids[: rows // 2] = 7  # one person with half of all rows
    return pa.table({"id": ids, "town": pa.array(towns, pa.string()), "age": ages})


def frame_of(session: Any, table: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return session.createDataFrame(table)


def cells(data: Any, schema: Schema) -> Counter[int]:
    found = count_table(data, schema, salt=SALT)
    return Counter(dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)))


# ── what is counted ──────────────────────────────────────────────────────────────────────────────


def test_executors_have_no_hushtable(session: Any) -> None:
    def tried(batches: Iterator[Any]) -> Iterator[Any]:
        list(batches)
        try:
            import hushtable  # noqa: F401

            found = "found"
        except ImportError as missing:
            found = str(missing)
        yield pa.record_batch({"found": [found]})

    rows = session.range(1).mapInArrow(tried, "found string").collect()
    assert {row["found"] for row in rows} == {"executors have no hushtable"}


def test_a_frame_counts_as_it_does_here_however_it_is_split(session: Any, schema: Schema) -> None:
    table = people()
    here = cells(table, schema)
    for parts in (1, 7):
        assert cells(frame_of(session, table).repartition(parts), schema) == here
    assert 0 < here.total() < table.num_rows


def test_columns_are_found_by_name_and_place(session: Any, schema: Schema) -> None:
    table = people(200)
    frame = frame_of(session, table).withColumnsRenamed({"town": "Town", "age": " age"})
    frame = frame.selectExpr("*", "1 AS `a.b``c`")
    assert cells(frame, schema) == cells(table, schema)
    twice = frame.toDF("x", "id", "town", "x").toDF("id", "town", "age", "town")
    with pytest.raises(DataError, match="more than one column 'town'"):
        count_table(twice, schema)
    with pytest.raises(DataError, match="no column 'age'"):
        count_table(frame.drop(" age"), schema)


def test_an_ibis_table_of_spark_is_counted_there(sparks: Spark, schema: Schema) -> None:
    table = people(500)
    frame_of(sparks.classic, table).createOrReplaceTempView("of_ibis")
    zone = sparks.classic.conf.get("spark.sql.session.timeZone")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        backend = ibis.pyspark.connect(sparks.classic)
    try:
        assert cells(backend.table("of_ibis"), schema) == cells(table, schema)
        young = backend.table("of_ibis").filter(ibis._.age < 50)
        assert cells(young, schema) == cells(table.filter(pc.less(table["age"], 50)), schema)
    finally:
        sparks.classic.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("mechanism", ["basic", "privbayes", "marginals"])
def test_a_frame_is_published(
    session: Any, schema_file: Path, tmp_path: Path, mechanism: str
) -> None:
    frame = frame_of(session, people())
    release = ht.publish(
        frame, schema_file, epsilon="1", out=tmp_path / "out.release", mechanism=mechanism
    )
    answer = release.count("town = 'north'")
    assert answer.value == pytest.approx(500, abs=400)


def test_coded_rows_come_back_as_they_are_here(session: Any, schema: Schema) -> None:
    table = people(500)
    found, here = (code_table(d, schema, salt=SALT) for d in (frame_of(session, table), table))
    sort = [np.lexsort(data.columns) for data in (found, here)]
    for one, other in zip(found.columns, here.columns, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one[sort[0]], other[sort[1]])


@pytest.mark.parametrize("known", [True, False])
def test_tables_of_rows_that_stay_in_spark_are_those_of_rows_here(
    session: Any, schema: Schema, known: bool
) -> None:
    table = people(2000)
    here = code_table(table, schema, salt=SALT)
    town, age = (View(axis, np.arange(size)) for axis, size in enumerate(schema.shape))
    decades = View(1, np.arange(schema.shape[1]) // 10)
    wanted = [[town], [decades], [decades, town], [town, age]]
    frame = frame_of(session, table).repartition(3)
    with held_rows(frame, schema, foreseen=wanted if known else None, salt=SALT) as rows:
        assert not isinstance(rows, CodedColumns)
        for views, found in zip(wanted, rows.tables(wanted), strict=True):
            counts = dense_counts(found, found.shape).reshape(-1)
            assert np.array_equal(counts, part_counts(here, Marginal(schema.shape, views)))


def test_rows_that_stay_are_independent_of_the_table_and_of_other_runs(
    session: Any, sparks: Spark
) -> None:
    """Spark does not read them again: not after an insertion, not for another run.

    A classic session drops them at once.
    """

    def drawn(batches: Iterator[Any]) -> Iterator[Any]:
        import secrets

        for batch in batches:
            values = [secrets.randbelow(100) for _ in range(len(batch))]
            yield pa.record_batch({"age": pa.array(values, pa.int64())})

    said = [{"name": "age", "kind": "ordinal", "range": [0, 99]}]
    schema = Schema.from_dict({"name": "ages", "budget": "1", "attribute": said})
    name = "live_connect" if "connect" in type(session).__module__ else "live_classic"
    sparks.classic.range(500).write.mode("overwrite").saveAsTable(name)
    frame = session.table(name).mapInArrow(drawn, "age long")
    view = View(0, np.arange(100))

    def ages(rows: Any) -> Any:
        return dense_counts(rows.table([view]), (100,)).tolist()

    def stored() -> set[int]:
        return {*sparks.classic.sparkContext._jsc.getPersistentRDDs().keySet()}

    before = stored()
    with held_rows(frame, schema) as rows:
        assert len(stored() - before) == 1
        first = ages(rows)
        sparks.classic.newSession().sql(f"INSERT INTO {name} VALUES (3)")
        assert ages(rows) == first
        with held_rows(frame, schema) as others:
            assert ages(others) != first
        assert ages(rows) == first and sum(first) == 500
    assert "connect" in type(session).__module__ or stored() <= before


def test_types_that_hold_no_plain_values_are_refused(session: Any) -> None:
    said = {
        "array(1)": "array",
        "map('a', 1)": "map",
        "struct(1)": "struct",
        "INTERVAL '1' YEAR": "interval",
        "INTERVAL '1' DAY": "interval",
    }
    schema = Schema.from_dict(
        {
            "name": "t",
            "budget": "1",
            "attribute": [{"name": "v", "kind": "ordinal", "range": [0, 1]}],
        }
    )
    for value, kind in said.items():
        with pytest.raises(DataError, match=f"column 'v' is of type .*{kind}"):
            count_table(session.sql(f"SELECT {value} AS v"), schema)


def test_what_only_looks_at_a_table_asks_for_rows_elsewhere(session: Any, schema: Schema) -> None:
    frame = frame_of(session, people(10))
    with pytest.raises(DataError, match="counted there, and not looked at here"):
        ht.check(frame, schema)


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


def failing_once(flags: Path) -> Callable[..., Iterator[Any]]:
    """What passes rows on, but fails the first time in every part."""
    folder = str(flags)

    def once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.attemptNumber() == 0:
            open(f"{folder}/{context.partitionId()}", "a").close()
            raise RuntimeError("as planned")

    return once


def test_a_task_that_fails_at_first_counts_once(
    session: Any, schema: Schema, tmp_path: Path
) -> None:
    table = people(500)
    flags = tmp_path / "failed"
    flags.mkdir()
    frame = frame_of(session, table).repartition(3)
    again = frame.mapInArrow(failing_once(flags), frame.schema)
    assert cells(again, schema) == cells(table, schema)
    assert len(list(flags.iterdir())) == 3, "each task failed"


def test_rows_to_keep_are_read_again_when_the_first_reading_was_torn(
    session: Any, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that ends with the seal of another run, once."""
    flag, send = tmp_path / "torn", tasks.send_rows

    def torn_once(rows: Any, sender: Any, buckets: int) -> Iterator[Any]:
        yield from send(rows, sender, buckets)
        if not flag.exists():
            flag.touch()
            yield Sender(sender.task, buckets).seals(b"")

    monkeypatch.setattr(tasks, "send_rows", torn_once)
    table = people(500)
    with held_rows(frame_of(session, table), schema, salt=SALT) as rows:
        assert flag.exists()
        here = code_table(table, schema, salt=SALT)
        town = View(0, np.arange(schema.shape[0]))
        found = dense_counts(rows.table([town]), (town.size,))  # type: ignore[union-attr]
        assert np.array_equal(found, part_counts(here, Marginal(schema.shape, [town])))


def test_a_killed_executor_neither_loses_nor_repeats_rows(tmp_path: Path) -> None:
    """Of a table with other rows whenever it is read, what was lost is not read again for a part;
    one that stays as it is has the cells that DuckDB counts here."""
    spark()  # or the reason why there is none
    script = Path(__file__).with_name("lost_executors.py")
    paths = [str(script.parent.parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["adding"]["times"] > 1, "the first count was torn"
    assert found["adding"]["rows"] == 20_000
    assert found["reading"]["as in DuckDB"] and 3000 < found["reading"]["rows"] <= 4000
    assert found["kept"] == "same" or "no longer has the rows" in found["kept"]


def test_no_value_is_printed_when_a_table_cannot_be_read(
    session: Any, sparks: Spark, schema: Schema, capfd: pytest.CaptureFixture[str]
) -> None:
    """Java, the workers and the Python side of Spark have all read it by then."""
    rows = pa.table({"id": [CANARY] * 9, "town": [CANARY] * 9, "age": [CANARY] * 9})
    frame = frame_of(session, rows)
    before = sparks.printed.stat().st_size
    wrong = frame.selectExpr("id", "town", "CAST(age AS INT) AS age")
    with pytest.raises(DataError, match="could not be counted in Spark") as failed:
        count_table(wrong, schema)
    seen: BaseException | None = failed.value
    while seen is not None:
        assert CANARY not in repr(seen)
        seen = seen.__context__
    printed = sparks.printed.read_bytes()[before:].decode(errors="replace")
    on_connect = "connect" in type(session).__module__
    assert CANARY not in ("" if on_connect else printed)  # a server has a log of its own
    assert CANARY not in "".join(capfd.readouterr())


def test_the_log_of_a_session_is_as_it_was(sparks: Spark, schema: Schema) -> None:
    log4j = sparks.classic.sparkContext._jvm.org.apache.logging.log4j
    before = log4j.LogManager.getRootLogger().getLevel().toString()
    count_table(frame_of(sparks.classic, people(10)), schema)
    assert log4j.LogManager.getRootLogger().getLevel().toString() == before


# ── by address ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def address(sparks: Spark) -> str:
    """Of a server with a table of people."""
    frame_of(sparks.classic, people()).write.mode("overwrite").saveAsTable("people")
    return sparks.address


def test_a_table_of_a_cluster_is_published_by_its_name(
    address: str, schema_file: Path, run_hush: Callable[..., tuple[int, str, str]]
) -> None:
    arguments = ["--schema", str(schema_file), "-e", "1", "-o", "out.release", "-m", "basic"]
    code, out, err = run_hush("publish", address, "--table", "people", *arguments)
    assert (code, err) == (0, "") and "published out.release" in out
    code, _, err = run_hush("publish", address, "--table", "nobody", *arguments[:-4], "-o", "x")
    assert code != 0 and "has no table 'nobody'" in err
    code, _, err = run_hush("publish", address, *arguments[:-4], "-o", "x")
    assert code != 0 and "--table NAME" in err


def test_a_server_that_is_not_there_is_one_line(schema: Schema, tmp_path: Path) -> None:
    nobody = SparkTable("sc://127.0.0.1:1/;token=secret-token", "people")
    assert "secret" not in repr(nobody)
    with pytest.raises(DataError, match="no Spark Connect server") as failed:
        count_table(nobody, schema)
    assert "secret" not in str(failed.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Parquet files in folders, some of them below another."""
    made = tmp_path / "files" / "town=north"
    made.mkdir(parents=True)
    table = people()
    pq.write_table(table.slice(0, 1000), made / "a.parquet")
    pq.write_table(table.slice(1000), made.parent / "b.parquet")
    return made.parent


def test_a_folder_of_files_is_published_in_spark(
    folder: Path, schema_file: Path, tmp_path: Path
) -> None:
    spark()  # or the reason why there is none
    with spark_environment(tmp_path):
        environment = dict(os.environ) | {"HUSHTABLE_STATE": str(tmp_path / "state")}
    del environment["PYTHONPATH"]
    command = [sys.executable, "-m", "hushtable", "publish", str(folder), "--engine", "spark"]
    command += ["--schema", str(schema_file), "-e", "1", "-m", "basic", "-o", "out.release"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    release = ht.open(tmp_path / "out.release")
    truth = cells(people(), Schema.load(schema_file)).total()
    assert release.count("town IS NOT NULL").value == pytest.approx(truth, abs=1000)


def test_an_engine_is_for_files_and_knows_lakes(folder: Path) -> None:
    assert len(files_on_spark(str(folder), "spark").paths) == 2
    with pytest.raises(OptionError, match="engine is 'spark'"):
        files_on_spark(str(folder), "flink")
    with pytest.raises(OptionError, match="engine is for files"):
        files_on_spark("sc://host", "spark")
    left = folder / "_temporary" / "0"
    left.mkdir(parents=True)
    for name in (left / "part.parquet", folder / ".part.parquet", folder / "_part.parquet"):
        shutil.copy(next(folder.glob("*.parquet")), name)
    assert len(files_on_spark(str(folder), "spark").paths) == 2, "what a job left is no part of it"
    (folder / "_delta_log").mkdir()
    with pytest.raises(DataError, match=r"table of Delta.*leave out --engine"):
        files_on_spark(str(folder.parent), "spark")
    with pytest.raises(DataError, match="could not be opened as a Delta table"):
        files_on_spark(str(folder), "spark")


def test_files_of_a_delta_table_are_those_of_its_present_version(
    sparks: Spark, tmp_path: Path, schema: Schema
) -> None:
    place, table = str(tmp_path / "delta"), people(300)
    write_deltalake(place, table.slice(0, 200))
    write_deltalake(place, people(50), mode="overwrite")
    found = files_on_spark(place, "spark")
    assert len(found.paths) == 1 < len([*Path(place).glob("*.parquet")])
    write_deltalake(place, table.slice(200), mode="overwrite")
    write_deltalake(place, table.slice(0, 200), mode="append")
    found = files_on_spark(place, "spark")
    assert len(found.paths) == 2
    assert cells(tables._named_frame(sparks.classic, found), schema) == cells(table, schema)
    assert cells(place, schema) == cells(table, schema)


def test_a_folder_of_a_cluster_is_no_lake(session: Any, folder: Path) -> None:
    """Only the cluster sees it: files that a table of Delta no longer has would count."""
    table = SparkTable(None, paths=(str(folder),))
    assert tables._named_frame(session, table).count() == 3000
    (folder / "town=north" / "_delta_log").mkdir()
    with pytest.raises(DataError, match="table of Delta"):
        tables._named_frame(session, table)

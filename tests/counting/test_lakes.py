"""Tables of a lake: one snapshot, whose rows count as those of the same table in memory."""

from __future__ import annotations

import datetime as dt
import json
import os
import struct
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.types import LongType
from pyiceberg.utils.config import Config
from pyroaring import BitMap
from slow_encoding import counted, make
from tests.shared_stores import Bucket, Site

from hushtable.drafting import draft_schema
from hushtable.errors import DataError, HushError, OptionError
from hushtable.kernel.counting.engines.clusters import files_on_spark
from hushtable.kernel.counting.readers.paths import files_of, settled, table_in
from hushtable.publishing import publish

SCHEMA = make({"name": "age", "kind": "ordinal", "range": [0, 9], "outside": "drop"})
PARTED = make(
    {"name": "age", "kind": "ordinal", "range": [0, 4], "outside": "other"},
    {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
    {"name": "kin", "kind": "nominal", "values": ["true", "false"], "outside": "other"},
)
PEOPLE = pa.table(
    {
        "age": pa.array([1, 2, None, 4, 2, 9], pa.int32()),
        "sex": ["f", "m", "f/m ü", None, "m", "f"],
        "kin": [True, False, None, True, False, True],
    }
)


def every_type() -> pa.Table:
    """Odd values of the types that both lakes have."""
    zone = dt.UTC
    return pa.table(
        {
            "i": pa.array([1, 2**31 - 1, None], pa.int32()),
            "l": pa.array([2**53, 2**53 + 1, -(2**63)], pa.int64()),
            "d": pa.array([float("nan"), float("inf"), -0.0], pa.float64()),
            "n": pa.array([Decimal("1.10"), Decimal("-9999999.99"), None], pa.decimal128(9, 2)),
            "s": ["a", " b ", None],
            "b": pa.array([b"a", b"\xff", None], pa.binary()),
            "t": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None], pa.date32()),
            "z": pa.array(
                [dt.datetime(1, 1, 1, tzinfo=zone), dt.datetime(9999, 1, 1, tzinfo=zone), None],
                pa.timestamp("us", "UTC"),
            ),
        }
    )


TYPES = make(
    {"name": "i", "kind": "ordinal", "range": [0, 3]},
    {"name": "l", "kind": "nominal", "values": [str(2**53), str(2**53 + 1)], "outside": "other"},
    {"name": "d", "kind": "ordinal", "edges": [-1, 0, 1], "outside": "other"},
    {"name": "n", "kind": "nominal", "values": ["1.1", "2"], "outside": "other"},
    {"name": "s", "kind": "nominal", "values": ["a", "b"], "outside": "other"},
    {"name": "t", "kind": "nominal", "values": ["0001-01-01", "9999-12-31"], "outside": "other"},
    {"name": "z", "kind": "nominal", "values": ["x"], "outside": "other"},
)


# ── Delta ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def delta(tmp_path: Path) -> str:
    place = str(tmp_path / "people delta")
    write_deltalake(place, PEOPLE, partition_by=["sex", "kin"])
    return place


def test_a_delta_table_counts_as_the_same_table_here(delta: str, tmp_path: Path) -> None:
    assert counted(delta, PARTED) == counted(PEOPLE, PARTED)
    assert counted(Path(delta), PARTED) == counted(PEOPLE, PARTED)
    write_deltalake(tmp_path / "types", every_type())
    assert counted(tmp_path / "types", TYPES) == counted(every_type(), TYPES)


def test_columns_by_which_a_table_is_parted_are_enough(delta: str) -> None:
    schema = make({"name": "sex", "kind": "nominal", "values": ["f", "m"]})
    assert counted(delta, schema) == {0: 2, 1: 2}


def test_a_version_is_counted_whatever_becomes_of_the_table(delta: str) -> None:
    before = settled(delta)
    write_deltalake(delta, PEOPLE, mode="append")
    DeltaTable(delta).delete("age = 1")
    assert counted(before, PARTED) == counted(PEOPLE, PARTED)
    twice = counted(pa.concat_tables([PEOPLE, PEOPLE]), PARTED)
    assert counted(delta, PARTED) == twice - counted(PEOPLE.slice(0, 1), PARTED) - counted(
        PEOPLE.slice(0, 1), PARTED
    )


def test_columns_that_old_files_lack_are_missing_in_their_rows(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"more": ["x"]}))
    more = pa.table({"more": ["y"], "age": [3]})
    write_deltalake(tmp_path / "t", more, mode="append", schema_mode="merge")
    assert counted(tmp_path / "t", SCHEMA) == {3: 1}


def test_an_empty_table_is_empty(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "t", pa.schema([("age", pa.int64())]))
    assert counted(tmp_path / "t", SCHEMA) == {}


def z85(data: bytes) -> str:
    table = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for (word,) in struct.iter_unpack(">I", data):
        text += "".join(table[word // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def delete_rows(place: Path, rows: list[int]) -> None:
    """Delete rows of the only file of a table by a vector, as other writers of tables do."""
    vector = struct.pack("<IQI", 1681511377, 1, 0) + BitMap(rows).serialize()
    padded = vector + b"\0" * (-len(vector) % 4)
    log = place / "_delta_log"
    lines = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (add,) = (line["add"] for line in lines if "add" in line)
    told = {"storageType": "i", "pathOrInlineDv": z85(padded), "sizeInBytes": len(vector)}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    removed = {key: add[key] for key in ("path", "partitionValues", "size")}
    new = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {**removed, "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": {**told, "cardinality": len(rows)}}},
    ]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, new)))


def test_rows_that_a_vector_deleted_do_not_count(tmp_path: Path) -> None:
    ages = pa.table({"age": [i % 10 for i in range(1000)]})
    write_deltalake(tmp_path / "t", ages)
    (file,) = (tmp_path / "t").glob("*.parquet")
    pq.write_table(ages, file, row_group_size=300)
    delete_rows(tmp_path / "t", [0, 1, 10, 999])
    expected = counted(ages, SCHEMA)
    for age in (0, 1, 0, 9):
        expected[age] -= 1
    assert counted(tmp_path / "t", SCHEMA) == expected


def test_a_vector_belongs_to_one_file_whose_name_may_end_like_another(tmp_path: Path) -> None:
    place = tmp_path / "t"
    write_deltalake(place, pa.table({"age": [1, 2]}))
    (file,) = place.glob("*.parquet")
    (place / "x").mkdir()
    file.rename(place / "x" / "a.parquet")
    pq.write_table(pa.table({"age": [5, 6]}), place / "a.parquet")

    def moved(line: Any) -> None:
        if "add" in line:
            line["add"]["path"] = "x/a.parquet"

    rewrite_log(place, moved)
    delete_rows(place, [0])
    log = place / "_delta_log" / f"{1:020}.json"
    lines = log.read_text().splitlines()
    other = json.loads(lines[-1])
    del other["add"]["deletionVector"]
    other["add"] |= {"path": "a.parquet", "size": (place / "a.parquet").stat().st_size}
    for order in ([*lines, json.dumps(other)], [*lines[:1], json.dumps(other), *lines[1:]]):
        log.write_text("\n".join(order))
        assert counted(place, SCHEMA) == {2: 1, 5: 1, 6: 1}


def test_a_file_of_two_names_is_not_counted_twice(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"age": [1, 2]}))
    log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    text = log.read_text().rstrip()
    (add,) = (line for line in text.splitlines() if '"add"' in line)
    other = json.loads(add)
    other["add"]["path"] = other["add"]["path"].replace("p", "%70", 1)
    log.write_text(f"{text}\n{json.dumps(other)}\n")
    with pytest.raises(DataError, match="has a file of two names"):
        counted(tmp_path / "t", SCHEMA)


def test_a_vector_of_a_file_of_unknown_length_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"age": [1, 2]}))

    def without_statistics(line: Any) -> None:
        if "add" in line:
            del line["add"]["stats"]

    rewrite_log(tmp_path / "t", without_statistics)
    delete_rows(tmp_path / "t", [0])
    with pytest.raises(DataError, match="its log does not say how many rows") as refused:
        counted(tmp_path / "t", SCHEMA)
    assert refused.value.__context__ is None


def rewrite_log(place: Path, change: Any) -> None:
    log = place / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        change(line)
    log.write_text("\n".join(map(json.dumps, lines)))


def mapped(line: Any) -> None:
    if "metaData" in line:
        line["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
        fields = json.loads(line["metaData"]["schemaString"])
        for i, field in enumerate(fields["fields"]):
            field["metadata"] = {
                "delta.columnMapping.id": i + 1,
                "delta.columnMapping.physicalName": field["name"],
            }
        line["metaData"]["schemaString"] = json.dumps(fields)
    if "protocol" in line:
        line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}


def elsewhere(line: Any) -> None:
    if "add" in line:
        line["add"]["path"] = "../other/file.parquet"


def missing(line: Any) -> None:
    if "add" in line:
        line["add"]["path"] = "none.parquet"


REFUSED = {
    "mapped": (mapped, "uses features of Delta that are not read|could not be opened as a Delta"),
    "elsewhere": (elsewhere, "has files in other folders|could not be opened as a Delta"),
    "missing": (missing, "lacks a file that its log names"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(tmp_path: Path, name: str) -> None:
    change, words = REFUSED[name]
    write_deltalake(tmp_path / "t", pa.table({"age": [1]}))
    rewrite_log(tmp_path / "t", change)
    with pytest.raises(DataError, match=words) as refused:
        counted(tmp_path / "t", SCHEMA)
    assert refused.value.__context__ is None


def test_a_file_of_another_type_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"age": [1]}))
    (file,) = (tmp_path / "t").glob("*.parquet")
    pq.write_table(pa.table({"age": ["1"]}), file)
    with pytest.raises(DataError, match="of another type in a file of"):
        counted(tmp_path / "t", SCHEMA)
    pq.write_table(pa.table({"age": pa.array([1], pa.int8())}), file)
    assert counted(tmp_path / "t", SCHEMA) == {1: 1}


def test_a_delta_table_in_a_store(bucket: Bucket, delta: str) -> None:
    for path in Path(delta).rglob("*"):
        if path.is_file():
            bucket.put(f"lake/people/{path.relative_to(delta)}", path)
    for place in ("lake/people", "lake/people/"):
        address = f"s3://{bucket.name}/{place}"
        assert counted(address, PARTED) == counted(PEOPLE, PARTED)
    pinned = settled(address)
    bucket.put(str(pinned.files[0].file).partition(f"{bucket.name}/")[2], b"x" * 100)
    with pytest.raises(DataError, match="it changed while it was being read"):
        counted(pinned, PARTED)


def test_rows_that_a_vector_deleted_in_a_store_do_not_count(bucket: Bucket, tmp_path: Path) -> None:
    place = tmp_path / "t"
    write_deltalake(place, pa.table({"age": [1, 2], "of": ["a b/ü%"] * 2}), partition_by=["of"])
    delete_rows(place, [0])
    for path in place.rglob("*"):
        if path.is_file():
            bucket.put(f"with vectors/{path.relative_to(place)}", path)
    assert counted(place, SCHEMA) == {2: 1}
    assert counted(f"s3://{bucket.name}/with vectors", SCHEMA) == {2: 1}


@pytest.mark.parametrize("named", [True, False])
def test_no_machine_of_a_cloud_is_asked_for_a_region(
    site: Site, bucket: Bucket, delta: str, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library asks such a machine even where the environment has keys."""
    for path in Path(delta).rglob("*"):
        if path.is_file():
            bucket.put(f"lake/{path.relative_to(delta)}", path)
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_FORCE_CREDENTIAL_LOAD", "true")
    variable = "AWS_METADATA_ENDPOINT" if named else "AWS_EC2_METADATA_SERVICE_ENDPOINT"
    monkeypatch.setenv(variable, site.address("")[:-1])
    before = dict(os.environ)
    assert counted(f"s3://{bucket.name}/lake", PARTED) == counted(PEOPLE, PARTED)
    assert bool(site.asked) is named
    assert dict(os.environ) == before


def test_a_delta_table_is_published_drafted_and_known_again(delta: str, tmp_path: Path) -> None:
    names = {attribute.name for attribute in draft_schema(delta, name="t").schema.attributes}
    assert names == {"age", "sex", "kin"}
    schema = tmp_path / "people.toml"
    schema.write_text(
        'name = "people"\nbudget = "3"\n[[attribute]]\nname = "age"\nkind = "ordinal"\n'
        "range = [0, 9]\n"
    )
    publish(delta, schema, epsilon="1", mechanism="basic", out=tmp_path / "out")
    (first, *_) = files_of(delta)
    for proxy in (delta, first):
        with pytest.raises(OptionError, match="the proxy is"):
            publish(PEOPLE, schema, epsilon="1", proxy=proxy, public=True, out=tmp_path / "two")


# ── Iceberg ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog in a file, which the environment names."""
    name = f"test{uuid.uuid4().hex}"
    for key, value in {
        "TYPE": "sql",
        "URI": f"sqlite:///{tmp_path}/catalog.db",
        "WAREHOUSE": f"file://{tmp_path}/warehouse",
    }.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__{key}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it is read on import
    made = load_catalog(name)
    made.create_namespace("db")
    return made


def iceberg(catalog: Catalog, name: str, rows: pa.Table) -> Any:
    table = catalog.create_table(f"db.{name}", rows.schema)
    table.append(rows)
    return table


def test_an_iceberg_table_counts_as_the_same_table_here(catalog: Catalog) -> None:
    place = iceberg(catalog, "people", PEOPLE).metadata_location
    assert counted(place.removeprefix("file://"), PARTED) == counted(PEOPLE, PARTED)
    types = iceberg(catalog, "types", every_type()).metadata_location
    assert counted(types.removeprefix("file://"), TYPES) == counted(every_type(), TYPES)
    named = table_in(f"iceberg://{catalog.name}", "db.people")
    assert counted(named, PARTED) == counted(PEOPLE, PARTED)
    with pytest.raises(OptionError, match="name one with --table"):
        counted(f"iceberg://{catalog.name}", PARTED)
    with pytest.raises(DataError, match="could not be opened as an Iceberg table"):
        counted(table_in(f"iceberg://{catalog.name}", "db.none"), PARTED)


def test_columns_are_known_by_their_numbers(catalog: Catalog) -> None:
    table = iceberg(catalog, "people", pa.table({"age": pa.array([1, 2], pa.int32())}))
    with table.update_schema() as update:
        update.rename_column("age", "years")
    with table.update_schema() as update:
        update.add_column("age", LongType())
        update.update_column("years", LongType())
    table.append(pa.table({"years": pa.array([5]), "age": pa.array([7])}))
    place = table.metadata_location.removeprefix("file://")
    years = make({"name": "years", "kind": "ordinal", "range": [0, 9]})
    assert counted(place, SCHEMA) == {7: 1}
    assert counted(place, years) == {1: 1, 2: 1, 5: 1}


def test_a_snapshot_is_counted_whatever_becomes_of_the_table(catalog: Catalog) -> None:
    table = iceberg(catalog, "people", PEOPLE)
    named = table_in(f"iceberg://{catalog.name}", "db.people")
    before = settled(named)
    table.append(PEOPLE)
    assert counted(before, PARTED) == counted(PEOPLE, PARTED)
    assert counted(named, PARTED) == counted(pa.concat_tables([PEOPLE] * 2), PARTED)


def test_a_table_that_was_never_written_is_empty(catalog: Catalog) -> None:
    catalog.create_table("db.t", pa.schema([("age", pa.int64())]))
    assert counted(table_in(f"iceberg://{catalog.name}", "db.t"), SCHEMA) == {}


def test_rows_that_are_deleted_in_another_file_are_not_counted_by_mistake(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = iceberg(catalog, "people", PEOPLE)
    plan = type(table.scan()).plan_files
    monkeypatch.setattr(
        type(table.scan()),
        "plan_files",
        lambda self: [type(task)(task.file, {task.file}) for task in plan(self)],
    )
    with pytest.raises(DataError, match="has deleted rows that are still in its files"):
        counted(table_in(f"iceberg://{catalog.name}", "db.people"), PARTED)


def test_files_without_numbers_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    table = iceberg(catalog, "people", PEOPLE)
    pq.write_table(PEOPLE, tmp_path / "more.parquet")
    table.add_files([f"file://{tmp_path}/more.parquet"])
    with pytest.raises(DataError, match="does not number its columns"):
        counted(table_in(f"iceberg://{catalog.name}", "db.people"), PARTED)


EVIL = """
from pathlib import Path
from pyiceberg.io.pyarrow import PyArrowFileIO as Reader
Path(__file__).with_suffix(".ran").touch()
"""


@pytest.mark.parametrize("way", ["file", "catalog"])
def test_a_table_cannot_choose_the_program_that_reads_it(
    catalog: Catalog, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"reader_{uuid.uuid4().hex}"
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{module}.py").write_text(
        "from pyiceberg.io.pyarrow import PyArrowFileIO as Reader"
    )
    schema = PEOPLE.schema
    table = catalog.create_table("db.t", schema, properties={"py-io-impl": f"{module}.Reader"})
    table.append(PEOPLE)
    assert sys.modules.pop(module)
    (tmp_path / f"{module}.py").write_text(EVIL)
    named = table_in(f"iceberg://{catalog.name}", "db.t")
    given = named if way == "catalog" else table.metadata_location.removeprefix("file://")
    with pytest.raises(DataError, match="remove its property py-io-impl") as refused:
        counted(given, PARTED)
    assert refused.value.__context__ is None
    assert module not in sys.modules and not (tmp_path / f"{module}.ran").exists()


def rewritten(table: Any, place: Path, properties: dict[str, str], files: str | None) -> Path:
    """The metadata of a table with other properties, and its list of files elsewhere."""
    told = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    told["properties"] = properties
    for snapshot in told["snapshots"]:
        snapshot["manifest-list"] = files or snapshot["manifest-list"]
    place.write_text(json.dumps(told))
    return place


@pytest.mark.parametrize("way", ["file", "catalog"])
def test_hosts_and_keys_that_a_table_names_have_no_effect(
    catalog: Catalog, site: Site, bucket: Bucket, tmp_path: Path, way: str
) -> None:
    """The bucket is there for its credentials: without them, nothing could be asked at all."""
    told = {
        "s3.endpoint": site.address("")[:-1],
        "s3.access-key-id": "A",
        "s3.secret-access-key": "B",
        "warehouse": "s3://elsewhere/",
    }
    table = iceberg(catalog, "people", PEOPLE)
    for files in (None, f"s3://{bucket.name}/list.avro", site.address("list.avro")):
        place = rewritten(table, tmp_path / f"{uuid.uuid4()}.metadata.json", told, files)
        given: Any = place
        if way == "catalog":
            catalog.drop_table("db.people")
            catalog.register_table("db.people", f"file://{place}")
            given = table_in(f"iceberg://{catalog.name}", "db.people")
        if files is None:
            assert counted(given, PARTED) == counted(PEOPLE, PARTED)
        else:
            with pytest.raises(DataError, match="names files in another store than its own"):
                counted(given, PARTED)
    assert site.asked == []


def test_an_iceberg_table_in_a_store(bucket: Bucket, tmp_path: Path) -> None:
    settings = {
        "uri": f"sqlite:///{tmp_path}/c.db",
        "warehouse": f"s3://{bucket.name}/wh",
        "s3.endpoint": bucket.endpoint,
        "s3.region": "us-east-1",
    }
    made = load_catalog("stored", type="sql", **settings)
    made.create_namespace("db")
    place = iceberg(made, "people", PEOPLE).metadata_location
    assert place.startswith("s3://")
    assert counted(place, PARTED) == counted(PEOPLE, PARTED)
    with pytest.raises(DataError, match="names a file that is not there"):
        counted(place.replace("00001", "00009"), PARTED)


@pytest.mark.parametrize("library", ["deltalake", "pyiceberg.table"])
def test_without_the_extra_one_line_says_so(
    delta: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    place = delta if library == "deltalake" else "v1.metadata.json"
    with pytest.raises(HushError, match=r"pip install 'hushtable\[cloud\]'"):
        counted(place, PARTED)


def test_a_delta_table_whose_files_do_not_tell_its_rows_is_refused(tmp_path: Path) -> None:
    table = PEOPLE
    names = ("parted", "evolved", "deleted", "empty")
    parted, evolved, deleted, empty = (str(tmp_path / name) for name in names)
    write_deltalake(parted, table, partition_by=["sex"])
    write_deltalake(evolved, table.drop_columns(["kin"]))
    write_deltalake(evolved, table, mode="append", schema_mode="merge")
    write_deltalake(deleted, table)
    assert files_on_spark(deleted, "spark").listed
    delete_rows(Path(deleted), [0])
    for place in (parted, evolved, deleted):
        with pytest.raises(DataError, match="which Spark by itself does not know of: leave out"):
            files_on_spark(place, "spark")
    write_deltalake(evolved, table, mode="overwrite", schema_mode="overwrite")
    assert files_on_spark(evolved, "spark").paths
    write_deltalake(empty, table)
    DeltaTable(empty).delete()
    with pytest.raises(DataError, match="has no rows"):
        files_on_spark(empty, "spark")


@pytest.mark.parametrize(
    ("written", "told", "taken"),
    [
        (pa.int32(), "integer", True),
        (pa.int32(), "long", False),
        (pa.int32(), "double", False),
        (pa.int32(), "string", False),
        (pa.large_string(), "string", True),
        (pa.binary(), "string", False),
        (pa.date32(), "timestamp_ntz", False),
        (pa.timestamp("us"), "timestamp_ntz", True),
        (pa.timestamp("us"), "timestamp", False),
        (pa.timestamp("ns"), "timestamp", True),  # as Spark writes moments
    ],
    ids=str,
)
def test_files_whose_types_a_delta_table_tells_otherwise_are_refused(
    tmp_path: Path, written: Any, told: str, taken: bool
) -> None:
    """Spark would take the values of the files, and not those of the table."""
    place = tmp_path / "delta"
    write_deltalake(place, pa.table({"v": pa.array([1], pa.int32())}))
    (file,) = place.glob("*.parquet")
    table = pa.table({"v": pa.nulls(1, written)})
    pq.write_table(table, file, use_deprecated_int96_timestamps=written == pa.timestamp("ns"))
    (log,) = (place / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            columns = json.loads(action["metaData"]["schemaString"])
            columns["fields"][0]["type"] = told
            action["metaData"]["schemaString"] = json.dumps(columns)
        if "add" in action:  # figures of another type would be refused before its values are
            action["add"].pop("stats", None)
        if "protocol" in action:
            features = ["timestampNtz"]
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7}
            action["protocol"] |= {"readerFeatures": features, "writerFeatures": features}
    log.write_text("\n".join(map(json.dumps, actions)) + "\n")
    if taken:
        assert files_on_spark(str(place), "spark").paths == (str(file),)
    else:
        with pytest.raises(DataError, match="files with other columns or types"):
            files_on_spark(str(place), "spark")


@pytest.mark.parametrize("sign", "[]{}*?\\")
def test_names_that_spark_would_take_for_patterns_are_refused(tmp_path: Path, sign: str) -> None:
    """`data[1]` would be read from `data1`, where other people may be."""
    folder, delta = tmp_path / f"data{sign}1", tmp_path / f"delta{sign}1"
    folder.mkdir()
    pq.write_table(PEOPLE, folder / "a.parquet")
    write_deltalake(tmp_path / "made", PEOPLE)
    (tmp_path / "made").rename(delta)
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(PEOPLE, plain / "a.parquet")
    assert files_on_spark(f"{plain}/*.parquet", "spark").paths == (f"{plain}/a.parquet",)
    pq.write_table(PEOPLE, plain / f"a{sign}.parquet")
    for place in (folder, folder / "a.parquet", delta, plain):
        with pytest.raises(
            DataError, match=r"are patterns, by which|could not be opened as a Delta"
        ):
            files_on_spark(str(place), "spark")
    with pytest.raises(DataError, match="are patterns"):
        files_on_spark(f"/data{sign}1", "sc://cluster")

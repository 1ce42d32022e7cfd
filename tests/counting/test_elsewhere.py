"""Files in stores and on web servers: each counts once, in one state, and secrets stay secret."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make
from tests.shared_stores import Bucket, Site, web_server

from hushtable.drafting import draft_schema
from hushtable.errors import DataError, HushError, OptionError
from hushtable.kernel.counting.readers.elsewhere.addresses import read_address
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile
from hushtable.kernel.counting.readers.paths import find_files, settled
from hushtable.kernel.privacy.sources import LIST, Source, dataset_from
from hushtable.publishing import publish

SCHEMA = make({"name": "age", "kind": "ordinal", "range": [0, 9]})
ROWS = b"age,name\n1,a\n1,b\n7,c\n"
COUNTS = {1: 2, 7: 1}
SECRET = "Zyxwvut123"


def parquet(ages: list[int], **options: Any) -> bytes:
    return written(pa.table({"name": ["x"] * len(ages), "age": ages}), **options)


def written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


FILES = {
    "people.csv": ROWS,
    "people.csv.gz": gzip.compress(ROWS),
    "people.parquet": parquet([1, 1, 7], row_group_size=2),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_in_a_store_counts_as_it_does_here(bucket: Bucket, name: str) -> None:
    assert counted(bucket.put(f"of people/{name}", FILES[name]), SCHEMA) == COUNTS


@pytest.mark.parametrize("name", FILES)
def test_a_file_on_a_web_server_counts_as_it_does_here(site: Site, name: str) -> None:
    site.files[f"of people/{name}".replace(" ", "%20")] = FILES[name]
    assert counted(site.address(f"of people/{name}?sign=ed"), SCHEMA) == COUNTS


def test_a_file_of_many_parts_is_whole(bucket: Bucket, site: Site) -> None:
    ages = np.random.default_rng(1).integers(0, 10, 2_000_000)
    lines = b"age\n" + b"".join(b"%d,%060d\n" % (age, 0) for age in ages[:150_000].tolist())
    site.files["many.csv"] = lines.replace(b"age\n", b"age,more\n")
    expected = dict(enumerate(np.bincount(ages[:150_000], minlength=10).tolist()))
    assert len(lines) > 9_000_000
    assert counted(site.address("many.csv"), SCHEMA) == expected
    assert counted(bucket.put("many.csv", site.files["many.csv"]), SCHEMA) == expected
    groups = written(pa.table({"age": ages, "id": np.arange(len(ages))}), row_group_size=500_000)
    file = settled(bucket.put("many.parquet", groups))[0]
    read, fetched = 0, file.fetch

    def fetch(start: int, stop: int) -> bytes:
        nonlocal read
        read += stop - start
        return fetched(start, stop)

    file.fetch = fetch
    expected = dict(enumerate(np.bincount(ages, minlength=10).tolist()))
    assert counted([file], SCHEMA) == expected
    assert read < len(groups) / 4, "columns that nobody needs are not fetched"


def test_an_empty_file_is_empty(bucket: Bucket, site: Site) -> None:
    site.files["empty.csv"] = b""
    for address in (site.address("empty.csv"), bucket.put("empty.csv", b"")):
        with pytest.raises(DataError, match="the CSV file is empty"):
            counted(address, SCHEMA)


# ── one file, many names ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def months(bucket: Bucket) -> str:
    for key, age in {"m/jan": 1, "m/later/feb": 2, "m/.hidden": 3, "other/jan": 4}.items():
        bucket.put(f"{key}.csv", b"age\n%d\n" % age)
    return bucket.name


WAYS = {
    "pattern": (["s3://B/m/*.csv"], {1}),
    "deep": (["s3://B/m/**/*.csv"], {1, 2}),
    "two patterns": (["s3://B/m/*.csv", "s3://B/m/j?n.csv", "s3://B/m/[ij]an.csv"], {1}),
    "twice": (["s3://B/m/jan.csv", "s3://B/m/jan.csv"], {1}),
    "three schemes": (["s3://B/m/jan.csv", "S3A://B/m/jan.csv", "s3n://B/m/jan.csv"], {1}),
    "folders": (["s3://B/*/jan.csv"], {1, 4}),
    "everything": (["s3://B/**/*.csv", "s3://B/*/*.csv", "s3://B/m/.hidden.csv"], {1, 2, 3, 4}),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_object_that_is_reached_twice_counts_once(months: str, way: str) -> None:
    names, ages = WAYS[way]
    names = [name.replace("//B", f"//{months}") for name in names]
    assert counted(names, SCHEMA) == dict.fromkeys(ages, 1)
    pinned = [file for _ in range(2) for file in settled(names)]
    assert counted(pinned, SCHEMA) == dict.fromkeys(ages, 1)


def test_a_pinned_file_beside_its_name_counts_once(months: str) -> None:
    name = f"s3://{months}/m/jan.csv"
    assert counted([*settled(name), name, *settled(name)], SCHEMA) == {1: 1}


@pytest.mark.parametrize("key", ["a b%20é.csv", "a+b=c&d.csv", "a*b.csv", "x?y#z.csv", "[1].csv"])
def test_a_key_is_what_it_is(bucket: Bucket, key: str) -> None:
    bucket.put("a b é.csv", b"age\n9\n")
    assert counted(bucket.put(key, b"age\n3\n"), SCHEMA) == {3: 1}


@pytest.mark.parametrize("key", ["a//b.csv", "a/./b.csv", "a/../a/b.csv", "/a/b.csv", "a/b.csv/"])
def test_a_name_that_the_store_would_read_as_another_is_no_file(bucket: Bucket, key: str) -> None:
    bucket.put("a/b.csv", b"age\n3\n")
    with pytest.raises(DataError, match=r"there is no file s3://|is a folder"):
        counted(f"s3://{bucket.name}/{key}", SCHEMA)


def test_folders_of_a_store_are_refused(months: str) -> None:
    for name in (f"s3://{months}/m", f"s3://{months}/m/"):
        with pytest.raises(
            DataError, match=r"is a folder; name its files, as in '.*/m/\*\.parquet'"
        ):
            counted(name, SCHEMA)


SAME = [
    ("https://Example.org/a/b.csv", "HTTPS://example.org:443/a/./c/../b.csv"),
    ("http://example.org/%61.csv", "http://example.org:80//a.csv"),
    ("http://example.org/a.csv", "http://example.org/a.csv#part"),
    ("s3://bucket/key.csv", "S3A://bucket/key.csv"),
    ("abfss://box@one.dfs.core.windows.net/key.csv", "az://box/key.csv"),
]
OTHER = [
    ("https://example.org/a.csv", "http://example.org/a.csv"),
    ("https://example.org/a.csv", "https://example.org/A.csv"),
    ("s3://bucket/a/key.csv", "s3://bucket/a//key.csv"),
    ("s3://bucket/a%20b.csv", "s3://bucket/a b.csv"),
]


@pytest.mark.parametrize("pair", SAME)
def test_an_address_is_one_file_however_it_is_written(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "one")
    first, second = map(read_address, pair)
    assert first.identity == second.identity


@pytest.mark.parametrize("pair", OTHER)
def test_different_addresses_are_different_files(pair: tuple[str, str]) -> None:
    first, second = map(read_address, pair)
    assert first.identity != second.identity


def test_files_of_two_stores_are_not_read_together(tmp_path: Path) -> None:
    for pair in (
        ["s3://one/a.csv", "s3://two/a.csv"],
        ["https://example.org/a.csv", "http://example.org/a.csv"],
        ["s3://one/a.csv", "gs://one/a.csv"],
    ):
        with pytest.raises(DataError, match="in one bucket or on one host"):
            counted(pair, SCHEMA)
    with pytest.raises(DataError, match="all on this machine or all elsewhere"):
        counted([str(tmp_path / "a.csv"), "s3://one/a.csv"], SCHEMA)


def test_what_an_address_is_signed_with_never_makes_it_another_file(site: Site) -> None:
    site.files["a.csv"] = ROWS
    with pytest.raises(DataError, match=r"/a\.csv is named twice"):
        counted([site.address("a.csv?sign=1"), site.address("b/../a.csv?sign=2")], SCHEMA)
    assert site.asked == []


def test_a_server_that_leads_elsewhere_on_itself_is_followed(site: Site) -> None:
    site.files["new.csv"] = ROWS
    site.leads["old.csv"] = "/new.csv"
    names = [site.address(name) for name in ("old.csv", "new.csv", "old.csv")]
    assert counted(names, SCHEMA) == COUNTS
    site.leads["old.csv"] = "/new.csv?sign=1"
    with pytest.raises(DataError, match="named twice"):
        counted(names, SCHEMA)


@pytest.fixture
def stranger() -> Iterator[Site]:
    with web_server() as made:
        made.files["a.csv"] = ROWS
        yield made


def test_a_server_that_leads_to_another_is_not_followed(site: Site, stranger: Site) -> None:
    site.leads["a.csv"] = stranger.address(f"a.csv?{SECRET}")
    with pytest.raises(DataError, match=f"leads to http://127.0.0.1:{stranger.port}: ") as refused:
        counted(site.address(f"a.csv?{SECRET}"), SCHEMA)
    assert stranger.asked == [] and SECRET not in str(refused.value)


# ── one state ────────────────────────────────────────────────────────────────────────────────────


def changing(file: RemoteFile, change: Any, after: int) -> RemoteFile:
    """A file that is changed when so many of its parts were fetched."""
    fetched, times = file.fetch, iter(range(1000))

    def fetch(start: int, stop: int) -> bytes:
        if next(times) == after:
            change()
        return fetched(start, stop)

    return replace(file, fetch=fetch)


LONG = b"age\n" + b"1\n" * 1_000_000


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_is_not_counted(
    bucket: Bucket, site: Site, kind: str, after: int
) -> None:
    name = f"a.{kind}"
    old = LONG if kind == "csv" else parquet([1, 2])
    new = LONG.replace(b"1", b"2") if kind == "csv" else parquet([1, 3])
    site.files[name] = old
    for address, change in (
        (bucket.put(name, old), lambda: bucket.put(name, new)),
        (site.address(name), lambda: site.files.update({name: new})),
    ):
        (file,) = find_files(address)
        assert isinstance(file, RemoteFile)
        with pytest.raises(DataError, match="it changed while it was being read"):
            counted([changing(file, change, after)], SCHEMA)


def test_a_server_that_heeds_no_conditions_is_watched(site: Site) -> None:
    """Without marks, dates tell: those that are past, to the second."""
    site.marks, site.files["a.csv"] = False, LONG
    (file,) = find_files(site.address("a.csv"))
    assert isinstance(file, RemoteFile)

    def change() -> None:
        assert site.date is not None
        site.date += 1

    with pytest.raises(DataError, match="it changed while it was being read"):
        counted([changing(file, change, 1)], SCHEMA)
    assert counted(site.address("a.csv"), SCHEMA) == {1: 1_000_000}


def test_a_store_that_heeds_no_conditions_is_watched(
    bucket: Bucket, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a web server answers as stores do, whatever the question says."""
    name = f"{bucket.name}/a.csv"
    site.files[name], site.heeds = LONG, False
    monkeypatch.setenv("AWS_ENDPOINT_URL", site.address("")[:-1])
    assert counted(f"s3://{name}", SCHEMA) == {1: 1_000_000}
    (file,) = find_files(f"s3://{name}")
    assert isinstance(file, RemoteFile)
    with pytest.raises(DataError, match="it changed while it was being read"):
        counted(
            [changing(file, lambda: site.files.update({name: LONG.replace(b"1", b"2")}), 1)], SCHEMA
        )


@pytest.mark.parametrize("date", [None, 2**32])
def test_a_server_that_tells_no_state_is_refused(site: Site, date: float | None) -> None:
    site.marks, site.date, site.files["a.csv"] = False, date, ROWS
    with pytest.raises(DataError, match="does not say which state"):
        counted(site.address("a.csv"), SCHEMA)


def test_nothing_is_spent_on_a_file_that_changes(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.put("a.csv", ROWS)
    schema = tmp_path / "people.toml"
    schema.write_text(
        'name = "people"\nbudget = "3"\n[[attribute]]\nname = "age"\nkind = "ordinal"\n'
        "range = [0, 9]\n"
    )
    files = settled(address)
    bucket.put("a.csv", ROWS + b"3,d\n")
    with pytest.raises(DataError, match="it changed while it was being read"):
        publish(files, schema, epsilon="1", out=tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"people.toml"}


def test_a_server_without_parts_gives_csv_files_whole(site: Site) -> None:
    site.parts, site.files = False, dict(FILES)
    assert counted(site.address("people.csv"), SCHEMA) == COUNTS
    assert counted(site.address("people.csv.gz"), SCHEMA) == COUNTS
    with pytest.raises(DataError, match="its server gives no parts of files: download it"):
        counted(site.address("people.parquet"), SCHEMA)


@pytest.mark.parametrize("parts", [False, True])
def test_an_answer_that_breaks_off_is_not_counted(site: Site, parts: bool) -> None:
    site.files["a.csv"] = LONG
    (file,) = find_files(site.address("a.csv")) if parts else [None]
    site.parts, site.stops = parts, 100_000
    with pytest.raises(DataError, match="could not be read"):
        counted([file] if file else site.address("a.csv"), SCHEMA)


def test_a_part_that_is_too_short_is_not_counted(bucket: Bucket) -> None:
    (file,) = find_files(bucket.put("a.csv", LONG))
    assert isinstance(file, RemoteFile)
    fetched = file.fetch
    short = replace(file, fetch=lambda start, stop: fetched(start, stop)[:-2])
    with pytest.raises(DataError, match="it ended too early"):
        counted([short], SCHEMA)


def test_what_is_packed_on_its_way_is_refused(bucket: Bucket, site: Site) -> None:
    site.files["a.csv"] = gzip.compress(ROWS)
    site.headers["Content-Encoding"] = "gzip"
    packed = {"Content-Encoding": "gzip"}
    for address in (site.address("a.csv"), bucket.put("a.csv", gzip.compress(ROWS), packed)):
        with pytest.raises(DataError, match="packed"):
            counted(address, SCHEMA)


# ── secrets, and who is asked ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_nobody_is_asked_without_credentials(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "one")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "false")
    with pytest.raises(OptionError, match=f"no credentials for {scheme}://…: set "):
        counted(f"{scheme}://bucket/a.csv", SCHEMA)


INCOMPLETE = {
    "s3": [
        ({"AWS_ACCESS_KEY_ID"}, "AWS_SECRET_ACCESS_KEY"),
        ({"AWS_SECRET_ACCESS_KEY"}, "AWS_ACCESS_KEY_ID"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE"}, "AWS_ROLE_ARN"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI"}, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    ],
    "az": [
        ({"AZURE_CLIENT_SECRET"}, "AZURE_STORAGE_CLIENT_ID and AZURE_STORAGE_TENANT_ID"),
        ({"AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_ID"}, "AZURE_STORAGE_TENANT_ID"),
        ({"AZURE_FEDERATED_TOKEN_FILE", "AZURE_TENANT_ID"}, "AZURE_STORAGE_CLIENT_ID"),
    ],
}


@pytest.mark.parametrize("scheme", INCOMPLETE)
def test_credentials_that_lack_a_part_are_refused(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With these, the library would ask the machine of a cloud for others."""
    for given, missing in INCOMPLETE[scheme]:
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_"))]:
                patch.delenv(name)
            patch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "one")
            for name in given:
                patch.setenv(name, "http://127.0.0.1:9")
            with pytest.raises(OptionError, match=rf"lack a part: set {missing} too$"):
                counted(f"{scheme}://bucket/a.csv", SCHEMA)


def test_what_libraries_do_not_take_for_a_credential_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some of their versions know tokens of Google, and others would ask the machine."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "one")
    monkeypatch.setenv("AZURE_USE_AZURE_CLI", "false")
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", SECRET)
    for scheme in ("az", "gs"):
        with pytest.raises(OptionError, match=f"no credentials for {scheme}://…: set "):
            counted(f"{scheme}://bucket/a.csv", SCHEMA)


def test_refused_credentials_are_refused_in_one_line(
    bucket: Bucket, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", site.address("")[:-1])
    site.status = 403
    with pytest.raises(DataError, match=r"its store refused the credentials of the environment$"):
        counted(f"s3://{bucket.name}/a.csv", SCHEMA)
    with pytest.raises(DataError, match=r"its server refuses it; a signed address may have exp"):
        counted(site.address("a.csv"), SCHEMA)


REFUSED = {
    "ftp://host/a.csv": "files are read from",
    "s3://": "files are read from",
    "file:///etc/passwd": "files are read from",
    f"https://user:{SECRET}@host/a.csv": "has a password in it",
    f"http://host:{SECRET}/a.csv": "not well-formed",
    f"http:///{SECRET}.csv": "names no host",
    "az://box/a.csv": "needs its account",
}


@pytest.mark.parametrize("address", REFUSED)
def test_odd_addresses_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(DataError, match=REFUSED[address]) as refused:
        counted(address, SCHEMA)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 70}.b", ".a"])
def test_hosts_that_cannot_be_are_refused_in_one_line(host: str) -> None:
    with pytest.raises(DataError, match="could not be read: check its name") as refused:
        counted(f"http://{host}/a.csv?{SECRET}", SCHEMA)
    assert SECRET not in str(refused.value) and refused.value.__context__ is None


@pytest.mark.parametrize("place", [f"http://[{SECRET}", f"http://h:{SECRET}/", f"//[::{SECRET}"])
def test_a_server_that_leads_to_no_address_is_refused_in_one_line(site: Site, place: str) -> None:
    site.leads["a.csv"] = place
    with pytest.raises(DataError, match=r"could not be read|not well-formed") as refused:
        counted(site.address("a.csv"), SCHEMA)
    assert SECRET not in str(refused.value) and refused.value.__context__ is None


@pytest.mark.parametrize("status", ["404", "416", "nobody there"])
def test_no_error_shows_what_signs_an_address(site: Site, status: str) -> None:
    names = {
        "404": site.address(f"none.csv?{SECRET}"),
        "416": site.address(f"odd.xlsx?{SECRET}"),
        "nobody there": f"http://127.0.0.1:9/a.csv?{SECRET}",
    }
    site.files["odd.xlsx"] = ROWS
    with pytest.raises(HushError) as refused:
        counted(names[status], SCHEMA)
    problem: BaseException | None = refused.value
    assert SECRET not in str(problem)
    assert problem is not None and problem.__context__ is None and problem.__cause__ is None


def test_signatures_and_keys_are_kept_nowhere(
    bucket: Bucket, site: Site, tmp_path: Path, state_folder: Path, run_hush: Any
) -> None:
    site.files["people.csv"] = ROWS
    schema = tmp_path / "people.toml"
    signed = site.address(f"people.csv?sign={SECRET}")
    printed = [*run_hush("schema", "draft", signed, "-o", str(schema))]
    schema.write_text(schema.read_text().replace("reviewed = false\n", ""))
    printed += run_hush("check", signed, "--schema", str(schema))
    told = ("--schema", str(schema), "--epsilon", "0.1", "--mechanism", "basic")
    printed += run_hush("publish", signed, *told, "-o", "web.release", "--json")
    stored = bucket.put("people.csv", ROWS)
    printed += run_hush("publish", stored, *told, "-o", "s3.release")
    assert [code for code in printed if isinstance(code, int)] == [0, 0, 0, 0]
    secrets = [SECRET, *list(bucket.environment.values())[:2]]
    kept = [path for folder in (tmp_path, state_folder) for path in folder.rglob("*")]
    texts = [path.read_bytes().decode("latin-1") for path in kept if path.is_file()]
    assert any("web.release" in text for text in texts)
    assert not any(secret in text for secret in secrets for text in [*texts, *map(str, printed)])


def test_a_file_elsewhere_that_was_published_from_is_known_again(
    bucket: Bucket, tmp_path: Path, state_folder: Path
) -> None:
    schema = tmp_path / "people.toml"
    schema.write_text(
        'name = "people"\nbudget = "3"\n[[attribute]]\nname = "age"\nkind = "ordinal"\n'
        "range = [0, 9]\n"
    )
    told = {"epsilon": "1", "mechanism": "basic"}
    publish(bucket.put("a.csv", ROWS), schema, out=tmp_path / "one", **told)
    publish(bucket.put("b.csv", ROWS), schema, out=tmp_path / "two", **told)
    first, other = (Source(f"s3://{bucket.name}/{key}", -1, -1) for key in ("a.csv", "c.csv"))
    assert (dataset_from(first), dataset_from(other)) == ("people", None)
    assert len((state_folder / LIST).read_text().split()) > 2
    with pytest.raises(OptionError, match="the proxy is, or stands where"):
        publish(
            bucket.put("c.csv", ROWS),
            schema,
            epsilon="1",
            out=tmp_path / "three",
            proxy=f"s3a://{bucket.name}/b.csv",
            public=True,
        )


def test_a_draft_looks_at_files_elsewhere_too(bucket: Bucket, site: Site) -> None:
    site.files["a.csv"] = ROWS
    for data in (bucket.put("a.parquet", FILES["people.parquet"]), site.address("a.csv")):
        (found, *_) = draft_schema(data, name="t").schema.attributes
        assert (found.name, found.values.low, found.values.high) == ("age", 1, 7)  # type: ignore[union-attr]


def test_other_files_elsewhere_are_refused(bucket: Bucket) -> None:
    for name in ("a.xlsx", "a.duckdb", "a.txt.bz3"):
        with pytest.raises(DataError, match=r"only CSV and Parquet|neither CSV nor Parquet"):
            counted(bucket.put(name, b"something"), SCHEMA)
    bucket.put("bad.parquet", b"something")
    with pytest.raises(DataError, match=r"bad\.parquet could not be opened"):
        counted(f"s3://{bucket.name}/bad.parquet", SCHEMA)
    bucket.put("wide.parquet", written(pa.table({"age": pa.array([1], pa.float32())})))
    bucket.put("plain.parquet", parquet([1]))
    with pytest.raises(DataError, match="do not all have the same types"):
        counted([f"s3://{bucket.name}/{name}.parquet" for name in ("wide", "plain")], SCHEMA)


def test_without_the_extra_one_line_says_so(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(OptionError, match=r"pip install 'hushtable\[cloud\]'"):
        counted(f"s3://{bucket.name}/a.csv", SCHEMA)

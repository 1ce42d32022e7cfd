"""The code in README and docs runs as it stands, top to bottom, page by page."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from hushtable.cli.main import run
from hushtable.families import MECHANISMS
from hushtable.generators import census, census_schema
from tests.engines import postgres_server
from tests.shared_sizes import some_of
from tests.shared_stores import new_bucket, s3_server
from tests.web.serving import started

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if line.startswith("explore"):
        look_at_page(line)
        return
    monkeypatch.setattr(sys, "argv", ["hush", *shlex.split(line)])
    with pytest.raises(SystemExit) as stopped:
        run()
    assert not stopped.value.code, line


def put_into_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    """The census as a table of a server, which is known as a service."""
    import adbc_driver_postgresql.dbapi as adbc

    folder = postgres_server.server_folder()
    service = {"host": folder, "dbname": "postgres", "user": "owner"}
    lines = [f"{name}={value}" for name, value in service.items()]
    Path("services").write_text("\n".join(["[town]", *lines, ""]))
    monkeypatch.setenv("PGSERVICEFILE", "services")
    monkeypatch.setenv("PGPASSWORD", postgres_server.PASSWORD)
    people, address = pq.read_table("census.parquet"), postgres_server.address()
    with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", people, mode="replace")


def look_at_page(line: str) -> None:
    """Start a server, ask it for its page, and stop it."""
    client = httpx.Client(follow_redirects=True, timeout=None)
    with started(*shlex.split(line), "--no-browser") as address, client:
        answer = client.get(address)
    assert answer.status_code == 200, line


@pytest.fixture
def town_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A census in two files of a store, and its schema here."""
    people = census(2000)
    with s3_server() as endpoint:
        bucket = new_bucket(endpoint, "town")
        for part in range(2):
            file = tmp_path / f"{part}.parquet"
            pq.write_table(people.slice(1000 * part, 1000), file)
            bucket.put(f"people/{file.name}", file)
            file.unlink()
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        census_schema().save("census.toml")
        yield


@pytest.mark.parametrize(
    "page",
    some_of(PAGES, [ROOT / "README.md"]),
    ids=lambda page: page.stem,
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.stem in ("README", "databases"):  # speak of a census that their reader has
        pq.write_table(census(2000), "census.parquet")
        census_schema().save("census.toml")
    if page.stem == "databases":
        put_into_postgres(monkeypatch)
    if page.stem == "cloud":
        request.getfixturevalue("town_in_a_bucket")
    names: dict[str, Any] = {}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
        elif kind == "toml":
            Path("page.toml").write_text(text, encoding="utf-8")
            run_command("schema check page.toml", monkeypatch)
        else:
            for line in re.findall(r"^\$ hush (.*)$", text, re.MULTILINE):
                run_command(line, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_mechanism_is_in_the_title_of_a_page() -> None:
    pages = (ROOT / "docs" / "mechanisms").glob("*.md")
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in pages]
    named = {name for title in titles for name in re.findall(r"[\w+*-]+", title.replace("\\", ""))}
    assert MECHANISMS.keys() <= named

"""The server over HTTP: what it answers, what it refuses, what it never says."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import hushtable as ht
from hushtable.cli.main import app as commands
from hushtable.web import static_files
from hushtable.web.application import Settings, app, household, site
from hushtable.web.guards import POLICY
from hushtable.web.openapi import description
from hushtable.web.shelf import Shelf
from tests.web.serving import limits, running, served, started
from tests.web.shared_releases import HOSTILE

SQL = "SELECT sex, COUNT(*) FROM town GROUP BY sex"


@pytest.fixture(scope="module")
def address(shelf_folder: Path) -> Iterator[str]:
    with served(shelf_folder, Settings(limits(sql=3_000, rows=500))) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=None) as found:
        yield found


def raw(address: str, request: bytes) -> bytes:
    """What comes back for bytes that no client would send."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        answer = b""
        with suppress(OSError):  # a server need not hear all of it
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while received := connection.recv(65_536):
                answer += received
    return answer


def test_json_is_that_of_the_command_line(
    client: httpx.Client, shelf_folder: Path, run_hush: object
) -> None:
    told = client.get("/town.json", params={"sql": SQL, "confidence": 0.9, "simultaneous": "true"})
    options = ("--confidence", "0.9", "--simultaneous", "--json")
    _, printed, _ = run_hush("query", str(shelf_folder / "town.release"), SQL, *options)  # type: ignore[operator]
    assert told.json() == json.loads(printed)
    one = client.get("/town.json", params={"sql": "SELECT COUNT(*) FROM town"}).json()
    assert {"value", "stderr", "interval", "confidence"} <= one.keys()
    _, printed, _ = run_hush("info", str(shelf_folder / "town.release"), "--json")  # type: ignore[operator]
    said = json.loads(printed)
    said.pop("verified")
    assert client.get("/town/info.json").json() == said


@pytest.mark.parametrize("path", ["/", "/town", "/hostile", "/town.json?sql=SELECT", "/nothing"])
def test_every_answer_carries_the_policy(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers or "uvicorn" in headers["server"]
    assert "access-control-allow-origin" not in headers


def test_the_first_page_lists_all_releases(client: httpx.Client) -> None:
    text = client.get("/").text
    assert 'href="/town"' in text and 'href="/hostile"' in text


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fetc%2fpasswd",
        "/town%2f..%2f..",
        "/%2e%2e",
        "/town/../../etc/passwd",
        "//etc/passwd",
        "/town%00",
        "/town.release",
        "/-/static/..%2fpage.py",
        "/-/static/page.py",
        "/-/static/%2e%2e",
        "/town/manifest.json",
        "/town/download.exe",
    ],
)
def test_no_path_leads_out_of_the_folder(client: httpx.Client, path: str) -> None:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "root:" not in answer.text and "import" not in answer.text


@pytest.mark.parametrize("path", ["/town?sql=SELEC", "/town.json?sql=SELECT+x", "/town?by=no"])
def test_refusals_say_why_and_name_no_path(
    client: httpx.Client, shelf_folder: Path, path: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert str(shelf_folder) not in answer.text and "Traceback" not in answer.text


def test_a_question_has_a_longest_length_and_most_rows(client: httpx.Client) -> None:
    long = client.get("/town.json", params={"sql": "SELECT " + "1 + " * 2_000})
    assert long.status_code == 400 and "3,000 characters" in long.json()["error"]
    many = client.get(
        "/town.json", params={"sql": "SELECT age, job, COUNT(*) FROM town GROUP BY 1, 2"}
    )
    assert many.status_code == 400 and "500" in many.json()["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(client: httpx.Client, method: str) -> None:
    assert client.request(method, "/town").status_code == 405


def test_head_and_marks(client: httpx.Client) -> None:
    first = client.get("/town", params={"by": "sex"})
    assert client.head("/town").status_code == 200
    again = client.get(
        "/town", params={"by": "sex"}, headers={"If-None-Match": first.headers["etag"]}
    )
    assert again.status_code == 304 and not again.content
    other = client.get(
        "/town", params={"by": "job"}, headers={"If-None-Match": first.headers["etag"]}
    )
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path", ["/town?by=job", "/town.json?sql=SELECT+age,COUNT(*)FROM+town+GROUP+BY+age", "/"]
)
def test_answers_are_compressed_for_who_reads_that(client: httpx.Client, path: str) -> None:
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    packed = client.get(path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    refused = client.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert packed.headers["content-encoding"] == "gzip"
    assert not {"content-encoding"} & {*plain.headers, *refused.headers}
    assert plain.content == packed.content == refused.content
    assert {"Accept-Encoding"} == {one.headers["vary"] for one in (plain, packed)}
    assert path == "/" or plain.headers["etag"] != packed.headers["etag"]


def test_the_script_of_the_charts_is_kept_where_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []
    monkeypatch.setattr(static_files, "_made", lambda: made.append(b"script") or b"script")
    (tmp_path / "a file").touch()
    for folder, times in ((tmp_path / "cache", 1), (tmp_path / "a file", 3)):
        monkeypatch.setattr("platformdirs.user_cache_path", lambda name, at=folder: at / name)
        for _ in range(2):
            static_files.static_file.cache_clear()
            assert static_files.static_file(static_files.BUNDLE).content == b"script"
        assert len(made) == times
    static_files.static_file.cache_clear()
    assert [path.suffix for path in (tmp_path / "cache").rglob("*.*")] == [".js"]


def test_files_are_compressed_once(client: httpx.Client) -> None:
    plain = client.get("/-/static/vega.js", headers={"Accept-Encoding": "identity"})
    packed = client.get("/-/static/vega.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and plain.content == packed.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    mark = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
    assert client.get("/-/static/vega.js", headers=mark).status_code == 304


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /town HTTP/9.9\r\n\r\n",
        b"GET " + b"/x" * 60_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET /town?sql=%ff%fe%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
    ids=range(7),
)
def test_malformed_requests_harm_nobody(address: str, request_: bytes) -> None:
    answer = raw(address, request_)
    assert b"Traceback" not in answer and b" 500 " not in answer[:20]
    assert httpx.get(f"{address}/-/health", timeout=None).json() == {"ok": True}


def test_labels_in_json_stay_json(client: httpx.Client) -> None:
    sql = 'SELECT "<b>""group""</b>" AS g, COUNT(*) FROM "drop <i>" GROUP BY 1'
    answer = client.get("/hostile.json", params={"sql": sql})
    assert answer.headers["content-type"] == "application/json"
    assert HOSTILE[0] in [row["g"] for row in answer.json()["rows"]]


def test_releases_come_go_and_change_while_it_runs(shelf_folder: Path, tmp_path: Path) -> None:
    shelf = Shelf.of_folder(tmp_path)
    client = httpx.Client(timeout=None)
    with running(site(shelf, Settings(limits()))) as address, client:
        client.base_url = httpx.URL(address)
        assert "no release in this folder" in client.get("/").text
        shutil.copytree(shelf_folder / "town.release", tmp_path / "new.release")
        shelf.forget()
        assert client.get("/new").status_code == 200
        (tmp_path / "new.release" / "manifest.json").write_text("{")
        answer = client.get("/new", headers={"Accept": "text/html"})
        assert answer.status_code == 400 and str(tmp_path) not in answer.text
        assert "cannot be opened" in client.get("/").text
        shutil.rmtree(tmp_path / "new.release")
        shelf.forget()
        assert client.get("/new").status_code == 404


def test_links_out_of_the_folder_are_no_releases(shelf_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link.release").symlink_to(shelf_folder / "town.release")
    assert not Shelf.of_folder(tmp_path).releases()


def test_names_are_distinct(shelf_folder: Path, tmp_path: Path) -> None:
    for name in ("a.release", "a", "-", "x.json"):
        shutil.copytree(shelf_folder / "town.release", tmp_path / name)
    names = list(Shelf.of_folder(tmp_path).releases())
    assert len(set(names)) == 4 and "-" not in names
    assert not any(name.endswith(".json") for name in names)


def test_behind_a_proxy_links_begin_with_its_path(shelf_folder: Path) -> None:
    with served(shelf_folder, root="/data") as address:
        text = httpx.get(f"{address}/town", timeout=None).text
        assert 'href="/data/-/static/page.css"' in text and 'href="/data/town?' in text
        told = httpx.get(f"{address}/-/openapi.json", timeout=None).json()
        assert told["servers"] == [{"url": "/data"}]


def test_other_sites_read_answers_only_if_allowed(shelf_folder: Path) -> None:
    with served(shelf_folder, Settings(limits(), cors=True)) as address:
        answer = httpx.get(f"{address}/-/health", timeout=None)
        assert answer.headers["access-control-allow-origin"] == "*"


def test_a_site_for_oneself_needs_its_token_and_its_name(shelf_folder: Path) -> None:
    settings = Settings(limits(), hosts=("127.0.0.1",), token="secret")
    with served(shelf_folder, settings) as address:
        with httpx.Client(base_url=address, timeout=None) as client:
            assert client.get("/town").status_code == 403
            assert client.get("/town?token=wrong").status_code == 403
            first = client.get("/town?by=sex&token=secret")
            assert first.status_code == 303 and first.headers["location"] == "/town?by=sex"
            assert "httponly" in first.headers["set-cookie"].lower()
            assert "samesite=strict" in first.headers["set-cookie"].lower()
            assert client.get("/town").status_code == 200
            elsewhere = client.get("/town", headers={"Host": "evil.example"})
            assert elsewhere.status_code == 400
        away = raw(address, b"GET //evil.example/?token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"location: /evil.example/" in away.lower()


def test_clients_of_ipv6_share_what_they_were_given() -> None:
    assert household("2001:db8::1") == household("2001:db8::2") != household("2001:db9::1")
    assert household("10.0.0.1") != household("10.0.0.2")


def test_the_description_has_the_paths_that_there_are(client: httpx.Client) -> None:
    told = client.get("/-/openapi.json").json()
    assert told == json.loads(json.dumps(description("")))
    for path in told["paths"]:
        found = client.get(
            path.replace("{name}", "town"), params={"sql": "SELECT COUNT(*) FROM town"}
        )
        assert found.status_code == 200 and found.headers["content-type"] == "application/json"


def test_the_application_reads_its_folder_from_the_environment(
    shelf_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ht.HushError, match="HUSHTABLE_FOLDER"):
        app()
    monkeypatch.setenv("HUSHTABLE_FOLDER", str(shelf_folder))
    monkeypatch.setenv("HUSHTABLE_SECONDS", "7")
    assert app() is not None
    monkeypatch.setenv("HUSHTABLE_SECONDS", "soon")
    with pytest.raises(ht.HushError, match="HUSHTABLE_SECONDS"):
        app()


def test_serve_from_the_command_line(shelf_folder: Path) -> None:
    with started("serve", str(shelf_folder), "--port", "0", "--json") as line:
        address = json.loads(line)["url"]
        assert httpx.get(f"{address}-/health", timeout=None).json() == {"ok": True}
    assert {"explore", "serve", "report"} <= commands.commands.keys()


def test_mistakes_are_one_line(shelf_folder: Path, run_hush: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, line = run_hush("serve", str(shelf_folder), "--port", port)  # type: ignore[operator]
        assert code == 2 and "cannot be listened on" in line
    for folder in ("nowhere", str(shelf_folder / "town.release")):
        code, _, line = run_hush("serve", folder)  # type: ignore[operator]
        assert code == 2 and line.count("\n") == 1
    code, _, line = run_hush("explore", "nowhere.release", "--no-browser")  # type: ignore[operator]
    assert code == 2 and line.count("\n") == 1
    code, _, line = run_hush("serve", str(shelf_folder), "--seconds", "0")  # type: ignore[operator]
    assert code == 2 and "above zero" in line

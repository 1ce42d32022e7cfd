"""Stores of files on this machine: one that speaks S3, and web servers that behave in every way."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

MONDAY = 1_790_000_000
# The server looks whether there is a signature, and not at it.
_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIDOFTESTS/20260101/us-east-1/s3/aws4_request,"
    " SignedHeaders=host, Signature=00"
)


@dataclass(frozen=True)
class Bucket:
    """A bucket of the S3 server, which takes every key for valid."""

    endpoint: str
    name: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "AKIDOFTESTS",
            "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
            "NO_PROXY": "127.0.0.1",
        }

    def put(self, key: str, content: bytes | Path, headers: dict[str, str] | None = None) -> str:
        """Store an object; its address."""
        data = content.read_bytes() if isinstance(content, Path) else content
        sent = {"Content-Type": "application/octet-stream", "Authorization": _SIGNED}
        request = urllib.request.Request(
            f"{self.endpoint}/{self.name}/{quote(key)}", data, sent | (headers or {}), method="PUT"
        )
        with urllib.request.urlopen(request, timeout=60):
            return f"s3://{self.name}/{key}"


@contextmanager
def s3_server() -> Iterator[str]:
    """A server of its own, ended by its number; the address that it says it has."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            else:
                raise RuntimeError("the S3 server did not start")
            Thread(target=server.stderr.read, daemon=True).start()  # or it would wait for a reader
            yield found[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def new_bucket(endpoint: str, name: str) -> Bucket:
    request = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    with urllib.request.urlopen(request, timeout=60):
        return Bucket(endpoint, name)


@dataclass
class Site:
    """A web server: its files, and how it behaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    leads: dict[str, str] = field(default_factory=dict)
    """Where it sends those who ask for a path."""
    headers: dict[str, str] = field(default_factory=dict)
    parts: bool = True
    marks: bool = True
    heeds: bool = True
    """Whether it looks at the state that is asked for."""
    date: float | None = MONDAY
    stops: int | None = None
    """After so many bytes it ends an answer."""
    status: int | None = None
    """What it answers to everybody."""
    port: int = 0

    def address(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/{path}"


@contextmanager
def web_server() -> Iterator[Site]:
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (_Handler,), {"site": site}))
    site.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        site, path = self.site, self.path.partition("?")[0].lstrip("/")
        site.asked.append(self.path)
        if site.status is not None:
            self._answer(site.status, b"", {})
        elif path in site.leads:
            self._answer(302, b"", {"Location": site.leads[path]})
        elif path not in site.files:
            self._answer(404, b"", {})
        else:
            self._give(site.files[path])

    do_HEAD = do_PUT = do_GET

    def _give(self, content: bytes) -> None:
        site, mark = self.site, f'"{md5(content).hexdigest()}"'
        headers = {"ETag": mark} if site.marks else {}
        headers |= (
            {} if site.date is None else {"Last-Modified": formatdate(site.date, usegmt=True)}
        )
        if site.marks and site.heeds and self.headers.get("If-Match", mark) != mark:
            return self._answer(412, b"", {})
        wanted = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range", ""))
        if not wanted or not site.parts:
            return self._answer(200, content, headers)
        start, stop = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
        if start >= len(content):
            return self._answer(416, b"", {**headers, "Content-Range": f"bytes */{len(content)}"})
        told = {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}
        return self._answer(206, content[start:stop], {**headers, **told})

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        sent = {"Content-Length": str(len(content)), **headers, **self.site.headers}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: self.site.stops])

    def log_message(self, *_: Any) -> None:
        pass

"""Files on web servers, read in parts where the server gives parts.

Only the server that is named is asked: one that sends its readers to another host is not followed.
"""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any

from hushtable.errors import DataError, HushError
from hushtable.kernel.counting.readers.elsewhere.addresses import Address, read_address
from hushtable.kernel.counting.readers.elsewhere.remote import CHANGED, PACKED, RemoteFile
from hushtable.kernel.counting.silence import raise_alone

_PATIENCE = 60.0  # seconds in which a server says something
_TRIES = 3
_PIECE = 2**20
# A file that was written twice within a second has one date; one that is older has not.
_OLD = timedelta(seconds=2)
# Of hosts whose names cannot be, libraries say so as of wrong values.
_FAILED = (OSError, HTTPException, ssl.SSLError, ValueError)


@dataclass(frozen=True)
class _State:
    """What is another when a file is another."""

    mark: str
    date: str
    size: int

    @classmethod
    def of(cls, headers: Mapping[str, str], size: int) -> _State:
        return cls(headers.get("ETag", ""), headers.get("Last-Modified", ""), size)

    def is_certain(self, headers: Mapping[str, str]) -> bool:
        """Whether a file that changes has another state: its date alone may be a moment old."""
        if self.mark:
            return True
        try:
            told, now = map(parsedate_to_datetime, (self.date, headers.get("Date", "")))
            return now - told >= _OLD
        except (TypeError, ValueError):
            return False

    def conditions(self) -> dict[str, str]:
        """What the server is told; a weak mark is equal to none, and only compared here."""
        return {"If-Match": self.mark} if self.mark and not self.mark.startswith("W/") else {}


def find_on_web(address: Address) -> tuple[Address, RemoteFile]:
    """A file pinned to its state, and the address where it is in the end."""
    name = address.shown
    with _said_by_us(name), _asked(address, {"Range": "bytes=0-0"}, empty=True) as answer:
        headers = answer.headers
        place = _led_to(address, answer.url)
        in_parts = answer.status != 200
        size = _size(headers.get("Content-Range" if in_parts else "Content-Length", ""))
        if size is None:
            raise DataError(f"{name} could not be read: its server does not say how long it is")
        _check_plain(name, headers)
        state = _State.of(headers, size)
        if not state.is_certain(headers):
            raise DataError(
                f"{name} could not be read: its server does not say which state of it this is (no"
                " ETag, no Last-Modified that is past): download it"
            )
    if in_parts:
        return place, RemoteFile(name, size, lambda *ends: _part(place, name, state, *ends))
    return place, RemoteFile(name, size, _no_parts, lambda: _whole(place, name, state))


def _part(address: Address, name: str, state: _State, start: int, stop: int) -> bytes:
    """The bytes from one place to before another; what breaks off is asked for again."""
    for _ in range(_TRIES - 1):
        try:
            return _part_once(address, state, start, stop)
        except HushError:
            raise
        except urllib.error.HTTPError as problem:
            if problem.code < 500:
                break
        except _FAILED:
            pass
    with _said_by_us(name):
        return _part_once(address, state, start, stop)


def _part_once(address: Address, state: _State, start: int, stop: int) -> bytes:
    wanted = {"Range": f"bytes={start}-{stop - 1}", **state.conditions()}
    with _asked(address, wanted) as answer:
        told = re.match(r"bytes (\d+)-(\d+)/(\d+)$", answer.headers.get("Content-Range", ""))
        size = int(told[3]) if told else -1
        _check_same(address, answer, state, size)
        if told is None or (int(told[1]), int(told[2])) != (start, stop - 1):
            raise DataError(f"{address.shown} could not be read: its server gave another part")
        return bytes(answer.read())


def _whole(address: Address, name: str, state: _State) -> Iterator[bytes]:
    """All bytes of a file: one answer holds one state, and nothing is asked for twice."""
    with _said_by_us(name), _asked(address, state.conditions()) as answer:
        _check_same(address, answer, state, _size(answer.headers.get("Content-Length", "")))
        while piece := answer.read(_PIECE):
            yield piece


def _no_parts(start: int, stop: int) -> bytes:
    raise DataError("its server gives no parts of files")


def _check_same(address: Address, answer: Any, state: _State, size: int | None) -> None:
    _check_plain(address.shown, answer.headers)
    if _State.of(answer.headers, -1 if size is None else size) != state:
        raise DataError(f"{address.shown} could not be read: {CHANGED}")


def _check_plain(name: str, headers: Mapping[str, str]) -> None:
    if headers.get("Content-Encoding", "identity") != "identity":
        raise DataError(f"{name} could not be read: {PACKED}")


def _size(told: str) -> int | None:
    """The size at the end of a `Content-Range`, or alone."""
    last = told.rpartition("/")[2]
    return int(last) if last.isascii() and last.isdigit() else None


class _OnOneHost(urllib.request.HTTPRedirectHandler):
    """Follow a server as long as it stays itself, or begins to encrypt."""

    def http_error_302(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except Exception:
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, url: str
    ) -> Any:
        before, after = read_address(req.full_url), read_address(url)
        if after.store != before.store or (before.scheme, after.scheme) == ("https", "http"):
            raise DataError(
                f"{before.shown} leads to {after.scheme}://{after.store}: name the file there, or"
                " download it"
            )
        return super().redirect_request(req, fp, code, msg, headers, url)


@contextmanager
def _asked(address: Address, headers: dict[str, str], *, empty: bool = False) -> Iterator[Any]:
    """A server's answer; that of an empty file to a question for its first byte is an error."""
    request = urllib.request.Request(
        address.url, headers={"Accept-Encoding": "identity", "User-Agent": "hushtable", **headers}
    )
    try:
        answer = urllib.request.build_opener(_OnOneHost).open(request, timeout=_PATIENCE)
    except urllib.error.HTTPError as problem:
        if not (empty and problem.code == 416):
            problem.close()
            raise
        answer = problem
    with answer:
        yield answer


def _led_to(address: Address, url: str) -> Address:
    """Where an answer came from."""
    return address if url == address.url else read_address(url)


@contextmanager
def _said_by_us(name: str) -> Iterator[None]:
    """One line for whatever goes wrong: what libraries say has the whole address in it."""
    try:
        yield
    except HushError:
        raise
    except urllib.error.HTTPError as problem:
        reason = _REASONS.get(problem.code, f"its server answers with status {problem.code}")
        raise_alone(DataError(f"{name} could not be read: {reason}"))
    except _FAILED:
        raise_alone(DataError(f"{name} could not be read: check its name and the connection"))


_REASONS = {
    401: "its server wants to know who asks; a signed address is one way to say so",
    403: "its server refuses it; a signed address may have expired",
    404: "there is no such file",
    410: "there is no such file",
    412: CHANGED,
}

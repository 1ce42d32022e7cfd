"""What a worker process is asked and what it replies: plain values, sent as MessagePack.

Nothing that a worker sends is run: one that was taken over can give wrong answers, and no more.
"""

from __future__ import annotations

import struct

import msgspec

LENGTH = struct.Struct(">I")


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A question to a release, as a request put it."""

    task: str
    """What is wanted: a key of `tasks.TASKS`."""
    folder: str
    """The release's folder."""
    name: str
    """What URLs call the release, quoted as they need it."""
    query: tuple[tuple[str, str], ...] = ()
    """The parameters of the URL."""
    root: str = ""
    """What stands before every path of the site."""
    rows: int = 100_000
    """The most rows that the answer may have."""
    gzip: bool = False
    """Whether the answer may be compressed."""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """A whole answer, as it goes back over HTTP."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def packed(message: Asked | Reply) -> bytes:
    """A message with its length before it."""
    content = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(content)) + content


def read_asked(content: bytes) -> Asked:
    """The question in a message."""
    return msgspec.msgpack.decode(content, type=Asked)


def read_reply(content: bytes) -> Reply:
    """The reply in a message."""
    return msgspec.msgpack.decode(content, type=Reply)

"""The files of the pages: ours, and Vega's JavaScript from the package that carries it."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

BUNDLE = "vega.js"
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class StaticFile:
    """What a browser gets of a file."""

    content: bytes
    compressed: bytes
    kind: str
    mark: str
    """What changes when the content does."""


def static_file(name: str) -> StaticFile | None:
    """The file of a name; None where there is none."""
    return _read(name) if name == BUNDLE or name in _ours() else None


@cache
def _ours() -> frozenset[str]:
    return frozenset(one.name for one in (files("hushtable.web") / "static").iterdir())


@cache  # of names that exist: others would fill the memory
def _read(name: str) -> StaticFile:
    ours = files("hushtable.web") / "static" / name
    content = _bundle() if name == BUNDLE else ours.read_bytes()
    kind = _KINDS[name.rpartition(".")[2]]
    mark = hashlib.sha256(content).hexdigest()[:32]
    return StaticFile(content, gzip.compress(content, mtime=0), kind, mark)


def _bundle() -> bytes:
    """Vega, Vega-Lite and Vega-Embed in one script, without any download."""
    import vl_convert

    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return text.encode()

"""The files of the pages: ours, and Vega's JavaScript from the package that carries it."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from tempfile import NamedTemporaryFile

BUNDLE = "vega.js"
_MAKING = """
import sys, vl_convert
script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
sys.stdout.buffer.write(script.encode())
"""
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


def is_static(name: str) -> bool:
    """Whether there is such a file."""
    return name in _names()


@cache
def _names() -> frozenset[str]:
    ours = (files("hushtable.web") / "static").iterdir()
    return frozenset({BUNDLE, *(one.name for one in ours)})


@cache
def static_file(name: str) -> StaticFile:
    """The file of a name that there is."""
    ours = files("hushtable.web") / "static" / name
    content = _bundle() if name == BUNDLE else ours.read_bytes()
    kind = _KINDS[name.rpartition(".")[2]]
    mark = hashlib.sha256(content).hexdigest()[:32]
    return StaticFile(content, gzip.compress(content, mtime=0), kind, mark)


def _bundle() -> bytes:
    """Vega, Vega-Lite and Vega-Embed in one script, without any download.

    It takes a second to put together, so that it is kept for the next time.
    """
    import platformdirs

    kept = platformdirs.user_cache_path("hushtable") / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_bytes()
    made = _made()
    with suppress(OSError):  # a machine may keep nothing
        kept.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=kept.parent, delete=False) as file:
            file.write(made)
        os.replace(file.name, kept)
    return made


def _made() -> bytes:
    """In a process of its own: in this one, all answers would wait for it."""
    command = [sys.executable, "-P", "-c", _MAKING]
    return subprocess.run(command, check=True, capture_output=True).stdout

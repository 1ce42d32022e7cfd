"""The files of the pages: ours, and Vega's JavaScript from the package that carries it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

BUNDLE = "vega.js"
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@cache
def static_file(name: str) -> tuple[bytes, str, str] | None:
    """The content of a file, what kind it is, and its mark; None where there is no such file."""
    kind = _KINDS.get(name.rpartition(".")[2])
    content = _content(name) if kind else None
    if content is None or kind is None:
        return None
    return content, kind, '"' + hashlib.sha256(content).hexdigest()[:32] + '"'


def _content(name: str) -> bytes | None:
    if name == BUNDLE:
        return _bundle()
    known = {one.name: one for one in (files("hushtable.web") / "static").iterdir()}
    return known[name].read_bytes() if name in known else None


def _bundle() -> bytes:
    """Vega, Vega-Lite and Vega-Embed in one script, without any download."""
    import vl_convert

    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return text.encode()

"""The list of the releases that a server has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hushtable.errors import HushError
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.web.exchange import Asked, Reply
from hushtable.web.rendering import render


def index(asked: Asked) -> Reply:
    """A page with a link to each release; `asked.query` has their names and folders."""
    releases = [_described(name, folder) for name, folder in asked.query]
    return render("index.html", root=asked.root, title="Published tables", releases=releases)


def _described(name: str, folder: str) -> dict[str, Any]:
    """What a release is, by its manifest alone; one that is damaged says so."""
    from hushtable.release.manifest import read_manifest

    try:
        manifest = read_manifest(Path(folder))
    except HushError as problem:
        return {"name": name, "problem": str(problem).replace(folder, name)}
    return {
        "name": name,
        "problem": "",
        "dataset": manifest.schema.name,
        "attributes": len(manifest.schema.attributes),
        "epsilon": format_epsilon(manifest.epsilon),
        "mechanism": manifest.stated.mechanism,
        "private": manifest.stated.private,
        "created": manifest.content["created"],
    }

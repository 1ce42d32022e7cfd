"""A small release of every kind, made once, and every odd change of its manifest."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hushtable
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS

SCHEMA = """name = "people"
budget = "99"
unit = { column = "id", max_rows = 2 }
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 6]
[[attribute]]
name = "job"
kind = "nominal"
tree = { desk = ["clerk", "boss"], field = ["farmer", "miner"] }
outside = "other"
[[attribute]]
name = "pay"
kind = "ordinal"
edges = [0, 10, 20.5]
"""

# Forms that are stored in different ways. A mechanism that is not among them has no settings.
_FORMS: dict[str, tuple[str, dict[str, str]]] = {
    "cells": ("basic", {}),
    "wavelets": ("privelet", {}),
    "some axes": ("privelet+", {}),
    "shrunken wavelets": ("privelet*", {}),
    "trees": ("hierarchical", {}),
    "trees with shares": ("mixed", {"age": "tree:4x2@1/4,3/4"}),
    "tents": ("mixed", {"age": "tents:2x2@32"}),
    "kept cells": ("filter", {"theta": "2"}),
    "sampled cells": ("filter-threshold", {"theta": "2", "tau": "3"}),
    "kept ranges": ("filter", {"on": "dyadic", "theta": "2"}),
    "kept differences": ("priority", {"on": "haar", "size": "9"}),
    "buckets": ("sketch", {"rows": "2"}),
    "a network": ("privbayes", {}),
    "a network of known size": ("privbayes", {"rows": "60"}),
    "grown regions": ("ispe", {}),
    "halved regions": ("kdtree", {}),
}
_NAMED = {mechanism for mechanism, _ in _FORMS.values()}
KINDS = {**_FORMS, **{name: (name, {}) for name in MECHANISMS if name not in _NAMED}}
"""At least one kind of release of every registered mechanism."""


def publish_kind(folder: Path, kind: str) -> Path:
    """A release of that kind, the same every time."""
    mechanism, settings = KINDS[kind]
    folder.mkdir()
    (folder / "people.toml").write_text(SCHEMA)
    jobs = ("clerk", "boss", "farmer", "miner", "")
    rows = [f"{i // 2},{i % 7},{jobs[i % 5]},{i % 3 * 8}" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(["id,age,job,pay", *rows]))
    release = hushtable.publish(
        folder / "people.csv",
        folder / "people.toml",
        epsilon="2",
        mechanism=mechanism,
        settings=settings,
        out=folder / "release",
        entropy=SeededEntropy(7),
    )
    return release.folder


class Published(dict[str, Path]):
    """A release of every kind, made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, kind: str) -> Path:
        self[kind] = publish_kind(self._folder / kind.replace(" ", "-"), kind)
        return self[kind]


Way = tuple[Any, ...]
"""The keys and positions that lead to a place of a manifest."""


def places(content: Any, way: Way = ()) -> Iterator[Way]:
    """Every place of a manifest: tables and lists, and what they hold."""
    if way:
        yield way
    inner: list[Any] = []
    if isinstance(content, dict):
        inner = list(content)
    elif isinstance(content, list):  # the first and the last are like the others
        inner = sorted({0, len(content) - 1}) if content else []
    for key in inner:
        yield from places(content[key], (*way, key))


GONE = object()

ODD: tuple[Any, ...] = (
    GONE,
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    0.5,
    -0.5,
    1.0,
    5e-324,
    1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**39,
    -(10**39),
    10**41,
    "",
    " ",
    "x",
    "0",
    "1",
    "-1",
    "2.5",
    "nan",
    "inf",
    "1e999",
    "1e999999999",
    "1/0",
    "0/1",
    "1/3",
    "9" * 250,
    "1/" + "9" * 250,
    "9" * 250 + "/1",
    "9" * 251,
    "9" * 60,
    str(2**55 + 1),
    "1/" + "9" * 60,
    "y" * 3000,
    "\x1b[31m",
    "\u202e",
    "a\nb",
    "..",
    "/etc/passwd",
    "discrete-laplace",
    "one-sided",
    "cells",
    "haar",
    "regions",
    "9999-99-99",
    [],
    [[]],
    [None],
    [0],
    [1],
    [-1],
    [2**62, 2**62],
    ["x"],
    [0.5, 0.5],
    [[0, 1]],
    {},
    {"": None},
    {"size": 7},
    {"kind": "haar", "size": 2**40},
    {"law": "discrete-laplace", "scale": "9" * 250},
)


def changed(content: dict[str, Any], way: Way, value: Any) -> dict[str, Any]:
    """A manifest with another value at a place."""
    content = copy.deepcopy(content)
    inner: Any = content
    for key in way[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return content


def neighbours(value: Any) -> list[Any]:
    """Values that are nearly the right one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1, -value, value * 2, str(value)]
    if isinstance(value, str):
        return [value + "0", value[:-1], value.upper(), [value]]
    if isinstance(value, list):
        return [value[:-1], [*value, *value], [value], dict.fromkeys(map(str, value))]
    if isinstance(value, dict):
        return [list(value), {**value, "more": 1}, dict(list(value.items())[:-1])]
    return []


def attacks(content: dict[str, Any]) -> Iterator[tuple[Way, Any]]:
    """Every place of a manifest with every odd value."""
    for way in places(content):
        inner: Any = content
        for key in way:
            inner = inner[key]
        for value in (*neighbours(inner), *ODD):
            yield way, value


def manifest_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return content


def write(folder: Path, content: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps(content))


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))

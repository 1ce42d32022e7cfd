"""Malicious release folders and schemas are refused in one line, at once, in flat memory."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attack import Tally
from hostile import (
    Attack,
    Bomb,
    cells_are,
    fifo,
    flipped,
    huge,
    link,
    manifest_is,
    npy_header,
    npz_bomb,
    on_manifest,
    refusal,
    setting,
    truncated,
    use,
    with_number,
)
from release_folders import CENSUS, make_release

from hushtable.errors import HushError, ReleaseError
from hushtable.schema import Schema

GOOD = json.dumps({"hushtable": "release", "format": 1}).encode()
DEEP = 100_000

FOLDERS: dict[str, Attack] = {
    # sizes
    "a shape of 10¹⁸ cells": huge(10**9, 2),
    "a shape of 10¹⁵⁰ cells": huge(2**52, 10),
    "a shape of one axis of 10¹⁵": huge(10**15, 1),
    "a shape of 64 axes": huge(2**20, 64),
    "a shape of 5,000 axes": huge(2, 5000),
    "a negative shape": setting("arrays", "cells", "shape", to=[-6, -4, 3, 5]),
    "a shape of texts": setting("arrays", "cells", "shape", to=["7", "4", "3", "5"]),
    "a shape of nulls": setting("arrays", "cells", "shape", to=[None] * 4),
    "chunks of nothing": setting("arrays", "cells", "chunk", to=0),
    "chunks of everything": setting("arrays", "cells", "chunk", to=2**62),
    "a manifest of a terabyte": truncated("manifest.json", 10**12),
    "cells of a terabyte": truncated("cells.npy", 10**12),
    "cells cut short": truncated("cells.npy", 130),
    "no cells": truncated("cells.npy", 0),
    "no manifest": truncated("manifest.json", 0),
    "a manifest of millions of numbers": manifest_is(b"[" + b"0," * 4_500_000 + b"0]"),
    "a manifest of millions of lists": manifest_is(b"[" + b"[]," * 4_500_000 + b"0]"),
    "a number of 40,000 digits": manifest_is(GOOD[:-1] + b', "x": ' + b"9" * 40_000 + b"}"),
    "an attribute's name without an end": setting("schema", "attribute", 0, "name", to="x" * 10**7),
    "a key without an end": on_manifest(lambda m: m["schema"].update({"k" * 10**7: 1})),
    "a text without an end": setting("software", to="v" * 10**7),
    # paths
    "a file above the folder": setting("arrays", "cells", "file", to="../cells.npy"),
    "an absolute file": setting("arrays", "cells", "file", to="/etc/passwd"),
    "a file in a folder": setting("arrays", "cells", "file", to="x/../cells.npy"),
    "a file with a NUL": setting("arrays", "cells", "file", to="cells.npy\0.txt"),
    "an array named after a path": on_manifest(
        lambda m: m.update(arrays={"../../cells": m["arrays"]["cells"]})
    ),
    "an absolute hierarchy": setting(
        "schema", "attribute", 3, to={"name": "o", "kind": "nominal", "hierarchy": "/etc/passwd"}
    ),
    "cells linked to /etc/passwd": link("cells.npy", "/etc/passwd"),
    "cells linked to /dev/zero": link("cells.npy", "/dev/zero"),
    "cells linked to themselves": link("cells.npy", "cells.npy"),
    "a manifest linked to /dev/zero": link("manifest.json", "/dev/zero"),
    "a manifest linked to nothing": link("manifest.json", "nowhere"),
    "a manifest linked to /proc/self/mem": link("manifest.json", "/proc/self/mem"),
    "cells that are a pipe": fifo("cells.npy"),
    "a manifest that is a pipe": fifo("manifest.json"),
    # content
    "a pickle for cells": cells_are(lambda size: pickle.dumps(Bomb()).ljust(size, b"\0")),
    "a pickled object array": cells_are(
        lambda size: npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")(size)
    ),
    "a header that runs code": cells_are(npy_header("{'descr': __import__('os').mkdir('boom')}")),
    "a header in the other order": cells_are(
        npy_header("{'descr': '<i2', 'fortran_order': True, 'shape': (7, 4, 3, 5), }")
    ),
    "a zip bomb for cells": cells_are(npz_bomb),
    "random cells": cells_are(lambda size: np.random.default_rng(1).bytes(size)),
    "one bit of the first cell flipped": flipped(128),
    "one bit of the last cell flipped": flipped(-1),
    "one bit of the header flipped": flipped(20),
    "a wrong checksum": setting("arrays", "cells", "sha256", to=["0" * 64]),
    "no checksums": setting("arrays", "cells", "sha256", to=[]),
    "a checksum too many": setting("arrays", "cells", "sha256", to=["0" * 64] * 2),
    "a checksum of null": setting("arrays", "cells", "sha256", to=[None]),
    "cells of objects": setting("arrays", "cells", "dtype", to="|O"),
    "cells of floats": setting("arrays", "cells", "dtype", to="<f8"),
    "cells of big-endian integers": setting("arrays", "cells", "dtype", to=">i2"),
    "another array": on_manifest(lambda m: m["arrays"].update(more=m["arrays"]["cells"])),
    # numbers
    "a scale of NaN": setting("noise", "scale", to="nan"),
    "an infinite scale": setting("noise", "scale", to="inf"),
    "a scale of 1/0": setting("noise", "scale", to="1/0"),
    "a scale of zero": setting("noise", "scale", to="0"),
    "a negative scale": setting("noise", "scale", to="-2"),
    "a scale of a thousand digits": setting("noise", "scale", to="9" * 1000),
    "a scale in other digits": setting("noise", "scale", to="２"),
    "a scale that is a number": setting("noise", "scale", to=2),
    "an unknown law": setting("noise", "law", to="gaussian"),
    "an ε of zero": setting("privacy", "epsilon", to="0"),
    "an ε of NaN": setting("privacy", "epsilon", to="nan"),
    "an ε of 1e999999999": setting("privacy", "epsilon", to="1e999999999"),
    "a δ of NaN": with_number("delta", b"NaN"),
    "a δ of −∞": with_number("delta", b"-Infinity"),
    "a δ of 1e999": with_number("delta", b"1e999"),
    "a NaN that nobody reads": with_number("unread", b"NaN"),
    "an infinity that nobody reads": with_number("unread", b"1e999"),
    "a δ above 1": setting("privacy", "delta", to=2),
    # form
    "deep lists": manifest_is(b"[" * DEEP),
    "deep tables": manifest_is(b'{"a":' * DEEP),
    "a deep tree of values": setting(
        "schema",
        "attribute",
        3,
        "tree",
        to=json.loads('{"a":' * 300 + '["x"]' + "}" * 300),
    ),
    "a tree with a value many times": setting(
        "schema", "attribute", 3, "tree", to={f"g{i}": ["clerk"] for i in range(10_000)}
    ),
    "a key twice": manifest_is(b'{"hushtable": "release", "hushtable": "release"}'),
    "half a character": manifest_is(GOOD[:-1] + b', "software": "\\ud800"}'),
    "UTF-16": manifest_is(GOOD.decode().encode("utf-16")),
    "NULs": manifest_is(b"\0" * 1000),
    "a pickle for a manifest": manifest_is(pickle.dumps(Bomb())),
    "YAML": manifest_is(b"hushtable: release\nformat: !!python/object/apply:os.mkdir [boom]\n"),
    "a terminal's commands": setting("mechanism", to="basic\x1b]0;owned\x07"),
    "two lines": setting("created", to="today\nand tomorrow"),
    # meaning
    "a newer format": setting("format", to=2),
    "a much newer format": setting("format", to=10**30),
    "no format": setting("format", to=None),
    "a format that is true": setting("format", to=True),
    "an unknown reader": setting("reader", to="oracle"),
    "a reader that is a path": setting("reader", to="../../reader"),
    "another relation than the schema's": setting("privacy", "neighbours", to="replace-one"),
    "no relation": setting("privacy", "neighbours", to="both"),
    "not said to be private or not": setting("private", to="yes"),
    "no schema": setting("schema", to={}),
    "a schema without attributes": setting("schema", "attribute", to=[]),
    "attributes of the same name": on_manifest(
        lambda m: m["schema"]["attribute"].append(m["schema"]["attribute"][0])
    ),
    "another release's schema": on_manifest(lambda m: m["schema"]["attribute"].pop()),
}


def good_release(folder: Path) -> Path:
    schema = Schema.from_dict(json.loads(json.dumps(CENSUS)))
    cells = np.arange(schema.cells, dtype=np.int64) - 200
    return make_release(folder, schema, cells).folder


def test_there_are_many_kinds_of_malice() -> None:
    assert len(FOLDERS) >= 50


@pytest.mark.parametrize("name", FOLDERS)
def test_a_hostile_folder_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = good_release(tmp_path / "r")
    FOLDERS[name](folder)
    assert refusal(ReleaseError, lambda: use(folder)).startswith(str(folder))
    assert not (tmp_path / "boom").exists() and not (folder / "boom").exists()
    tally("hostile folders", 1)


def test_the_release_they_are_made_from_is_good(tmp_path: Path) -> None:
    use(good_release(tmp_path / "r"))


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────

HEAD = 'name = "t"\nbudget = "1"\n'


def attribute(**entries: str) -> str:
    """A schema with one attribute, its values as TOML text."""
    lines = {"name": '"a"', "kind": '"nominal"', **entries}
    return HEAD + "[[attribute]]\n" + "".join(f"{key} = {text}\n" for key, text in lines.items())


def hierarchy(content: bytes) -> Callable[[Path], str]:
    """A schema beside a hierarchy file."""

    def make(folder: Path) -> str:
        (folder / "h.csv").write_bytes(content)
        return attribute(hierarchy='"h.csv"')

    return make


def linked_hierarchy(target: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / "h.csv").symlink_to(target)
        return attribute(hierarchy='"h.csv"')

    return make


def text(content: str) -> Callable[[Path], str]:
    return lambda _: content


SCHEMAS: dict[str, Callable[[Path], str | bytes]] = {
    "deep lists": text(HEAD + "attribute = " + "[" * 50_000 + "]" * 50_000),
    "deep tables": text(HEAD + "a = " + "{ a = " * 5_000 + "1" + " }" * 5_000),
    "a deep dotted key": text(HEAD + ".".join(["a"] * 2_000) + " = 1"),
    "a deep table name": text(HEAD + "[" + ".".join(["a"] * 10_000) + "]"),
    "a deep tree": text(attribute(tree="{ a = " * 300 + '["x"]' + " }" * 300)),
    "a tree that repeats itself": text(
        attribute(tree="[" + ", ".join('{ g = ["x", "y"] }' for _ in range(20_000)) + "]")
    ),
    "a tree of trees of the same": text(
        attribute(tree="{ " + ", ".join(f'g{i} = ["x"]' for i in range(20_000)) + " }")
    ),
    "a value twice": text(attribute(values="[" + '"x", ' * 100_000 + "]")),
    "a name of a million characters": text(attribute(name='"' + "n" * 10**6 + '"')),
    "a table name of a million characters": text(f'name = "{"n" * 10**6}"\nbudget = "1"\n'),
    "a key of a million characters": text(HEAD + "k" * 10**6 + " = 1\n"),
    "a name with a NUL": text(attribute(name='"a\\u0000b"')),
    "a name of two lines": text(attribute(name='"a\\nb"')),
    "a name with a terminal's commands": text(attribute(name='"\\u001b[31m"')),
    "a label with a NUL": text(attribute(values='["a\\u0000"]')),
    "a raw NUL": lambda _: HEAD.encode() + b"\0",
    "no UTF-8": lambda _: HEAD.encode() + b'x = "\xff"\n',
    "UTF-16": lambda _: HEAD.encode("utf-16"),
    "an empty file": text(""),
    "no TOML": text("{" * 1000),
    "an endless string": text(HEAD + 'x = """' + "a" * 10**6),
    "a budget of 1e999999999": text('name = "t"\nbudget = "1e999999999"\n'),
    "a budget of NaN": text('name = "t"\nbudget = nan\n'),
    "a budget of a million digits": text('name = "t"\nbudget = "' + "9" * 10**6 + '"\n'),
    "a budget of a long integer": text('name = "t"\nbudget = ' + "9" * 5_000 + "\n"),
    "a range of 10³⁰⁰": text(attribute(kind='"ordinal"', range=f"[0, {10**300}]")),
    "a reversed range": text(attribute(kind='"ordinal"', range="[4, 0]")),
    "edges that are not finite": text(attribute(kind='"ordinal"', edges="[0, inf]")),
    "edges of NaN": text(attribute(kind='"ordinal"', edges="[nan, nan]")),
    "edges that do not increase": text(
        attribute(kind='"ordinal"', edges="[" + "1, " * 100_000 + "]")
    ),
    "max_rows of 10³⁰": text(
        f'{HEAD}unit = {{ column = "p", max_rows = {10**30} }}\n'
        '[[attribute]]\nname = "a"\nkind = "nominal"\nvalues = ["x"]\n'
    ),
    "a hierarchy that is its own parent": hierarchy(b"x;a;b;a;*\n"),
    "a hierarchy in a circle": hierarchy(b"x;a;b\ny;b;a\n"),
    "a hierarchy with two parents": hierarchy(b"x;a;*\ny;b;*\nz;a;b;*\n"),
    "a hierarchy of a thousand levels": hierarchy(
        b"\n".join(
            f"x{i};".encode() + b";".join(b"l%d_%d" % (j, i) for j in range(1000)) + b";*"
            for i in range(3)
        )
    ),
    "a hierarchy with a value twice": hierarchy(b"x;*\n" * 10_000),
    "a hierarchy with an open quote": hierarchy(b'"x;*\ny;*\n'),
    "a hierarchy of NULs": hierarchy(b"\0;\0\n"),
    "a hierarchy that is no UTF-8": hierarchy(b"\xff\xfe\n"),
    "an empty hierarchy": hierarchy(b""),
    "a hierarchy linked to /dev/zero": linked_hierarchy("/dev/zero"),
    "a hierarchy linked to itself": linked_hierarchy("h.csv"),
    "a hierarchy linked to a folder": linked_hierarchy("."),
    "a hierarchy that is /dev/zero": text(attribute(hierarchy='"/dev/zero"')),
    "a hierarchy that is not there": text(attribute(hierarchy='"../../../nowhere"')),
    "a hierarchy with a NUL in its name": text(attribute(hierarchy='"h\\u0000.csv"')),
    "a hierarchy with a name without an end": text(attribute(hierarchy='"' + "h" * 10**5 + '"')),
    "a hierarchy that is a number": text(attribute(hierarchy="5")),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_hostile_schema_is_refused(name: str, tmp_path: Path, tally: Tally) -> None:
    content = SCHEMAS[name](tmp_path)
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "s.toml").write_bytes(raw)
    refusal(HushError, lambda: Schema.load(tmp_path / "s.toml"))
    tally("hostile schemas", 1)


@pytest.mark.parametrize("kind", ["loop", "folder", "device", "fifo"])
def test_a_schema_that_is_no_file_is_refused(kind: str, tmp_path: Path, tally: Tally) -> None:
    path = tmp_path / "s.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "s.toml")
    refusal(HushError, lambda: Schema.load(path))
    tally("hostile schemas", 1)


def test_the_schema_they_are_made_from_is_good(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(attribute(values='["x", "y"]'))
    assert Schema.load(tmp_path / "s.toml").cells == 2

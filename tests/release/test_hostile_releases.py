"""Whatever a folder holds, opening it gives a release or one clear line: fast, in flat memory."""

import copy
import json
import os
import pickle
import resource
import time

import numpy as np
import pytest
from release_folders import CENSUS, make_release, manifest_of, ranges

import hushtable
from hushtable.errors import ReleaseError
from hushtable.release import manifest as manifest_module
from hushtable.release.store import write_arrays
from hushtable.schema import Schema

# Of the processor, however slow a busy machine makes it; laying out what is claimed takes longer.
SECONDS = 60

JUNK = [
    None,
    True,
    0,
    -1,
    10**30,
    int("9" * 4000),
    0.5,
    1e300,
    "",
    "x",
    "..",
    "/etc/passwd",
    "a\nb",
    "\x1b[31m",
    "é" * 5000,
    "1e999999999",
    "1/0",
    "0",
    "-1",
    "nan",
    [],
    [[]],
    ["x"],
    [0, 10**15],
    {},
    {"x": 1},
]


@pytest.fixture
def folder(census):
    return census.folder


@pytest.fixture
def rewrite(folder):
    """Change the manifest: by a function of its content, or to given bytes."""

    def change(how):
        path = folder / "manifest.json"
        if callable(how):
            content = json.loads(path.read_bytes())
            how(content)
            how = json.dumps(content).encode()
        path.write_bytes(how)

    return change


def refused(folder, match: str = ".") -> str:
    """Opening is refused in one line that names the folder, soon and in little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(ReleaseError, match=match) as caught:
        hushtable.open(folder)
    assert time.process_time() - start < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
    message = str(caught.value)
    assert message.startswith(str(folder)) and message.isprintable()
    assert len(message) < len(str(folder)) + 600
    return message


def paths_in(value, path=()):
    """The way to every value inside a manifest, of like values in a list the first two."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:2]
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from paths_in(inner, (*path, key))


def replaced(content, path, value):
    content = copy.deepcopy(content)
    *outer, last = path
    inner = content
    for key in outer:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return content


def test_any_value_replaced_by_junk_is_refused_or_harmless(folder):
    path = folder / "manifest.json"
    good = json.loads(path.read_bytes())
    opened = 0
    for way in list(paths_in(good)):
        for junk in (*JUNK, ...):
            path.write_text(json.dumps(replaced(good, way, junk)))
            start = time.process_time()
            try:
                release = hushtable.open(folder)
                opened += 1
                assert release.epsilon > 0 and isinstance(release.private, bool)
                assert release.cell_stderr >= 0
                assert repr(release).isprintable()
                assert release.count().stderr >= 0
            except ReleaseError as problem:
                assert str(problem).startswith(str(folder)), way
                assert "\n" not in str(problem), way
            assert time.process_time() - start < SECONDS, (way, junk)
    assert opened > 50  # unused keys, other labels, other names


@pytest.mark.parametrize("key", [*sorted(manifest_of(ranges(2))), "arrays"])
def test_every_top_level_field_is_needed(folder, rewrite, key):
    rewrite(lambda content: content.pop(key))
    refused(folder)


@pytest.mark.parametrize("key", ["epsilon", "delta", "neighbours", "unit", "guarantee"])
def test_every_field_of_the_guarantee_is_needed(folder, rewrite, key):
    rewrite(lambda content: content["privacy"].pop(key))
    refused(folder, key)


def test_a_release_that_does_not_state_eta_is_an_older_one(folder, rewrite):
    rewrite(lambda content: content["privacy"].pop("eta", None))
    hushtable.open(folder)


@pytest.mark.parametrize("eta", [True, "2^-90", -1e-30, 2, None])
def test_an_eta_that_is_no_bound_is_refused(folder, rewrite, eta):
    rewrite(lambda content: content["privacy"].update(eta=eta))
    refused(folder, "eta")


def test_epsilon_is_text_as_it_was_written(folder, rewrite):
    rewrite(lambda content: content["privacy"].update(epsilon=1))
    refused(folder, "epsilon")


@pytest.mark.parametrize(
    "scale", ["0", "1e400", "1e999999999", "1/0", "nan", "-1", "9" * 251, "1.5", "9" * 250]
)
def test_a_scale_is_a_positive_fraction_of_few_digits(folder, rewrite, scale):
    rewrite(lambda content: content["noise"].update(scale=scale))
    refused(folder, "noise")


def test_the_schema_and_the_guarantee_name_one_relation(folder, rewrite):
    rewrite(lambda content: content["privacy"].update(neighbours="replace-one"))
    refused(folder, "two neighbour relations")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 100,
        b"\xff\xfe{}",
        b"{",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"hushtable": "release", "hushtable": "release"}',
        b'{"hushtable": "release", "format": NaN}',
        b'{"hushtable": "release", "format": -Infinity}',
        b'{"hushtable": "release", "format": 1e999}',
        b'{"hushtable": "release", "format": ' + b"9" * 5000 + b"}",
        b'{"hushtable": "release", "format": 1, "software": "\\ud800"}',
        b"null",
        b"[]",
        b'"release"',
        b"{}",
        b'{"hushtable": "release"}',
        b'{"hushtable": "release", "format": true}',
        b'{"hushtable": "release", "format": 0}',
    ],
    ids=range(19),
)
def test_what_is_no_manifest_is_refused(folder, rewrite, raw):
    rewrite(raw)
    refused(folder)


@pytest.mark.parametrize("version", [2, 10**6, 10**39])
def test_a_newer_format_is_refused_with_advice(folder, rewrite, version):
    rewrite(lambda content: content.update(format=version))
    refused(folder, "upgrade")


def test_a_label_with_half_a_character_is_refused(folder, rewrite):
    def change(content):
        content["schema"]["attribute"][2]["labels"][0] = "\ud800"

    rewrite(change)
    refused(folder, "not valid JSON")


@pytest.mark.parametrize("piece", [b"[],", b"0,", b'{"":0},', b'"",'])
def test_millions_of_values_are_refused_unparsed(folder, rewrite, piece):
    rewrite(b"[" + piece * 5_000_000 + b"0]")
    refused(folder, "more than")


def test_a_huge_manifest_is_refused_unread(folder):
    os.truncate(folder / "manifest.json", 10**12)
    refused(folder, "larger than 64 MiB")


def test_a_manifest_that_grows_is_read_no_further_than_the_limit(folder, monkeypatch):
    monkeypatch.setattr(manifest_module, "MAX_MANIFEST", 1000)
    refused(folder, "larger than")


def test_an_endless_key_is_refused_at_once(folder, rewrite):
    rewrite(lambda content: content["schema"].update({"ab" * 5_000_000: 1}))
    refused(folder, "key is too long")


@pytest.mark.parametrize("sizes", [[10**6] * 3, [2**52] * 8, [10**9, 10**9], [10**15]])
def test_a_domain_far_beyond_its_file_is_refused_at_once(folder, rewrite, sizes):
    schema = ranges(*sizes)

    def change(content):
        content["schema"] = schema.to_dict()
        content["arrays"]["cells"]["shape"] = list(schema.shape)

    rewrite(change)
    refused(folder, "checksum for every chunk")


def test_a_sparse_file_of_the_right_size_still_needs_its_checksums(folder, rewrite):
    def change(content):
        content["schema"] = ranges(10**12).to_dict()
        content["arrays"]["cells"] |= {"shape": [10**12], "dtype": "|i1"}

    rewrite(change)
    os.truncate(folder / "cells.npy", 10**12 + 128)
    refused(folder, "checksum for every chunk")


@pytest.mark.parametrize("axes", [65, 10_000, 100_000])
def test_more_axes_than_a_matrix_can_have_are_refused(folder, rewrite, axes):
    attributes = [
        {"name": f"a{i}", "kind": "ordinal", "range": [0, 2**50], "outside": "other"}
        for i in range(axes)
    ]
    rewrite(lambda content: content["schema"].update(attribute=attributes))
    refused(folder, "more than")


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "<i2 "},
        {"dtype": "|O"},
        {"dtype": "<f8"},
        {"dtype": ["<i2"]},
        {"dtype": {"x": "<i2"}},
        {"dtype": "<i8"},
        {"shape": [1]},
        {"shape": None},
        {"shape": [-1, 4, 3, 5]},
        {"chunk": 0},
        {"chunk": -1},
        {"chunk": 2**60},
        {"sha256": []},
        {"sha256": None},
        {"sha256": ["0" * 64] * 2},
        {"file": "/etc/passwd"},
        {"file": "../cells.npy"},
        {"file": "sub/cells.npy"},
        {"file": None},
    ],
    ids=str,
)
def test_an_array_that_is_not_as_described_is_refused(folder, rewrite, change):
    rewrite(lambda content: content["arrays"]["cells"].update(change))
    refused(folder, "array 'cells'")


@pytest.mark.parametrize("hashes", [[None], [[]], [5], ["0" * 63], ["G" * 64], ["0" * 65]])
def test_a_checksum_that_is_none_is_refused(folder, rewrite, hashes):
    rewrite(lambda content: content["arrays"]["cells"].update(sha256=hashes))
    refused(folder, "must be a list of SHA-256 checksums")


def test_a_wrong_checksum_is_damage(folder, rewrite):
    rewrite(lambda content: content["arrays"]["cells"].update(sha256=["0" * 64]))
    with pytest.raises(ReleaseError, match="damaged"):
        hushtable.open(folder).count()


@pytest.mark.parametrize("names", [[], ["cells", "more"], ["../cells"], ["Cells"]])
def test_missing_and_extra_arrays_are_refused(folder, rewrite, names):
    def change(content):
        entry = content["arrays"]["cells"]
        content["arrays"] = dict.fromkeys(names, entry)

    rewrite(change)
    refused(folder, "must list the arrays")


def test_an_array_listed_twice_is_refused(folder, rewrite):
    raw = (folder / "manifest.json").read_bytes()
    rewrite(raw.replace(b'"arrays": {', b'"arrays": {"cells": 1, ', 1))
    refused(folder, "twice")


def test_an_unknown_reader_asks_for_an_upgrade(folder, rewrite):
    rewrite(lambda content: content.update(reader="oracle"))
    refused(folder, "upgrade")


@pytest.mark.parametrize("name", ["manifest.json", "cells.npy"])
@pytest.mark.parametrize("kind", ["missing", "symlink", "dangling", "loop", "fifo", "folder"])
def test_only_plain_files_are_opened(folder, tmp_path, name, kind):
    path = folder / name
    path.rename(tmp_path / name)
    if kind == "symlink":
        path.symlink_to(tmp_path / name)
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    refused(folder, name)


@pytest.mark.parametrize("change", [-1, 1, -(10**6), 2**40])
def test_truncated_and_oversized_arrays_are_refused(folder, change):
    path = folder / "cells.npy"
    os.truncate(path, max(path.stat().st_size + change, 0))
    refused(folder, "size")


def test_a_pickle_in_an_array_file_is_never_loaded(folder, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "boom"),))

    size = (folder / "cells.npy").stat().st_size
    np.save(folder / "cells.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(folder, "size")
    bomb = pickle.dumps(Bomb())
    (folder / "cells.npy").write_bytes(bomb.ljust(size, b"\0"))
    refused(folder, "header")
    assert not (tmp_path / "boom").exists()


def test_another_header_than_the_manifest_says_is_refused(folder):
    path = folder / "cells.npy"
    path.write_bytes(path.read_bytes().replace(b"False", b"True ", 1))
    refused(folder, "header")


def test_what_is_no_folder_is_refused(tmp_path):
    refused(tmp_path / "nowhere", "no such folder")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "a release is a folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "manifest.json is missing")
    with pytest.raises(ReleaseError, match="cannot be read"):
        hushtable.open("a\0b")


def test_a_release_claiming_endless_people_does_not_fill_the_memory(tmp_path):
    release = make_release(tmp_path / "r", ranges(4), [2**62] * 4)
    with pytest.raises(hushtable.HushError, match="too many at once"):
        release.synthesize()
    assert release.synthesize(10).num_rows == 10
    with pytest.raises(hushtable.HushError, match="too large"):
        release.count()


def test_a_good_release_still_opens_after_all_this(tmp_path):
    schema = Schema.from_dict(copy.deepcopy(CENSUS))
    release = make_release(tmp_path / "r", schema, np.zeros(schema.shape, np.int64))
    entry = write_arrays(tmp_path, {"cells": release.cells().astype(np.int64)})["cells"]
    assert release.manifest["arrays"]["cells"] == entry
    assert release.schema == schema

"""Arrays on disk: narrow, open to any tool, checked chunk by chunk as they are touched."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_folders import make_release, ranges

import hushtable
from hushtable.errors import ReleaseError
from hushtable.release import store
from hushtable.release.store import StoredArray, write_arrays


def stored(folder, array) -> StoredArray:
    folder.mkdir(exist_ok=True)
    entry = write_arrays(folder, {"cells": array})["cells"]
    return StoredArray(folder, "cells", entry, array.shape)


def flip(path, offset_from_end: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[-offset_from_end] ^= 1
    path.write_bytes(bytes(raw))


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [
        (0, 0, 1),
        (-128, 127, 1),
        (-129, 0, 2),
        (0, 128, 2),
        (-(2**15), 2**15 - 1, 2),
        (-(2**15) - 1, 0, 4),
        (0, 2**15, 4),
        (-(2**31), 2**31 - 1, 4),
        (0, 2**31, 8),
        (-(2**31) - 1, 0, 8),
        (-(2**63), 2**63 - 1, 8),
    ],
)
def test_integers_take_the_narrowest_type_that_holds_them(tmp_path, low, high, width):
    array = np.array([[low, 0], [1, high]])
    read = stored(tmp_path, array).read()
    assert read.dtype == np.dtype(f"<i{width}")
    assert np.array_equal(read, array)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (0,), (3, 0, 2), (1,) * 30])
def test_files_open_with_plain_numpy(tmp_path, shape):
    array = np.random.default_rng(0).integers(-500, 500, shape)
    kept = stored(tmp_path, array)
    kept.verify()
    plain = np.load(
        tmp_path / "cells.npy", allow_pickle=False, mmap_mode="r" if array.size else None
    )
    assert plain.shape == shape and np.array_equal(plain, array)
    assert np.array_equal(kept.read(), array)


def test_what_is_read_cannot_be_changed(tmp_path):
    view = stored(tmp_path, np.arange(10)).read()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.sampled_from([2, 4, 16, 64]),
    st.data(),
)
def test_a_read_verifies_the_chunks_of_its_box_and_only_its_span(
    tmp_path_factory, shape, chunk, data
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "CHUNK", chunk)
        array = np.random.default_rng(0).integers(-500, 500, shape)
        array.flat[0] = 500  # two bytes each
        kept = stored(tmp_path_factory.mktemp("store"), array)
        box = []
        for size in shape:
            start = data.draw(st.integers(0, size - 1))
            box.append(slice(start, data.draw(st.integers(start + 1, size))))
        assert np.array_equal(kept.read(*box), array[tuple(box)])
        places = np.arange(array.size).reshape(shape)[tuple(box)].reshape(-1)
        needed = set((places * 2 // chunk).tolist())
        verified = set(np.flatnonzero(kept._verified).tolist())
        assert needed <= verified <= set(range(min(needed), max(needed) + 1))


def test_axes_with_steps_longer_than_a_chunk_verify_exactly_what_they_touch(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHUNK", 8)
    array = np.random.default_rng(0).integers(-500, 500, (4, 16, 2))
    kept = stored(tmp_path, array)
    kept.read(slice(0, 4), slice(2, 4), slice(0, 2))
    assert np.flatnonzero(kept._verified).tolist() == [1, 9, 17, 25]


def test_a_flipped_byte_is_noticed_when_touched_and_by_verify(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHUNK", 16)
    cells = np.arange(80).reshape(10, 8) + 1000
    release = make_release(tmp_path / "r", ranges(10, 8), cells)
    flip(release.folder / "cells.npy", 1)
    damaged = hushtable.open(release.folder)
    assert damaged.count("a < 9").value == cells[:9].sum()
    for ask in (damaged.count, damaged.verify, damaged.cells, lambda: damaged.count("a = 9")):
        with pytest.raises(ReleaseError, match=r"r: array 'cells' is damaged: chunk 9 was changed"):
            ask()
    assert damaged.count("a = 8").value == cells[8].sum()


def test_damage_after_a_first_look_is_found_by_verify(tmp_path):
    release = make_release(tmp_path / "r", ranges(10), np.arange(10))
    release.verify()
    path = release.folder / "cells.npy"
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x55")
    with pytest.raises(ReleaseError, match="damaged"):
        release.verify()
    with pytest.raises(ReleaseError, match="damaged"):
        release.count()


def test_arrays_of_several_real_chunks_are_whole(tmp_path):
    array = np.random.default_rng(0).integers(-100, 100, 9 * 2**20 + 3)
    kept = stored(tmp_path, array)
    assert len(kept._hashes) == 3
    assert np.array_equal(kept.read(), array)
    assert kept._verified.all()
    flip(tmp_path / "cells.npy", 1)
    again = StoredArray(tmp_path, "cells", write_entry(array), array.shape)
    assert np.array_equal(again.read(slice(0, 2**23)), array[: 2**23])
    with pytest.raises(ReleaseError, match="chunk 2"):
        again.read()


def write_entry(array) -> dict:
    """What the manifest says of an array, without writing it to the same place."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return write_arrays(Path(folder), {"cells": array})["cells"]


def test_opening_reads_no_data(tmp_path):
    release = make_release(tmp_path / "r", ranges(1000), np.arange(1000))
    flip(release.folder / "cells.npy", 1)
    opened = hushtable.open(release.folder)
    assert opened.cell_stderr > 0  # a law, not a value
    assert not opened.arrays["cells"]._verified.any()


def test_a_release_is_never_written_over(tmp_path):
    release = make_release(tmp_path / "r", ranges(3), [1, 2, 3])
    with pytest.raises(FileExistsError):
        write_arrays(release.folder, {"cells": np.arange(3)})
    with pytest.raises(FileExistsError):
        store.write_manifest(release.folder, {})


def test_a_manifest_no_reader_would_open_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_ITEMS", 10)
    with pytest.raises(ReleaseError, match="too large"):
        store.write_manifest(tmp_path, {"labels": ["x"] * 11})
    assert not (tmp_path / "manifest.json").exists()

"""Folders for unfinished work are private, and gone afterwards, whatever happens."""

from __future__ import annotations

import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hushtable import scratch
from hushtable.errors import DataError
from hushtable.kernel.counting import CsvFormat, count, count_table
from hushtable.kernel.counting.source import open_table
from hushtable.schema import Schema
from hushtable.scratch import held_folder, remove_abandoned, spill_folder, whole_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


HOLDER = """
import sys
from hushtable.scratch import spill_folder
with spill_folder() as folder:
    (folder / "values").write_text("secret")
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder() -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a spill folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate()
    assert process.poll() is not None


def test_a_spill_folder_is_private_and_gone_afterwards(temporary: Path) -> None:
    before = os.umask(0)
    try:
        with spill_folder() as folder:
            assert folder.parent == temporary
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            (folder / "inner").mkdir()
            (folder / "inner" / "values").write_text("secret")
    finally:
        os.umask(before)
    assert list(temporary.iterdir()) == []


def test_a_spill_folder_is_gone_after_an_exception(temporary: Path) -> None:
    with pytest.raises(KeyboardInterrupt), spill_folder() as folder:
        (folder / "values").write_text("secret")
        raise KeyboardInterrupt
    assert list(temporary.iterdir()) == []


def test_a_folder_that_was_moved_away_stays(temporary: Path) -> None:
    (temporary / "partial").mkdir()
    with held_folder(temporary / "partial") as folder:
        (folder / "file").write_text("kept")
        folder.rename(temporary / "whole")
    assert (temporary / "whole" / "file").read_text() == "kept"


@pytest.mark.usefixtures("databases_as_ever")
def test_the_engine_spills_into_a_private_folder_that_is_gone_afterwards(temporary: Path) -> None:
    with open_table(pa.table({"a": [1]}), ["a"]) as table:
        (folder,) = temporary.iterdir()
        query = "SELECT current_setting('temp_directory')"
        assert table.get_backend().con.execute(query).fetchone() == (str(folder),)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(temporary.iterdir()) == []
    schema = Schema.from_dict(
        {
            "name": "x",
            "budget": "1",
            "attribute": [{"name": "b", "kind": "ordinal", "range": [0, 1]}],
        }
    )
    with pytest.raises(DataError):
        count_table(pa.table({"a": [1]}), schema)
    assert list(temporary.iterdir()) == []


AGES = Schema.from_dict(
    {
        "name": "x",
        "budget": "1",
        "attribute": [{"name": "age", "kind": "ordinal", "range": [0, 9]}],
    }
)


@pytest.mark.usefixtures("databases_as_ever")
@pytest.mark.parametrize("name", ["plain.csv", "quoted.csv", "packed.csv.gz", "latin.csv"])
def test_nothing_of_a_csv_file_is_written_to_disk(
    name: str, temporary: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any
) -> None:
    """So that nothing survives, however the process ends, and no disk can be too full for it."""
    path = tmp_path_factory.mktemp("data") / name
    text = "age,town\n" + ('5,"Köln"\n' if name != "plain.csv" else "5,Köln\n") * 1000
    raw = text.encode("latin-1" if name == "latin.csv" else "utf-8")
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    seen: list[list[Path]] = []

    class Watching(count.Tally):
        def add(self, codes: Any, people: Any = None) -> None:
            seen.append([found for found in temporary.rglob("*") if found.is_file()])
            super().add(codes, people)

    monkeypatch.setattr(count, "Tally", Watching)
    form = CsvFormat(encoding="latin-1") if name == "latin.csv" else None
    assert count_table(path, AGES, form).counts.tolist() == [1000]
    assert seen and not any(seen)


def test_a_killed_process_is_cleaned_up_after_by_the_next_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, folder = holder()
    try:
        assert (folder / "values").read_text() == "secret"
    finally:
        process.send_signal(signal.SIGKILL)
        finish(process)
    assert (folder / "values").exists(), "killed before it could clean up"
    with spill_folder():
        assert folder.exists(), "too young: its process may be about to lock it"
    monkeypatch.setattr(scratch, "_GRACE_SECONDS", -1)
    with spill_folder() as mine:
        assert not folder.exists()
        assert mine.exists()
    assert list(temporary.iterdir()) == []


def test_a_folder_that_a_live_process_holds_is_left_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_GRACE_SECONDS", -1)
    process, folder = holder()
    try:
        with spill_folder():
            assert (folder / "values").read_text() == "secret"
        remove_abandoned(temporary, "*")
        assert (folder / "values").read_text() == "secret"
    finally:
        finish(process)
    assert not folder.exists(), "it cleans up by itself"


def test_only_matching_folders_of_this_user_are_removed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_GRACE_SECONDS", -1)
    target = temporary / "somebody's"
    target.mkdir()
    (temporary / "spill-link").symlink_to(target)
    (temporary / "spill-file").write_text("not a folder")
    (temporary / "other").mkdir()
    (temporary / "spill-old").mkdir()
    remove_abandoned(temporary, "spill-*")
    assert sorted(entry.name for entry in temporary.iterdir()) == sorted(
        ["somebody's", "spill-link", "spill-file", "other"]
    )
    (temporary / "spill-theirs").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    remove_abandoned(temporary, "spill-*")
    assert (temporary / "spill-theirs").exists()


def test_a_signal_that_comes_while_a_folder_is_removed_does_not_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, remove, came = tmp_path / "held", scratch.shutil.rmtree, []

    def disturbed(path: Path, **options: Any) -> None:
        if not came:
            came.append(path)
            raise KeyboardInterrupt
        remove(path, **options)

    folder.mkdir()
    (folder / "spilled").write_text("data")
    monkeypatch.setattr(scratch.shutil, "rmtree", disturbed)
    with pytest.raises(KeyboardInterrupt), held_folder(folder):
        pass
    assert came and not folder.exists()


def test_a_folder_appears_whole_and_clears_what_a_kill_left(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = temporary / ".out[1].99.partial"
    left.mkdir()
    monkeypatch.setattr(scratch, "_GRACE_SECONDS", 0)
    with whole_folder(temporary / "out[1]") as partial:
        (partial / "a").write_text("one")
        assert not left.exists() and not (temporary / "out[1]").exists()
    assert [path.name for path in temporary.iterdir()] == ["out[1]"]
    assert (temporary / "out[1]" / "a").read_text() == "one"
    with pytest.raises(KeyboardInterrupt), whole_folder(temporary / "other"):
        raise KeyboardInterrupt
    assert [path.name for path in temporary.iterdir()] == ["out[1]"]

"""A rare text and a rare number in every column of a table are seen nowhere but in the table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from attack import Size, Tally
from canary import (
    CHECKED,
    NUMBER,
    RENDERINGS,
    TEXT,
    canaries_in,
    files_with_canaries,
    write_tables,
)
from tests.shared_mechanisms import Recipe, recipes

PROGRAM = Path(__file__).with_name("canary.py")


@dataclass(frozen=True)
class World:
    """A folder in which everything happens: tables, releases, ledgers, notes, temporary files."""

    folder: Path

    def run(self, command: str) -> subprocess.CompletedProcess[bytes]:
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "HUSHTABLE_STATE": str(self.folder / "state"),
            "TMPDIR": str(temporary),
            "HOME": str(self.folder),
            "PYTHONWARNINGS": "default",
        }
        done = subprocess.run(
            [sys.executable, str(PROGRAM), command, str(self.folder)],
            env=environment,
            capture_output=True,
            timeout=1800,
        )
        for name in ("stdout", "stderr"):
            with (self.folder / f"{command}.{name}").open("wb") as file:
                file.write(getattr(done, name))
        return done


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Everything done once, by a program whose output and files are kept."""
    world = World(tmp_path_factory.mktemp("canary"))
    done = world.run("everything")
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return world


@pytest.fixture(scope="module")
def endings(world: World) -> dict[str, str]:
    return json.loads((world.folder / "endings.json").read_bytes())


def test_no_canary_is_seen_outside_the_tables(
    world: World, endings: dict[str, str], tally: Tally
) -> None:
    assert files_with_canaries(world.folder) == []
    looked = [path for path in world.folder.rglob("*") if path.is_file()]
    tally("canary checks", len(endings) + len(looked))


def counted_checks(endings: dict[str, str]) -> Counter[str]:
    return Counter(
        ending for name, ending in endings.items() if name.removeprefix("hush check ") in CHECKED
    )


def test_everything_was_tried_and_much_of_it_failed(world: World, endings: dict[str, str]) -> None:
    """Or the silence would mean nothing."""
    counted = Counter(endings.values())
    assert len(endings) > 90
    assert counted["exit 0"] >= 20 and counted["exit 2"] >= 20
    assert counted["done"] >= 10 and counted["DataError"] + counted["EngineError"] >= 15
    assert counted_checks(endings) == {"exit 0": 5, "exit 2": 6}
    assert endings["hush with a defect"] == endings["hush check with a defect"] == "exit 1"
    ours = {"ColumnError", "DataError", "EngineError", "MissingColumn", "RuntimeError"}
    assert set(counted) <= {"exit 0", "exit 1", "exit 2", "done", *ours}
    for name in ("everything.stdout", "everything.stderr"):
        assert (world.folder / name).stat().st_size > 500
    assert b"DEBUG" in (world.folder / "everything.stderr").read_bytes()
    assert len(list((world.folder / "out").glob("*.release"))) >= 10


@pytest.mark.parametrize(
    "name",
    [
        "good.csv",
        "text.parquet",
        "quoted.csv",
        "wide.csv",
        "nul.csv",
        "good.xlsx",
        "good.sqlite",
        "good.duckdb",
        "good.sav",
    ],
)
def test_a_canary_is_no_reason_to_fail(endings: dict[str, str], name: str) -> None:
    assert endings[f"hush publish {name}"] == "exit 0"
    assert endings[f"publish {name}"] == "done"
    assert endings.get(f"hush check {name}", "exit 0") == "exit 0"


def _check_recipes(endings: dict[str, str], asked: tuple[Recipe, ...]) -> None:
    """Every one was published, shown, asked and exported; a bad setting was refused."""
    for recipe in asked:
        called = " ".join(recipe)
        for what in ("publish by", "info of", "ask", "export"):
            assert endings[f"hush {what} {called}"] == "exit 0"
        assert endings[f"hush odd setting of {called}"] == "exit 2"


def test_a_canary_is_seen_in_no_mechanism_s_files(
    world: World, endings: dict[str, str], size: Size, tally: Tally
) -> None:
    _check_recipes(endings, recipes(every=False))
    if not size(0, 1, 1):
        return
    done = world.run("more_recipes")
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    more = json.loads((world.folder / "more_endings.json").read_bytes())
    _check_recipes({**endings, **more}, recipes(every=True))
    assert files_with_canaries(world.folder) == []
    tally("canary checks", len(more))


def test_no_temporary_file_is_left(world: World, endings: dict[str, str]) -> None:
    assert endings
    assert [path.name for path in (world.folder / "temporary").iterdir()] == []


def test_what_a_kill_leaves_behind_is_removed_by_the_next_run(world: World, tally: Tally) -> None:
    killed = world.run("killed_while_counting")
    assert killed.returncode == -signal.SIGKILL
    left = [Path(name).name for name, _ in files_with_canaries(world.folder)]
    assert left.count("spilled") == 2  # of the table's engine, and of that of its people
    assert list((world.folder / "temporary").glob("*/people/*/*.parquet"))
    assert world.run("published_after_a_kill").returncode == 0
    assert files_with_canaries(world.folder) == []
    assert list((world.folder / "temporary").iterdir()) == []
    tally("canary checks", 2)


def test_canaries_are_found_where_they_are(tmp_path: Path) -> None:
    """The search itself can find them: in every table, in every rendering, in a file's name."""
    write_tables(tmp_path / "elsewhere")
    held = {name for name, _ in files_with_canaries(tmp_path)}
    readable = {f"elsewhere/{name}" for name in ("good.csv", "sixteen.csv", "good.parquet")}
    assert readable <= held
    for raw in RENDERINGS.values():
        assert canaries_in(b"before" + raw + b"after")
    (tmp_path / f"{TEXT}.txt").touch()
    assert f"{TEXT}.txt" in {name for name, _ in files_with_canaries(tmp_path)}
    assert canaries_in(f"{NUMBER:.3f}".encode()) and canaries_in(f"{NUMBER:e}".encode())
    assert not canaries_in(b"an ordinary line with 4242 and xyz")

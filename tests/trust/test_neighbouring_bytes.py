"""A neighbouring table changes no byte that has no noise: names, sizes, manifest, ledger, output.

With the same noise and the same ids, two releases of neighbouring tables may differ only in the
noisy numbers and in what is computed from them: their checksums and their integer type. For every
mechanism it is written down which parts of a manifest those are; nothing else may differ.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack import Size, Tally, extent
from tests.shared_mechanisms import NOISY, NOISY_ERRORS, recipes, remove_noisy

import hushtable
from hushtable import publishing
from hushtable.cli.main import run
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.privacy import ledger

SCHEMA = """name = "people"
budget = "3"
neighbours = "{neighbours}"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 4]
[[attribute]]
name = "job"
kind = "nominal"
values = ["clerk", "boss"]
outside = "other"
"""
PEOPLE = ["1,clerk", "2,boss", "4,clerk", "4,nobody"] * 3
NEIGHBOURS = {
    "a row more": [*PEOPLE, "1,boss"],
    "a row less": PEOPLE[1:],
    "an odd row": [*PEOPLE, '"9e999,\0'],
    "a dropped row": [*PEOPLE, "old,clerk"],
    "a null": [*PEOPLE, "1,"],
    "a row moved": ["0,boss", *PEOPLE[1:]],
    "nothing but odd rows": ["x,y"] * 12,
    "nothing at all": [],
    "a thousand rows": PEOPLE * 100,
}


@pytest.fixture
def fixed_ids(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ids and times that are the same in every run that begins with a call of this."""

    class Now(publishing.datetime):  # type: ignore[name-defined, misc]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return publishing.datetime.fromtimestamp(0, publishing.UTC)

    monkeypatch.setattr(publishing, "datetime", Now)
    monkeypatch.setattr(ledger, "datetime", Now)

    def begin() -> None:
        numbers = itertools.count(1)
        monkeypatch.setattr(
            ledger.secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}"
        )

    return begin


def publish(
    folder: Path,
    rows: list[str],
    neighbours: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    recipe: tuple[str, ...] = ("auto",),
) -> dict[str, Any]:
    """All that a run of `hush publish` leaves and says."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HUSHTABLE_STATE", str(folder / "state"))
    make_noise = publishing._noise_maker(SeededEntropy(7))
    monkeypatch.setattr(publishing, "_noise_maker", lambda _: make_noise)
    Path("people.toml").write_text(SCHEMA.format(neighbours=neighbours))
    Path("people.csv").write_text("age,job\n" + "".join(f"{row}\n" for row in rows))
    words = ["publish", "people.csv", "--schema", "people.toml", "-e", "1", "-o", "r"]
    words += ["-m", recipe[0], *(word for pair in recipe[1:] for word in ("--set", pair))]
    monkeypatch.setattr(sys, "argv", ["hush", *words])
    with pytest.raises(SystemExit) as stopped:
        run()
    said = capsys.readouterr()
    assert stopped.value.code == 0, said.err
    manifest = json.loads(Path("r/manifest.json").read_bytes())
    noisy = remove_noisy(manifest, recipe[0])
    out = said.out
    if recipe[0] in NOISY_ERRORS:
        out = re.sub(r"[\d.,]+( to [\d.,]+)? for ", "for ", out)
    with closing(sqlite3.connect("people.toml.ledger")) as db:
        events = [json.loads(body) for (body,) in db.execute("SELECT body FROM event")]
    for event in events:
        event.pop("manifest", None)  # the manifest's checksum
    files = sorted(
        path for path in Path("r").rglob("*") if "arrays" in manifest or path.suffix != ".npy"
    )
    return {
        "names": [str(path) for path in files],
        "manifest": json.dumps(manifest),
        "modes": [oct(path.stat().st_mode) for path in files],
        "events": events,
        "said": (out, said.err),
        "folder": sorted(path.name for path in folder.iterdir()),
        "noisy": noisy,
        "manifest size": 0 if recipe[0] in NOISY else os.stat("r/manifest.json").st_size,
    }


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("change", NEIGHBOURS)
def test_another_table_changes_noisy_numbers_only(
    neighbours: str,
    change: str,
    tmp_path: Path,
    fixed_ids: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tally: Tally,
) -> None:
    made, cells = [], []
    for name, rows in (("one", PEOPLE), ("two", NEIGHBOURS[change])):
        with monkeypatch.context() as patch:
            fixed_ids()  # and the same place, which the ledger names
            made.append(publish(tmp_path / "here", rows, neighbours, patch, capsys))
        (tmp_path / "here").rename(tmp_path / name)
        cells.append(hushtable.open(tmp_path / name / "r").cells().astype(np.int64))
        made[-1].pop("noisy")
    assert made[0] == made[1]
    tally("neighbouring releases", 1)
    # The noise was the same, so what differs is the truth: the comparison is not idle.
    difference = np.abs(cells[0] - cells[1])
    expected = {"a row more": 1, "a row less": 1, "a null": 1, "a row moved": 2}
    if change in expected:
        assert difference.sum() == expected[change]
    if change in ("an odd row", "a dropped row"):
        assert difference.sum() == 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every mechanism in one form in an ordinary run, in every form with --check and --trust."""
    if "recipe" in metafunc.fixturenames:
        every = extent(metafunc.config) != "small"
        metafunc.parametrize("recipe", recipes(every=every), ids=" ".join)


def test_another_table_changes_what_is_noisy_only(
    recipe: tuple[str, ...],
    tmp_path: Path,
    fixed_ids: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tally: Tally,
    size: Size,
) -> None:
    """One change of the table in an ordinary run, two with --check, all of them with --trust."""
    changes = ["a thousand rows", *NEIGHBOURS][: size(1, len(NEIGHBOURS) + 1, 2)]
    for neighbours in ("add-remove", "replace-one")[: size(1, 2)]:
        made = {}
        for name, rows in [("nothing", PEOPLE), *((c, NEIGHBOURS[c]) for c in changes)]:
            with monkeypatch.context() as patch:
                fixed_ids()
                made[name] = publish(tmp_path / "here", rows, neighbours, patch, capsys, recipe)
            (tmp_path / "here").rename(tmp_path / f"{neighbours} {len(list(tmp_path.iterdir()))}")
        noisy = {name: result.pop("noisy") for name, result in made.items()}
        for result in made.values():
            assert result == made["nothing"]
        # Or nothing was compared at all.
        assert noisy["a thousand rows"] != noisy["nothing"]
        tally("neighbouring releases", len(made) - 1)

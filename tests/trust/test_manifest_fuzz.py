"""A manifest with anything anywhere is refused in one line when it is opened, or answers rightly.

Every place of the manifest of every kind of release gets values of a list of odd ones, a few in an
ordinary run and more with --trust; scales get all of them. What still opens must answer with
finite numbers. Every registered mechanism has a kind.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack import Size, Tally
from manifest_kinds import (
    GONE,
    KINDS,
    Published,
    Way,
    attacks,
    changed,
    copied,
    manifest_of,
    places,
    write,
)

import hushtable
from hushtable.cli.main import app, run
from hushtable.errors import HushError, ReleaseError
from hushtable.query.literal import sql_name
from hushtable.release import Release

# About one value for every sixth place, in turn all of them; of every place fifteen with --trust,
# seven with --check.
STRIDES = 997, 5, 11
# What only the reader of a kind understands gets a few of the oddest in every run, all of these
# with --check and --trust.
OWN = ("noise", "parameters")
TELLING = (GONE, None, -1, 0.5, "x", [], [[]], {})


def all_finite(*numbers: Any) -> bool:
    return all(np.isfinite(np.asarray(number, np.float64)).all() for number in numbers)


def count(release: Release, _: Path) -> None:
    """Counts and their intervals are finite."""
    first, second, *_ = release.schema.attributes * 2
    where = f"{sql_name(first.name)} IS NOT NULL OR {sql_name(second.name)} IS NULL"
    for answer in (release.count(), release.count(where)):
        low, high = answer.interval(0.9)
        assert all_finite(answer.value, answer.stderr, low, high), answer
        assert answer.stderr >= 0 and low <= high


def ask(release: Release, folder: Path) -> None:
    """A few questions of every sort; whatever they say is finite."""
    count(release, folder)
    table = release.table((release.schema.attributes * 2)[1].name)
    assert all_finite(table.values, table.stderr, *table.bounds)
    assert all_finite(release.cells(), release.cell_stderr)
    shape = np.array(release.schema.shape)
    values, errors = release.count_ranges(np.zeros((2, len(shape)), int), np.stack([shape, shape]))
    assert all_finite(values, errors)
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(shown):
        app.main(["info", str(folder)], standalone_mode=False)
        app.main(["info", str(folder), "--json"], standalone_mode=False)
    assert release.mechanism in shown.getvalue()


# What only the values or the size of the domain tell, and so may be refused later.
LATER = (
    "is damaged: chunk",
    "the places of the summary are not in order",
    "a region that does not hang together",
    "in a region that is not counted",
    "the boxes do not fit the domain",
    "too many to lay out",
    "a sketch looks up every cell",
)


def attempt(folder: Path, ask: Callable[[Release, Path], None] = ask) -> str:
    """How a changed manifest ends: refused when it is opened, or later, or with right answers."""
    try:
        release = hushtable.open(folder)
    except ReleaseError as refusal:
        assert str(refusal).isprintable() and len(str(refusal)) < 1200
        return "refused"
    try:
        ask(release, folder)
    except HushError as refusal:
        assert str(refusal).isprintable()
        return str(refusal)
    return "answered"


def attack(
    folder: Path, content: dict[str, Any], what: str, ask: Callable[[Release, Path], None] = ask
) -> None:
    """Nothing but a refusal in one line, or finite answers."""
    write(folder, content)
    try:
        ended = attempt(folder, ask)
    except Exception as problem:
        raise AssertionError(what) from problem
    assert ended in ("refused", "answered") or any(words in ended for words in LATER), (what, ended)


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_with_anything_anywhere(
    kind: str, published: Published, tmp_path: Path, size: Size, tally: Tally
) -> None:
    folder = copied(published[kind], tmp_path / "r")
    content = manifest_of(folder)
    assert attempt(folder) == "answered"
    every, scales = list(attacks(content)), scales_of(content)
    tried = [pair for i, pair in enumerate(every) if i % size(*STRIDES) == 0 or pair[0] in scales]
    for way, value in tried:
        attack(folder, changed(content, way, value), f"{way} = {value!r:.80}")
    own = [(way, value) for way in places(content) if way[0] in OWN for value in TELLING]
    own = own[:: size(7, 1, 1)]  # each time another value
    for way, value in own:
        attack(folder, changed(content, way, value), f"{way} = {value!r:.80}", count)
    tally("odd manifests", len(tried) + len(own))


# ── what no manifest can say ─────────────────────────────────────────────────────────────────────

TOO_MUCH = ["9" * 250, str(2**55 + 1), "1/" + "9" * 250, "1/" + "9" * 201, "0", "0/5", "1/0", "-1"]


def scales_of(content: dict[str, Any]) -> list[Way]:
    """Where a manifest says how much noise there is."""
    by_name = [way for way in places(content) if str(way[-1]).endswith("scale")]
    listed = content["noise"].get("scales", ())
    return by_name + [("noise", "scales", i) for i in range(len(listed))]


@pytest.mark.parametrize("kind", KINDS)
def test_noise_that_was_never_drawn_is_refused_when_a_release_is_opened(
    kind: str, published: Published, tmp_path: Path
) -> None:
    folder = copied(published[kind], tmp_path / "r")
    content = manifest_of(folder)
    ways = scales_of(content)
    assert ("noise", "scale") in ways
    for way in ways:
        for scale in TOO_MUCH:
            write(folder, changed(content, way, scale))
            with pytest.raises(ReleaseError, match="describe the noise"):
                hushtable.open(folder)


@pytest.mark.parametrize("digits", [10, 100, 199])
@pytest.mark.parametrize("turned", [False, True])
def test_levels_with_next_to_nothing_of_the_budget_are_refused(
    digits: int, turned: bool, published: Published, tmp_path: Path
) -> None:
    """Factors of noise are squared: of some shares, they would be more than a float holds."""
    folder = copied(published["trees with shares"], tmp_path / "r")
    shares = [f"1/{10**digits}", f"{10**digits - 1}/{10**digits}"]
    way = ("parameters", "transform", 0, "shares")
    write(folder, changed(manifest_of(folder), way, shares[::-1] if turned else shares))
    with pytest.raises(ReleaseError, match="share"):
        hushtable.open(folder)


def test_a_scale_that_is_too_large_for_a_factor_is_refused(
    published: Published, tmp_path: Path
) -> None:
    folder = copied(published["wavelets"], tmp_path / "r")
    content = manifest_of(folder)
    write(folder, changed(content, ("noise", "scale"), str(2**55)))
    with pytest.raises(ReleaseError, match="describe the noise"):
        hushtable.open(folder)
    write(folder, changed(content, ("noise", "scale"), str(2**45)))
    assert attempt(folder) == "answered"


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("created",), "9999-99-99"),
        (("created",), "yesterday"),
        (("ledger", "hash"), None),
        (("ledger", "hash"), [1]),
        (("ledger", "hash"), "\x1b[31m"),
        (("ledger", "hash"), -1),
        (("ledger", "hash"), 1.5),
        (("arrays", "cells", "sha256"), [None]),
        (("arrays", "cells", "sha256"), ["0" * 63]),
        (("privacy", "delta"), -1e-30),
    ],
)
def test_what_cannot_be_is_refused_when_a_release_is_opened(
    way: tuple[str, ...], value: Any, published: Published, tmp_path: Path
) -> None:
    folder = copied(published["cells"], tmp_path / "r")
    write(folder, changed(manifest_of(folder), way, value))
    with pytest.raises(ReleaseError):
        hushtable.open(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_twice_is_refused_wherever_it_stands(
    kind: str, published: Published, tmp_path: Path
) -> None:
    folder = copied(published[kind], tmp_path / "r")
    raw = (folder / "manifest.json").read_text(encoding="utf-8")
    for key in ("scale", "epsilon", "reader", "shape", "name", "on"):
        place = raw.index(f'"{key}":')
        (folder / "manifest.json").write_text(f'{raw[:place]}"{key}": 1, {raw[place:]}')
        with pytest.raises(ReleaseError, match="a key twice"):
            hushtable.open(folder)


@pytest.mark.parametrize("delta", [0, 0.0, 1e-30, 5e-324, 7.3e-18, 1])
@pytest.mark.parametrize(
    "anchor", [{"ledger": "a1", "sequence": 2, "hash": "0" * 64}, {"ledger": "a1", "hash": "b"}, {}]
)
def test_manifests_of_other_versions_open(
    delta: float, anchor: dict[str, Any], published: Published, tmp_path: Path
) -> None:
    """δ may be any, and what is said of the ledger has changed."""
    folder = copied(published["cells"], tmp_path / "r")
    content = changed(manifest_of(folder), ("privacy", "delta"), delta)
    write(folder, changed(content, ("ledger",), anchor))
    assert attempt(folder) == "answered"


def test_an_odd_manifest_is_one_line_of_the_command(
    published: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(published["cells"], tmp_path / "r")
    write(folder, changed(manifest_of(folder), ("noise", "scale"), "9" * 250))
    for command in (["info"], ["query", "1 = 1"], ["export", "-o", str(tmp_path / "c.csv")]):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
            patch.setattr("sys.argv", ["hush", command[0], str(folder), *command[1:]])
            run()
        seen = capsys.readouterr()
        assert stopped.value.code == 2 and seen.out == "" and seen.err.count("\n") == 1

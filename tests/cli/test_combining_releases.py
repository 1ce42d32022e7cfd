"""hush query of several releases, and the snapshot that a release is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Hush

SCHEMA = (
    'name = "town"\nbudget = "9"\n[[attribute]]\nname = "age"\nkind = "ordinal"\nrange = [0, 7]\n'
)
ALL = "SELECT COUNT(*) FROM town"
SWAPPED = 'hush: the release comes first, then the SQL: hush query RELEASE "SELECT …"\n'


@pytest.fixture
def town(tmp_path: Path, hush: Hush, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two releases of October, and one of November."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.csv").write_text("age\n" + "".join(f"{i % 8}\n" for i in range(400)))
    (tmp_path / "town.toml").write_text(SCHEMA)
    for name, month in (("a", "2026-10"), ("b", "2026-10"), ("c", "2026-11"), ("d", "")):
        options = ["-s", "town.toml", "-e", "1", "-m", "basic", "-o", f"{name}.release"]
        options += ["--snapshot", month] if month else []
        assert hush("publish", "town.csv", *options).code == 0
    return tmp_path


def test_several_releases_are_asked_as_one(hush: Hush, town: Path) -> None:
    one, other, both = (
        hush("query", *names, ALL, "--json").json
        for names in (["a.release"], ["b.release"], ["a.release", "b.release"])
    )
    assert both["value"] == pytest.approx((one["value"] + other["value"]) / 2)
    assert both["stderr"] < one["stderr"] and both["estimate"] is False
    assert "average of 2 releases" in both["note"] and "ε = 2" in both["note"]
    shown = hush("query", "a.release", "b.release", "age < 3").out
    assert "average of 2 releases" in shown and "estimate" not in shown


def test_an_estimate_says_so_and_why(hush: Hush, town: Path) -> None:
    why = "not all releases name the snapshot that they are of"
    for asked in ("age < 3", "SELECT age, COUNT(*) FROM town GROUP BY age"):
        shown = hush("query", "a.release", "d.release", asked)
        assert shown.code == 0 and "estimate: " in shown.out and why in shown.out
        told = hush("query", "a.release", "d.release", asked, "--json").json
        assert told["estimate"] is True and why in told["note"]


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["a.release", "a.release"], "hush: a release is named twice: combine different ones\n"),
        (
            ["a.release", "c.release"],
            "hush: these are releases of two snapshots, '2026-10' and '2026-11': each has a truth"
            " of its own; compare them by a difference of their answers\n",
        ),
    ],
)
def test_releases_that_are_not_of_one_table_are_refused(
    hush: Hush, town: Path, names: list[str], line: str
) -> None:
    refused = hush("query", *names, ALL)
    assert (refused.code, refused.out, refused.err) == (2, "", line)


@pytest.mark.parametrize(
    "words", [[ALL, "a.release"], ["a.release", ALL, "b.release"], [ALL, "a.release", "b.release"]]
)
def test_the_question_comes_last(hush: Hush, town: Path, words: list[str]) -> None:
    refused = hush("query", *words)
    assert (refused.code, refused.err) == (2, SWAPPED)


def test_a_question_that_is_missing_is_missed(hush: Hush, town: Path) -> None:
    for names in ([], ["a.release"], ["nothing"], ["a.release", "b.release"]):
        refused = hush("query", *names)
        assert (refused.code, refused.err) == (2, "hush: Missing argument 'SQL'.\n")


def test_the_snapshot_is_shown(hush: Hush, town: Path) -> None:
    assert "2026-10" in hush("info", "a.release").out
    assert hush("info", "a.release", "--json").json["snapshot"] == "2026-10"
    assert hush("info", "d.release", "--json").json["snapshot"] is None
    assert "snapshot" not in hush("info", "d.release").out


def test_a_checksum_is_no_snapshot(hush: Hush, town: Path) -> None:
    options = ["-s", "town.toml", "-e", "1", "-o", "e.release", "--snapshot", "d41d8cd98f00b204"]
    refused = hush("publish", "town.csv", *options)
    assert refused.code == 2 and refused.err.startswith("hush: a snapshot is a short word")
    assert hush("budget", "town.toml", "--json").json["spent"] == "4"

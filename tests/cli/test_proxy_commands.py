"""`hush plan --proxy` and `hush publish --proxy`, as an owner uses them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hushtable.evaluation import proxy as trying
from hushtable.families import MECHANISMS
from hushtable.generators import census

from .conftest import Hush


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    few = ("basic", "marginals", "geometric", "privbayes")
    monkeypatch.setattr(trying, "QUESTIONS", 40)
    monkeypatch.setattr(trying, "MECHANISMS", {name: MECHANISMS[name] for name in few})


@pytest.fixture
def public(own: Path) -> Path:
    """Other people, who are no secret, beside the census."""
    pq.write_table(census(500, seed=9), own / "public.parquet")
    return own / "public.parquet"


def test_plan_lists_what_was_measured(hush: Hush, own: Path, public: Path) -> None:
    asked = ("plan", own / "census.toml", "-e", "1", "--proxy", public, "--public", "--runs", "2")
    said = hush(*asked)
    assert said.code == 0, said.err
    assert "questions on public.parquet, public (500 rows)" in said.out
    assert "Recommended: " in said.out and "measured" in said.out
    assert f"--proxy {public} --public -o" in said.out
    told = hush(*asked, "--json", "--error", "50").json
    assert {trial["mechanism"] for trial in told["measured"]} >= {"privbayes", "basic"}
    assert all(len(trial["runs"]) == 2 for trial in told["measured"])
    assert told["recommended"] in {trial["mechanism"] for trial in told["measured"]}
    assert (
        told["proxy"]["name"] == "public.parquet" and "epsilon_for_error" in told["mechanisms"][0]
    )
    assert sorted(path.name for path in own.iterdir()) == [
        "census.parquet",
        "census.toml",
        "public.parquet",
    ]


def test_a_release_stands_in_and_what_made_it_is_told(hush: Hush, own: Path, shared: Path) -> None:
    said = hush("plan", own / "census.toml", "-e", "1", "--proxy", shared / "census.release")
    assert said.code == 0, said.err
    assert "drawn from a release of basic, which favours basic" in said.out


def test_publish_chooses_on_the_proxy(hush: Hush, own: Path, public: Path) -> None:
    common = ("publish", own / "census.parquet", "-s", own / "census.toml", "-e", "1")
    done = hush(*common, "--proxy", public, "--public", "-o", own / "a.release")
    assert done.code == 0, done.err
    assert "on the proxy it was the best" in done.out
    told = hush("info", own / "a.release", "--json")
    assert told.code == 0
    # The next release finds its own table refused, here and in a plan.
    for again in (
        hush(*common, "--proxy", own / "census.parquet", "--public", "-o", own / "b.release"),
        hush("plan", own / "census.toml", "-e", "1", "--proxy", own / "c*.parquet", "--public"),
    ):
        assert again.code == 2 and again.err.count("\n") == 1 and "published" in again.err
    later = hush(*common, "--proxy", own / "a.release", "-o", own / "c.release")
    assert later.code == 0 and "which favours" in later.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--proxy", "public.parquet"], "--public"),
        (["--proxy", "nowhere.csv", "--public"], "no file"),
        (["--proxy", ".", "--public"], "manifest.json"),
        (["--public"], "--proxy"),
        (["--runs", "3"], "--proxy"),
        (["--proxy", "public.parquet", "--public", "--runs", "0"], "runs"),
    ],
)
def test_bad_options_are_one_line(
    hush: Hush,
    own: Path,
    public: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(own)
    refused = hush("plan", "census.toml", "-e", "1", *options)
    assert refused.code == 2 and words in refused.err and refused.err.count("\n") == 1

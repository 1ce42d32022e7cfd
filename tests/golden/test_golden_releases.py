"""Releases that an earlier version wrote open, verify and answer as they did."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from golden_releases import FOLDER, GOLDEN, answers

import hushtable
from hushtable.families import MECHANISMS

CLOSE = 1e-9
ROOM = 1.01e-4
"""Ends leave so much for rounding, but for values that are whole to the last bit."""


def assert_same(now: Any, then: Any, where: str = "") -> None:
    """Equal but for the last digits of floats."""
    if isinstance(then, dict):
        assert now.keys() >= then.keys(), where  # more may be told
        for key, value in then.items():
            assert_same(now[key], value, f"{where}.{key}")
    elif isinstance(then, list):
        assert len(now) == len(then), where
        for i, (one, other) in enumerate(zip(now, then, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif isinstance(then, float):
        close = ROOM if ".interval[" in where else CLOSE
        assert math.isclose(now, then, rel_tol=CLOSE, abs_tol=close), where
    else:
        assert now == then, where


@pytest.mark.parametrize("name", [golden.name for golden in GOLDEN])
def test_a_release_of_an_earlier_version_answers_as_it_did(name: str) -> None:
    release = hushtable.open(FOLDER / f"{name}.release")
    release.verify()
    then = json.loads(Path(FOLDER, f"{name}.json").read_text())
    assert_same(json.loads(json.dumps(answers(release))), then)


def test_there_is_one_of_every_family_and_no_mechanism_was_forgotten() -> None:
    """A family that is new has no release that is old."""
    kept = {golden.mechanism for golden in GOLDEN}
    assert kept <= MECHANISMS.keys()
    assert {MECHANISMS[name] for name in kept} >= {
        "linear",
        "sparse",
        "network",
        "regions",
        "splits",
    }


def test_a_difference_is_seen() -> None:
    assert_same([{"a": 1.0}, 2], [{"a": 1.0 + 1e-12}, 2])
    for other in ([{"a": 1.0 + 1e-8}, 2], [{"a": 1.0}, 3], [{"a": 1.0, "b": 0}, 2], [{"a": 1.0}]):
        with pytest.raises(AssertionError):
            assert_same([{"a": 1.0}, 2], other)

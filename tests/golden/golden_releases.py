"""Small releases of every mechanism as an earlier version wrote them, and what it answered.

    python tests/golden/golden_releases.py

writes releases that are not there yet, and their answers. Those that are there stay: releases
that people hold must open, and answer, as they did on the day they were made.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

import hushtable
from hushtable.release import Release

FOLDER = Path(__file__).parent / "releases"

SCHEMA = """
name = "people"
budget = "1000"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 11]
[[attribute]]
name = "job"
kind = "nominal"
tree = { office = ["clerk", "boss"], field = ["farmer", "driver", "miner"] }
outside = "other"
[[attribute]]
name = "grade"
kind = "ordinal"
labels = ["low", "mid", "high"]
"""


class Golden(NamedTuple):
    """A release to keep: its name, its mechanism and the settings."""

    name: str
    mechanism: str
    settings: dict[str, str]


GOLDEN = [
    Golden("basic", "basic", {}),
    Golden("privelet", "privelet", {}),
    Golden("privelet-plus", "privelet+", {"identity": "grade"}),
    Golden("privelet-star", "privelet*", {}),
    Golden("hierarchical", "hierarchical", {}),
    Golden("mixed", "mixed", {"age": "tree:4x3@1/3,2/3", "job": "nominal", "grade": "identity"}),
    Golden("geometric", "geometric", {}),
    Golden("filter", "filter", {"theta": "6"}),
    Golden("filter-dyadic", "filter", {"theta": "6", "on": "dyadic"}),
    Golden("filter-haar", "filter", {"theta": "6", "on": "haar"}),
    Golden("threshold", "threshold", {"tau": "9"}),
    Golden("priority", "priority", {"size": "40"}),
    Golden("filter-threshold", "filter-threshold", {"theta": "3", "tau": "9"}),
    Golden("filter-priority", "filter-priority", {"theta": "3", "size": "30", "on": "dyadic"}),
    Golden("sketch", "sketch", {"width": "64", "rows": "3"}),
    Golden("privbayes", "privbayes", {"degree": "1"}),
    Golden("ispe", "ispe", {}),
    Golden("kdtree", "kdtree", {}),
    Golden("privtree", "privtree", {}),
    Golden("mixed-tents", "mixed", {"age": "tents:2x3:peaks:14x12:left:1", "job": "tree"}),
]

QUESTIONS = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 7 AND job = 'office'",
    "SELECT COUNT(*) FROM people WHERE (age < 3 OR job IS NULL) AND NOT grade = 'mid'",
    "SELECT COUNT(*) FROM people WHERE age = 4 AND job = 'farmer' AND grade >= 'mid'",
    "SELECT job, COUNT(*) FROM people WHERE age >= 6 GROUP BY job",
    "SELECT LEVEL(job, 1), grade, COUNT(*) FROM people GROUP BY LEVEL(job, 1), grade",
)
CONFIDENCES = (0.5, 0.95, 0.999)


def people() -> pandas.DataFrame:
    """Some rows, the same every time."""
    rows = np.arange(700)
    jobs = np.array(["clerk", "boss", "farmer", "driver", "miner", "pilot"])
    return pandas.DataFrame(
        {
            "age": (rows * rows) % 12,
            "job": jobs[(rows // 3) % 6],
            "grade": np.array(["low", "mid", "high"])[(rows // 7) % 3],
        }
    )


def answers(release: Release) -> dict[str, Any]:
    """All that a release says, as plain values."""
    warnings.simplefilter("ignore", hushtable.NoisyRowsWarning)  # some are small, and all noise
    starts = np.array([[0, 0, 0], [2, 1, 0], [5, 5, 1]])
    stops = np.array([[12, 6, 3], [9, 4, 2], [6, 6, 2]])
    return {
        "sql": [
            [release.sql(question, confidence=level).to_dict() for level in CONFIDENCES]
            for question in QUESTIONS
        ],
        "together": release.table("age", "grade", confidence=0.9, simultaneous=True).to_dict(),
        "ranges": [part.tolist() for part in release.range_intervals(starts, stops)],
        "estimate": release.estimate,
        "cells": release.cells().ravel().tolist(),
        "synthetic": release.synthesize(20).column_names,
    }


def make(golden: Golden) -> None:
    """Publish a release and write down what it answers."""
    from hushtable.evaluation.seeded_entropy import SeededEntropy

    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HUSHTABLE_STATE"] = scratch
        schema = Path(scratch, "people.toml")
        schema.write_text(SCHEMA)
        release = hushtable.publish(
            people(),
            schema,
            epsilon="1",
            out=FOLDER / f"{golden.name}.release",
            mechanism=golden.mechanism,
            settings=golden.settings,
            ledger=Path(scratch, "people.ledger"),
            entropy=SeededEntropy(len(golden.name)),
        )
    told = json.dumps(answers(release))
    FOLDER.joinpath(f"{golden.name}.json").write_text(told + "\n")


if __name__ == "__main__":
    for golden in GOLDEN:
        if not (FOLDER / f"{golden.name}.json").exists():
            print(golden.name, file=sys.stderr)
            make(golden)

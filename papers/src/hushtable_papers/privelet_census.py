"""Figures 9–12 of the Privelet paper: errors of range counts over a census, as tasks and plots.

Both figures of a census come from the same releases, asked the same ranges: three for each
mechanism and ε, for a release of Basic has but one noisy total. Privelet+ and Privelet* count ages
and genders one by one, as the paper has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushtable.evaluation.experiment import Key, ResultRow, Task, task_entropy
from hushtable.evaluation.range_errors import Known, range_errors
from hushtable.evaluation.range_queries import random_ranges
from hushtable.generators import MadeUpTable, brazil, us
from hushtable.schema import Schema
from hushtable_papers.coarser import coarser_counts, coarser_schema
from hushtable_papers.figure import Plot, Scope
from hushtable_papers.privelet_claims import BASIC_FAILS, LARGE_ERROR

CENSUSES: dict[str, tuple[Callable[..., MadeUpTable], int]] = {
    "privelet-brazil": (brazil, 10_000_000),
    "privelet-us": (us, 8_000_000),
}
MECHANISMS = ("basic", "privelet+", "privelet*")
IDENTITY = "age,gender"
EPSILONS = ("0.5", "0.75", "1", "1.25")
SEED = 1


def tasks(name: str, scope: Scope) -> list[Task]:
    """Releases for each mechanism and ε; people are made up when the first one needs them.

    The paper's sizes; the quick run has fewer people, coarser domains and fewer questions.
    """
    make, full_rows = CENSUSES[name]
    rows, step = scope.size(30_000, full_rows), scope.size(10, 1)
    asked = scope.size(2_000, 40_000)
    made = make(rows, seed=SEED)
    schema = replace(coarser_schema(made.schema, step), neighbours="replace-one")
    known = cache(lambda: _known(made, schema, step, asked))
    same: Key = {
        "experiment": name,
        "rows": rows,
        "domain": " × ".join(map(str, schema.shape)),
        "cells": schema.cells,
        "asked": asked,
        "neighbours": schema.neighbours,
    }
    epsilons = EPSILONS[::3] if scope.quick else EPSILONS
    return [
        _task(known, same, mechanism, epsilon, repetition)
        for epsilon in epsilons
        for mechanism in MECHANISMS
        for repetition in range(scope.size(1, 3))
    ]


def _known(made: MadeUpTable, schema: Schema, step: int, asked: int) -> Known:
    counts = coarser_counts(made.counts(), made.schema, step)
    return Known.of(schema.name, schema, counts, random_ranges(schema, asked, seed=SEED))


def _task(
    known: Callable[[], Known], same: Key, mechanism: str, epsilon: str, repetition: int
) -> Task:
    identity = "" if mechanism == "basic" else IDENTITY
    key: Key = {
        **same,
        "mechanism": mechanism,
        "identity": identity,
        "epsilon": float(epsilon),
        "repetition": repetition,
        "seed": SEED,
    }

    def run() -> list[ResultRow]:
        settings = {"identity": identity} if identity else {}
        entropy = task_entropy(key, seed=SEED)
        failing = {BASIC_FAILS: basic_fails(known(), float(epsilon))}
        return range_errors(known(), mechanism, float(epsilon), settings, entropy, failing)

    return Task(key, run)


def basic_fails(known: Known, epsilon: float) -> NDArray[np.bool_]:
    """Of which questions Basic is to be expected to err by more than 70 %, whatever it drew.

    The mean size of normal noise is √(2/π) of its deviation.
    """
    decay = math.exp(-epsilon / 2)  # two cells change, so λ = 2/ε
    cells = known.ranges.coverage(known.schema.shape) * known.schema.cells
    deviations = np.sqrt(cells * 2 * decay) / (1 - decay)
    return np.asarray(math.sqrt(2 / math.pi) * deviations > LARGE_ERROR * known.at_least_sane)


def _plot(group: str, error: str) -> Plot:
    """An error against coverage or selectivity."""
    x, y = f"mean_{group}", f"mean_{error}_error"
    return Plot(
        f"{error}-error", f"{error.capitalize()} error of range counts, by fifths of their {group}",
        x, y, ("mechanism",), "epsilon", where={"group": group},
        names={x: f"mean {group}", y: f"mean {error} error"},
        # A fifth of the questions may have no rows at all: a logarithmic axis has no place for it.
        shown=lambda results: results.filter(pc.greater(results[x], 0)),
    )  # fmt: skip


PLOTS = (
    _plot("coverage", "absolute"),
    _plot("coverage", "square"),
    _plot("selectivity", "relative"),
)

"""Experiments: many tasks, their measurements in Parquet; a run that was killed goes on.

A task is a key, which says what it is, and a function that returns rows of measurements. Each
finished task leaves one Parquet file, named after its key, which appears all at once. A task whose
file is there is not run again. What a task returns may depend on its key alone, so that the order
of tasks, and the runs they were done in, do not matter: `task_entropy` gives each its own noise.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.scratch import held_folder, partial_folder, remove_abandoned, sync_folder

ResultRow = Mapping[str, Any]
Key = Mapping[str, str | int | float | bool | None]
Progress = Callable[[int, int], None]
"""Told how many tasks are done, and of how many."""


@dataclass(frozen=True)
class Task:
    """Something to measure: what it is, in plain values, and how it is done."""

    key: Key
    """Experiment, data, mechanism, ε, repetition, …: the first columns of each of its rows."""
    run: Callable[[], Iterable[ResultRow]]

    @property
    def text(self) -> str:
        """The key as one line of text, the same for equal keys."""
        return json.dumps(self.key, sort_keys=True, ensure_ascii=False, allow_nan=False)

    @property
    def file(self) -> str:
        """The name of the file with its measurements."""
        return f"{hashlib.sha256(self.text.encode()).hexdigest()[:24]}.parquet"


def run_experiment(
    tasks: Sequence[Task], folder: str | Path, *, progress: Progress | None = None
) -> pa.Table:
    """Do the tasks that are not done yet; return all their rows, and write them to results.parquet.

    Rows are ordered by their tasks' keys, whatever the order of the tasks.
    """
    tell = progress or (lambda done, total: None)
    if len({task.text for task in tasks}) < len(tasks):
        raise OptionError("two tasks have the same key")
    parts = Path(folder) / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parts, ".*.partial")
    tell(0, len(tasks))
    for done, task in enumerate(tasks, start=1):
        if not _is_whole(parts / task.file):
            _write(_measured(task), parts / task.file)
        tell(done, len(tasks))
    results = gather(tasks, folder)
    _write(results, Path(folder) / "results.parquet")
    return results


def gather(tasks: Iterable[Task], folder: str | Path) -> pa.Table:
    """The rows of those of the tasks that are done, ordered by key."""
    parts = [Path(folder) / "parts" / task.file for task in sorted(tasks, key=lambda t: t.text)]
    tables = [pq.read_table(part) for part in parts if _is_whole(part)]
    if not tables:
        return pa.table({})
    return pa.concat_tables(tables, promote_options="permissive")


def task_entropy(key: Key, *, seed: int) -> SeededEntropy:
    """Noise that belongs to a key and a seed, and to no other."""
    text = json.dumps([seed, key], sort_keys=True, ensure_ascii=False, allow_nan=False)
    return SeededEntropy(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def _measured(task: Task) -> pa.Table:
    rows = [dict(row) for row in task.run()]
    if any(task.key.keys() & row.keys() for row in rows):
        raise OptionError("a measurement has the name of a part of its task's key")
    return pa.Table.from_pylist([{**task.key, **row} for row in rows])


def _is_whole(part: Path) -> bool:
    """Whether a part can be read; one that cannot is not ours, or its disk failed: do it again."""
    try:
        pq.read_metadata(part)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def _write(table: pa.Table, target: Path) -> None:
    """Write a file that is there either whole or not at all, also after a kill."""
    partial = partial_folder(target, secrets.token_hex(8))
    partial.mkdir(mode=0o700)
    with held_folder(partial):
        written = partial / target.name
        pq.write_table(table, written)
        with open(written, "rb") as file:
            os.fsync(file.fileno())
        os.replace(written, target)
    sync_folder(target.parent)

"""The runner: nothing done twice, nothing half done, whatever the order and whoever was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hushtable import scratch
from hushtable.errors import OptionError
from hushtable.evaluation.experiment import Task, gather, run_experiment, task_entropy

Rows = list[dict[str, Any]]


class Counted:
    """Tasks that note when they run."""

    def __init__(self) -> None:
        self.runs: list[int] = []

    def task(self, number: int, work: Callable[[], Iterable[dict[str, Any]]] | None = None) -> Task:
        def run() -> Iterable[dict[str, Any]]:
            self.runs.append(number)
            return work() if work else measured(number)

        return Task({"experiment": "test", "number": number}, run)


def measured(number: int) -> Rows:
    noise = task_entropy({"number": number}, seed=1).bits(32)
    return [{"group": group, "error": noise * (group + 0.5)} for group in range(2)]


def test_results_are_rows_with_their_keys(tmp_path: Path) -> None:
    counted = Counted()
    results = run_experiment([counted.task(3), counted.task(4)], tmp_path)
    wanted = [{"experiment": "test", "number": n, **row} for n in (3, 4) for row in measured(n)]
    assert results.to_pylist() == wanted
    assert pq.read_table(tmp_path / "results.parquet").equals(results)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    counted = Counted()
    first = run_experiment([counted.task(n) for n in range(3)], tmp_path)
    more = run_experiment([counted.task(n) for n in range(5)], tmp_path)
    assert counted.runs == [0, 1, 2, 3, 4]
    assert more.slice(0, first.num_rows).equals(first) and more.num_rows == 10


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    def interrupted() -> Rows:
        raise KeyboardInterrupt

    counted = Counted()
    tasks = [counted.task(n, interrupted if n == 2 else None) for n in range(4)]
    with pytest.raises(KeyboardInterrupt):
        run_experiment(tasks, tmp_path / "a")
    assert gather(tasks, tmp_path / "a").num_rows == 4
    whole = run_experiment([counted.task(n) for n in range(4)], tmp_path / "a")
    assert counted.runs == [0, 1, 2, 2, 3]
    assert whole.equals(run_experiment([Counted().task(n) for n in range(4)], tmp_path / "b"))


def test_the_order_of_tasks_does_not_matter(tmp_path: Path) -> None:
    numbers = (5, 1, 4, 2)
    one = run_experiment([Counted().task(n) for n in numbers], tmp_path / "a")
    other = run_experiment([Counted().task(n) for n in reversed(numbers)], tmp_path / "b")
    assert one.equals(other)
    assert one["number"].to_pylist() == [1, 1, 2, 2, 4, 4, 5, 5]


def test_a_part_that_cannot_be_read_is_done_again(tmp_path: Path) -> None:
    counted = Counted()
    tasks = [counted.task(n) for n in range(3)]
    whole = run_experiment(tasks, tmp_path)
    part = tmp_path / "parts" / tasks[1].file
    part.write_bytes(part.read_bytes()[:-20])
    assert run_experiment(tasks, tmp_path).equals(whole)
    assert counted.runs == [0, 1, 2, 1]


KILLED = """
import os, signal, sys
import pyarrow.parquet as pq
from hushtable.evaluation.experiment import Task, run_experiment

write = pq.write_table

def write_and_die(table, path):
    write(table, path)
    if table["number"][0].as_py() == 1:
        os.kill(os.getpid(), signal.SIGKILL)

pq.write_table = write_and_die
run_experiment([Task({"number": n}, lambda: [{"error": 0.5}]) for n in range(3)], sys.argv[1])
"""


def test_a_kill_while_a_part_is_written_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    parts = tmp_path / "parts"
    assert len(list(parts.glob("*.parquet"))) == 1 and len(list(parts.glob(".*.partial"))) == 1
    runs = []

    def task(number: int) -> Task:
        return Task({"number": number}, lambda: runs.append(number) or [{"error": 0.5}])

    monkeypatch.setattr(scratch, "_GRACE_SECONDS", 0)
    results = run_experiment([task(n) for n in range(3)], tmp_path)
    assert runs == [1, 2] and results["number"].to_pylist() == [0, 1, 2]
    assert not list(parts.glob(".*"))


def test_rows_of_different_tasks_may_have_different_columns(tmp_path: Path) -> None:
    counted = Counted()
    rows: list[Rows] = [
        [{"error": 1, "note": None}],
        [],
        [{"error": 0.5, "note": "half"}, {"error": 2.5, "seconds": 3.0}],
    ]
    tasks = [counted.task(n, lambda n=n: rows[n]) for n in range(3)]  # type: ignore[misc]
    results = run_experiment(tasks, tmp_path)
    assert results["error"].to_pylist() == [1.0, 0.5, 2.5]
    assert results["note"].to_pylist() == [None, "half", None]
    run_experiment(tasks, tmp_path)
    assert counted.runs == [0, 1, 2]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    tasks = [Counted().task(n) for n in range(2)]
    for _ in range(2):
        run_experiment(tasks, tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)] * 2


def test_an_experiment_without_tasks_has_no_rows(tmp_path: Path) -> None:
    assert run_experiment([], tmp_path).num_rows == 0


def test_keys_that_clash_are_refused(tmp_path: Path) -> None:
    counted = Counted()
    with pytest.raises(OptionError, match="same key"):
        run_experiment([counted.task(1), counted.task(1)], tmp_path)
    with pytest.raises(OptionError, match="part of its task's key"):
        run_experiment([counted.task(1, lambda: [{"number": 7}])], tmp_path)
    assert not list((tmp_path / "parts").iterdir())


def test_a_key_is_its_content() -> None:
    one = Task({"a": 1, "b": "x"}, list)
    assert one.file == Task({"b": "x", "a": 1}, list).file
    assert (
        len({one.file, Task({"a": 2, "b": "x"}, list).file, Task({"a": "1", "b": "x"}, list).file})
        == 3
    )


def test_every_task_has_noise_of_its_own() -> None:
    def draw(seed: int, **key: Any) -> int:
        return task_entropy(key, seed=seed).bits(64)

    assert draw(1, a=1, b=2) == draw(1, b=2, a=1)
    assert len({draw(1, a=1), draw(2, a=1), draw(1, a=2), draw(1, b=1)}) == 4
    assert not task_entropy({}, seed=1).private

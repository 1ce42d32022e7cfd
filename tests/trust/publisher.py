"""What the attacks on publishing run in a process of its own: `python publisher.py COMMAND ...`.

The parent imports everything once; children forked from it publish and are killed, so that a kill
costs milliseconds.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))
import hushtable
from hushtable.errors import BudgetError, LedgerError
from hushtable.kernel.privacy.ledger import Ledger
from hushtable.publishing import open_ledger
from shared_forks import forked, import_what_publishing_needs

STEPS = ("plan", "count", "pay", "draw", "write", "publish", "record", "done")
UNPAID = ("plan", "count", "pay")
SCHEMA = """name = "people"
budget = "{budget}"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 4]
"""


def make_world(folder: Path, budget: str) -> None:
    """A table and its schema."""
    (folder / "people.csv").write_text("age\n0\n1\n1\n9\nold\n")
    (folder / "people.toml").write_text(SCHEMA.format(budget=budget))


def publish(folder: Path, name: str, epsilon: str, progress: Any = None) -> None:
    hushtable.publish(
        folder / "people.csv",
        folder / "people.toml",
        epsilon=epsilon,
        out=folder / f"{name}.release",
        progress=progress,
    )


def publish_once(folder: Path) -> None:
    make_world(folder, "1")
    publish(folder, "first", "1")


def check(folder: Path) -> tuple[int, int]:
    """Whatever happened: all that is visible is whole and paid for, and the budget is kept."""
    releases = [hushtable.open(path) for path in folder.glob("*.release")]
    for release in releases:
        release.verify()
    ledger = folder / "people.toml.ledger"
    if not ledger.exists():
        assert not releases, "a release that nobody paid for"
        return 0, 0
    state = Ledger.read(ledger)
    entries = {entry.id: entry for entry in state.entries}
    for release in releases:
        entry = entries[release.manifest["reservation"]]
        assert entry.epsilon == release.epsilon and entry.status in ("publishing", "published")
    assert sum(release.epsilon for release in releases) <= state.spent <= state.budget
    assert state.spent == sum(e.epsilon for e in state.entries if e.status != "void")
    return len(releases), len(entries)


def step_kills(folder: Path, rounds: int) -> None:
    """Kill a publisher at the beginning of every named step."""
    make_world(folder, "1000")
    for number in range(rounds):
        for step in STEPS:

            def progress(begun: str, chosen: str = step) -> None:
                if begun == chosen:
                    os.kill(os.getpid(), signal.SIGKILL)

            name, before = f"{number}-{step}", check(folder)
            child = forked(lambda n=name, p=progress: publish(folder, n, "0.01", p))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            after = check(folder)
            visible = step in ("record", "done")
            assert after[0] - before[0] == visible
            assert after[1] - before[1] == (step not in UNPAID)
            if step not in UNPAID:
                _check_voiding(folder, voidable=step == "draw")
    print(json.dumps({"kills": rounds * len(STEPS), "releases": check(folder)[0]}))


def _check_voiding(folder: Path, *, voidable: bool) -> None:
    """What the kill left can be given back only if its noise was not drawn."""
    books = open_ledger(hushtable.Schema.load(folder / "people.toml"))
    try:
        books.void(books.state().entries[-1].id)
        assert voidable
    except LedgerError as refused:
        assert not voidable and "stays spent" in str(refused)


def random_kills(folder: Path, count: int) -> None:
    """Kill a publisher at a random moment; now and then a reservation is given back."""
    make_world(folder, "1000")
    longest = 1.2 * _time_of(lambda: publish(folder, "first", "0.01"))
    assert check(folder) == (1, 1)
    chance, killed, stages = random.Random(count), 0, set()
    after = check(folder)
    for number in itertools.count():
        if killed >= count and len(stages) > 1:
            break
        child = forked(lambda n=number: publish(folder, str(n), "0.01"))
        time.sleep(chance.random() * longest)
        os.kill(child, signal.SIGKILL)
        in_time = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        killed += in_time
        # How long publishing takes changes with load: this follows it, so that some come too late.
        longest *= 1.1 if in_time else 0.8
        before, after = after, check(folder)
        stages.add((after[0] - before[0], after[1] - before[1]))
        if chance.random() < 0.3:
            _void_all(folder)
            check(folder)
    releases, entries = check(folder)
    found = {"kills": killed, "releases": releases, "entries": entries, "reached": len(stages)}
    print(json.dumps(found))


def _time_of(work: Any) -> float:
    start = time.monotonic()
    os.waitpid(forked(work), 0)
    return time.monotonic() - start


def _void_all(folder: Path) -> None:
    path = folder / "people.toml.ledger"
    if not path.exists():
        return
    schema = hushtable.Schema.load(folder / "people.toml")
    books = open_ledger(schema)
    for entry in books.state().entries:
        if entry.status == "reserved":
            books.void(entry.id)


def races(folder: Path, racers: int) -> None:
    """Publishers at once, of whom three can be paid."""
    make_world(folder, "3")

    def race(name: str) -> None:
        with contextlib.suppress(BudgetError):
            publish(folder, name, "1")

    children = [forked(lambda n=n: race(str(n))) for n in range(racers)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * racers, codes
    releases, entries = check(folder)
    assert releases == entries == 3 == Ledger.read(folder / "people.toml.ledger").spent
    print(json.dumps({"races": racers, "releases": releases}))


def fill_disk(folder: Path, _: int) -> None:
    """Publish until the disk is full; what was published stays whole and paid for."""
    make_world(folder, "1000")
    refused: list[str] = []
    for number in range(100_000):
        try:
            publish(folder, str(number), "0.01")
        except hushtable.HushError as problem:
            refused.append(str(problem))
            if len(refused) > 3:
                break
    releases, entries = check(folder)
    state = Ledger.read(folder / "people.toml.ledger")
    assert state.spent == Fraction(entries, 100)
    print(json.dumps({"refused": refused, "releases": releases, "entries": entries}))


if __name__ == "__main__":
    command, place, number = sys.argv[1:]
    if command != "fill_disk":  # which publishes in this process
        import_what_publishing_needs(publish_once)
    globals()[command](Path(place), int(number))

"""What the tests of the ledger run in processes of their own: `python spender.py COMMAND ...`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from hushtable.errors import BudgetError, HushError, LedgerError
from hushtable.kernel.privacy import anchor, datasets, ledger, storage
from hushtable.kernel.privacy.ledger import Ledger

BUDGET = Fraction(10)
WATCHED = {module.__file__ for module in (anchor, datasets, ledger, storage)}


def open_ledger(path: Path) -> Ledger:
    return Ledger.open(path, dataset="census", budget=BUDGET, neighbours="add-remove", unit=None)


def open_other(path: Path) -> Ledger:
    pins: dict[str, Any] = {"neighbours": "add-remove", "unit": None}
    return Ledger.open(path, dataset="another", budget=BUDGET, **pins)


def race(path: Path, tries: int) -> None:
    """Spend 1 as often as it is allowed, with a line for each time and for what stopped it."""
    try:
        spending = open_ledger(path)
        for _ in range(tries):
            with contextlib.suppress(BudgetError):
                print(spending.spend(Fraction(1), mechanism="race").id, flush=True)
    except LedgerError as error:
        print(error)


def publish(path: Path, out: Path) -> None:
    """Make a small release the way every release is made."""
    with open_ledger(path) as spending:
        reservation = spending.reserve(Fraction(1), mechanism="basic", out=str(out))
        spending.drawing(reservation.id)
        out.with_name("noise").touch()
        hidden = out.with_name(f".{out.name}")
        hidden.mkdir()
        (hidden / "manifest.json").write_text(json.dumps({"reservation": reservation.id}))
        spending.publishing(reservation.id)
        hidden.rename(out)
        spending.published(reservation.id, "0" * 64)


def killed_after(lines: int, work: Callable[[], None]) -> bool:
    """Run work in a child, killed -9 after so many lines of the ledger; False when it ended."""
    child = os.fork()
    if child == 0:
        sys.settrace(_killer(lines))
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _killer(lines: int) -> Any:
    left = lines

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        left -= event == "line" and frame.f_code.co_filename in WATCHED
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def lines_of(work: Callable[[], None]) -> int:
    """How many lines of the ledger the work takes."""
    seen = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        seen += event == "line" and frame.f_code.co_filename in WATCHED
        return trace

    sys.settrace(trace)
    work()
    sys.settrace(None)
    return seen


def kills(folder: Path, count: int) -> None:
    """Kill a publisher at lines from the first to the last, and say what it had got to."""
    total = lines_of(lambda: publish(folder / "x.ledger", folder / "out"))
    reached: Counter[str] = Counter()
    for number in range(count):
        base = folder / str(number)
        base.mkdir()
        os.environ["HUSHTABLE_STATE"] = str(base / "state")  # or looking through notes takes longer
        reached[kill_once(base, number * total // count)] += 1
    print(json.dumps(reached))


def kill_once(base: Path, lines: int) -> str:
    """After a kill the ledger must be whole, cover what was released, and go on."""
    path, out = base / "x.ledger", base / "out"
    assert killed_after(lines, lambda: publish(path, out))
    if path.exists() and storage.load(path).hashes:
        check_known(base / "y.ledger")
    status = [entry.status for entry in open_ledger(path).state().entries]
    if out.exists():
        assert status in (["publishing"], ["published"]), "a release that was not announced"
    if out.with_name("noise").exists():
        assert status not in ([], ["reserved"]), "noise that could be looked at for nothing"
    open_ledger(path).spend(Fraction(1), mechanism="count")
    assert Ledger.read(path).spent == len(status) + 1
    return status[0] if status else "nothing"


def check_known(second: Path) -> None:
    """However soon after making a ledger the kill came, no second one is made."""
    try:
        open_ledger(second)
    except LedgerError as error:
        assert "has a ledger already" in str(error)
        return
    raise AssertionError("a second budget")


def hold(path: Path) -> None:
    """Keep the ledger locked until the input ends."""
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        print("held", flush=True)
        sys.stdin.read()
    db.close()


def unprivileged(path: Path) -> None:
    """Read and try to spend as someone who may not write there."""
    if os.geteuid() == 0:
        os.setuid(65534)
    spending = open_ledger(path)
    print(spending.state().spent)
    for step in (
        lambda: spending.reserve(Fraction(1), mechanism="basic", out="out"),
        lambda: open_other(path.with_name("new.ledger")),
    ):
        try:
            step()
        except HushError as error:
            print(error)
    print(spending.warnings)


def small_disk(path: Path) -> None:
    """Spend until no file may grow any more."""
    import resource

    spending, accepted = open_ledger(path), 0
    limit = 64 * 1024
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        while True:
            spending.spend(Fraction(1, 1000), mechanism="x" * 3000)
            accepted += 1
    except HushError as error:
        print(accepted)
        print(error)


if __name__ == "__main__":
    command, place, *numbers = sys.argv[1:]
    globals()[command](Path(place), *map(int, numbers))

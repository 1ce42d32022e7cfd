"""What a ledger's events mean: the hash chain that binds them, and every rule of spending.

The same `append` that replays old events judges a new one before it is written, so what can be
written and what is accepted when read back cannot drift apart.

    reserve ──► drawing ──► publishing ──► published    spend: published at once
        └─────► void                                    open, raise: the pins and the budget

Spent is the sum of every ε that is not void. A reservation can be voided only before `drawing`,
which is recorded before any noise exists: whether a run fails later may depend on its noise, and a
refund for that would be a free look. So what is spent is never less than the sum over all noise
that was ever drawn.

Ledgers of format 1 did not record `drawing`: a reservation in them may have drawn already. The
first event that is written into such a ledger is an `upgrade`, which counts every reservation that
is still open as drawn for.

Which table was spent on, and what its attributes were, are notes beside a reservation. No rule
depends on them, and software that does not know them passes over them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hushtable.errors import BudgetError, HushError, LedgerError
from hushtable.kernel.privacy.anchor import Mark
from hushtable.kernel.privacy.loss import (
    NEIGHBOURS,
    Neighbours,
    format_epsilon,
    parse_stored_epsilon,
)

FORMAT = 2

Status = Literal["reserved", "drawing", "publishing", "published", "void"]
NextStatus = Literal["drawing", "publishing", "published", "void"]

# For each format, the state that an entry must be in for a step.
_BEFORE: dict[int, dict[NextStatus, Status]] = {
    1: {"publishing": "reserved", "published": "publishing", "void": "reserved"},
    2: {
        "drawing": "reserved",
        "publishing": "drawing",
        "published": "publishing",
        "void": "reserved",
    },
}
_START = "0" * 64
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

# Sums of ratios with many different denominators would grow until they could not be printed.
_TOTAL_LIMIT = 10**1000


@dataclass(frozen=True)
class Entry:
    """One spending: what for, how much, and how far it got."""

    id: str
    time: str
    mechanism: str
    out: str
    epsilon: Fraction
    status: Status
    table: str | None = None
    """The table that was spent on; older software did not record it."""
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """A fingerprint of what each attribute of its schema was; none of older software."""


@dataclass(frozen=True)
class LedgerState:
    """What a ledger pins, what was spent and what is left."""

    dataset: str
    budget: Fraction
    spent: Fraction
    neighbours: Neighbours
    unit: str | None
    entries: tuple[Entry, ...]
    why: str | None = None
    """Why it was begun though the dataset had another one."""

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self.budget - self.spent


def canonical(event: Mapping[str, Any]) -> str:
    """The one way to write an event down."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def chained(previous: str, body: str) -> str:
    """The hash of an event, which also fixes every event before it."""
    return hashlib.sha256(f"{previous}\n{body}".encode("ascii")).hexdigest()


class History:
    """The events of a ledger, replayed."""

    def __init__(self) -> None:
        self.format = FORMAT
        self.hashes: list[str] = []
        self.pins: dict[str, Any] = {}
        self.budgets: list[Fraction] = []
        self.spent = Fraction(0)
        self.entries: dict[str, Entry] = {}

    @classmethod
    def replay(cls, rows: Iterable[tuple[Any, Any, Any]]) -> History:
        """Verify stored (sequence, body, hash) rows from the first to the last."""
        history = cls()
        for number, row in enumerate(rows, start=1):
            try:
                history._replay(row)
            except (HushError, *_MALFORMED):
                raise LedgerError(
                    f"entry {number} was altered, or one before it is missing: nothing is spent"
                    " from this ledger until an intact copy is put back"
                ) from None
        return history

    def _replay(self, row: tuple[Any, Any, Any]) -> None:
        sequence, body, stored = row
        event = json.loads(body)
        if sequence != event["sequence"] or self.append(event) != (body, stored):
            raise ValueError

    def append(self, event: dict[str, Any]) -> tuple[str, str]:
        """Accept an event that the rules allow; its body and hash are what to store."""
        if event["sequence"] != len(self.hashes) + 1:
            raise ValueError("events are numbered from 1")
        self._apply(event)
        body = canonical(event)
        self.hashes.append(chained(self.hashes[-1] if self.hashes else _START, body))
        return body, self.hashes[-1]

    def _apply(self, event: dict[str, Any]) -> None:
        match event["kind"]:
            case "open":
                self._open(event)
            case "raise":
                self._raise(parse_stored_epsilon(event["budget"]))
            case "reserve" | "spend":
                self._reserve(event)
            case "drawing" | "publishing" | "published" | "void":
                self._advance(event["id"], event["kind"])
            case "upgrade":
                self._upgrade(event["format"])
            case _:
                raise ValueError("unknown kind of event")

    def _open(self, event: dict[str, Any]) -> None:
        named = re.fullmatch("[0-9a-f]{32}", event["ledger"]) and event["neighbours"] in NEIGHBOURS
        if self.hashes or not named:
            raise ValueError("a ledger is opened once, with an identity and a relation")
        self.format = event.get("format", 1)
        if self.format not in _BEFORE:
            raise ValueError("unknown format")
        self.pins = {name: event[name] for name in ("ledger", "dataset", "neighbours", "unit")}
        self.pins["why"] = event.get("why")
        self.budgets = [parse_stored_epsilon(event["budget"])]

    def _upgrade(self, format: int) -> None:
        if (self.format, format) != (1, FORMAT):
            raise ValueError("a ledger is upgraded once")
        self.format = format
        for id, entry in self.entries.items():
            if entry.status == "reserved":
                self.entries[id] = dataclasses.replace(entry, status="drawing")

    def _raise(self, budget: Fraction) -> None:
        if budget <= self.budgets[-1]:
            now = format_epsilon(self.budgets[-1])
            raise BudgetError(f"the budget is {now}; it can be raised above that, never lowered")
        self.budgets.append(budget)

    def _reserve(self, event: dict[str, Any]) -> None:
        epsilon, left = parse_stored_epsilon(event["epsilon"]), self.budgets[-1] - self.spent
        if epsilon > left:
            asked, rest, budget = map(format_epsilon, (epsilon, left, self.budgets[-1]))
            raise BudgetError(
                f"epsilon {asked} does not fit: {rest} is left of the budget of {budget}; spend no"
                " more than that, or raise the budget (hush budget SCHEMA --raise E)"
            )
        if (self.spent + epsilon).denominator > _TOTAL_LIMIT:
            raise BudgetError("epsilon is too long a ratio to be added up exactly; use a decimal")
        if event["id"] in self.entries:
            raise ValueError("an id is used once")
        status: Status = "published" if event["kind"] == "spend" else "reserved"
        self.entries[event["id"]] = Entry(
            event["id"],
            event["time"],
            event["mechanism"],
            event["out"],
            epsilon,
            status,
            *_noted(event),
        )
        self.spent += epsilon

    def _advance(self, id: str, step: NextStatus) -> None:
        entry = self.entries.get(id)
        if entry is None:
            raise LedgerError(
                f"the ledger has no reservation {id!r}; hush budget SCHEMA lists them"
            )
        if entry.status != _BEFORE[self.format][step]:
            raise LedgerError(f"reservation {id} {_REASONS[entry.status]}")
        self.entries[id] = dataclasses.replace(entry, status=step)
        if step == "void":
            self.spent -= entry.epsilon

    @property
    def head(self) -> Mark:
        """The newest entry."""
        return Mark(len(self.hashes), self.hashes[-1])

    def has(self, mark: Mark) -> bool:
        """Whether this very entry is in the chain."""
        return self.place(mark.hash) == mark.sequence

    def place(self, hash: str) -> int | None:
        """The sequence number of the entry with this hash; None when there is none."""
        return self.hashes.index(hash) + 1 if hash in self.hashes else None

    def state(self) -> LedgerState:
        """What the events add up to."""
        return LedgerState(
            dataset=self.pins["dataset"],
            budget=self.budgets[-1],
            spent=self.spent,
            neighbours=self.pins["neighbours"],
            unit=self.pins["unit"],
            entries=tuple(self.entries.values()),
            why=self.pins["why"],
        )


def _noted(event: Mapping[str, Any]) -> tuple[str | None, dict[str, str]]:
    """The table and the attributes that are noted beside a reservation, if they are."""
    table, attributes = event.get("table"), event.get("attributes", {})
    texts = [*([] if table is None else [table]), *dict.keys(attributes), *attributes.values()]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a note is text")
    return table, attributes


_REASONS: dict[Status, str] = {
    "reserved": "was not drawn for: drawing is recorded first, then publishing, then the release",
    "drawing": (
        "may have been drawn for: whether a run fails then may depend on its noise, so its epsilon"
        " stays spent"
    ),
    "publishing": "was about to be published: its release may exist, so its epsilon stays spent",
    "published": "was published: its release may exist, so its epsilon stays spent",
    "void": "was voided: reserve again",
}

"""Spending an allotment of ε or ρ in memory, one call after another and over disjoint parts.

Calls on the same data add up (sequential composition). Calls on disjoint parts of it cost less
(parallel composition): a person who is added or removed is in one part, so the parts together cost
the largest of them; a person who is replaced may leave one part and enter another, so they cost the
sum of the two largest. With several rows per person this still holds, in both measures, *if every
charge pays by the row*: a call that is charged c for k = max_rows rows must cost (j/k)·c of ε, or
(j/k)²·c of ρ, wherever j of them change.

**What calls must do for that.** Scales follow from what one row changes, times k: then j rows
change j/k as much, which costs j/k of ε, or (j/k)² of a ρ that is Δ²/2σ², ε²/2 or ε²/8. A price for
the whole person, however many rows changed, breaks the rule: in each of k parts there may be one
row, and all of these calls would cost their price in full. Under replace-one a row may also change
a part by leaving it, for another part or for none. That changes it by the coefficients of *one*
cell, which may be longer than the difference of any two cells: a total is changed by one row that
leaves, and by none that moves. So a row's change is the larger of `entering` and `moving`, as in
`Exposure`.

**Proof.** Let x = j/k, where j ≤ k rows change in an account's data: they enter it, leave it or
move within it. By induction over the splits, all that was asked of the account and of its parts
costs at most x·spent of ε, or x²·spent of ρ. Its own charges do, by what calls must do. For the
parts of a split, let x₁, x₂, … be these fractions.

* add-remove: a row is in one part, so that Σxᵢ ≤ x. Σxᵢ·spentᵢ and Σxᵢ²·spentᵢ are convex in the
  xᵢ, and largest at a corner of what these may be, where one of them is x: at most x or x² times
  the largest spentᵢ.
* replace-one: a row that moves changes two parts at most, each once, so that Σxᵢ ≤ 2x, and xᵢ ≤ x.
  At a corner two of them are x: at most x or x² times the sum of the two largest.

At the root x ≤ 1. What is asked may follow from earlier answers: let cᵢ be what the i-th call costs
two given neighbours, known before it is answered. E[(P/Q)^(α−1)·e^(−(α−1)α·(c₁ + … + cᵢ))], over
what P answers, does not grow with i, and c₁ + c₂ + … is never above the allotment; so all answers
together cost no more ρ than that. For ε the logarithms of the ratios add up.
"""

from __future__ import annotations

import threading
from fractions import Fraction

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.privacy.loss import NEIGHBOURS, Neighbours, format_epsilon, parse_epsilon
from hushtable.kernel.privacy.measures import Measure
from hushtable.kernel.processes import this_process


class Account:
    """An allotment of ε or ρ: a charge that does not fit is refused, and nothing has changed."""

    def __init__(self, allotment: Fraction, measure: Measure = Measure.PURE) -> None:
        self.measure = measure
        self._allotment = parse_epsilon(allotment, what="the allotment")
        self._spent = Fraction(0)
        self._lock = threading.RLock()  # one for an account and all its parts
        self._process = this_process()

    @property
    def spent(self) -> Fraction:
        """What has been charged to this account, its parts included."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """The largest charge that would still be accepted."""
        return self._allotment - self._spent

    def charge(self, amount: Fraction) -> None:
        """Pay an amount of the account's measure, or raise BudgetError."""
        amount = self.measure.parse(amount)
        if this_process() != self._process:  # a forked copy would spend the same allotment again
            raise BudgetError("an account can only be charged by the process that opened it")
        with self._lock:
            self._pay(amount)

    def split(self, parts: int, neighbours: Neighbours) -> list[PartAccount]:
        """Open one account for each of several disjoint parts of the data.

        The partition may depend only on the schema and on what was already released.
        """
        if parts < 1 or neighbours not in NEIGHBOURS:
            raise OptionError("a split needs at least one part and a known neighbour relation")
        partition = _Partition(self, counted=1 if neighbours == "add-remove" else 2)
        return [PartAccount(partition) for _ in range(parts)]

    def _pay(self, amount: Fraction) -> None:
        if amount > self.left:
            asked, left = format_epsilon(amount), format_epsilon(self.left)
            word = self.measure.word
            raise BudgetError(f"{word} {asked} is more than the {left} left of the allotment")
        self._spent += amount


class _Partition:
    """Disjoint parts of one account's data: they cost it the sum of the `counted` largest."""

    def __init__(self, parent: Account, *, counted: int) -> None:
        self.parent = parent
        self.counted = counted
        self.largest: list[PartAccount] = []

    def free(self, part: PartAccount) -> Fraction:
        """What a part can spend before it is among the largest, so before the parent pays more."""
        if part in self.largest or len(self.largest) < self.counted:
            return Fraction(0)
        return min(other.spent for other in self.largest) - part.spent

    def rank(self, part: PartAccount) -> None:
        """Keep the largest: no part but the one just charged can have joined them."""
        rivals = [part, *(other for other in self.largest if other is not part)]
        self.largest = sorted(rivals, key=lambda rival: rival.spent)[-self.counted :]


class PartAccount(Account):
    """The account of one part; the parent pays what it adds to the cost of the partition."""

    def __init__(self, partition: _Partition) -> None:
        self.measure = partition.parent.measure
        self._partition = partition
        self._spent = Fraction(0)
        self._lock = partition.parent._lock
        self._process = partition.parent._process

    @property
    def left(self) -> Fraction:
        """The largest charge that would still be accepted."""
        with self._lock:
            return self._partition.parent.left + self._partition.free(self)

    def _pay(self, amount: Fraction) -> None:
        # The ancestors pay first: when one of them refuses, nothing below has changed yet.
        self._partition.parent._pay(max(Fraction(0), amount - self._partition.free(self)))
        self._spent += amount
        self._partition.rank(self)

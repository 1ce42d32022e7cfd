"""Spending an allotment of ε in memory, one call after another and over disjoint parts.

Calls on the same data add up (sequential composition). Calls on disjoint parts of it cost less
(parallel composition): a person who is added or removed is in one part, so the parts together cost
the largest of them; a person who is replaced may leave one part and enter another, so they cost the
sum of the two largest. With several rows per person this still holds, because every charge for ε
pays for max_rows rows: each row that changes costs ε/max_rows in the part it leaves and in the one
it enters, and at most max_rows rows change.
"""

from __future__ import annotations

import threading
from fractions import Fraction

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.privacy.loss import NEIGHBOURS, Neighbours, format_epsilon, parse_epsilon
from hushtable.kernel.processes import this_process


class Account:
    """An allotment of ε: a charge that does not fit is refused, and nothing has changed."""

    def __init__(self, allotment: Fraction) -> None:
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

    def charge(self, epsilon: Fraction) -> None:
        """Pay ε from this account, or raise BudgetError."""
        epsilon = parse_epsilon(epsilon)
        if this_process() != self._process:  # a forked copy would spend the same allotment again
            raise BudgetError("an account can only be charged by the process that opened it")
        with self._lock:
            self._pay(epsilon)

    def split(self, parts: int, neighbours: Neighbours) -> list[PartAccount]:
        """Open one account for each of several disjoint parts of the data.

        The partition may depend only on the schema and on what was already released.
        """
        if parts < 1 or neighbours not in NEIGHBOURS:
            raise OptionError("a split needs at least one part and a known neighbour relation")
        partition = _Partition(self, counted=1 if neighbours == "add-remove" else 2)
        return [PartAccount(partition) for _ in range(parts)]

    def _pay(self, epsilon: Fraction) -> None:
        if epsilon > self.left:
            asked, left = format_epsilon(epsilon), format_epsilon(self.left)
            raise BudgetError(f"epsilon {asked} is more than the {left} left of the allotment")
        self._spent += epsilon


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
        self._partition = partition
        self._spent = Fraction(0)
        self._lock = partition.parent._lock
        self._process = partition.parent._process

    @property
    def left(self) -> Fraction:
        """The largest charge that would still be accepted."""
        with self._lock:
            return self._partition.parent.left + self._partition.free(self)

    def _pay(self, epsilon: Fraction) -> None:
        # The ancestors pay first: when one of them refuses, nothing below has changed yet.
        self._partition.parent._pay(max(Fraction(0), epsilon - self._partition.free(self)))
        self._spent += epsilon
        self._partition.rank(self)

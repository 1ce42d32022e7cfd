"""An account pays what composition says, and a refused charge changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Neighbours


def tenths(number: int) -> Fraction:
    return Fraction(number, 10)


def test_charges_add_up_exactly() -> None:
    account = Account(tenths(3))
    account.charge(tenths(1))
    account.charge(tenths(2))
    assert (account.spent, account.left) == (tenths(3), 0)


def test_a_charge_that_does_not_fit_changes_nothing() -> None:
    account = Account(tenths(3))
    account.charge(tenths(2))
    with pytest.raises(BudgetError, match=r"epsilon 0\.2 is more than the 0\.1 left"):
        account.charge(tenths(2))
    assert account.spent == tenths(2)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), float("nan"), True, None])
def test_only_positive_amounts_are_charged(epsilon: Any) -> None:
    account = Account(tenths(3))
    with pytest.raises(OptionError):
        account.charge(epsilon)
    with pytest.raises(OptionError):
        Account(epsilon)
    assert account.spent == 0


@pytest.mark.parametrize(
    ("neighbours", "costs"), [("add-remove", [2, 3, 3, 5]), ("replace-one", [2, 5, 6, 8])]
)
def test_disjoint_parts_cost_their_largest(neighbours: Neighbours, costs: list[int]) -> None:
    account = Account(Fraction(10))
    parts = account.split(3, neighbours)
    seen = []
    for part, epsilon in [(0, 2), (1, 3), (2, 3), (1, 2)]:
        parts[part].charge(Fraction(epsilon))
        seen.append(account.spent)
    assert seen == costs
    assert [part.spent for part in parts] == [2, 5, 3]


def test_two_splits_of_the_same_data_add_up() -> None:
    account = Account(Fraction(10))
    for _ in range(2):
        for part in account.split(4, "add-remove"):
            part.charge(Fraction(3))
    assert account.spent == 6


def test_what_the_root_cannot_pay_changes_nothing_anywhere() -> None:
    root = Account(Fraction(3))
    part, other = root.split(2, "replace-one")
    inner, neighbour = part.split(2, "add-remove")
    inner.charge(Fraction(1))
    other.charge(Fraction(1))
    accounts = (root, part, other, inner, neighbour)
    before = [(account.spent, account.left) for account in accounts]
    with pytest.raises(BudgetError):
        neighbour.charge(Fraction(5, 2))
    assert [(account.spent, account.left) for account in accounts] == before
    neighbour.charge(Fraction(2))
    assert (root.left, inner.left, neighbour.left) == (0, 1, 0)


@pytest.mark.parametrize(("parts", "neighbours"), [(0, "add-remove"), (-1, "replace-one"), (2, "")])
def test_a_split_that_means_nothing_is_refused(parts: int, neighbours: Any) -> None:
    with pytest.raises(OptionError):
        Account(Fraction(1)).split(parts, neighbours)


@dataclass
class Node:
    """The slow obvious account: what was charged here, and the splits below."""

    account: Account
    charges: list[Fraction] = field(default_factory=list)
    splits: list[tuple[Neighbours, list[Node]]] = field(default_factory=list)

    def cost(self) -> Fraction:
        total = sum(self.charges, Fraction(0))
        for neighbours, parts in self.splits:
            costs = sorted((part.cost() for part in parts), reverse=True)
            total += sum(costs[: 1 if neighbours == "add-remove" else 2], Fraction(0))
        return total


@given(
    st.sampled_from(["add-remove", "replace-one"]),
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 9), st.booleans(), st.integers(1, 4)),
        max_size=40,
    ),
)
def test_any_family_of_accounts_pays_what_brute_force_says(
    neighbours: Neighbours, steps: list[tuple[int, int, bool, int]]
) -> None:
    nodes = [Node(Account(Fraction(4)))]
    for which, amount, split, parts in steps:
        node = nodes[which % len(nodes)]
        if split:
            children = [Node(account) for account in node.account.split(parts, neighbours)]
            node.splits.append((neighbours, children))
            nodes += children
        else:
            charge_both(nodes, node, tenths(amount))
        assert [each.account.spent for each in nodes] == [each.cost() for each in nodes]


def charge_both(nodes: list[Node], node: Node, epsilon: Fraction) -> None:
    """Charge the account and the slow one; they must agree on whether it fits."""
    left = node.account.left
    node.charges.append(epsilon)
    fits = nodes[0].cost() <= 4
    assert fits == (epsilon <= left)
    if fits:
        node.account.charge(epsilon)
    else:
        node.charges.pop()
        with pytest.raises(BudgetError):
            node.account.charge(epsilon)


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_cannot_spend_the_same_epsilon_twice() -> None:
    account, accepted = Account(Fraction(12_000)), []
    parts = account.split(2, "replace-one")
    together = threading.Barrier(4)

    def spend(part: Account) -> None:
        together.wait()
        for _ in range(4000):
            try:
                part.charge(Fraction(1))
                accepted.append(1)
            except BudgetError:
                pass

    threads = [threading.Thread(target=spend, args=(part,)) for part in [*parts, *parts]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.spent == len(accepted) == 12_000


def test_a_forked_copy_of_an_account_cannot_be_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(Fraction(1))
    (part,) = account.split(1, "add-remove")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for copy in (account, part):
        with pytest.raises(BudgetError, match="process"):
            copy.charge(Fraction(1, 2))


FORKING = """
import os
from fractions import Fraction
from hushtable.errors import BudgetError
from hushtable.kernel.privacy.account import Account

os.getpid = lambda: 1  # as in a pid namespace of its own, or when a pid is used again
account = Account(Fraction(1))
(part,) = account.split(1, "add-remove")
if not (child := os.fork()):
    for copy in (account, part):
        try:
            copy.charge(Fraction(1, 2))
        except BudgetError:
            continue
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "a child spent its parent's allotment"
part.charge(Fraction(1))  # the parent goes on
"""


def test_a_forked_copy_of_an_account_with_the_pid_of_its_parent_cannot_be_charged() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr

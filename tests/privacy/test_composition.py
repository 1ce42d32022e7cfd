"""What accounts charge in ρ covers what all calls together cost, by brute force over small cases.

Gaussian noise of variance σ² costs two given tables exactly |change|²/2σ², and calls add up. So the
cost of a whole tree of splits is known for every pair of neighbours, and none may cost more than
the account was charged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache

import pytest

from hushtable.errors import BudgetError
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure, Neighbours
from hushtable.kernel.privacy.measures import Measure

ZCDP = Measure.ZCDP
CELLS = range(4)  # the last is in no part
CALM = (0,) * len(CELLS)

Change = tuple[int, ...]
Linear = dict[int, tuple[int, ...]]
"""A linear question: what one row in each cell adds to its answers."""

EXPOSURES = [
    (neighbours, max_rows) for neighbours in ("add-remove", "replace-one") for max_rows in (1, 3)
]


@cache
def changes(neighbours: Neighbours, max_rows: int) -> tuple[Change, ...]:
    """How many rows each cell gains or loses, for all that two neighbours may have."""
    people = [
        tuple(rows.count(cell) for cell in CELLS)
        for most in range(max_rows + 1)
        for rows in itertools.combinations_with_replacement(CELLS, most)
    ]
    nobody = [people[0]] if neighbours == "add-remove" else people
    found = {less(b, a) for a in nobody for b in people}
    return tuple(
        {max(change, less(CALM, change)) for change in found}
    )  # there or back costs as much


def less(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def squares(vectors: Iterable[tuple[int, ...]]) -> list[int]:
    return [sum(x * x for x in vector) for vector in vectors]


def entering(question: Linear) -> Fraction:
    return Fraction(max(squares(question.values())))


def moving(question: Linear) -> Fraction:
    pairs = itertools.product(question.values(), repeat=2)
    return Fraction(max(squares(less(x, y) for x, y in pairs)))


def cost(question: Linear, change: Change, sigma_squared: Fraction) -> Fraction:
    """ρ of Gaussian noise on a question, for two given tables."""
    rows = [[change[cell] * x for x in row] for cell, row in question.items()]
    moved = tuple(map(sum, zip(*rows, strict=True)))
    return ZCDP.price_of_gaussian(squares([moved])[0], sigma_squared)


def total(cells: tuple[int, ...]) -> Linear:
    """One number: a row that leaves changes it, one that moves does not."""
    return dict.fromkeys(cells, (1,))


def histogram(cells: tuple[int, ...]) -> Linear:
    return {cell: tuple(int(cell == other) for other in cells) for cell in cells}


def uneven(cells: tuple[int, ...]) -> Linear:
    """Moving is shorter than entering, but not nothing."""
    return {cell: (3, cell) for cell in cells}


KINDS = (total, histogram, uneven)


class Asked:
    """Everything that was asked of a tree of accounts, with its noise."""

    def __init__(self, exposure: Exposure) -> None:
        self.exposure = exposure
        self.noisy: list[tuple[Linear, Fraction]] = []

    def ask(self, account: Account, question: Linear, rho: Fraction) -> None:
        row = {"entering": entering(question), "moving": moving(question)}
        self.noisy.append((question, self.exposure.sigma_squared(rho, **row)))
        account.charge(rho)

    def worst(self) -> Fraction:
        """The cost of all for the two neighbours that they tell apart best."""
        return max(
            sum((cost(question, change, noise) for question, noise in self.noisy), Fraction(0))
            for change in changes(self.exposure.neighbours, self.exposure.max_rows)
        )


def trees(exposure: Exposure) -> Iterator[tuple[Account, Asked]]:
    """A question of all parts and one of each, for all kinds, some amounts, and a nested split."""
    amounts = [(3, 2, 1), (1, 5, 4)]
    for kinds, shares in itertools.product(itertools.product(KINDS, repeat=3), amounts):
        for nested in (False, True):
            root, asked = Account(Fraction(100), ZCDP), Asked(exposure)
            outer = root.split(2, exposure.neighbours)
            if nested:
                inner = outer[0].split(2, exposure.neighbours)
                places = [(inner[0], (0,)), (inner[1], (1,)), (outer[1], (2,))]
                asked.ask(root, kinds[2]((0, 1, 2)), Fraction(1, 7))
            else:
                places = [(outer[0], (0, 1)), (outer[1], (2,))]
            for (account, cells), kind, share in zip(places, kinds, shares, strict=False):
                asked.ask(account, kind(cells), Fraction(share, 3))
            yield root, asked


@pytest.mark.parametrize(("neighbours", "max_rows"), EXPOSURES)
def test_an_account_covers_every_pair_of_neighbours(neighbours: Neighbours, max_rows: int) -> None:
    """Some trees cost all that was charged, so that no charge could be smaller."""
    tight = 0
    for root, asked in trees(Exposure(neighbours, max_rows)):
        worst = asked.worst()
        assert worst <= root.spent
        tight += worst == root.spent
    assert tight


@pytest.mark.parametrize(("neighbours", "max_rows"), EXPOSURES)
def test_rows_of_one_person_in_many_parts_cost_less_than_all_in_the_dearest(
    neighbours: Neighbours, max_rows: int
) -> None:
    """(j/k)² of each charge, where j of k rows change a part."""
    exposure = Exposure(neighbours, max_rows)
    root, asked = Account(Fraction(100), ZCDP), Asked(exposure)
    amounts = [Fraction(5, 3), Fraction(2), Fraction(1, 2)]
    for cell, (part, amount) in enumerate(zip(root.split(3, neighbours), amounts, strict=True)):
        asked.ask(part, total((cell,)), amount)
    for change in changes(neighbours, max_rows):
        spread = sum(
            (
                Fraction(rows, max_rows) ** 2 * amount
                for rows, amount in zip(change, amounts, strict=False)
            ),
            Fraction(0),
        )
        costs = [cost(question, change, noise) for question, noise in asked.noisy]
        assert sum(costs) == spread <= root.spent
    assert asked.worst() == root.spent == (2 if neighbours == "add-remove" else Fraction(11, 3))


def test_a_price_that_forgets_rows_which_leave_would_not_be_covered() -> None:
    """The largest move within a part is shorter than what a row changes that leaves the part."""
    exposure, question = Exposure("replace-one"), {0: (3, 0), 1: (3, 1)}
    assert (entering(question), moving(question)) == (10, 1)
    forgetful = moving(question) / 2
    leaves = (0, -1, 1, 0)
    assert cost(question, leaves, forgetful) == 10
    row = {"entering": entering(question), "moving": moving(question)}
    assert cost(question, leaves, exposure.sigma_squared(Fraction(1), **row)) == 1


def test_a_price_for_a_person_whatever_the_rows_would_not_be_covered() -> None:
    """How many people have a row there: one of two rows changes it as much as both."""
    root = Account(Fraction(10), ZCDP)
    for part in root.split(2, "add-remove"):
        part.charge(ZCDP.price_of_gaussian(1, Fraction(1, 2)))
    one_row_in_each_part = 2 * ZCDP.price_of_gaussian(1, Fraction(1, 2))
    assert root.spent == 1 < one_row_in_each_part


def moment(left: Fraction, rounds: int, order: float, yes: bool = False) -> float:
    """E[(P/Q)^(α−1)] of randomised responses, each for an ε that follows from the answer before.

    After a "yes" all that is left is spent, after a "no" a third of it.
    """
    if not rounds or not left:
        return 1.0
    amount = left if yes else left / 3
    odds = math.exp(float(ZCDP.epsilon(amount)))
    p, q = odds / (1 + odds), 1 / (1 + odds)
    after = [moment(left - amount, rounds - 1, order, answer) for answer in (True, False)]
    return p * odds ** (order - 1) * after[0] + q * odds ** (1 - order) * after[1]


@pytest.mark.parametrize("order", [1.01, 2.0, 5.0, 30.0])
def test_amounts_that_follow_from_answers_cost_no_more_than_the_allotment(order: float) -> None:
    for allotment in (Fraction(1, 1000), Fraction(1, 2)):
        divergence = math.log(moment(allotment, 5, order)) / (order - 1)
        assert divergence <= order * float(allotment) * (1 + 1e-9)
        assert divergence > order * float(allotment) / 2 or allotment == Fraction(1, 2)


def test_an_account_of_rho_says_so() -> None:
    account = Account(Fraction(3, 200), ZCDP)
    (part,) = account.split(1, "add-remove")
    for each in (account, part):
        assert each.measure is ZCDP
        with pytest.raises(BudgetError, match=r"\Arho 0\.02 is more than the 0\.015 left"):
            each.charge(Fraction(1, 50))

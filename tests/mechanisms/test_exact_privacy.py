"""Over all neighbours of all small tables, no question loses more than it was charged."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_cases import (
    AGE,
    CASES,
    EPSILON,
    NEIGHBOURS,
    check_asking,
    holdings_of,
    loss_between,
    schema_of,
)
from tests.shared_sizes import some_of

from hushtable.auditing.privacy_check import curator_loss
from hushtable.auditing.small_tables import (
    Holdings,
    as_table,
    neighbouring_pairs,
    possible_people,
    possible_values,
)
from hushtable.auditing.transcript import ChoiceDraw, LaplaceDraw, log_sum
from hushtable.kernel.curator import Curator, LargestPart, Regions, Whole
from hushtable.kernel.maps import Identity, Product
from hushtable.schema import Edges, Labels, Unit, ordinal

relations = pytest.mark.parametrize("neighbours", NEIGHBOURS)
cases = pytest.mark.parametrize("case", CASES)


def cells(curator: Curator) -> Regions:
    """Each cell a part of its own."""
    return Regions(np.arange(math.prod(curator.shape)).reshape(curator.shape))


def halves(curator: Curator) -> Regions:
    """Two parts; the first code of every attribute is the first."""
    labels = np.ones(curator.shape, int)
    labels[(0,) * labels.ndim] = 0
    return Regions(labels)


def ask_counts(curator: Curator) -> Any:
    return curator.noisy_counts(cells(curator), epsilon=EPSILON)


def ask_coefficients(curator: Curator) -> Any:
    return curator.noisy_coefficients(
        Product(tuple(Identity(size) for size in curator.shape)), epsilon=EPSILON
    )


def ask_total(curator: Curator) -> Any:
    return curator.noisy_total(epsilon=EPSILON)


def ask_first_cell(curator: Curator) -> Any:
    labels = np.full(curator.shape, -1)
    labels[(0,) * labels.ndim] = 0
    return curator.noisy_counts(Regions(labels), epsilon=EPSILON)


def ask_twice(curator: Curator) -> Any:
    first = curator.noisy_total(epsilon="0.1")
    return first, curator.noisy_counts(cells(curator), epsilon="0.2")


def ask_parts(curator: Curator) -> Any:
    """All that splitting allows: ε in each part, or ε in the two largest together."""
    first, second = curator.split(halves(curator))
    if curator._exposure.neighbours == "add-remove":
        return first.noisy_total(epsilon=EPSILON), second.noisy_total(epsilon=EPSILON)
    return first.noisy_total(epsilon="0.1"), second.noisy_total(epsilon="0.2")


def ask_adaptively(curator: Curator) -> Any:
    """Where to look next depends on what was answered."""
    chosen = curator.select(LargestPart(halves(curator)), epsilon="0.1").choice
    part = curator.split(halves(curator))[chosen]
    total = part.noisy_total(epsilon="0.1")
    if int(total.values[0]) % 2:
        return chosen, part.noisy_counts(cells(part), epsilon="0.1")
    return chosen, total, curator.noisy_total(epsilon="0.05")


@pytest.mark.parametrize(
    "ask", [ask_counts, ask_coefficients, ask_total, ask_first_cell, ask_twice, ask_parts]
)
@relations
@cases
def test_noisy_counts_lose_epsilon_and_never_more(case: str, neighbours: Any, ask: Any) -> None:
    report = check_asking(ask, case, neighbours)
    assert report.holds, (report.problem, report.example)
    if neighbours == "replace-one" and ask is ask_twice:
        assert 0 < report.worst < report.epsilon  # no one move is worst for both questions
    elif neighbours == "replace-one" and ask is ask_total and case == "other values":
        assert report.worst == 0  # nobody is ever dropped: the total is public
    else:
        assert report.tight, report


@relations
@pytest.mark.parametrize(
    "case",
    some_of(
        ["clipped and dropped rows", "two attributes", "at most 1 row"],
        ["two attributes", "at most 1 row"],
    ),
)
def test_coded_columns_lose_the_same(case: str, neighbours: Any) -> None:
    by_counts = check_asking(ask_counts, case, neighbours)
    counted = Holdings(schema_of(case))  # as columns, by what codes every table
    by_columns = check_asking(ask_counts, case, neighbours, needs="columns", holdings=counted)
    assert by_columns == by_counts


@pytest.mark.parametrize("epsilon", some_of(["0.1", "1", "8"], ["1"]))
@relations
@cases
def test_a_selection_loses_at_most_epsilon(case: str, neighbours: Any, epsilon: str) -> None:
    report = check_asking(
        lambda curator: curator.select(LargestPart(cells(curator)), epsilon=epsilon),
        case,
        neighbours,
        epsilon=epsilon,
    )
    assert report.holds, (report.problem, report.example)
    # Under add-remove a score only grows, so that half of ε would do; the bound is loose there.
    assert report.worst > Fraction(epsilon) / 4


@relations
@pytest.mark.parametrize("case", some_of(CASES, [*CASES][:-1]))
def test_an_adaptive_recipe_holds_on_every_path(case: str, neighbours: Any) -> None:
    report = check_asking(ask_adaptively, case, neighbours, paths=3)
    assert report.holds, (report.problem, report.example)


@relations
def test_an_odd_row_changes_at_most_one_cell(neighbours: Any) -> None:
    counted = holdings_of("other values")
    for row in [("?",), (None,), ("a",)]:
        before, after = (counted.of(as_table(rows)) for rows in ([("b",)], [("b",), row]))
        change = {int(code): 0 for code in (*before.codes, *after.codes)}
        for holding, sign in ((before, -1), (after, 1)):
            for code, count in zip(holding.codes, holding.counts, strict=True):
                change[int(code)] += sign * int(count)
        assert sorted(map(abs, change.values()))[-1] == 1 == sum(map(abs, change.values()))


class TestTheKit:
    """What the check itself is made of."""

    def test_laplace_losses_are_exact(self) -> None:
        draw = LaplaceDraw(np.array([[1, 2], [3, 4]]), Fraction(1, 3), np.zeros((2, 2), np.int64))
        assert draw.loss(np.array([[1, 0], [4, 4]])) == 9

    def test_selection_losses_are_those_of_the_probabilities(self) -> None:
        before, after = [Fraction(3, 2), Fraction(0), Fraction(-1)], [Fraction(1), Fraction(1, 2)]
        after.append(Fraction(-3))
        p, q = ([math.exp(e) / sum(map(math.exp, es)) for e in es] for es in (before, after))
        worst = max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))
        assert float(ChoiceDraw(tuple(before), 0).loss(after)) == pytest.approx(worst, rel=1e-12)

    def test_a_selection_that_does_not_change_loses_nothing(self) -> None:
        exponents = (Fraction(1, 3), Fraction(7))
        assert ChoiceDraw(exponents, 1).loss(exponents) == 0

    def test_sums_of_exponentials_have_fifty_digits(self) -> None:
        two = Fraction("0.69314718055994530941723212145817656807550013436025")
        three = Fraction("1.09861228866810969139524523692252570464749055782275")
        assert abs(log_sum([Fraction(0)] * 2) - two) < Fraction(1, 10**48)
        assert abs(log_sum([Fraction(1, 3)] * 3) - Fraction(1, 3) - three) < Fraction(1, 10**48)
        assert float(log_sum([Fraction(0), Fraction(1)])) == pytest.approx(math.log(1 + math.e))
        assert log_sum([Fraction(10**9), Fraction(-(10**9))]) - 10**9 < Fraction(1, 10**50)

    def test_pairs_under_add_remove_differ_by_one_person(self) -> None:
        rows = [("a",), ("b",)]
        pairs = list(neighbouring_pairs(rows, "add-remove", None, people=2))
        assert len(pairs) == len(set(pairs)) == (1 + 2) * 2
        assert all(len(after) == len(before) + 1 for before, after in pairs)

    def test_pairs_under_replace_one_have_as_many_people(self) -> None:
        rows = [("a",), ("b",), (None,)]
        pairs = list(neighbouring_pairs(rows, "replace-one", None, people=2))
        assert len(pairs) == len(set(pairs)) == (1 + 3) * 3
        assert all(len(after) == len(before) > 0 for before, after in pairs)

    def test_people_may_have_more_rows_than_count_and_no_id(self) -> None:
        people = possible_people([("a",), ("b",)], Unit("id", 3))
        assert {len(person) for person in people} == {1, 2, 3, 4}
        assert (("a", None),) in people
        assert len(people) == len(set(people)) == 2 + 3 + 4 + 5 + 2

    def test_possible_values_include_what_lies_outside(self) -> None:
        assert possible_values(AGE) == ["-1", "0", "1", "2", "?", None]
        assert possible_values(ordinal("x", Labels(("a", "b")))) == ["a", "b", "?", None]
        edges = possible_values(ordinal("x", Edges((0, 5, 9))))
        assert edges == ["0", "5", "9", "-1", "10", "?", None]

    def test_tables_are_counted_once_whatever_the_order_of_their_rows(self) -> None:
        counted = holdings_of("clipped and dropped rows")
        first = counted.of((("0",), (None,), ("1",)))
        known = len(counted)
        assert counted.of((("1",), ("0",), (None,))) is first
        assert len(counted) == known

    def test_the_loss_between_two_tables_by_name(self) -> None:
        schema = schema_of("clipped and dropped rows", "replace-one")
        moved = loss_between("basic", schema, [("0",)], [("1",)])
        assert moved.holds and moved.loss == moved.charged == Fraction(EPSILON)
        dropped = loss_between("basic", schema, [("0",)], [("?",)])
        assert dropped.loss == Fraction(EPSILON) / 2

    def test_tables_further_apart_than_neighbours_lose_more(self) -> None:
        """The check can fail."""
        schema = schema_of("clipped and dropped rows")
        found = curator_loss(ask_total, schema, [], [("0",)] * 3, epsilon=EPSILON)
        assert found.loss == 3 * Fraction(EPSILON) and not found.holds

    @pytest.mark.parametrize(
        ("recipe", "words"),
        [
            (lambda c: c._Curator__held.data.counts.sum(), "returned"),
            (lambda c: c._Curator__held.data.counts.tolist(), "returned"),
            (
                lambda c: c.noisy_total(epsilon=Fraction(1, 9 + len(c._Curator__held.data.codes))),
                "scale",
            ),
            (
                lambda c: [c.noisy_total(epsilon="0.1") for _ in c._Curator__held.data.codes],
                "draws",
            ),
            (
                lambda c: c.noisy_counts(
                    Regions([0, 0], parts=1 + len(c._Curator__held.data.codes)), epsilon="0.1"
                ),
                "number of values",
            ),
            (
                lambda c: c.select(
                    LargestPart(Regions([0, 0], parts=1 + len(c._Curator__held.data.codes))),
                    epsilon="0.1",
                ),
                "candidates",
            ),
            (
                lambda c: (
                    c.select(LargestPart(Whole(c.shape)), epsilon="0.1")
                    if len(c._Curator__held.data.codes)
                    else c.noisy_total(epsilon="0.1")
                ),
                "order",
            ),
        ],
    )
    def test_a_recipe_that_looks_at_the_data_is_caught(self, recipe: Any, words: str) -> None:
        report = check_asking(recipe, "clipped and dropped rows", "add-remove")
        assert not report.holds and words in str(report.problem)
        before, after = report.example or ((), ())
        assert len(after) == len(before) + 1

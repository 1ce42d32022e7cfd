"""Each way to break the privacy of a release, put in on purpose: the exact check must see it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from exact_cases import EPSILON, check, check_asking, loss_between, schema_of

from hushtable.auditing.privacy_check import PrivacyReport, curator_loss
from hushtable.auditing.small_tables import Holdings
from hushtable.kernel.counting import count, people
from hushtable.kernel.counting.encoding import bound
from hushtable.kernel.curator import Curator, LargestPart, Measurement, Regions
from hushtable.kernel.curator.holding import dense_counts
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.schema import Unit

Patch = pytest.MonkeyPatch
E = Fraction(EPSILON)


def halve_the_scale(patch: Patch) -> None:
    price = Curator._price

    def halved(self: Curator, *arguments: Any, **changes: Any) -> tuple[Fraction, DiscreteLaplace]:
        amount, noise = price(self, *arguments, **changes)
        return amount, noise.times(Fraction(1, 2))

    patch.setattr(Curator, "_price", halved)


def price_moving_as_entering(patch: Patch) -> None:
    patch.setattr(
        Exposure, "sensitivity", lambda self, *, entering, moving: entering * self.max_rows
    )


def ignore_max_rows(patch: Patch) -> None:
    def one_row(self: Exposure, *, entering: int, moving: int) -> int:
        return entering if self.neighbours == "add-remove" else max(entering, moving)

    patch.setattr(Exposure, "sensitivity", one_row)


def forget_the_two_in_the_exponent(patch: Patch) -> None:
    patch.setattr(LargestPart, "entering", Fraction(1, 2))
    patch.setattr(LargestPart, "moving", Fraction(1, 2))


def split_for_the_largest_alone(patch: Patch) -> None:
    split = Account.split
    patch.setattr(
        Account, "split", lambda self, parts, neighbours: split(self, parts, "add-remove")
    )


def never_charge(patch: Patch) -> None:
    patch.setattr(Account, "_pay", lambda self, epsilon: None)


def charge_after_drawing(patch: Patch) -> None:
    charge = Account.charge

    def ask(self: Curator, transform: Any, *, epsilon: Any) -> Measurement:
        owed: list[Fraction] = []
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Account, "charge", lambda _, amount: owed.append(amount))
            answer = noisy_coefficients(self, transform, epsilon=epsilon)
        charge(self._account, *owed)
        return answer

    noisy_coefficients = Curator.noisy_coefficients
    patch.setattr(Curator, "noisy_coefficients", ask)


def noise_on_occupied_cells_only(patch: Patch) -> None:
    def ask(self: Any, transform: Any, *, epsilon: Any) -> Measurement:
        amount, noise = self._price(epsilon, entering=transform.entering, moving=transform.moving)
        self._account.charge(amount)
        values = dense_counts(self._Curator__held.data, self.shape)
        occupied = values[values > 0]
        self._noise.add_laplace(occupied, noise.scale)
        values[values > 0] = occupied
        return Measurement(values, noise, amount, {})

    patch.setattr(Curator, "noisy_coefficients", ask)


def tell_the_true_total(patch: Patch) -> None:
    noisy_coefficients = Curator.noisy_coefficients

    def ask(self: Any, transform: Any, *, epsilon: Any) -> Measurement:
        answer = noisy_coefficients(self, transform, epsilon=epsilon)
        total = int(self._Curator__held.data.counts.sum())
        noise = DiscreteLaplace(answer.noise.scale + total)
        return Measurement(answer.values + 0 * total, noise, answer.epsilon, {})

    patch.setattr(Curator, "noisy_coefficients", ask)


def ask_largest(curator: Curator) -> Any:
    return curator.select(LargestPart(Regions([0, 1])), epsilon=EPSILON)


def ask_both_parts(curator: Curator) -> Any:
    first, second = curator.split(Regions([0, 1]))
    return first.noisy_total(epsilon=EPSILON), second.noisy_total(epsilon=EPSILON)


ONE, THREE, ROWS = "at most 1 row", "at most 3 rows", "clipped and dropped rows"

# The mutant, where it must show, and how much is lost there.
LOSING: list[tuple[Callable[[Patch], None], Callable[[], PrivacyReport], Fraction]] = [
    (halve_the_scale, lambda: check("basic", ROWS, "add-remove"), 2 * E),
    (halve_the_scale, lambda: check("basic", ROWS, "replace-one"), 2 * E),
    (price_moving_as_entering, lambda: check("basic", ROWS, "replace-one"), 2 * E),
    (price_moving_as_entering, lambda: check("basic", THREE, "replace-one"), 2 * E),
    (ignore_max_rows, lambda: check("basic", THREE, "add-remove"), 3 * E),
    (ignore_max_rows, lambda: check("basic", THREE, "replace-one"), 3 * E),
    (split_for_the_largest_alone, lambda: check_asking(ask_both_parts, ROWS, "replace-one"), 2 * E),
]


@pytest.mark.parametrize(("mutate", "look", "loss"), LOSING)
def test_too_little_noise_is_caught(
    mutate: Any, look: Any, loss: Fraction, monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    report = look()
    assert report.worst == loss > report.epsilon
    assert not report.holds and "loss" in str(report.problem)


def test_forgetting_the_two_of_the_exponential_mechanism_is_caught(monkeypatch: Patch) -> None:
    assert check_asking(ask_largest, ROWS, "replace-one").holds
    forget_the_two_in_the_exponent(monkeypatch)
    report = check_asking(ask_largest, ROWS, "replace-one")
    assert not report.holds and report.worst > report.epsilon


@pytest.mark.parametrize(
    ("mutate", "words"),
    [
        (charge_after_drawing, "before it was charged"),
        (never_charge, "for the 0 charged"),
        (noise_on_occupied_cells_only, "number of values"),
        (tell_the_true_total, "returned"),
    ],
)
def test_what_no_scale_mends_is_caught(mutate: Any, words: str, monkeypatch: Patch) -> None:
    mutate(monkeypatch)
    report = check("basic", ROWS, "add-remove")
    assert not report.holds and words in str(report.problem)


def test_noise_on_occupied_cells_shows_also_when_as_many_are_occupied(monkeypatch: Patch) -> None:
    noise_on_occupied_cells_only(monkeypatch)
    schema = schema_of(ROWS, "replace-one")
    moved = loss_between("basic", schema, [("0",)], [("1",)])
    assert moved.loss == 0 and "returned" in str(moved.problem)


def break_bounding(monkeypatch: Patch, step: str, wrong: Callable[..., Any]) -> None:
    """No statement that was written before is used, and none that is written now is kept."""
    monkeypatch.setattr(people, step, wrong)
    for name in ("people_statement", "kept_statement"):
        monkeypatch.setattr(count, name, getattr(people, name).__wrapped__)


def test_rows_beyond_the_bound_are_caught(monkeypatch: Patch) -> None:
    """Counting, not the curator, is broken here: tables are counted anew."""
    schema = schema_of(THREE)
    person = [("0", "person")] * 4

    def ask(curator: Curator) -> Any:
        return curator.noisy_total(epsilon=EPSILON)

    assert curator_loss(ask, schema, [], person, epsilon=EPSILON).loss == E
    wide = schema_of(THREE)
    object.__setattr__(wide, "unit", Unit("id", 99))
    break_bounding(
        monkeypatch, "kept_rows", lambda rows, _, salt: bound.kept_rows(rows, wide, salt)
    )
    found = curator_loss(ask, schema, [], person, epsilon=EPSILON)
    assert found.loss == E * 4 / 3 and not found.holds


def test_people_without_an_id_pooled_as_one_are_caught(monkeypatch: Patch) -> None:
    def pooled(table: Any, schema: Any) -> Any:
        known = table.mutate(c1=table.c1.fill_null("nobody"))
        return bound.rows_of_people(known, schema)

    def ask(curator: Curator) -> Any:
        return curator.noisy_counts(Regions([0, 1]), epsilon=EPSILON)

    both = [("0", None), ("1", None)]
    break_bounding(monkeypatch, "rows_of_people", pooled)
    counted = Holdings(schema_of(ONE))
    # Of the two only one is kept, so one of them is displaced when the other comes.
    losses = [
        curator_loss(ask, schema_of(ONE), [row], both, epsilon=EPSILON, holdings=counted).loss
        for row in both
    ]
    assert sorted(losses) == [0, 2 * E]


def test_without_a_mutant_all_of_these_hold() -> None:
    """The catches above are not false alarms."""
    for _, look, _ in LOSING[:-1]:
        report = look()
        assert report.holds and report.tight

"""The curator charges, then draws, then answers, and answers nothing else."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from curator_parts import DENSE, SHAPE, BrokenNoise, ListedNoise, columns_of, counts_of, curator

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.curator import Curator, Grid, LargestPart, Regions, Whole
from hushtable.kernel.curator.curator import EtaSum
from hushtable.kernel.maps import Haar, Identity, Nominal, Product, Tree
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import Filter
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import ETA_LIMIT, LARGEST_SCALE, Exposure

PARTS = Regions([[0, 0, 1], [2, 1, -1]])
CELLS = Product((Identity(2), Identity(3)))

QUESTIONS: dict[str, Callable[..., Any]] = {
    "counts": lambda c, **e: c.noisy_counts(PARTS, **e),
    "total": lambda c, **e: c.noisy_total(**e),
    "coefficients": lambda c, **e: c.noisy_coefficients(CELLS, **e),
    "selection": lambda c, **e: c.select(LargestPart(PARTS), **e),
}
every_question = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)


class TestCharging:
    @every_question
    def test_it_charges_before_it_draws(self, ask: Callable[..., Any]) -> None:
        """What was spent, seen from inside the draw."""
        seen = []

        class Watching(ListedNoise):
            def add_laplace(self, *arguments: Any) -> Fraction:
                seen.append(asked.spent)
                return super().add_laplace(*arguments)

            def choose(self, *arguments: Any) -> tuple[int, Fraction]:
                seen.append(asked.spent)
                return super().choose(*arguments)

        asked = curator(noise=Watching())
        ask(asked, epsilon="0.25")
        assert seen == [Fraction(1, 4)]

    @every_question
    def test_a_draw_that_fails_stays_charged(self, ask: Callable[..., Any]) -> None:
        asked = curator(noise=BrokenNoise())
        with pytest.raises(OSError):
            ask(asked, epsilon="0.25")
        assert asked.spent == Fraction(1, 4)

    @every_question
    def test_more_than_is_left_is_refused_with_nothing_drawn(self, ask: Callable[..., Any]) -> None:
        noise = ListedNoise()
        asked = curator(noise=noise)
        ask(asked, epsilon="0.7")
        with pytest.raises(BudgetError, match=r"0\.4 is more than the 0\.3 left"):
            ask(asked, epsilon="0.4")
        assert len(noise.asked) == 1
        assert (asked.spent, asked.left) == (Fraction(7, 10), Fraction(3, 10))

    def test_calls_add_up_exactly(self) -> None:
        asked = curator(epsilon="1")
        for _ in range(10):
            asked.noisy_total(epsilon=0.1)
        assert asked.left == 0
        with pytest.raises(BudgetError):
            asked.noisy_total(epsilon="1e-12")

    @pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", "much", True, None])
    @every_question
    def test_what_is_no_epsilon_is_refused(self, ask: Callable[..., Any], epsilon: Any) -> None:
        noise = ListedNoise()
        asked = curator(noise=noise)
        with pytest.raises(OptionError):
            ask(asked, epsilon=epsilon)
        assert not noise.asked and not asked.spent

    @every_question
    def test_epsilon_has_no_default(self, ask: Callable[..., Any]) -> None:
        with pytest.raises(TypeError):
            ask(curator())

    @every_question
    def test_the_answer_says_what_it_cost(self, ask: Callable[..., Any]) -> None:
        assert ask(curator(), epsilon="0.1").epsilon == Fraction(1, 10)

    @every_question
    def test_a_forked_copy_cannot_spend(self, ask: Callable[..., Any]) -> None:
        asked = curator()
        child = os.fork()
        if child == 0:
            try:
                ask(asked, epsilon="0.1")
            except BudgetError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class TestSplitting:
    @pytest.mark.parametrize(
        ("neighbours", "cost"), [("add-remove", "0.5"), ("replace-one", "0.8")]
    )
    def test_parts_cost_the_largest_or_the_two_largest(self, neighbours: Any, cost: str) -> None:
        asked = curator(neighbours=neighbours)
        for part, epsilon in zip(asked.split(PARTS), ("0.3", "0.5", "0.2"), strict=True):
            part.noisy_total(epsilon=epsilon)
        assert asked.spent == Fraction(cost)

    @pytest.mark.parametrize(("neighbours", "cost"), [("add-remove", 1), ("replace-one", 4)])
    def test_splits_of_splits(self, neighbours: Any, cost: int) -> None:
        asked = curator(epsilon="4", neighbours=neighbours)
        for half in asked.split(Grid([[0, 1], [0, 0, 0]])):
            for third in half.split(Grid([[0, 0], [0, 1, 2]])):
                third.noisy_total(epsilon=1)
        assert asked.spent == cost

    def test_a_part_cannot_spend_what_the_whole_does_not_have(self) -> None:
        noise = ListedNoise()
        asked = curator(noise=noise)
        first, second, _ = asked.split(PARTS)
        asked.noisy_total(epsilon="0.6")
        first.noisy_total(epsilon="0.4")
        second.noisy_total(epsilon="0.4")
        with pytest.raises(BudgetError):
            second.noisy_total(epsilon="0.1")
        assert len(noise.asked) == 3

    def test_each_part_holds_its_own_rows_over_the_same_domain(self) -> None:
        for data in (counts_of(DENSE), columns_of(DENSE)):
            noise = ListedNoise()
            labels = np.array([[0, 0, 1], [2, 1, -1]])
            parts = curator(noise=noise, data=data).split(PARTS)
            assert {part.shape for part in parts} == {SHAPE}
            for number, part in enumerate(parts):
                part.noisy_coefficients(CELLS, epsilon="0.1")
                assert np.array_equal(noise.asked[-1][0], np.where(labels == number, DENSE, 0))


class Louder(Identity):
    levels = 0


class MyProduct(Product):
    pass


class MyRegions(Regions):
    def part_of(self, codes: Any) -> Any:
        return np.zeros(len(codes[0]), np.int64)


class MyScore(LargestPart):
    entering = 0


class MyStructure(Structure):
    entering = 0  # type: ignore[assignment]


class MySketch(Sketch):
    entering = 0  # type: ignore[assignment]


class MyFilter(Filter):
    pass


class TestTrust:
    """Only what the package vouches for is accepted, and a refusal costs nothing."""

    @pytest.mark.parametrize(
        "ask",
        [
            lambda c: c.noisy_coefficients(Product((Louder(2), Identity(3))), epsilon=1),
            lambda c: c.noisy_coefficients(MyProduct((Identity(2), Identity(3))), epsilon=1),
            lambda c: c.noisy_coefficients((Identity(2), Identity(3)), epsilon=1),
            lambda c: c.noisy_counts(MyRegions(np.zeros(SHAPE, int)), epsilon=1),
            lambda c: c.noisy_counts(np.zeros(SHAPE, int), epsilon=1),
            lambda c: c.split(MyRegions(np.zeros(SHAPE, int))),
            lambda c: c.select(MyScore(PARTS), epsilon=1),
            lambda c: c.select(LargestPart(MyRegions(np.zeros(SHAPE, int))), epsilon=1),
            lambda c: c.select(max, epsilon=1),
            lambda c: c.noisy_summary(MyStructure("cells", SHAPE), Filter(1), epsilon=1),
            lambda c: c.noisy_summary(Structure("cells", SHAPE), MyFilter(1), epsilon=1),
            lambda c: c.noisy_sketch(MySketch(2, 8, SHAPE), epsilon=1),
        ],
    )
    def test_strangers_and_subclasses_are_refused(self, ask: Callable[[Curator], Any]) -> None:
        self._refused(ask)

    def test_lists_that_change_after_they_were_checked_make_no_difference(self) -> None:
        """Neither to a sensitivity that was computed before, nor to the scale of a coefficient."""
        axes: Any = [Identity(128)]
        product = Product(axes)
        assert product.moving == 2
        axes[0] = Haar(128)
        assert product.axes == (Identity(128),)
        shares: Any = [Fraction(1, 8)] * 8
        tree = Tree.uniform(128, 2, shares=shares)
        factors = tree.level_factors
        shares[:] = [Fraction(10**6)] * 8
        assert tree == Tree.uniform(128, 2, shares=(Fraction(1, 8),) * 8)
        assert tree.level_factors == factors and hash(tree)

    @pytest.mark.parametrize(
        "ask",
        [
            lambda c: c.noisy_coefficients(Product((Identity(2),)), epsilon=1),
            lambda c: c.noisy_coefficients(Product((Identity(3), Identity(2))), epsilon=1),
            lambda c: c.noisy_counts(Regions([0, 1]), epsilon=1),
            lambda c: c.noisy_counts(Grid([[0, 1], [0, 0]]), epsilon=1),
            lambda c: c.noisy_counts(Whole((3, 2)), epsilon=1),
            lambda c: c.select(LargestPart(Whole((6,))), epsilon=1),
            lambda c: c.split(Whole((6,))),
        ],
    )
    def test_another_shape_is_refused(self, ask: Callable[[Curator], Any]) -> None:
        self._refused(ask)

    @pytest.mark.parametrize(
        "ask",
        [
            lambda c: c.noisy_summary(Structure("cells", SHAPE), Filter(1), epsilon=1),
            lambda c: c.noisy_sketch(Sketch(2, 8, SHAPE), epsilon=1),
        ],
    )
    def test_what_needs_counts_of_cells_is_refused_before_it_is_paid(
        self, ask: Callable[[Curator], Any]
    ) -> None:
        asked = curator(data=columns_of(DENSE))
        with pytest.raises(OptionError, match="counts of cells"):
            ask(asked)
        assert asked.spent == 0

    def _refused(self, ask: Callable[[Curator], Any]) -> None:
        noise = ListedNoise()
        asked = curator(noise=noise)
        with pytest.raises(OptionError):
            ask(asked)
        assert not noise.asked and not asked.spent


class TestPrecision:
    def test_distances_from_the_ideal_law_add_up_over_parts(self) -> None:
        asked = curator(noise=ListedNoise(ETA_LIMIT / 4))
        asked.noisy_total(epsilon="0.1")
        part, *_ = asked.split(PARTS)
        part.select(LargestPart(PARTS), epsilon="0.1")
        assert asked.eta == part.eta == ETA_LIMIT / 2

    def test_an_answer_beyond_the_limit_is_withheld(self) -> None:
        asked = curator(noise=ListedNoise(ETA_LIMIT / 2))
        asked.noisy_total(epsilon="0.1")
        asked.noisy_total(epsilon="0.1")
        with pytest.raises(BudgetError, match="precision"):
            asked.noisy_total(epsilon="0.1")

    def test_the_limit_itself_is_allowed(self) -> None:
        eta_sum = EtaSum()
        eta_sum.add(ETA_LIMIT)
        with pytest.raises(BudgetError):
            eta_sum.add(Fraction(1, 10**60))


class TestSecrecy:
    SECRET = np.array([[271828, 0], [0, 314159]])

    def curator(self, data: Any = None) -> Curator:
        return Curator(
            counts_of(self.SECRET) if data is None else data,
            exposure=Exposure("add-remove"),
            account=Account(Fraction(1)),
            noise=ListedNoise(),
        )

    def test_it_prints_no_data(self) -> None:
        asked = self.curator()
        parts = asked.split(Grid([[0, 1], [0, 0]]))
        for holder in (asked, *parts):
            shown = f"{holder} {holder!r} {vars(holder)} {dir(holder)}"
            assert "271828" not in shown and "314159" not in shown and "array" not in shown
        assert repr(asked) == "<Curator of a domain of shape (2, 2), ε left: 1>"

    def test_it_prints_the_same_for_every_table(self) -> None:
        empty = counts_of(np.zeros((2, 2)))
        assert repr(self.curator()) == repr(self.curator(empty))

    @pytest.mark.parametrize("carry", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_it_cannot_be_carried_away(self, carry: Callable[[Any], Any]) -> None:
        with pytest.raises(TypeError, match="true data"):
            carry(self.curator())

    def test_answers_are_not_views_of_the_data(self) -> None:
        asked = self.curator()
        cells = Product((Identity(2), Identity(2)))
        asked.noisy_coefficients(cells, epsilon="0.1").values[:] = 0
        again = asked.noisy_coefficients(cells, epsilon="0.1").values
        assert np.array_equal(again, self.SECRET + 1)


class TestMisuse:
    @every_question
    def test_an_epsilon_too_small_for_its_noise_is_refused_unpaid(
        self, ask: Callable[..., Any]
    ) -> None:
        asked = curator()
        with pytest.raises(OptionError, match="so small"):
            ask(asked, epsilon="1e-30")
        assert asked.spent == 0

    def test_a_factor_too_large_for_its_noise_is_refused_unpaid(self) -> None:
        noise, wide = ListedNoise(), Product((Identity(2), Nominal(3, ((0, 3),))))
        asked = curator(noise=noise)
        # A row changes 2 in all; the factor of coefficients below 3 siblings is 4.
        smallest = Fraction(2 * 4, LARGEST_SCALE)
        asked.noisy_coefficients(wide, epsilon=smallest)
        assert max(scale for _, scale in noise.asked) == LARGEST_SCALE
        with pytest.raises(OptionError, match="so small"):
            asked.noisy_coefficients(wide, epsilon=smallest / 2)
        assert asked.spent == smallest and len(noise.asked) == 2

    def test_a_partition_does_not_change_once_it_is_made(self) -> None:
        labels = np.array([[0, 0, 1], [2, 1, -1]])
        parts = Regions(labels)
        labels[:] = 0
        assert parts.part_of((np.array([1]), np.array([0]))) == [2]
        with pytest.raises(ValueError, match="read-only"):
            parts._labels[0] = 1

    def test_an_experiment_s_curator_says_that_it_is_not_private(self) -> None:
        assert not curator().private

"""What the curator counts, and how much noise one person's change asks for."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from curator_parts import DENSE, SHAPE, ListedNoise, columns_of, counts_of, curator
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import OptionError
from hushtable.kernel.curator import Grid, LargestPart, Regions, Whole
from hushtable.kernel.curator import holding as holdings
from hushtable.kernel.maps import Haar, Identity, Nominal, Product, Tree

CELLS = Product((Identity(2), Identity(3)))

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def tables(draw: Any) -> np.ndarray:
    shape = draw(shapes)
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))).reshape(shape)


@st.composite
def tables_and_regions(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    dense = draw(tables())
    labels = draw(st.lists(st.integers(-1, 4), min_size=dense.size, max_size=dense.size))
    return dense, np.array([0, *labels[1:]]).reshape(dense.shape)


@st.composite
def tables_and_grids(draw: Any) -> tuple[np.ndarray, list[list[int]]]:
    dense = draw(tables())
    sides = [draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)) for n in dense.shape]
    return dense, [[2, *side[1:]] for side in sides]


def asked_values(data: Any, partition: Any) -> list[int]:
    noise = ListedNoise()
    curator(noise=noise, data=data).noisy_counts(partition, epsilon=1)
    return noise.asked[0][0].tolist()


class TestCounting:
    @given(tables_and_regions())
    def test_regions_count_their_cells(self, case: tuple[np.ndarray, np.ndarray]) -> None:
        dense, labels = case
        partition = Regions(labels, parts=6)
        expected = [int(dense[labels == part].sum()) for part in range(6)]
        assert asked_values(counts_of(dense), partition) == expected
        assert asked_values(columns_of(dense), partition) == expected

    @given(tables_and_grids())
    def test_grids_count_combinations_of_groups(
        self, case: tuple[np.ndarray, list[list[int]]]
    ) -> None:
        dense, groups = case
        expected = dict.fromkeys(product(range(3), repeat=dense.ndim), 0)
        for cell in np.ndindex(dense.shape):
            part = tuple(group[code] for group, code in zip(groups, cell, strict=True))
            if min(part) >= 0:
                expected[part] += int(dense[cell])
        for data in (counts_of(dense), columns_of(dense)):
            assert asked_values(data, Grid(groups)) == list(expected.values())

    @given(tables())
    def test_the_whole_counts_every_row(self, dense: np.ndarray) -> None:
        for data in (counts_of(dense), columns_of(dense)):
            assert asked_values(data, Whole(dense.shape)) == [dense.sum()]

    @given(tables())
    def test_the_dense_matrix_has_every_cell(self, dense: np.ndarray) -> None:
        for data in (counts_of(dense), columns_of(dense)):
            assert np.array_equal(holdings.dense_counts(data, data.shape), dense)

    def test_pieces_of_a_large_holding_add_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(holdings, "_CHUNK", 2)
        labels = np.array([[0, 0, 1], [2, 1, -1]])
        for data in (counts_of(DENSE), columns_of(DENSE)):
            assert asked_values(data, Regions(labels)) == [4, 3, 0]
            assert np.array_equal(holdings.dense_counts(data, data.shape), DENSE)
            parts = holdings.split_data(data, Regions(labels))
            for number, part in enumerate(parts):
                expected = np.where(labels == number, DENSE, 0)
                assert np.array_equal(holdings.dense_counts(part, part.shape), expected)

    def test_empty_cells_and_parts_get_noise_too(self) -> None:
        empty = counts_of(np.zeros(SHAPE))
        assert curator(data=empty).noisy_coefficients(CELLS, epsilon=1).values.tolist() == [
            [1, 1, 1],
            [1, 1, 1],
        ]
        assert curator(data=empty).noisy_counts(
            Regions(np.zeros(SHAPE, int), parts=4), epsilon=1
        ).values.tolist() == [1, 1, 1, 1]

    def test_a_partition_does_not_change_with_the_array_it_was_made_from(self) -> None:
        labels = np.array([[0, 0, 1], [2, 1, -1]])
        partition = Regions(labels)
        labels[:] = 0
        assert asked_values(counts_of(DENSE), partition) == [4, 3, 0]

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Regions([0.5, 1]),
            lambda: Regions([True, False]),
            lambda: Regions([-2, 0]),
            lambda: Regions([-1, -1]),
            lambda: Regions([0, 3], parts=3),
            lambda: Regions([0, 1], parts=2.5),
            lambda: Regions([0, 1], parts=True),
            lambda: Regions([[0, 1], [0]]),
            lambda: Grid([]),
            lambda: Grid([[0, 1], [-1]]),
            lambda: Grid([[[0, 1], [1, 0]]]),
            lambda: Grid([0, 1]),
        ],
    )
    def test_what_is_no_partition_is_refused(self, make: Any) -> None:
        with pytest.raises(OptionError):
            make()


class TestScales:
    """Scale = what one person can change / ε."""

    @pytest.mark.parametrize("max_rows", [1, 3])
    @pytest.mark.parametrize(
        ("neighbours", "total", "counts"), [("add-remove", 1, 1), ("replace-one", 1, 2)]
    )
    def test_noise_grows_with_what_a_person_can_change(
        self, neighbours: Any, total: int, counts: int, max_rows: int
    ) -> None:
        noise = ListedNoise()
        asked = curator(neighbours=neighbours, max_rows=max_rows, noise=noise, epsilon="2")
        measured = [
            asked.noisy_total(epsilon="0.1"),
            asked.noisy_counts(Grid([[0, 1], [0, 0, 0]]), epsilon="0.1"),
            asked.noisy_coefficients(CELLS, epsilon="0.1"),
        ]
        expected = [10 * max_rows * change for change in (total, counts, counts)]
        assert [scale for _, scale in noise.asked] == expected
        assert [measurement.noise.scale for measurement in measured] == expected

    @pytest.mark.parametrize("max_rows", [1, 3])
    @pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
    def test_selection_weighs_by_half_of_epsilon_per_persons_change(
        self, neighbours: Any, max_rows: int
    ) -> None:
        noise = ListedNoise()
        asked = curator(neighbours=neighbours, max_rows=max_rows, noise=noise)
        chosen = asked.select(LargestPart(Grid([[0, 1], [0, 0, 0]])), epsilon="0.3")
        scores = DENSE.sum(axis=1).tolist()
        assert noise.asked == [[Fraction(3, 10) * score / (2 * max_rows) for score in scores]]
        assert chosen.choice == 1

    @pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
    def test_a_score_changes_by_no_more_than_it_says(self, neighbours: Any) -> None:
        score = LargestPart(Whole(SHAPE))
        before = np.array([2, 5, 0])
        after = [before + change for change in np.eye(3, dtype=int)]
        if neighbours == "replace-one":
            after = [after[i] - np.eye(3, dtype=int)[j] for i in range(3) for j in range(2)]
        claimed = score.entering if neighbours == "add-remove" else score.moving
        changes = [
            max(abs(a - b) for a, b in zip(score.scores(counts), score.scores(before), strict=True))
            for counts in after
        ]
        assert max(changes) == claimed

    def test_every_coefficient_takes_noise_once_at_the_scale_of_its_factors(self) -> None:
        shares = (Fraction(1, 6), Fraction(5, 6))
        axes = (Nominal(5, ((0, 5), (0, 4))), Tree.uniform(3, 3, shares=shares), Haar(2))
        noise, whole = ListedNoise(Fraction(1, 2**80)), Product(axes)
        dense = np.arange(30).reshape(5, 3, 2)
        asked = curator(noise=noise, data=counts_of(dense))
        noisy = asked.noisy_coefficients(whole, epsilon="0.5")
        assert np.array_equal(noisy.values, whole.forward(dense.copy()) + 1)
        assert noisy.noise.scale == 2 * 3 * 2 * 2
        factors = product([1, *[2] * 2, *[6] * 4], [3, *[Fraction(3, 5)] * 3], [1, 1])
        expected = sorted(noisy.noise.scale * a * b * c for a, b, c in factors)
        drawn = sorted(scale for values, scale in noise.asked for _ in values.flat)
        assert drawn == expected
        assert asked.eta == len(noise.asked) * Fraction(1, 2**80)

    def test_a_product_multiplies_what_a_row_changes_along_its_axes(self) -> None:
        assert (CELLS.entering, CELLS.moving) == (1, 2)
        shape, changes = CELLS.shape, []
        for cell in np.ndindex(shape):
            row = np.zeros(shape, np.int64)
            row[cell] = 1
            changes.append(np.abs(CELLS.forward(row)).sum())
        assert max(changes) == CELLS.entering

"""How far from the ideal law the curator says its draws are: by public numbers, and by all."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator, LargestPart, Regions
from hushtable.kernel.curator.sparse_summary import held_places_eta
from hushtable.kernel.maps import Haar, Identity, Nominal, Product
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import Filter, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import On, Structure
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.closeness import empty_places_eta, laplace_eta
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure, Neighbours

SHAPE = (4, 3)
ONE_ROW = Exposure("add-remove")
CELLS = Regions(np.arange(12).reshape(SHAPE))
RULES: list[Rule] = [Filter(2), Filter(2, two_sided=False), Threshold(5, 2), Priority(4)]


def curator(cells: dict[int, int], exposure: Exposure = ONE_ROW, seed: int = 1) -> Curator:
    codes = np.array(sorted(cells), np.int64)
    counts = Counts(SHAPE, codes, np.array([cells[code] for code in codes.tolist()], np.int64))
    noise = EntropyNoise(SeededEntropy(seed))
    return Curator(counts, exposure=exposure, account=Account(Fraction(9)), noise=noise)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_summary_counts_empty_places_and_those_that_one_person_touches(
    rule: Rule, on: On, max_rows: int, neighbours: Neighbours
) -> None:
    structure, exposure = Structure(on, SHAPE), Exposure(neighbours, max_rows)
    asked = curator({0: 1}, exposure)
    found = asked.noisy_summary(structure, rule, epsilon="0.5")
    people = 2 if neighbours == "replace-one" else 1
    touched = people * max_rows * structure.entering
    expected = empty_places_eta(structure.places, rule, found.noise.scale)
    assert asked.eta == expected + touched * laplace_eta(found.noise.scale)


@pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 2])
def test_no_person_touches_more_places_than_are_counted(
    on: On, neighbours: Neighbours, max_rows: int
) -> None:
    """Places that hold another value, or are held in one of two tables only, over all of them."""
    structure = Structure(on, (5,))
    scale, most = Fraction(1), 0
    persons = [rows for k in range(max_rows + 1) for rows in itertools.product(range(5), repeat=k)]
    for others, one in itertools.product([(), (0,), (1, 3)], persons):
        for two in [()] if neighbours == "add-remove" else persons:
            first, second = (_held(structure, (*others, *rows)) for rows in (one, two))
            most = max(most, sum(first.get(p) != second.get(p) for p in {*first, *second}))
    counted = held_places_eta(structure, scale, Exposure(neighbours, max_rows))
    assert 0 < most * laplace_eta(scale) <= counted


def _held(structure: Structure, rows: tuple[int, ...]) -> dict[int, int]:
    codes, counts = np.unique(np.array(rows, np.int64), return_counts=True)
    places, values = structure.forward(codes, counts.astype(np.int64))
    return dict(zip(places.tolist(), values.tolist(), strict=True))


def test_nothing_public_tells_how_many_places_were_occupied() -> None:
    """Draws depend on that number; how far they are from the ideal is told, and must not."""
    told = []
    for occupied in (5, 6):
        asked = curator(dict.fromkeys(range(occupied), 1))
        for rule in (Filter(2**40), Filter(2), Threshold(9), Priority(3)):
            asked.noisy_summary(Structure("cells", SHAPE), rule, epsilon="0.1")
        told.append(_public(asked))
    assert told[0] == told[1] and told[0]["spent"] and told[0]["eta"]


def _public(asked: Curator) -> dict[str, Any]:
    values = {name: getattr(asked, name) for name in dir(asked) if not name.startswith("_")}
    plain = {name: value for name, value in values.items() if not callable(value)}
    return {**plain, "repr": repr(asked)}


QUESTIONS: dict[str, Any] = {
    "counts": lambda c: c.noisy_counts(CELLS, epsilon=1),
    "coefficients": lambda c: c.noisy_coefficients(
        Product((Haar(4), Nominal(3, ((0, 3),)))), epsilon=1
    ),
    "choice": lambda c: c.select(LargestPart(CELLS), epsilon=1),
    "sketch": lambda c: c.noisy_sketch(Sketch(3, 8, SHAPE), epsilon=1),
    **{
        f"{type(rule).__name__} {i}": lambda c, rule=rule: c.noisy_summary(
            Structure("cells", SHAPE), rule, epsilon=1
        )
        for i, rule in enumerate(RULES)
    },
    "rooted": lambda c: c.noisy_summary(
        Structure("dyadic", SHAPE), Priority(3), epsilon=1, rooted=True
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_neither_the_table_nor_the_noise_changes_the_distance(question: str) -> None:
    tables = [{}, {0: 1}, {0: 2}, {0: 1, 5: 1}, dict.fromkeys(range(12), 40)]
    stated = set()
    for seed, table in enumerate(tables):
        asked = curator(table, seed=seed)
        QUESTIONS[question](asked)
        stated.add(asked.eta)
    (eta,) = stated
    assert (eta == 0) == (question == "choice") and eta < Fraction(1, 2**100)


def test_every_coefficient_is_counted_at_its_own_scale() -> None:
    asked, whole = curator({0: 1}), Product((Identity(4), Haar(3)))
    found = asked.noisy_coefficients(whole, epsilon=1)
    blocks = [(np.zeros(whole.coefficient_shape)[where].size, f) for where, f in whole.blocks()]
    assert sum(size for size, _ in blocks) == found.values.size
    expected = sum(size * laplace_eta(found.noise.scale * factor) for size, factor in blocks)
    assert asked.eta == expected > 0


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_regions_are_counted_as_if_every_cell_were_one(neighbours: Neighbours) -> None:
    """They may have been chosen by noisy answers: neither their number nor their scale is told."""
    stated, needed = set(), []
    for parts in (1, 2, 3, 12):
        asked = curator({0: 1}, Exposure(neighbours))
        regions = Regions(np.arange(12).reshape(SHAPE) % parts)
        found = asked.noisy_counts(regions, epsilon="0.01")
        needed.append(found.values.size * laplace_eta(found.noise.scale))
        stated.add(asked.eta)
    (eta,) = stated
    assert eta >= max(needed) == needed[-1]


def test_the_parts_of_a_split_table_have_one_sum() -> None:
    asked = curator({0: 1, 7: 2})
    one, two, *_ = asked.split(CELLS)
    one.noisy_total(epsilon=1)
    before = asked.eta
    two.noisy_total(epsilon=1)
    assert one.eta == two.eta == asked.eta == 2 * before > 0

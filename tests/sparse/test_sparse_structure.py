"""Places: what a row touches, what it changes, and which of them make up a range."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.families.sparse.ranges import haar_cell_gains, weights_of
from hushtable.kernel.maps import Haar
from hushtable.kernel.maps.structure import (
    KINDS,
    MOST_PLACES,
    Structure,
    located,
    nodes,
    offsets,
    splits,
)

SHAPES = [(1,), (2,), (3,), (5,), (8,), (13,), (2, 3), (4, 4), (3, 1, 2), (5, 4)]
every_kind = pytest.mark.parametrize("on", KINDS)
every_shape = pytest.mark.parametrize("shape", SHAPES)


def axis_matrix(on: str, size: int) -> NDArray[np.int64]:
    """What a place holds of each code of an axis, from the definition."""
    if on == "cells":
        return np.eye(size, dtype=np.int64)
    if on == "haar":
        return Haar(size).matrix()
    rows = []
    for level in reversed(range(splits(size) + 1)):
        for node in range(-(-size // 2**level)):
            row = np.zeros(size, np.int64)
            row[node * 2**level : (node + 1) * 2**level] = 1
            rows.append(row)
    return np.array(rows)


def matrix(structure: Structure) -> NDArray[np.int64]:
    whole = np.ones((1, 1), np.int64)
    for size in structure.shape:
        whole = np.kron(whole, axis_matrix(structure.on, size))
    return whole


@every_kind
@every_shape
def test_only_touched_places_are_computed_and_all_of_them(on: Any, shape: Any) -> None:
    structure, random = Structure(on, shape), np.random.default_rng(len(shape))
    for share in (0.0, 0.3, 1.0):
        dense = random.integers(1, 9, shape) * (random.random(shape) < share)
        codes = random.permutation(np.flatnonzero(dense.reshape(-1)))
        places, values = structure.forward(codes, dense.reshape(-1)[codes])
        assert (np.diff(places) > 0).all()
        found = np.zeros(structure.places, np.int64)
        found[places] = values
        assert (found == matrix(structure) @ dense.reshape(-1)).all()
        assert len(places) <= len(codes) * structure.entering


@every_kind
@every_shape
def test_what_one_row_changes(on: Any, shape: Any) -> None:
    """The bounds hold for every cell and every pair of cells, and are attained."""
    structure = Structure(on, shape)
    changes = matrix(structure)
    entering = np.abs(changes).sum(axis=0)
    assert entering.max() == structure.entering
    pairs = itertools.combinations(range(changes.shape[1]), 2)
    moving = max((int(np.abs(changes[:, a] - changes[:, b]).sum()) for a, b in pairs), default=0)
    assert moving <= structure.moving
    if on == "cells" and math.prod(shape) > 1:
        assert moving == structure.moving
    if on == "dyadic" and all(size & (size - 1) == 0 for size in shape):
        assert moving == structure.moving


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["dyadic", "haar"]), st.integers(1, 40), st.data())
def test_a_range_is_a_weighted_sum_of_places(on: str, size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size))
    stop = data.draw(st.integers(start, size))
    row = np.zeros(len(axis_matrix(on, size)))
    for place, weight in weights_of(on, start, stop, size).items():
        row[place] += weight
    wanted = np.zeros(size)
    wanted[start:stop] = 1
    assert np.array_equal(row @ axis_matrix(on, size), wanted)
    assert np.count_nonzero(row) <= 2 * (1 + splits(size))


@pytest.mark.parametrize("size", [*range(1, 40), 1000])
def test_gains_of_single_codes_are_sums_of_squared_weights(size: int) -> None:
    found = haar_cell_gains(np.arange(size), size)
    for code in range(size):
        weights = np.array(list(weights_of("haar", code, code + 1, size).values()))
        assert found[code] == np.square(weights).sum()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 1000, 10**18])
def test_levels_and_nodes_are_numbered_from_the_root(size: int) -> None:
    counts, first = nodes(size), offsets(size)
    assert counts[0] == size and counts[-1] == 1 and first[-1] == 0
    assert first[0] + size == sum(counts)
    for level, (number, start) in enumerate(zip(counts, first, strict=True)):
        ends = np.array([start, start + number - 1])
        assert [part.tolist() for part in located(ends, size)] == [[level] * 2, [0, number - 1]]


def kept_by_definition(structure: Structure, places: set[int]) -> set[int]:
    """Nodes all of whose ancestors are there: written out for one node at a time."""
    axes = structure.axes

    def along(place: int) -> list[tuple[int, int]]:
        codes = np.unravel_index(place, axes)
        pairs = zip(codes, structure.shape, strict=True)
        return [tuple(int(x[0]) for x in located(np.array([c]), s)) for c, s in pairs]  # type: ignore[misc]

    def ancestors(place: int) -> set[int]:
        lists = []
        for (level, node), size in zip(along(place), structure.shape, strict=True):
            steps = range(level, splits(size) + 1)
            lists.append([offsets(size)[up] + (node >> (up - level)) for up in steps])
        return {int(np.ravel_multi_index(c, axes)) for c in itertools.product(*lists)}

    return {place for place in places if ancestors(place) <= places}


@pytest.mark.parametrize("shape", [(1,), (5,), (8,), (3, 4), (2, 3, 2)])
def test_a_node_stays_only_below_all_its_ancestors(shape: Any) -> None:
    structure, random = Structure("dyadic", shape), np.random.default_rng(1)
    dropped = 0
    for share in (0.3, 0.8, 0.95, 1.0):
        for _ in range(5):
            places = np.flatnonzero(random.random(structure.places) < share)
            stays = structure.rooted(places)
            wanted = kept_by_definition(structure, set(places.tolist()))
            assert set(places[stays].tolist()) == wanted
            dropped += len(places) - len(wanted)
    assert dropped > 0 or shape == (1,)
    assert len(structure.rooted(np.zeros(0, np.int64))) == 0


def test_what_has_too_many_places_is_refused_in_one_line() -> None:
    assert Structure("cells", (10**18,)).places < MOST_PLACES
    assert Structure("dyadic", (10**18,)).places < MOST_PLACES
    for on, shape in (("cells", (2**62, 2)), ("dyadic", (2**30, 2**31)), ("haar", (10**7,) * 3)):
        with pytest.raises(OptionError, match=r"about 10\^.* places.*coarser") as refused:
            Structure(on, shape)  # type: ignore[arg-type]
        assert "\n" not in str(refused.value)
    for shape in ((), (0,), (True,), (2.0,)):
        with pytest.raises(OptionError, match="one size"):
            Structure("cells", shape)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="on must be"):
        Structure("nodes", (2,))  # type: ignore[arg-type]


def test_a_far_cell_touches_one_node_of_every_level() -> None:
    structure = Structure("dyadic", (10**18,))
    places, values = structure.forward(np.array([10**18 - 1]), np.array([7]))
    assert len(places) == 61 and (values == 7).all()
    assert places[-1] == structure.places - 1 and places[0] == 0


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.integers(0, 2**62 - 1), st.integers(1, 2**40), max_size=20), st.data())
def test_cells_come_out_in_order_however_large_they_are(
    counts: dict[int, int], data: st.DataObject
) -> None:
    given_order = data.draw(st.permutations(list(counts)))
    codes = np.array(given_order, np.int64)
    values = np.array([counts[code] for code in given_order], np.int64)
    places, found = Structure("cells", (2**62,)).forward(codes, values)
    assert dict(zip(places.tolist(), found.tolist(), strict=True)) == counts
    assert places.tolist() == sorted(counts)

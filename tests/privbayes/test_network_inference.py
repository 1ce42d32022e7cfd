"""Inference on a network: what enumeration says, for boxes, groups, cells and errors."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_cases import NETWORKS, SCHEMA, network_of, random_fit, reader_of, schema_of
from tests.shared_sizes import some_of

from hushtable.errors import QueryError
from hushtable.families.network import inference
from hushtable.families.network.fit import FittedNetwork, project
from hushtable.families.network.inference import Elimination, weights_of
from hushtable.families.network.network import Link, Network
from hushtable.families.network.sample import RowSampler
from hushtable.query.box import Box, CodeSet
from hushtable.query.sql import parse_where
from hushtable.schema import Hierarchy, nominal

every_network = pytest.mark.parametrize("name", NETWORKS)


def boxes(shape: tuple[int, ...]) -> st.SearchStrategy[Box]:
    def codes(size: int) -> st.SearchStrategy[CodeSet]:
        chosen = st.sets(st.integers(0, size - 1), min_size=0)
        some = chosen.map(lambda found: CodeSet.of(*((code, code + 1) for code in found)))
        return st.one_of(st.just(CodeSet.full(size)), some)

    return st.tuples(*map(codes, shape)).map(Box)


def mask_of(box: Box) -> np.ndarray:
    inside = np.zeros(SCHEMA.shape, bool)
    picks = [[code for code in range(7) if code in codes] for codes in box.sets]
    inside[np.ix_(*picks)] = True
    return inside


@every_network
@settings(deadline=None, max_examples=40)
@given(box=boxes(SCHEMA.shape))
def test_a_box_is_the_sum_of_its_cells(name: str, box: Box) -> None:
    reader = reader_of(random_fit(network_of(name)))
    value, law = reader.count((box,))
    assert value == pytest.approx(reader.cells()[mask_of(box)].sum(), abs=1e-9)
    assert law.variance >= 0


@every_network
def test_cells_are_the_product_of_the_conditionals(name: str) -> None:
    from network_cases import joint_of

    fitted = random_fit(network_of(name))
    expected = fitted.total * joint_of(fitted.network, list(fitted.conditionals))
    assert np.allclose(reader_of(fitted).cells(), expected)


@every_network
def test_groups_are_boxes(name: str) -> None:
    reader = reader_of(random_fit(network_of(name)))
    boxes = parse_where("age > 1 AND NOT job = 'office' OR grade = 2", SCHEMA)
    ages, jobs = [(0, 2), (2, 5), (6, 7)], [(0, 2), (2, 5), (5, 6)]
    found = reader.group(boxes, [(1, jobs), (0, ages)])
    for row, ((a, b), (c, d)) in enumerate(itertools.product(jobs, ages)):
        cut = Box((CodeSet.of((c, d)), CodeSet.of((a, b)), CodeSet.full(2), CodeSet.full(4)))
        value, law = reader.count(tuple(box.intersection(cut) for box in boxes))
        assert found.values[row] == pytest.approx(value, abs=1e-9)
        assert found.laws[found.law_of_row[row]].variance == pytest.approx(law.variance)


@every_network
def test_ranges_are_boxes(name: str) -> None:
    reader = reader_of(random_fit(network_of(name)))
    starts = np.array([[0, 0, 0, 0], [1, 2, 0, 1], [3, 0, 1, 0], [2, 2, 1, 3]])
    stops = np.array([[7, 6, 2, 4], [4, 6, 1, 3], [4, 1, 2, 1], [2, 3, 2, 4]])
    values, variances = reader.ranges(starts, stops)
    for i in range(len(starts)):
        box = Box(tuple(CodeSet.of((a, b)) for a, b in zip(starts[i], stops[i], strict=True)))
        value, law = reader.count((box,))
        assert values[i] == pytest.approx(value, abs=1e-9)
        assert variances[i] == pytest.approx(law.variance)


CONDITIONS = ["age = 3", "job = 'field' AND sex = 'F'", "grade > 2 OR age < 2", "job IS NULL"]


@every_network
@pytest.mark.parametrize("where", some_of(CONDITIONS, CONDITIONS[1:2]))
def test_the_error_is_that_of_the_delta_method(name: str, where: str) -> None:
    """Move every cell of every measured table a little, and refit: the slopes are the same."""
    fitted = random_fit(network_of(name), seed=3, least=0.05)
    reader, boxes = reader_of(fitted), parse_where(where, SCHEMA)
    value = reader.count(boxes)[0]
    weights = [weights_of(reader.network.schema.shape, box, (), ()) for box in boxes]
    variance = reader._estimate(weights, 1)[1][0]
    expected = (value / fitted.total) ** 2 * fitted.total_variance
    for i, table in enumerate(fitted.tables):
        for cell in np.ndindex(table.shape):
            slope = (_moved(fitted, boxes, i, cell, 1e-4) - value) / 1e-4
            expected += fitted.variances[i] * slope**2
    assert variance == pytest.approx(expected, rel=1e-3)


def _moved(fitted: FittedNetwork, boxes: object, i: int, cell: object, by: float) -> float:
    tables = [table.copy() for table in fitted.tables]
    tables[i][cell] += by
    joint = [project(fitted.network, tables, link) for link in fitted.network.links]
    conditionals = tuple(table / table.sum(axis=-1, keepdims=True) for table in joint)
    return reader_of(replace(fitted, conditionals=conditionals)).count(boxes)[0]


def test_what_is_too_entangled_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of(random_fit(network_of("all of it")))
    monkeypatch.setattr(inference, "MOST_CELLS", 10)
    with pytest.raises(QueryError, match="entangled"):
        reader.count(parse_where("age > 1", SCHEMA))


def test_a_cell_of_very_many_attributes_is_answered() -> None:
    """One attribute with seventy children, each with a child of its own: no table of all axes."""
    flags = [nominal(f"a{i}", Hierarchy.flat(["no", "yes"])) for i in range(141)]
    middle = [Link(i, ((0, 0),)) for i in range(1, 71)]
    leaves = [Link(i, ((i - 70, 0),)) for i in range(71, 141)]
    network = Network(schema_of(*flags), (Link(0), *middle, *leaves))
    table = np.array([[0.25, 0.75], [0.5, 0.5]])
    tables = (np.array([0.5, 0.5]), *[table] * 140)
    fitted: Any = SimpleNamespace(network=network, conditionals=tables)
    weights = {axis: np.array([[0.0, 1.0]]) for axis in range(141)}
    found = Elimination(fitted, weights)
    assert found.probabilities == pytest.approx([0.5**141], rel=1e-12)
    found.differentiate()
    slope = np.zeros((1, 2, 2))
    slope[0, 1, 1] = 0.5**140
    assert found.slope(leaves[0]) == pytest.approx(slope, rel=1e-12)


def test_attributes_that_do_not_matter_are_left_out() -> None:
    links = network_of("a chain").links
    weights = {1: np.ones((1, 6))}
    assert inference.relevant(links, weights) == [Link(0), links[1]]


@every_network
def test_sampled_rows_match_the_network(name: str) -> None:
    """Every cell of the joint table, within six standard deviations."""
    fitted = random_fit(network_of(name))
    rows = 200_000
    codes = RowSampler(fitted).codes(rows, np.random.default_rng(5))
    counts = np.zeros(SCHEMA.shape)
    np.add.at(counts, tuple(codes), 1)
    expected = reader_of(fitted).cells() / fitted.total * rows
    assert np.all(np.abs(counts - expected) <= 6 * np.sqrt(expected) + 6)
    assert np.all(counts[expected == 0] == 0)


def test_the_alias_tables_keep_every_probability() -> None:
    fitted = random_fit(network_of("levels"))
    from hushtable.families.network.sample import AliasTable

    for conditional in fitted.conditionals:
        table = AliasTable.of(conditional)
        rows = conditional.reshape(-1, table.width)
        kept, other = table.keep.reshape(rows.shape), table.other.reshape(rows.shape)
        shares = kept / table.width
        for row in range(len(rows)):
            np.add.at(shares[row], other[row], (1 - kept[row]) / table.width)
        assert np.allclose(shares, rows, atol=1e-12)


def test_a_network_is_read_back_as_it_was_written() -> None:
    for name in NETWORKS:
        network = network_of(name)
        assert Network.from_dict(SCHEMA, network.to_dict()) == network

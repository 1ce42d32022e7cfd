"""The mechanism: what it spends, what it asks, what it may choose, and what comes out of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables import binary_schema, chain, curator_of, measured, mixed, mixed_schema

from hushtable.auditing.transcript import ChoiceDraw, LaplaceDraw, NoNoise, Recorder
from hushtable.errors import OptionError
from hushtable.families.network.ask import privbayes
from hushtable.families.network.ask.options import read_options
from hushtable.families.network.ask.privbayes import (
    PrivBayes,
    Search,
    Shares,
    useful_cells,
)
from hushtable.families.network.fit import fit
from hushtable.families.network.network import Link, Network
from hushtable.families.network.read import NetworkReader
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.privacy.loss import NEIGHBOURS
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.schema import Unit

relations = pytest.mark.parametrize("neighbours", NEIGHBOURS)


def draws_of(data: Any, schema: Any, epsilon: str, **settings: Any) -> tuple[list[Any], Any]:
    recorder = Recorder(NoNoise())
    curator = curator_of(data, schema, epsilon, recorder)
    chosen = {key: str(value) for key, value in settings.items()}
    content = PrivBayes().measure(curator, schema, epsilon=Fraction(epsilon), settings=chosen)
    assert curator.spent == Fraction(epsilon)
    return recorder.draws, content


# ── accounting ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "7"])
@pytest.mark.parametrize("settings", [{}, {"rows": 2000}, {"beta": "0.3"}, {"score": "I"}])
def test_all_of_epsilon_is_spent_and_no_more(epsilon: str, settings: dict[str, Any]) -> None:
    for data, schema in ((mixed(2000), mixed_schema()), (chain(2000, 6), binary_schema(6))):
        content, _, curator = measured(data, schema, epsilon, **settings)
        assert curator.spent == Fraction(epsilon) and curator.left == 0
        names = ("epsilon_rows", "epsilon_network", "epsilon_marginals")
        parts = [Fraction(content.parameters[name]) for name in names]
        assert sum(parts) == Fraction(epsilon)
        assert (parts[0] == 0) == ("rows" in settings)


def test_nothing_is_spent_on_a_network_where_nobody_can_have_a_parent() -> None:
    for settings in ({"degree": 0}, {"theta": 10**6}):
        draws, content = draws_of(mixed(2000), mixed_schema(), "1", **settings)
        assert content.parameters["epsilon_network"] == "0"
        assert not any(isinstance(draw, ChoiceDraw) for draw in draws)
        assert all(not entry["parents"] for entry in content.parameters["network"])
        assert Fraction(content.parameters["epsilon_marginals"]) == Fraction(49, 50)


def test_one_attribute_needs_no_network() -> None:
    schema = binary_schema(1)
    content, network, curator = measured(chain(100, 1), schema, "1")
    assert network.links == (Link(0),) and curator.left == 0
    assert content.parameters["epsilon_network"] == "0"


@relations
@pytest.mark.parametrize("max_rows", [1, 4])
def test_scales_are_those_of_the_paper(neighbours: Any, max_rows: int) -> None:
    """Lap(2(d−k)/ε₂) on counts under replace-one, half of that under add-remove."""
    unit = Unit("id", max_rows) if max_rows > 1 else None
    schema = binary_schema(6, neighbours=neighbours, unit=unit)
    draws, content = draws_of(chain(5000, 6), schema, "2", rows=5000, degree=2, handicap=0)
    tables = [draw for draw in draws if isinstance(draw, LaplaceDraw)]
    assert content.parameters["degree"] == 2 and len(tables) == 6 - 2
    for draw in tables:
        assert len(draw.exact) == 8  # every cell, empty ones too
        factor = (1 if neighbours == "add-remove" else 2) * max_rows
        assert draw.scale == factor * (6 - 2) / (2 * Fraction(17, 20))
        assert draw.exact.sum() == 5000  # counts, not probabilities


def test_every_choice_has_its_share() -> None:
    """And one without an alternative costs nothing: the last attribute of a network of degree 5."""
    for degree, choices in ((2, 5), (5, 4)):
        draws, content = draws_of(
            chain(5000, 6), binary_schema(6), "2", rows=5000, degree=degree, theta="0.1"
        )
        assert sum(isinstance(draw, ChoiceDraw) for draw in draws) == choices
        spent = Fraction(content.parameters["epsilon_network"])
        assert spent == Fraction(3, 10) * choices / 5


def test_larger_tables_have_more_of_epsilon() -> None:
    content, network, _ = measured(mixed(5000), mixed_schema(), "2")
    scales = [Fraction(scale) for scale in content.noise["scales"]]
    sizes = [math.prod(network.shape(table)) for table in network.measured]
    for (a, m), (b, n) in itertools.combinations(zip(scales, sizes, strict=True), 2):
        assert float(a / b) == pytest.approx(math.sqrt(n / m), rel=1e-3)
    assert sum(1 / scale for scale in scales) == Fraction(content.parameters["epsilon_marginals"])


# ── usefulness ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("d", [3, 6, 10])
def test_k_is_the_largest_useful_one(d: int) -> None:
    """Under replace-one: the largest k with n·ε₂ ≥ θ(d−k)·2^(k+2)."""
    schema = binary_schema(d, neighbours="replace-one")
    for rows, epsilon, theta in itertools.product((10, 500, 30_000), (Fraction(1, 10), 2), (1, 4)):
        useful = [0] + [k for k in range(1, d) if rows * epsilon >= theta * (d - k) * 2 ** (k + 2)]
        _, degree, scale = useful_cells(schema, rows, Fraction(epsilon), Fraction(theta), d)
        assert degree == max(useful)
        assert scale == 2 * (d - degree) / Fraction(epsilon)


def test_general_domains_bound_the_joint_table() -> None:
    """|X|·|Π| ≤ n·ε₂/(2dθ) under replace-one, twice as much under add-remove."""
    for neighbours, factor in (("replace-one", 2), ("add-remove", 1)):
        schema = mixed_schema(neighbours=neighbours)
        cells, _, _ = useful_cells(schema, 10_000, Fraction(1, 2), Fraction(3), 3)
        assert cells == 10_000 // (2 * 4 * 3 * factor)


def test_k_never_grows_as_epsilon_shrinks() -> None:
    schema = binary_schema(8)
    degrees = []
    for power in range(-8, 9):
        content, network, _ = measured(chain(3000, 8), schema, Fraction(2) ** power, handicap=0)
        degrees.append(content.parameters["degree"])
        assert max(len(link.parents) for link in network.links) <= degrees[-1]
    assert degrees == sorted(degrees) and degrees[0] == 0 and degrees[-1] >= 2


def test_k_depends_on_the_noisy_number_of_rows_alone() -> None:
    """Two tables, one noisy answer: the same search, though their true sizes differ."""
    for rows in (500, 5000):
        options = read_options({})
        shares = Shares.of(Fraction(1), options)
        search = Search.of(binary_schema(6), options, 777, shares)
        content, _, _ = measured(chain(rows, 6), binary_schema(6), "1", rows=777)
        assert content.parameters["useful_cells"] == search.cells


def test_no_candidate_is_larger_than_useful() -> None:
    schema, options = mixed_schema(), read_options({})
    search = Search.of(schema, options, 3000, Shares.of(Fraction(1), options))
    links = list(privbayes.candidate_links(search, [0, 1], [2, 3]))
    sizes = [math.prod(map(search.size, link.table)) for link in links if link.parents]
    assert max(sizes) <= search.cells and len(set(links)) == len(links)
    assert any(level > 0 for link in links for _, level in link.parents)


def test_the_degree_is_what_time_allows() -> None:
    assert privbayes.affordable_degree([1] * 14, 32_561) == 3
    assert privbayes.affordable_degree([1] * 50, 10**6) == 1
    assert privbayes.affordable_degree([1] * 60, 1000) == 2
    assert privbayes.affordable_degree([1] * 1000, 10**9) == 1


# ── networks ─────────────────────────────────────────────────────────────────────────────────────


def test_example_3_of_the_overview() -> None:
    """A, B | A, C | A B, D | A C: two tables are measured, and four conditionals follow."""
    schema = binary_schema(4)
    a, b, c, d = range(4)
    links = (Link(a), Link(b, ((a, 0),)), Link(c, ((a, 0), (b, 0))), Link(d, ((a, 0), (c, 0))))
    network = Network(schema, links)
    assert [{axis for axis, _ in table} for table in network.measured] == [{a, b, c}, {a, c, d}]
    data = chain(500, 4)
    joint = np.zeros((2, 2, 2, 2))
    np.add.at(joint, data.columns, 1)
    tables = [joint.sum(axis=3).astype(int), joint.sum(axis=1).astype(int)]
    small = Fraction(1, 1000)
    fitted = fit(
        network,
        tables,
        noises=[DiscreteLaplace(small)] * 2,
        rows=500,
        rows_noise=DiscreteLaplace(small),
    )
    pa, pab, pabc = joint.sum(axis=(1, 2, 3)), joint.sum(axis=(2, 3)), joint.sum(axis=3)
    pacd = joint.sum(axis=1)
    expected = pabc[..., None] * (pacd / pacd.sum(axis=2, keepdims=True))[:, None]
    assert np.allclose(NetworkReader(network, lambda: fitted).cells(), expected, atol=1e-4)
    assert np.allclose(fitted.conditionals[0], pa / 500, atol=1e-6)
    assert np.allclose(fitted.conditionals[1], pab / pa[:, None], atol=1e-6)


def test_a_chain_is_recovered_at_a_large_epsilon() -> None:
    for score in ("R", "I", "F"):
        _, network, _ = measured(
            chain(20_000, 8), binary_schema(8), 10**4, seed=1, degree=1, score=score
        )
        edges = {frozenset((link.axis, link.parents[0][0])) for link in network.links[1:]}
        assert edges == {frozenset((i, i + 1)) for i in range(7)}, score


def test_levels_and_joins_are_recovered_at_a_large_epsilon() -> None:
    data, schema = mixed(20_000), mixed_schema()
    content, network, _ = measured(data, schema, 10**5, seed=1, handicap="1")
    noises = [DiscreteLaplace(Fraction(text)) for text in content.noise["scales"]]
    tables = [content.arrays[f"marginal_{i}"] for i in range(len(network.measured))]
    fitted = fit(
        network, tables, noises=noises, rows=20_000, rows_noise=DiscreteLaplace(Fraction(1, 100))
    )
    cells = NetworkReader(network, lambda: fitted).cells()
    true = np.zeros(schema.shape)
    np.add.at(true, data.columns, 1)
    for kept in itertools.combinations(range(4), 2):
        others = tuple(set(range(4)) - set(kept))
        distance = np.abs(cells.sum(axis=others) - true.sum(axis=others)).sum() / 2 / 20_000
        assert distance < 0.03, kept


def test_the_first_tables_nest_where_k_is_fixed() -> None:
    for seed in range(3):
        _, network, _ = measured(
            chain(5000, 7), binary_schema(7), "5", seed=seed, degree=2, handicap=0, rows=5000
        )
        assert [len(link.parents) for link in network.links] == [0, 1, 2, 2, 2, 2, 2]
        assert len(network.measured) == 7 - 2


# ── odd tables ───────────────────────────────────────────────────────────────────────────────────


def test_constant_columns_and_empty_tables() -> None:
    schema = mixed_schema()
    constant = CodedColumns(schema.shape, tuple(np.zeros(900, np.uint8) for _ in range(4)))
    nobody = CodedColumns(schema.shape, tuple(np.zeros(0, np.uint8) for _ in range(4)))
    for data in (constant, nobody):
        for seed in range(3):
            content, _, curator = measured(data, schema, "1", seed=seed)
            assert curator.left == 0 and content.parameters["rows"] >= 1


def test_fewer_rows_than_attributes() -> None:
    for seed in range(3):
        _, network, curator = measured(chain(5, 12), binary_schema(12), "1", seed=seed)
        assert curator.left == 0 and len(network.links) == 12


def test_fifty_attributes() -> None:
    _, network, _ = measured(chain(4000, 50), binary_schema(50), "40", seed=1, degree=1)
    assert len(network.links) == 50
    likely = sum(
        any(abs(axis - link.axis) == 1 for axis, _ in link.parents) for link in network.links
    )
    assert likely > 40


def test_a_million_rows() -> None:
    content, network, _ = measured(chain(10**6, 5), binary_schema(5), "1", seed=1)
    edges = {frozenset((link.axis, axis)) for link in network.links for axis, _ in link.parents}
    assert edges >= {frozenset((i, i + 1)) for i in range(4)}
    assert content.parameters["rows"] == pytest.approx(10**6, abs=2000)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"beta": "1"},
            "beta must be a decimal above 0 and below 1; see hush mechanisms",
        ),
        ({"beta": "-0.1"}, "beta must be a decimal above 0"),
        ({"theta": "x"}, "theta must be"),
        ({"score": "NMI"}, "score must be R, I or F"),
        ({"score": "F"}, "binary attributes"),
        ({"degree": "1.5"}, "degree must be a whole number"),
        ({"rows": "0"}, "rows must be a whole number from 1"),
        ({"handicap": "-1"}, "handicap must be"),
        ({"seed": "1"}, "no setting 'seed'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        PrivBayes().check(mixed_schema(), epsilon=Fraction(1), settings=settings)


def test_an_epsilon_whose_parts_are_too_small_is_refused_before_it_costs() -> None:
    with pytest.raises(OptionError, match="64-bit"):
        PrivBayes().check(mixed_schema(), epsilon=Fraction(1, 10**18), settings={})


def test_theta_grows_where_the_choice_is_blurred() -> None:
    """From public figures alone: ε, the noisy number of rows, and what a person can change."""
    schema = mixed_schema()
    thetas = [
        privbayes.default_theta(schema, rows, Fraction(epsilon))
        for rows, epsilon in ((10**6, 1), (1000, 1), (1000, "0.1"), (1, "0.01"))
    ]
    assert thetas[0] == 1 and thetas == sorted(thetas) and thetas[-1] > 100
    assert thetas[1] == Fraction(round(128 * Fraction(2 * 2 * 3, 1000) * 100), 100)
    more = mixed_schema(unit=Unit("id", 5))
    assert float(privbayes.default_theta(more, 1000, Fraction(1))) == pytest.approx(7.68)
    assert privbayes.default_theta(binary_schema(4), 1, Fraction(1, 10**6)) == 4

"""Answers from split boxes: least squares, what questions ask of boxes, and intervals that hold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable
from hushtable.errors import OptionError, QueryError, ReleaseError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.families.splits.boxes import counted_tree, splits_of
from hushtable.families.splits.least_squares import Consistent
from hushtable.families.splits.read import CutLaw, SplitCounts, SplitReader
from hushtable.families.splits.shares import (
    LEAST,
    WHOLE,
    node_shares,
    radices_over,
)
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.splits import SplitBoxes
from hushtable.kernel.maps.topology import Topology
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum, margins_of
from hushtable.schema import Schema

TREES = [
    Topology.of_groups(7, ((0, 7), (0, 3), (1, 3), (3, 7))),
    Topology.of_radices(11, (3, 2, 2)),
    Topology.of_groups(2, ((0, 2),)),
    Topology.of_radices(1, ()),
]


def schema_of(shape: tuple[int, ...]) -> Schema:
    attributes = [
        {"name": f"c{i}", "kind": "ordinal", "range": [0, size - 1]} for i, size in enumerate(shape)
    ]
    return Schema.from_dict(
        {"name": "t", "budget": "1000", "neighbours": "add-remove", "attribute": attributes}
    )


def made(
    schema: Schema, table: Any, seed: int, epsilon: int = 1, **settings: str
) -> tuple[SplitReader, Any]:
    """A reader of a release with noise of a seed, and what was stored."""
    codes = np.flatnonzero(table)
    held = Counts(table.shape, codes, table.reshape(-1)[codes])
    curator = Curator(
        held,
        exposure=schema.exposure,
        account=Account(Fraction(epsilon)),
        noise=EntropyNoise(SeededEntropy(seed)),
    )
    mechanism = find_mechanism("privtree")
    mechanism.check(schema, epsilon=Fraction(epsilon), settings=settings)
    content = mechanism.measure(curator, schema, epsilon=Fraction(epsilon), settings=settings)
    assert curator.left == 0
    boxes = SplitBoxes(splits_of(schema), content.arrays["splits"], 2**20)
    radices = content.parameters["radices"]
    tree = counted_tree(boxes, None if radices is None else tuple(radices))
    shares, kinds = np.unique(
        node_shares(tree, Fraction(content.parameters["decay"])), return_inverse=True
    )
    whole = DiscreteLaplace(Fraction(content.noise["scale"]))
    noises = [whole.times(Fraction(WHOLE, share)) for share in shares.tolist()]
    variances = np.array([noise.variance for noise in noises])[kinds]
    counts = content.arrays["counts"]
    held_counts = SplitCounts(boxes, Consistent(tree, variances), kinds, noises, lambda: counts)
    return SplitReader(schema, lambda: held_counts), content


def rows_of_tree(tree: Topology) -> Any:
    codes = np.arange(tree.size)
    return ((codes >= tree.start[:, None]) & (codes < tree.stop[:, None])).astype(float)


# ── least squares ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree.nodes))
def test_counts_weights_and_variances_are_those_of_generalised_least_squares(tree: Any) -> None:
    random = np.random.default_rng(3)
    variances = random.uniform(0.5, 9, tree.nodes)
    counts = random.normal(0, 5, tree.nodes)
    rows = rows_of_tree(tree)
    covariance = np.linalg.inv(rows.T @ (rows / variances[:, None]))
    solving = covariance @ (rows / variances[:, None]).T
    consistent = Consistent(tree, variances)
    assert np.allclose(consistent.leaves(counts), solving @ counts)
    assert np.allclose(consistent.leaf_variances, np.diag(covariance))
    asked = random.normal(0, 1, (tree.size, 4))
    assert np.allclose(consistent.weights(asked), solving.T @ asked)


@pytest.mark.parametrize("decay", ["1/2", "4/5", "1", "3/2"])
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree.nodes))
def test_shares_add_up_to_the_whole_along_every_way_to_a_leaf(tree: Any, decay: str) -> None:
    shares = node_shares(tree, Fraction(decay))
    assert (shares @ rows_of_tree(tree) == WHOLE).all()
    assert shares.min() >= LEAST


def test_shares_of_very_deep_trees_are_not_too_small() -> None:
    deep = Topology.of_groups(100, tuple((0, stop) for stop in range(100, 1, -1)))
    for decay in ("1/4", "4/5", "19/10"):
        shares = node_shares(deep, Fraction(decay))
        assert shares.min() >= LEAST
        assert (shares @ rows_of_tree(deep) == WHOLE).all()


@pytest.mark.parametrize("leaves", [1, 2, 3, 10, 100, 1000, 65_537])
def test_a_regular_tree_just_reaches_its_leaves(leaves: int) -> None:
    assert Topology.of_radices(leaves, radices_over(leaves)).size == leaves


# ── questions ────────────────────────────────────────────────────────────────────────────────────


def questions(shape: tuple[int, ...], random: Any, number: int) -> list[tuple[Box, ...]]:
    """Boxes of one range or two along each axis, and pairs of disjoint ones."""
    found = []
    for _ in range(number):
        sets = []
        for size in shape:
            ends = sorted(random.integers(0, size + 1, 4).tolist())
            sets.append(CodeSet.of((ends[0], ends[1]), (ends[2], ends[3])))
        box = Box(tuple(sets))
        rest = Box((sets[0].complement(shape[0]), *(CodeSet.full(size) for size in shape[1:])))
        found.append((box,) if random.random() < 0.5 else (box, rest))
    return found


@pytest.mark.parametrize(("shape", "counts"), [((64,), "leaves"), ((64,), "boxes"), ((9, 6), "")])
def test_answers_are_sums_of_leaves_and_of_parts_of_them(
    shape: tuple[int, ...], counts: str
) -> None:
    random = np.random.default_rng(5)
    table = random.poisson(random.choice([0, 0, 40], shape))
    settings = {"counts": counts} if counts else {}
    reader, _ = made(schema_of(shape), table, 8, **settings)
    spread, held = reader.cells(), reader.held
    cells = np.indices(shape).reshape(len(shape), -1)
    owner = held.boxes.part_of(tuple(cells))
    assert np.allclose(spread.reshape(-1), (held.leaves / held.sizes)[owner])
    for boxes in questions(shape, random, 25):
        inside = np.zeros(shape, bool)
        for box in boxes:
            inside |= np.all(
                [
                    np.isin(c, [x for a, b in s.intervals for x in range(a, b)])
                    for c, s in zip(np.indices(shape), box.sets, strict=True)
                ],
                axis=0,
            )
        value, law = reader.count(boxes)
        assert value == pytest.approx(spread[inside].sum(), abs=1e-8)
        part = np.bincount(owner, inside.reshape(-1), held.boxes.parts) / held.sizes
        assert isinstance(law, NoiseSum if set(part) <= {0, 1} else CutLaw)
        if isinstance(law, CutLaw):
            assert law.inside == pytest.approx(held.leaves[part == 1].sum())
            assert law.touched == pytest.approx(held.leaves[part > 0].sum())
        else:
            variance = held.noise_variances((part == 1).astype(float)[:, None])[0]
            assert law.variance == pytest.approx(variance)


def test_groups_and_ranges_are_answered_as_single_questions_are() -> None:
    random, shape = np.random.default_rng(5), (12, 7)
    table = random.poisson(random.choice([0, 30], shape))
    reader, _ = made(schema_of(shape), table, 1)
    where = Box((CodeSet.of((1, 5), (6, 12)), CodeSet.full(7)))
    cuts = [(1, [(0, 3), (3, 7)]), (0, [(0, 6), (6, 7), (7, 12)])]
    found = reader.group((where,), cuts)
    starts = random.integers(0, [12, 7], (6, 2))
    stops = starts + random.integers(0, 4, (6, 2)).clip(max=np.array(shape) - starts)
    ranges = reader.range_intervals(starts, stops, 0.9)
    for row, (value, place) in enumerate(zip(found.values, found.law_of_row, strict=True)):
        along, across = cuts[0][1][row // 3], cuts[1][1][row % 3]
        box = where.cut(1, CodeSet.of(along)).cut(0, CodeSet.of(across))
        single, law = reader.count((box,))
        assert value == pytest.approx(single)
        assert margins_of(found.laws[place], 0.9) == pytest.approx(margins_of(law, 0.9))
    for row in range(6):
        sides = zip(starts[row].tolist(), stops[row].tolist(), strict=True)
        box = Box(tuple(CodeSet.of(side) for side in sides))
        value, law = reader.count((box,))
        below, above = margins_of(law, 0.9)
        ends = value, value - below, value + above
        assert tuple(end[row] for end in ranges) == pytest.approx(ends, abs=2e-4)  # for rounding
        assert reader.range_variances(starts, stops)[row] == pytest.approx(law.variance)


def test_variances_of_cells_are_those_of_boxes_of_one_cell() -> None:
    random, shape = np.random.default_rng(2), (8, 5)
    reader, _ = made(schema_of(shape), random.poisson(20, shape), 3)
    codes = np.indices(shape).reshape(2, -1)
    whole = reader.range_variances(codes.T, codes.T + 1)
    assert np.allclose(reader.cell_variances(tuple(codes)), whole)


# ── intervals ────────────────────────────────────────────────────────────────────────────────────

SHAPES = [(64,), (8, 8)]


@pytest.mark.parametrize("kind", ["spike", "noise"])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_as_often_as_they_say(shape: tuple[int, ...], kind: str) -> None:
    # A share of 60 below 0.42 comes up once in 10⁹ where 0.8 is true (Chernoff); noise has a seed.
    assert least_coverage(shape, kind, 60) > 0.42


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["spike", "step", "noise"])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_in_many_releases(shape: tuple[int, ...], kind: str) -> None:
    # Likewise a share of 1000 below 0.715.
    assert least_coverage(shape, kind, 1000) > 0.715


def least_coverage(shape: tuple[int, ...], kind: str, releases: int) -> float:
    """How often intervals of 80 % hold, of the one of eight questions where they hold least."""
    random = np.random.default_rng(7)
    table = np.zeros(shape, np.int64)
    if kind == "spike":
        table.reshape(-1)[[3, 40]] = 60, 9
    elif kind == "step":
        table[: shape[0] // 3] = 5
    else:
        table += random.poisson(3, shape)
    starts = random.integers(0, shape, (8, len(shape)))
    stops = random.integers(starts + 1, np.array(shape) + 1)
    truth = [
        table[tuple(slice(*side) for side in zip(a, b, strict=True))].sum()
        for a, b in zip(starts, stops, strict=True)
    ]
    schema, held = schema_of(shape), np.zeros(8)
    for seed in range(releases):
        reader, _ = made(schema, table, seed)
        _, low, high = reader.range_intervals(starts, stops, 0.8)
        held += (low <= truth) & (truth <= high)
    return float(held.min() / releases)


# ── the whole way ────────────────────────────────────────────────────────────────────────────────


def test_an_empty_table_and_a_single_cell_are_published_too() -> None:
    for shape in ((1,), (1, 1), (5,)):
        reader, _ = made(schema_of(shape), np.zeros(shape, np.int64), 4)
        value, law = reader.count((Box.full(shape),))
        assert law.half_width(0.95) >= abs(value) or abs(value) < 30
        assert reader.cells().shape == shape


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"structure": "1"}, "structure"), ({"most": "0"}, "most"), ({"counts": "cells"}, "counts")],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        find_mechanism("privtree").check(schema_of((4,)), epsilon=Fraction(1), settings=settings)


def test_more_than_four_attributes_are_refused() -> None:
    with pytest.raises(OptionError, match="4 attributes"):
        find_mechanism("privtree").check(schema_of((2,) * 5), epsilon=Fraction(1), settings={})


@pytest.fixture
def vast(tmp_path: Path) -> Any:
    schema = tmp_path / "s.toml"
    schema.write_text(
        'name = "vast"\nbudget = "9"\nneighbours = "add-remove"\n'
        + "".join(
            f'[[attribute]]\nname = "{name}"\nkind = "ordinal"\nrange = [0, {2**30 - 1}]\n'
            for name in "xy"
        )
    )
    rows = "".join(f"{1000 + i % 40},{2**29 + i % 25}\n" for i in range(3000))
    (tmp_path / "t.csv").write_text("x,y\n" + rows)
    return hushtable.publish(
        tmp_path / "t.csv", schema, epsilon="4", mechanism="privtree", out=tmp_path / "o.release"
    )


def test_a_domain_of_10_to_the_18_cells_is_published_asked_and_synthesized(vast: Any) -> None:
    near = vast.count(f"x BETWEEN 500 AND 2000 AND y BETWEEN {2**29 - 900} AND {2**29 + 900}")
    low, high = near.interval(0.999999)
    assert low <= 3000 <= high
    assert abs(near.value - 3000) < 300
    assert vast.synthesize(rows=50, seed=1).num_rows == 50
    with pytest.raises(QueryError, match="too many to lay out"):
        vast.cells()


def test_a_tree_that_does_not_fit_its_decisions_is_refused(vast: Any, tmp_path: Path) -> None:
    import json

    manifest = tmp_path / "o.release" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["parameters"]["radices"] = [2, 2]
    manifest.write_text(json.dumps(content))
    with pytest.raises(ReleaseError, match="the boxes do not fit"):
        hushtable.open(tmp_path / "o.release").count("x = 1")


def test_the_ends_of_a_cut_count_are_those_of_what_is_inside_and_of_what_is_touched() -> None:
    """Each may be missed in half of the cases."""
    inside, touched = (NoiseSum.of(DiscreteLaplace(Fraction(scale)), 3) for scale in (5, 9))
    law = CutLaw(700.0, 1.0, 600.0, inside, 800.0, touched)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        below, above = law.margins(confidence)
        assert 700.0 - below == pytest.approx(600.0 - inside.half_width(confidence))
        assert 700.0 + above == pytest.approx(800.0 + touched.half_width(confidence))


@pytest.mark.parametrize("epsilon", [40, 80])
def test_ranges_that_noise_leaves_alone_hold_the_truth(epsilon: int) -> None:
    """Least squares rounds: the truth is not outside for that."""
    table = np.random.default_rng(3).integers(0, 10**5, 64)
    reader, _ = made(schema_of((64,)), table, 5, epsilon)
    starts = np.arange(63)[:, None]
    stops = np.full((63, 1), 64)
    truth = np.cumsum(table[::-1])[::-1][:63]
    _, low, high = reader.range_intervals(starts, stops, 0.95)
    assert np.all((low <= truth) & (truth <= high))


def test_a_decay_that_no_release_may_say_is_refused_before_paying() -> None:
    for decay in ("0.0001", "0.1234567", "1.9999999"):
        with pytest.raises(OptionError, match="decay is a decimal"):
            find_mechanism("privtree").check(
                schema_of((4,)), epsilon=Fraction(1), settings={"decay": decay}
            )

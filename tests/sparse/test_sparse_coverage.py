"""Intervals of summaries hold the truth as often as they say: filtered, not sampled, or dropped.

Chances are added up exactly where places are few, and counted over fixed seeds where they are many.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sparse_laws import held, kept_chance, laplace, seeded
from tests.shared_sizes import some_of

from hushtable.families.sparse.behind import KeepingLaw as Place
from hushtable.families.sparse.behind import hull, sides
from hushtable.families.sparse.expected import filter_for_size
from hushtable.families.sparse.kept import Errors, KeptPlaces, SummedNoise
from hushtable.families.sparse.read.cells import CellSummary
from hushtable.families.sparse.read.nodes import NodeSummary
from hushtable.kernel.maps.rules import Filter, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.sparse_draws import summarise
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum

F = Fraction
SCALE = F(2)
RULES: dict[str, Rule] = {
    "filter": Filter(7),
    "one-sided": Filter(7, two_sided=False),
    "above zero": Filter(1, two_sided=False),
    "threshold": Threshold(9),
    "filter-threshold": Threshold(12, 5),
}


def errors_of(rule: Rule, scale: Fraction = SCALE, **more: bool) -> Errors:
    sided = not isinstance(rule, Filter) or rule.two_sided
    tau = 0.0 if isinstance(rule, Filter) else float(rule.tau)  # type: ignore[union-attr]
    return Errors(DiscreteLaplace(scale), rule.theta, sided, tau, **more)


def law_of(errors: Errors, values: list[int], places: int) -> tuple[float, SummedNoise]:
    """The value and the law of a sum of which these values were kept."""
    kept = np.array(values, np.int64)
    value = errors.weights(kept).sum().item()
    sampled = int(errors.sampled(kept).sum())
    return value, SummedNoise(errors, 1.0, value, places, len(kept), sampled)


# ── few places, exactly ──────────────────────────────────────────────────────────────────────────


def outcomes(count: int, rule: Rule) -> Counter[tuple[int, ...]]:
    """The chance of each value of one place that is kept, and of none."""
    chances: Counter[tuple[int, ...]] = Counter()
    for v in range(count - 45, count + 46):
        kept = kept_chance(rule, v)
        p = laplace(float(SCALE), v - count)
        if kept:
            chances[(v,)] += p * kept  # type: ignore[assignment]
        chances[()] += p * (1 - kept)  # type: ignore[assignment]
    return chances


@pytest.mark.parametrize(
    "counts",
    some_of(
        [(0,), (3,), (6,), (8,), (0, 5), (6, 6), (9, 2), (30, 4)], [(0,), (6,), (0, 5), (9, 2)]
    ),
)
@pytest.mark.parametrize("name", RULES)
def test_sums_of_one_or_two_places_are_covered(name: str, counts: tuple[int, ...]) -> None:
    rule, errors, truth = RULES[name], errors_of(RULES[name]), sum(counts)
    confidences = (0.5, 0.9, 0.95, 1 - 1e-4)
    missed, known = dict.fromkeys(confidences, 0.0), {}
    for found in itertools.product(*(outcomes(count, rule).items() for count in counts)):
        values = sorted(v for kept, _ in found for v in kept)
        value, law = law_of(errors, values, len(counts))
        for confidence in confidences:
            if (law, confidence) not in known:
                low, high = law.margins(confidence)
                known[law, confidence] = value - low <= truth <= value + high
            if not known[law, confidence]:
                missed[confidence] += math.prod(chance for _, chance in found)
    assert all(chance <= 1 - confidence for confidence, chance in missed.items())


# ── many places ──────────────────────────────────────────────────────────────────────────────────

TABLES: dict[str, list[int]] = {
    "nothing": [0] * 400,
    "ones": [1] * 400,
    "just hidden": [6] * 400,
    "just there": [8] * 400,
    "heavy": [500] * 3 + [0] * 397,
    "all sorts": [60] * 40 + [9] * 100 + [2] * 100 + [0] * 160,
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", RULES)
def test_sums_of_many_places_are_covered(name: str, table: str) -> None:
    rule, errors, counts = RULES[name], errors_of(RULES[name]), np.array(TABLES[table])
    random, inside = np.random.default_rng(7), 0
    for _ in range(60):
        noise = random.geometric(1 - math.exp(-1 / 2), (2, len(counts)))
        noisy = counts + noise[0] - noise[1]
        chances = np.array([kept_chance(rule, int(v)) for v in noisy])
        value, law = law_of(errors, noisy[random.random(len(noisy)) < chances].tolist(), 400)
        low, high = law.margins(0.95)
        inside += value - low <= counts.sum() <= value + high
    assert inside >= 57


def test_what_a_filter_hides_is_inside() -> None:
    """200 cells of 60 rows, none of which is there: 0, and up to 12,000."""
    none = KeptPlaces(lambda: np.zeros(0, np.int64), lambda: np.zeros(0, np.int64))
    reader = CellSummary((200,), none, Errors(DiscreteLaplace(SCALE), 100, True, 0.0))
    value, law = reader.count((Box.full((200,)),))
    low, high = law.margins(0.95)
    assert (value, low) == (0, 0) and 12_000 <= high <= 99 * 200
    assert not law.estimate
    one = reader.count((Box((CodeSet.single(3),)),))[1]
    assert one.margins(0.95) == (0, 99 + NoiseSum.of(DiscreteLaplace(SCALE), 1).half_width(0.95))


def test_where_nothing_is_missing_the_noise_is_all() -> None:
    errors = Errors(DiscreteLaplace(SCALE), 20, True, 0.0)
    _, law = law_of(errors, [60] * 200, 200)
    noise = NoiseSum.of(DiscreteLaplace(SCALE), 200).half_width(0.95)
    assert max(law.margins(0.95)) == law.half_width(0.95) <= 1.12 * noise + 1


@pytest.mark.parametrize("two_sided", [True, False])
def test_the_lower_end_is_useful_where_much_is_missing(two_sided: bool) -> None:
    """By the noise of what is there, and by how little may pass by chance."""
    errors = Errors(DiscreteLaplace(SCALE), 20, two_sided, 0.0)
    for there, places in ((1, 1000), (200, 1000), (200, 10**5)):
        _, law = law_of(errors, [1000] * there, places)
        spread = math.sqrt(there * errors.noise.variance)
        assert law.margins(0.95)[0] <= 5 * spread + 20 * float(SCALE) * math.log10(places)


@pytest.mark.parametrize(("places", "most"), [(10**6, 5e5), (10**9, 2e8), (10**12, 2e11)])
def test_over_a_vast_domain_chance_tells_more_than_the_filter(places: int, most: float) -> None:
    """θ − 1 for each missing place would be many times more: too many would have passed."""
    theta = filter_for_size(places, F(1), 10**5)
    errors = Errors(DiscreteLaplace(F(1)), theta, True, 0.0)
    law = SummedNoise(errors, 1.0, 50_000.0, places, 10**5, 0)
    low, high = law.margins(0.95)
    assert low <= 50_000 and high < most < (theta - 1) * places / 3
    # One more row in each of so many cells would not have been noticed.
    assert high > math.sqrt(places * 10**5 / places) and high > 3 * 10**4


@pytest.mark.parametrize("scale", [F(1, 2000), F(1, 20), F(10**5)])
@pytest.mark.parametrize(("theta", "tau"), [(1, 50.0), (40, 0.0), (40, 10.0**9), (2**40, 2.0**60)])
def test_extreme_rules_have_finite_ends(scale: Fraction, theta: int, tau: float) -> None:
    errors = Errors(DiscreteLaplace(scale), theta, True, tau)
    for places, kept in ((1, 0), (7, 3), (10**18, 10**5)):
        value = kept * max(theta, tau)
        law = SummedNoise(errors, 1.0, value, places, kept, kept if tau else 0)
        for confidence in (0.01, 0.95, 1 - 1e-12, 1 - 2**-53):
            low, high = law.margins(confidence)
            assert 0 <= low <= value and 0 <= high < math.inf


# ── the moments behind it ────────────────────────────────────────────────────────────────────────

PLACES = [
    Place(DiscreteLaplace(F(2)), 10, True, 0.0),
    Place(DiscreteLaplace(F(2)), 10, False, 0.0),
    Place(DiscreteLaplace(F(3)), 1, True, 25.0),
    Place(DiscreteLaplace(F(3)), 6, True, 25.5),
    Place(DiscreteLaplace(F(1, 4)), 3, True, 0.0),
    Place(DiscreteLaplace(F(150)), 900, True, 0.0),
    Place(DiscreteLaplace(F(150)), 1, True, 2000.0),
    Place(DiscreteLaplace(F(100)), 700, True, 20_000.0),
]


def moment(place: Place, count: int, x: float, sure: float, sampled: float) -> float:
    """log E[exp(x·W − off)], value by value."""
    scale = float(place.noise.scale)
    reach = int(450 * scale) + 5
    v = np.arange(count - reach, count + reach + 1)
    alpha = math.exp(-1 / scale)
    chance = (1 - alpha) / (1 + alpha) * alpha ** np.abs(v - count)
    passes = (np.abs(v) if place.two_sided else v) >= place.theta
    kept = np.where(passes, np.minimum(np.abs(v) / max(place.tau, 1e-9), 1.0), 0.0)
    stands = np.sign(v) * np.maximum(np.abs(v), place.tau)
    off = np.where(np.abs(v) < place.tau, sampled, sure)
    return math.log((chance * (1 - kept + kept * np.exp(x * stands - off))).sum())


@pytest.mark.parametrize("tilt", some_of([1.0, 0.1, 0.01], [1.0, 0.01]))
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("place", some_of(PLACES, PLACES[::2]), ids=str)
def test_moments_are_above_the_true_ones_at_every_count(
    place: Place, sign: int, tilt: float
) -> None:
    x = sign * tilt * min(place.largest_tilt, 2 / place.tau if place.tau else math.inf)
    logs, beyond = place.log_moments(x, 0.3, 0.2)
    counts = place.counts
    random = np.random.default_rng(1)
    some = np.append(np.arange(12), random.integers(0, int(counts[-1]), 40))
    for count in np.unique(np.minimum(some, int(counts[-1]))).tolist():
        exact = moment(place, count, x, 0.3, 0.2)
        above = np.interp(count, counts, logs) - exact
        assert above >= -1e-13 and (above <= 0.02 or exact < -25)
    for further in (0, 1, 50):
        last = moment(place, int(counts[-1]) + further, x, 0.3, 0.2)
        assert beyond + x * further >= last - 1e-12


@pytest.mark.parametrize("place", some_of(PLACES, PLACES[1::2]), ids=str)
def test_bounds_hold_for_every_count(place: Place) -> None:
    """What Markov's inequality needs: E[exp(y(W(c)) − κc)] ≤ exp(H), whatever c."""
    some = np.unique(np.geomspace(1, 1.2 * place.counts[-1], 12).astype(int)).tolist()
    for sign in (1, -1):
        side = sides(place, sign)
        for i in (0, 5):
            x = sign * float(side.tilts[i])
            for count in [0, *some]:
                one = moment(place, count, x, float(side.sure[i]), float(side.sampled[i]))
                assert one - x * count <= side.any[i] + 1e-12
    lines = hull(place)
    for i in range(0, len(lines.tilts), 191):
        for count in [0, *some]:
            one = moment(place, count, -float(lines.tilts[i]), 0.0, 0.0)
            assert one <= lines.any[i] - lines.slopes[i] * count + 1e-12


# ── nodes and coefficients ───────────────────────────────────────────────────────────────────────

SHAPE = (16, 16)
_RANDOM = np.random.default_rng(3)
CLOUD = {int(code): int(_RANDOM.integers(1, 30)) for code in _RANDOM.choice(256, 60, replace=False)}
BOXES = [
    Box((CodeSet.of((a, b)), CodeSet.of((c, d))))
    for a, b, c, d in ((0, 16, 0, 16), (1, 15, 3, 4), (2, 9, 5, 14), (7, 8, 7, 8), (0, 5, 11, 16))
]


def node_reader(on: Any, rule: Rule, seed: int, *, consistent: bool) -> NodeSummary:
    structure, scale = Structure(on, SHAPE), F(4)
    keep = structure.rooted if consistent else None
    kept = summarise(held(structure, CLOUD), rule, scale, seeded(seed), keep)
    return NodeSummary(
        structure,
        KeptPlaces(lambda: kept.places, lambda: kept.values),
        errors_of(rule, scale, consistent=consistent),
    )


@pytest.mark.parametrize(
    ("on", "rule", "consistent"),
    [
        ("dyadic", Filter(40), True),
        ("dyadic", Filter(12), True),
        ("dyadic", Filter(25, two_sided=False), True),
        ("dyadic", Filter(25), False),
        ("dyadic", Filter(25, two_sided=False), False),
        ("dyadic", Threshold(60), False),
        ("dyadic", Threshold(60, 20), False),
        ("dyadic", Threshold(60, 20), True),
        ("haar", Filter(25), False),
        ("haar", Threshold(60), False),
    ],
)
def test_sums_of_nodes_are_covered(on: str, rule: Rule, consistent: bool) -> None:
    truth = np.zeros(256)
    truth[list(CLOUD)] = list(CLOUD.values())
    truth = truth.reshape(SHAPE)
    inside = np.zeros(len(BOXES))
    for seed in range(40):
        reader = node_reader(on, rule, seed, consistent=consistent)
        for i, box in enumerate(BOXES):
            value, law = reader.count((box,))
            low, high = law.margins(0.95)  # type: ignore[attr-defined]
            ranges = tuple(slice(*codes.intervals[0]) for codes in box.sets)
            inside[i] += value - low <= truth[ranges].sum() <= value + high
    assert inside.min() >= 38
    assert reader.estimate == (isinstance(rule, Threshold) and (consistent or on == "haar"))


def test_the_missing_node_that_holds_others_is_found() -> None:
    """One whose parents are all there: along every axis as high as nodes are missing."""
    reader = node_reader("dyadic", Filter(40), 5, consistent=True)
    kept = set(reader.kept.places.tolist())
    asked = reader._asked((BOXES[2],), ())
    gone = np.array([p for p in asked.places.tolist() if p not in kept])
    parents = {p: set(_parents(reader.structure, p)) for p in range(reader.structure.places)}
    for place, top in zip(gone.tolist(), reader._topmost(gone).tolist(), strict=True):
        assert top not in kept and parents[top] <= kept
        above = {place}
        while top not in above:
            above |= {parent for p in above for parent in parents[p]}
            assert len(above) < 200
    assert len(gone) >= 10


def _parents(structure: Structure, place: int) -> list[int]:
    """The places whose range along one axis is twice as wide, from the labels of ranges."""
    rooms = structure.axes
    along = [int(i) for i in np.unravel_index(place, rooms)]
    found = []
    for axis, size in enumerate(structure.shape):
        start, stop = _range(along[axis], size)
        for other in range(rooms[axis]):
            low, high = _range(other, size)
            if low <= start and stop <= high and high - low == 2 * (stop - start):
                moved = [*along[:axis], other, *along[axis + 1 :]]
                found.append(int(np.ravel_multi_index(moved, rooms)))
    return found


def _range(along: int, size: int) -> tuple[int, int]:
    """The root first, then its halves, and so on: sizes are powers of two here."""
    level = (along + 1).bit_length() - 1
    width = size >> level
    first = (along + 1 - (1 << level)) * width
    return first, first + width

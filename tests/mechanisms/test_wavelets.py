"""Privelet and Privelet+ end to end: releases are right on average, and as far off as they say."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from exact_cases import NEIGHBOURS
from numpy.typing import NDArray
from tests.shared_sizes import some_of

import hushtable
from hushtable.auditing.privacy_check import check_mechanism
from hushtable.auditing.small_tables import Holdings
from hushtable.errors import HushError, OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.families.linear.ask.privelet import identity_axes, wavelets
from hushtable.families.linear.bounds import sensitivity_bound, variance_bound
from hushtable.families.linear.describe import product_from_dict
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Haar, Identity, Nominal
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import LARGEST_SCALE, Neighbours
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum
from hushtable.schema import Schema

ONE = Fraction(1)
RELEASES = 2000
ADULT = Path(__file__).parents[3] / "shared/data/adult"

AGE = {"name": "age", "kind": "ordinal", "range": [0, 10]}
JOB = {
    "name": "job",
    "kind": "nominal",
    "tree": {"desk": ["clerk", "boss"], "field": ["farmer", "miner", "driver"]},
    "outside": "other",
}
SEX = {"name": "sex", "kind": "nominal", "values": ["F", "M"]}
TABLE = (("0", "clerk"), ("3", "boss"), ("3", "boss"), ("5", "miner"), ("6", "?"), ("2", None))


def schema_of(*attributes: dict[str, Any], neighbours: Neighbours = "add-remove") -> Schema:
    return Schema.from_dict(
        {"name": "t", "budget": "9", "neighbours": neighbours, "attribute": list(attributes)}
    )


def reader_of(content: Any) -> NoisyCoefficients:
    """What answers from the content of a release, without the folder."""
    values = content.arrays["coefficients"]
    reading = ProductReading.of(product_from_dict(content.parameters["transform"]))
    return NoisyCoefficients(
        reading, lambda *cut: values[cut], DiscreteLaplace(Fraction(content.noise["scale"])), ""
    )


def releases(
    mechanism: str, schema: Schema, settings: dict[str, str], many: int
) -> list[NoisyCoefficients]:
    """Releases of one small table, each with noise of its own that can be repeated."""
    held, recipe, source = Holdings(schema).of(TABLE), find_mechanism(mechanism), SeededEntropy(11)
    noise = EntropyNoise(source)
    found = []
    for _ in range(many):
        curator = Curator(held, exposure=schema.exposure, account=Account(ONE), noise=noise)
        found.append(reader_of(recipe.measure(curator, schema, epsilon=ONE, settings=settings)))
    return found


def all_boxes(shape: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    return list(itertools.product(*(itertools.combinations(range(size + 1), 2) for size in shape)))


def box_sums(cells: NDArray[Any], boxes: list[tuple[tuple[int, int], ...]]) -> NDArray[np.float64]:
    """The sum of each box, for matrices along the first axis."""
    sums = [cells[(slice(None), *(slice(*ends) for ends in box))] for box in boxes]
    return np.stack([s.reshape(len(cells), -1).sum(axis=1) for s in sums], axis=1)


def truth(schema: Schema) -> NDArray[np.int64]:
    held = Holdings(schema).of(TABLE)
    cells = np.zeros(schema.cells, np.int64)
    cells[held.codes] = held.counts
    return cells.reshape(schema.shape)


thorough = pytest.mark.thorough
MANY = [
    pytest.param("privelet", {}, "add-remove", id="privelet"),
    pytest.param("privelet", {}, "replace-one", id="privelet, replaced", marks=thorough),
    pytest.param(
        "privelet+", {"identity": "age"}, "add-remove", id="privelet+, plain age", marks=thorough
    ),
    pytest.param(
        "privelet+", {"identity": "job"}, "replace-one", id="privelet+, plain job", marks=thorough
    ),
    pytest.param("hierarchical", {}, "replace-one", id="hierarchical", marks=thorough),
    pytest.param(
        "hierarchical", {"branching": "2"}, "add-remove", id="hierarchical, binary", marks=thorough
    ),
]


@pytest.mark.parametrize(("mechanism", "settings", "neighbours"), MANY)
def test_every_box_is_unbiased_has_the_stated_variance_and_is_covered(
    mechanism: str, settings: dict[str, str], neighbours: Neighbours
) -> None:
    schema = schema_of(AGE, JOB, neighbours=neighbours)
    readers = releases(mechanism, schema, settings, RELEASES)
    boxes = all_boxes(schema.shape)
    laws = [readers[0].law((Box(tuple(CodeSet.of(ends) for ends in box)),)) for box in boxes]
    estimates = box_sums(np.stack([reader.cells() for reader in readers]), boxes)
    errors = estimates - box_sums(truth(schema)[None], boxes)
    stated = np.array([law.variance for law in laws])
    z = NormalDist().inv_cdf(1 - 1e-6 / (2 * len(boxes)))

    off = np.abs(errors.mean(axis=0)) / np.sqrt(stated / RELEASES)
    assert off.max() < z

    def spread_off(variance: NDArray[np.float64]) -> float:
        spread = np.sqrt((np.array([law.kurtosis for law in laws]) + 2) / RELEASES)
        return float((np.abs(np.square(errors).mean(axis=0) / variance - 1) / spread).max())

    assert spread_off(stated) < z
    assert spread_off(stated * 1.3) > z and spread_off(stated / 1.3) > z  # the test can fail

    for confidence, most in ((0.5, 0.57), (0.95, 0.965)):
        widths = np.array([law.half_width(confidence) for law in laws[::7]])
        covered = (np.abs(errors[:, ::7]) <= widths + 1e-9).mean(axis=0)
        assert covered.min() > confidence - z * math.sqrt(confidence * (1 - confidence) / RELEASES)
        assert confidence - 0.01 < covered.mean() < most


def test_answers_from_coefficients_are_sums_of_the_reconstructed_cells() -> None:
    schema = schema_of(AGE, JOB)
    (reader,) = releases("privelet", schema, {}, 1)
    cells = reader.cells()[None]
    for box in all_boxes(schema.shape)[::7]:
        value, _ = reader.count((Box(tuple(CodeSet.of(ends) for ends in box)),))
        assert value == pytest.approx(float(box_sums(cells, [box])[0, 0]), abs=1e-9)


# ── what is measured ─────────────────────────────────────────────────────────────────────────────


def test_ordered_axes_get_haar_and_hierarchies_the_nominal_wavelet() -> None:
    one = {"name": "one", "kind": "ordinal", "range": [3, 3]}
    graded = {
        **AGE,
        "name": "graded",
        "outside": "other",
        "range": [0, 6],
        "tree": {"low": ["0", "1", "2"], "high": ["3", "4", "5", "6"]},
    }
    kinds = wavelets(schema_of(AGE, JOB, SEX, one, graded), set()).axes
    assert kinds[0] == Haar(11) and kinds[3] == Identity(1) and kinds[4] == Haar(8)
    assert kinds[1] == Nominal(6, ((0, 6), (0, 2), (2, 5)))
    assert kinds[2] == Nominal(2, ((0, 2),))


def test_the_scale_is_the_product_of_the_levels_over_epsilon() -> None:
    """1 + ⌈log₂ 11⌉ along the ages, 3 along the jobs, 1 along plain axes."""
    schema = schema_of(AGE, JOB)
    assert releases("privelet", schema, {}, 1)[0].noise.scale == 5 * 3
    assert releases("privelet+", schema, {"identity": "job"}, 1)[0].noise.scale == 5
    assert releases("privelet+", schema, {"identity": "age,job"}, 1)[0].noise.scale == 1


def test_equation_7_puts_age_and_gender_of_the_papers_census_into_s_a() -> None:
    """Table 3, Brazil: 101 ages, 2 genders, 512 occupations in 3 levels, 1001 incomes."""
    occupations = {
        f"g{group}": [f"o{16 * group + leaf}" for leaf in range(16)] for group in range(32)
    }
    schema = schema_of(
        {"name": "age", "kind": "ordinal", "range": [0, 100]},
        {"name": "gender", "kind": "nominal", "values": ["F", "M"]},
        {"name": "occupation", "kind": "nominal", "tree": occupations},
        {"name": "income", "kind": "ordinal", "range": [0, 1000]},
    )
    assert schema.shape == (101, 2, 512, 1001)
    assert [sensitivity_bound(a) for a in schema.attributes] == [8, 2, 3, 11]
    assert [round(variance_bound(a), 2) for a in schema.attributes] == [4.33, 4.0, 4.0, 5.98]
    assert identity_axes(schema, {}) == {0, 1}
    kinds = [axis.kind for axis in wavelets(schema, identity_axes(schema, {})).axes]
    assert kinds == ["identity", "identity", "nominal", "haar"]


@pytest.mark.parametrize("size", [2, 3, 16, 100, 500, 512, 1000, 5000])
def test_equation_7_keeps_an_axis_plain_while_that_has_the_smaller_bound(size: int) -> None:
    schema = schema_of({"name": "x", "kind": "ordinal", "range": [1, size]})
    wavelet_bound = (1 + math.ceil(math.log2(size))) ** 2 * (2 + math.log2(size)) / 2
    assert identity_axes(schema, {}) == ({0} if size <= wavelet_bound else set())


def test_what_no_factor_s_noise_would_fit_is_refused_before_anything_is_read() -> None:
    """3 levels of jobs; below 3 siblings the factor is 4, on which the smallest ε depends."""
    smallest = Fraction(3 * 4, LARGEST_SCALE)
    for mechanism in ("privelet", "privelet+", "privelet*"):
        recipe, settings = find_mechanism(mechanism), {"identity": ""}
        settings = {} if mechanism == "privelet" else settings
        recipe.check(schema_of(JOB), epsilon=smallest, settings=settings)
        with pytest.raises(OptionError, match="so small"):
            recipe.check(schema_of(JOB), epsilon=smallest / 2, settings=settings)


def test_moving_rows_need_a_larger_epsilon() -> None:
    schema = schema_of(JOB, neighbours="replace-one")
    smallest = Fraction(4 * wavelets(schema, set()).moving, LARGEST_SCALE)
    find_mechanism("privelet").check(schema, epsilon=smallest, settings={})
    with pytest.raises(OptionError, match="so small"):
        find_mechanism("privelet").check(schema, epsilon=smallest * Fraction(99, 100), settings={})


def test_memory_is_needed_for_the_coefficients_not_only_for_the_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """6 jobs have 9 coefficients, as plain counts 6: with room for 8 of them."""
    monkeypatch.setattr("hushtable.families.mechanism.available_memory", lambda: 8 * 8 * 4 // 3)
    schema, recipe = schema_of(JOB), find_mechanism("privelet+")
    assert wavelets(schema, set()).cells == 9
    recipe.check(schema, epsilon=ONE, settings={"identity": "job"})
    with pytest.raises(OptionError, match="9 cells and needs"):
        recipe.check(schema, epsilon=ONE, settings={"identity": ""})


# ── the setting ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("age", {0}),
        ("job", {1}),
        (" job , age ", {0, 1}),
        ("age,age", {0}),
        ("", set()),
        (" , ", set()),
    ],
)
def test_identity_names_the_plain_axes(text: str, plain: set[int]) -> None:
    schema = schema_of(AGE, JOB)
    content = content_of("privelet+", schema, {"identity": text})
    assert content.parameters["identity"] == [schema.attributes[i].name for i in sorted(plain)]
    kinds = [axis["kind"] for axis in content.parameters["transform"]]
    assert {i for i, kind in enumerate(kinds) if kind == "identity"} == plain


@pytest.mark.parametrize("text", ["height", "age,height", "age;job"])
def test_unknown_attributes_are_refused_in_one_line(text: str) -> None:
    schema = schema_of(AGE, JOB)
    with pytest.raises(HushError) as refused:
        find_mechanism("privelet+").check(schema, epsilon=ONE, settings={"identity": text})
    assert text.rpartition(",")[2] in str(refused.value) and "\n" not in str(refused.value)


def test_privelet_has_no_settings() -> None:
    with pytest.raises(OptionError, match="privelet has no setting 'identity'; it has none; see"):
        find_mechanism("privelet").check(schema_of(AGE), epsilon=ONE, settings={"identity": "age"})


def content_of(mechanism: str, schema: Schema, settings: dict[str, str]) -> Any:
    curator = Curator(
        Holdings(schema).of(TABLE),
        exposure=schema.exposure,
        account=Account(ONE),
        noise=EntropyNoise(SeededEntropy(2)),
    )
    return find_mechanism(mechanism).measure(curator, schema, epsilon=ONE, settings=settings)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_with_all_axes_plain_it_is_basic(neighbours: Neighbours) -> None:
    schema = schema_of(AGE, JOB, neighbours=neighbours)
    plain, basic = (
        content_of("privelet+", schema, {"identity": "age,job"}),
        content_of("basic", schema, {}),
    )
    assert np.array_equal(plain.arrays["coefficients"], basic.arrays["cells"])
    assert plain.noise["scale"] == basic.noise["scale"]
    for box in all_boxes(schema.shape)[::11]:
        boxes = (Box(tuple(CodeSet.of(ends) for ends in box)),)
        law = reader_of(plain).law(boxes)
        known = NoiseSum.of(DiscreteLaplace(Fraction(basic.noise["scale"])), boxes[0].cells)
        assert law.variance == pytest.approx(known.variance, rel=1e-12)
        assert law.half_width(0.95) == known.half_width(0.95)


def test_without_plain_axes_it_is_privelet() -> None:
    schema = schema_of(AGE, JOB)
    one, two = content_of("privelet+", schema, {"identity": ""}), content_of("privelet", schema, {})
    assert np.array_equal(one.arrays["coefficients"], two.arrays["coefficients"])
    assert one.parameters["transform"] == two.parameters["transform"]


# ── privacy, beyond what all mechanisms are asked ────────────────────────────────────────────────


def several_rows(neighbours: Neighbours) -> Schema:
    return Schema.from_dict(
        {
            "name": "t",
            "budget": "9",
            "neighbours": neighbours,
            "unit": {"column": "id", "max_rows": 3},
            "attribute": [{**AGE, "range": [0, 2]}, JOB],
        }
    )


@cache
def counted_rows() -> Holdings:
    return Holdings(several_rows("add-remove"))


@pytest.mark.parametrize(
    "mechanism",
    ["privelet", "hierarchical", pytest.param("privelet+", marks=thorough)],
)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_people_of_several_rows_in_hierarchies_lose_at_most_epsilon(
    mechanism: str, neighbours: Neighbours
) -> None:
    settings = {"identity": "age"} if mechanism == "privelet+" else {}
    report = check_mechanism(
        mechanism,
        several_rows(neighbours),
        epsilon="0.3",
        rows=[("0", "clerk"), ("1", "miner")],
        paths=1,
        settings=settings,
        holdings=counted_rows(),
    )
    assert report.holds, (report.problem, report.example)
    assert report.pairs > 30 and report.tight


# ── a real table ─────────────────────────────────────────────────────────────────────────────────


ADULT_SCHEMA = """
name = "adult"
budget = "9"
[[attribute]]
name = "age"
kind = "ordinal"
range = [17, 90]
hierarchy = "{age}"
[[attribute]]
name = "occupation"
kind = "nominal"
hierarchy = "{occupation}"
[[attribute]]
name = "education"
kind = "nominal"
hierarchy = "{education}"
[[attribute]]
name = "sex"
kind = "nominal"
hierarchy = "{sex}"
"""


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data is not on this machine")
@pytest.mark.parametrize(
    "mechanism", some_of(["privelet", "privelet+", "hierarchical"], ["privelet"])
)
def test_ranges_and_nodes_of_adult_are_answered_within_their_errors(
    mechanism: str, tmp_path: Path
) -> None:
    names = ("age", "occupation", "education", "sex")
    files = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in names}
    (tmp_path / "adult.toml").write_text(ADULT_SCHEMA.format(**files))
    schema = Schema.load(tmp_path / "adult.toml", allow_paths=[ADULT])
    release = hushtable.publish(
        ADULT / "adult.csv",
        schema,
        epsilon="1",
        mechanism=mechanism,
        out=tmp_path / "adult.release",
        entropy=SeededEntropy(5),
    )
    rows = [line.split(";") for line in (ADULT / "adult.csv").read_text().splitlines()]
    place = {name: rows[0].index(name) for name in names}
    technical = {
        line.split(";")[0]
        for line in files["occupation"].read_text().splitlines()
        if line.split(";")[1] == "Technical"
    }
    questions = {
        "age BETWEEN 30 AND 45": lambda row: 30 <= int(row[place["age"]]) <= 45,
        "occupation = 'Technical' AND sex = 'Female'": lambda row: (
            row[place["occupation"]] in technical and row[place["sex"]] == "Female"
        ),
        "age < 65 AND education = 'Bachelors'": lambda row: (
            int(row[place["age"]]) < 65 and row[place["education"]] == "Bachelors"
        ),
    }
    for where, holds in questions.items():
        exact = sum(map(holds, rows[1:]))
        answer = release.count(where)
        low, high = answer.interval(0.9999)
        assert exact > 500 and low <= exact <= high < low + 0.5 * 30_162

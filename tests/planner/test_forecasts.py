"""Forecasts are the truth: against matrices written out, and against releases that were made."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_cases import (
    AGE,
    GRADE,
    JOB,
    SEX,
    all_questions,
    explicit_variances,
    line,
    schema_of,
    square,
)
from tests.shared_tables import DenseTables

import hushtable
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.forecast import Forecast, Purpose
from hushtable.families.linear.gains import mean_gains
from hushtable.families.linear.read.transforms import ProductReading, reading_of
from hushtable.families.linear.trees import tree_cost, with_budgets
from hushtable.families.linear.variances import NoisyProduct, Variances
from hushtable.families.marginals.forecast import SmallTables
from hushtable.families.marginals.least_squares import Measured
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tree
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.planner import plan
from hushtable.query.batch import accumulate, box_sums
from hushtable.schema import Schema
from hushtable.workload import read_workload
from hushtable.workload.intervals import AllRanges, Listed, some_of
from hushtable.workload.parsing import from_sql

WORKLOADS = ("ranges", "prefixes", "identity", "total", "paper", "marginals:1", "nodes")
SCHEMAS = {
    "one axis": schema_of(AGE),
    "one axis, replace-one": schema_of(AGE, neighbours="replace-one"),
    "a hierarchy": schema_of(JOB),
    "an order and a hierarchy": schema_of(GRADE, JOB),
    "three axes": schema_of(AGE, SEX, GRADE),
    "three axes, replace-one": schema_of(SEX, JOB, GRADE, neighbours="replace-one"),
    "several rows each": schema_of(AGE, JOB, unit={"column": "id", "max_rows": 3}),
}
# Of kinds that smaller ones are of as well.
LARGER = ("one axis", "three axes, replace-one")
AXES: list[AxisTransform] = [
    Identity(9),
    Haar(9),
    Haar(8),
    Nominal(9, ((0, 9), (0, 4), (1, 3), (4, 7))),
    Tree.uniform(9, 3),
    Tree.uniform(9, 2, root=False),
    Tree.mixed(11, (3, 4), root=False, shares=(Fraction(1, 3), Fraction(2, 3))),
]


@pytest.mark.parametrize("axis", AXES, ids=repr)
@pytest.mark.parametrize("undeclared", [0, 1, 3])
def test_the_mean_over_all_ranges_is_the_mean_over_all_ranges(
    axis: AxisTransform, undeclared: int
) -> None:
    asked = AllRanges(axis.size - undeclared)
    pairs = [(a, b) for b in range(asked.codes + 1) for a in range(b)]
    listed = mean_gains(reading_of(axis), Listed.of(pairs))
    assert asked.count == len(pairs)
    assert mean_gains(reading_of(axis), asked) == pytest.approx(listed, rel=1e-12, abs=1e-12)
    assert np.array_equal(np.sort(some_of(asked, 10**4)), np.sort(np.array(pairs).T))


@pytest.mark.parametrize("axis", AXES, ids=repr)
def test_weights_of_a_question_are_those_of_its_codes(axis: AxisTransform) -> None:
    question = np.random.default_rng(1).integers(-5, 6, (2, axis.size)).astype(float)
    reading = reading_of(axis)
    matrix = np.stack([reading.inverse(unit, 0) for unit in np.eye(axis.coefficients)])
    assert reading.rows(question) == pytest.approx(question @ matrix.T, abs=1e-12)


def measured(forecast: Forecast) -> NoisyProduct:
    assert isinstance(forecast.strategy, NoisyProduct)
    return forecast.strategy


def variances_of(forecast: Forecast, cells: Any) -> Any:
    """The variance of each question, by matrices over all cells."""
    if isinstance(forecast.strategy, SmallTables):
        return dense_tables(forecast).variances(np.array(cells, np.float64))
    strategy = measured(forecast)
    return explicit_variances(strategy.transform, strategy.noise(forecast.epsilon), cells)


def dense_tables(forecast: Forecast) -> DenseTables:
    strategy = forecast.strategy
    assert isinstance(strategy, SmallTables)
    shape, transforms = strategy.schema.shape, strategy.transforms
    tables = [
        Measured(table.axes, table.read, table.noise)
        for table in strategy.reader(forecast.epsilon).layers[0].agreeing.tables
    ]
    along = [transforms.get(axis, Identity(size)) for axis, size in enumerate(shape)]
    return DenseTables(along, tables)


def questions_for(schema: Schema) -> str:
    first = schema.attributes[0].name
    groups = f"SELECT {first}, COUNT(*) FROM people GROUP BY {first}"
    return f"SELECT COUNT(*) FROM people; -- weight 3\n{groups}"


@pytest.mark.parametrize("workload", [*WORKLOADS, "2*ranges + marginals:1", "sql"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in LARGER else [])
        for name in SCHEMAS
    ],
)
def test_every_forecast_is_that_of_the_matrices(name: str, workload: str) -> None:
    schema = SCHEMAS[name]
    if workload == "nodes" and all(a.hierarchy is None for a in schema.attributes):
        return
    if workload == "sql":
        asked = from_sql(questions_for(schema), schema)
    else:
        asked = read_workload(workload, schema)
    found = plan(schema, epsilon="0.7", workload=asked, budgets=True)
    questions = list(all_questions(asked))
    cells, weights = [q for q, _ in questions], np.array([weight for _, weight in questions])
    assert weights.sum() == pytest.approx(asked.weight)
    assert {f.mechanism for f in found.forecasts} >= {"basic", "privelet", "mixed"}
    for forecast in found.forecasts:
        variances = variances_of(forecast, cells)
        mean = math.sqrt(float(weights @ variances) / weights.sum())
        assert forecast.rmse == pytest.approx(mean, rel=1e-9)
        assert forecast.worst <= math.sqrt(variances.max()) * (1 + 1e-9)
        exact = isinstance(forecast.strategy, NoisyProduct)
        if exact and all(len(axis.classes) == 1 for axis in measured(forecast).transform.axes):
            assert forecast.worst == pytest.approx(math.sqrt(variances.max()), rel=1e-9)


def test_questions_of_several_boxes_share_noise() -> None:
    """The boxes of an OR or of a <> touch the same coefficients: errors do not just add up."""
    schema = schema_of(AGE, JOB)
    sql = "age <> 3 OR job = 'office'; age IN (0, 2, 5) AND job <> 'clerk'; age < 2 OR age > 4"
    asked = from_sql(sql, schema)
    assert len(asked.questions) == 3 and max(len(q.boxes) for q in asked.questions) > 1
    found = plan(schema, epsilon="1", workload=asked)
    cells = [q for q, _ in all_questions(asked)]
    for forecast in found.forecasts:
        mean = variances_of(forecast, cells).mean()
        assert forecast.rmse == pytest.approx(math.sqrt(mean), rel=1e-9)


def measured_mse(forecast: Forecast, starts: Any, stops: Any, releases: int) -> float:
    """The mean square error of noise that was drawn: the true counts are all zero."""
    product = measured(forecast).transform
    nobody = Counts(product.shape, np.zeros(0, np.int64), np.zeros(0, np.int64))
    noise = EntropyNoise(SeededEntropy(5))
    total = 0.0
    for _ in range(releases):
        curator = Curator(
            nobody, exposure=measured(forecast).exposure, account=Account(Fraction(1)), noise=noise
        )
        drawn = curator.noisy_coefficients(product, epsilon=1).values
        sums = accumulate(ProductReading.of(product).inverse(drawn))
        total += float(np.square(box_sums(sums, starts, stops)).mean())
    return total / releases


@pytest.mark.parametrize("schema", [line(300), square(24)], ids=["line", "square"])
def test_releases_are_as_noisy_as_forecast(schema: Schema) -> None:
    found = plan(schema, epsilon="1", workload="ranges", budgets=True)
    asked = AllRanges(schema.shape[0])
    pairs = np.array([(a, b) for b in range(asked.codes + 1) for a in range(b)])
    chosen = np.random.default_rng(3).integers(0, len(pairs), (4000, len(schema.shape)))
    starts, stops = pairs[chosen, 0], pairs[chosen, 1]
    for forecast in found.forecasts:
        if forecast.mechanism == "marginals":  # tests/marginals has them
            continue
        error = measured_mse(forecast, starts, stops, 150)
        assert error == pytest.approx(forecast.rmse**2, rel=0.1), forecast.mechanism


def test_budgets_of_levels_help_and_are_optional() -> None:
    asked = Listed.of([(0, 5), (5, 9), *((k, k + 1) for k in range(9))])
    tree = Tree(9, ((0, 9), (0, 5), (5, 9)), root=False)
    shared = with_budgets(tree, asked)
    assert shared.shares is not None and sum(shared.shares) == 1
    assert tree_cost(shared, *some_of(asked, 100)) < tree_cost(tree, *some_of(asked, 100))
    schema = schema_of(JOB)
    with_shares = plan(schema, epsilon="0.1", workload="nodes", budgets=True).forecasts[0]
    without = plan(schema, epsilon="0.1", workload="nodes").forecasts[0]
    assert with_shares.rmse <= without.rmse


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([AGE, SEX, JOB, GRADE]), min_size=1, max_size=3, unique_by=id),
    st.lists(st.sampled_from(WORKLOADS[:-1]), min_size=1, max_size=2, unique=True),
    st.sampled_from(["add-remove", "replace-one"]),
    st.sampled_from(["0.05", "1", "8"]),
)
def test_the_recommended_one_never_loses(
    attributes: list[dict[str, Any]], parts: list[str], neighbours: str, epsilon: str
) -> None:
    schema = schema_of(*attributes, neighbours=neighbours)
    found = plan(schema, epsilon=epsilon, workload=" + ".join(parts))
    best = found.recommended
    variances = Variances(Purpose(schema, found.epsilon, found.workload))
    for forecast in found.forecasts:
        assert best.error <= forecast.error * (1 + 1e-8)
    mixed = next(f for f in found.forecasts if f.mechanism == "mixed")
    axes = measured(mixed).transform.axes
    products = [f.rmse for f in found.forecasts if isinstance(f.strategy, NoisyProduct)]
    assert mixed.rmse == pytest.approx(min(products), rel=1e-8)
    # Nor to any other choice along one axis.
    for i, attribute in enumerate(schema.attributes):
        for axis in (Identity(attribute.size), *(Haar(attribute.size),) * (attribute.size > 1)):
            other = variances.mean(Product((*axes[:i], axis, *axes[i + 1 :])))
            if axis in axes or attribute.kind == "ordinal" or axis.kind == "identity":
                assert mixed.rmse <= math.sqrt(other) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("workload", "grid", "share"),
    [("prefixes", "tents:1x9:left:1", 0.83), ("ranges + 20*identity", "tents:4:peaks:7", 0.76)],
)
def test_tents_are_fitted_to_what_is_asked(workload: str, grid: str, share: float) -> None:
    """Trees and plain counts were the best before for these."""
    found = plan(line(256), epsilon="1", workload=workload)
    assert found.best is not None and found.best.mechanism == "mixed"
    assert list(found.best.parameters.values()) == [grid]
    others = [f.rmse for f in found.forecasts if f.mechanism not in ("mixed", "marginals")]
    assert found.best.rmse**2 < share * min(others) ** 2


def test_more_budget_means_less_error() -> None:
    schema = SCHEMAS["an order and a hierarchy"]
    plans = [plan(schema, epsilon=e, workload="ranges") for e in ("0.1", "0.2", "1", "4")]
    for name in ("basic", "privelet", "privelet+", "hierarchical", "mixed"):
        errors = [next(f.rmse for f in p.forecasts if f.mechanism == name) for p in plans]
        assert errors == sorted(errors, reverse=True) and errors[0] > errors[-1]
    best = plans[2].recommended
    assert best.margin(Fraction(2)) < best.margin() < best.margin(Fraction(1, 2))


@pytest.mark.parametrize("error", [3.0, 40.0, 5000.0])
def test_the_budget_for_an_error_is_just_enough(error: float) -> None:
    for forecast in plan(line(64), epsilon="1").forecasts:
        needed = forecast.epsilon_for(error)
        assert forecast.margin(needed) <= error < forecast.margin(needed * Fraction(97, 100))


def test_a_typical_count_has_about_the_mean_error() -> None:
    for forecast in plan(square(40), epsilon="1").forecasts:
        assert forecast.margin() == pytest.approx(1.96 * forecast.rmse, rel=0.15)
        assert [sized.cells for sized in forecast.by_size] == sorted(
            s.cells for s in forecast.by_size
        )
        mean = np.mean([sized.rmse**2 for sized in forecast.by_size])
        assert math.sqrt(mean) == pytest.approx(forecast.rmse, rel=0.05)


def test_the_paper_s_bound_holds_for_ranges_and_nodes() -> None:
    for schema in SCHEMAS.values():
        for forecast in plan(schema, epsilon="1", workload="ranges").forecasts:
            if forecast.mechanism in ("basic", "privelet", "privelet+"):
                assert forecast.bound is not None and forecast.worst <= forecast.bound


def test_an_axis_of_a_hundred_million_codes_is_planned_without_laying_it_out() -> None:
    found = plan(line(10**8), epsilon="1", workload="ranges")
    assert not found.workload.exact and not plan(line(10**8), epsilon="1").to_dict()["exact"]
    assert [f.mechanism for f in found.forecasts] == ["privelet", "privelet+", "mixed", "basic"]
    plain = math.sqrt(
        (10**8 + 2) / 3 * 1.8413
    )  # a range of mean length, at the variance of scale 1
    assert found.forecasts[-1].rmse == pytest.approx(plain, rel=0.01)


def test_planning_imports_nothing_that_could_read_data_or_draw_noise() -> None:
    import subprocess

    script = (
        "import sys, hushtable.planner, hushtable.query.sql;"
        "from hushtable.families import forecasting;"
        "assert [*forecasting('exact'), *forecasting('declared')];"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('duckdb', 'ibis', 'numba', 'sqlite3', 'pandas', 'pyarrow', 'cryptography')"
        " or m.startswith(('hushtable.kernel.counting', 'hushtable.kernel.curator',"
        " 'hushtable.kernel.noise',"
        " 'hushtable.kernel.privacy.ledger', 'hushtable.publishing'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_plan_is_part_of_the_package() -> None:
    schema = line(20)
    found = hushtable.plan(schema, epsilon="1", workload=hushtable.workload.ranges(schema))
    told = found.to_dict()
    assert told["recommended"] == told["mechanisms"][0]["mechanism"]
    assert [m["rmse"] for m in told["mechanisms"]] == sorted(m["rmse"] for m in told["mechanisms"])


def basic_of(found: Any) -> Forecast:
    return next(forecast for forecast in found.forecasts if forecast.mechanism == "basic")


def test_errors_are_told_by_how_many_attributes_a_question_names() -> None:
    """Cells of one table have one error, so that a sample of them tells it exactly."""
    schema = schema_of(AGE, SEX, GRADE, JOB)
    ways = {k: basic_of(plan(schema, epsilon="1", workload=f"marginals:{k}")) for k in (1, 2, 4)}
    joined = basic_of(
        plan(schema, epsilon="1", workload="marginals:1 + 3*marginals:2 + marginals:4 + total")
    )
    assert joined.by_attributes.keys() == {1, 2, 4}
    for number, alone in ways.items():
        assert alone.by_attributes == pytest.approx({number: alone.rmse})
        assert joined.by_attributes[number] == pytest.approx(alone.rmse)
    asked = from_sql("age = 1; age = 1 OR grade = 'low'; SELECT COUNT(*) FROM people", schema)
    assert basic_of(plan(schema, epsilon="1", workload=asked)).by_attributes.keys() == {1, 2}


def test_answers_are_useful_where_a_typical_one_errs_by_less_than_it_counts() -> None:
    schema = line(50)
    single = basic_of(plan(schema, epsilon="1", workload="identity"))
    assert single.useful_from == pytest.approx(50 * single.rmse)
    total = basic_of(plan(schema, epsilon="1", workload="total"))
    assert total.useful_from == pytest.approx(total.rmse)
    both = basic_of(plan(schema, epsilon="1", workload="3*identity + total"))
    mean = (single.useful_from**3 * total.useful_from) ** (1 / 4)
    assert both.useful_from == pytest.approx(mean)


def test_single_values_of_a_long_axis_do_not_decide_alone() -> None:
    """Ranges of a hundred thousand values are useful long before every single value is."""
    needed = plan(line(10**5), epsilon="1").forecasts[0].useful_from
    singles = plan(line(10**5), epsilon="1", workload="identity").forecasts[0].useful_from
    assert 100 < needed < singles / 10


def test_what_follows_the_data_is_offered_to_few_people_alone() -> None:
    schema = schema_of(AGE, JOB)
    assert schema.cells == 35
    assert plan(schema, epsilon="1", people=350).worth_trying == ("privtree",)
    assert plan(schema, epsilon="1", people=360).worth_trying == ()
    assert plan(schema, epsilon="2", people=350).worth_trying == ()
    assert plan(schema, epsilon="1").worth_trying == ()
    wide = schema_of(*({**AGE, "name": f"a{i}"} for i in range(5)))
    assert plan(wide, epsilon="1", people=100, workload="marginals:1").worth_trying == ()

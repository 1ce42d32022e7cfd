"""`auto` publishes what the plan recommends, and says so; `mixed` is private like the others."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from plan_cases import AGE, GRADE, JOB, schema_of

import hushtable
from hushtable.auditing.privacy_check import check_mechanism
from hushtable.errors import OptionError
from hushtable.families import FAMILIES, Family, find_mechanism
from hushtable.families.sparse import expected
from hushtable.planner import plan
from hushtable.schema import Schema

ROWS = "age,job,grade\n" + "3,clerk,low\n5,miner,\n0,boss,high\n" * 20


def publish(folder: Path, schema: Schema, name: str = "r", **options: Any) -> hushtable.Release:
    (folder / "people.csv").write_text(ROWS)
    return hushtable.publish(
        folder / "people.csv",
        schema,
        epsilon="1",
        out=folder / f"{name}.release",
        ledger=folder / "people.ledger",
        **options,
    )


@pytest.mark.parametrize("workload", ["ranges", "marginals:1", "nodes + total", None])
def test_auto_publishes_what_is_recommended(tmp_path: Path, workload: str | None) -> None:
    schema = schema_of(AGE, JOB, GRADE)
    best = plan(schema, epsilon="1", workload=workload or "everyday").recommended
    release = publish(tmp_path, schema, workload=workload)
    told = release.manifest["plan"]
    assert release.mechanism == best.mechanism == told["recommended"]["mechanism"]
    assert told["recommended"]["rmse"] == best.rmse
    assert told["recommended"]["error"] == best.error <= min(told["others"].values())
    assert told["workload"] == (workload or "everyday") and told["people"] is None
    assert release.manifest["asked"] == "auto"
    # The release has the error that was forecast.
    error = math.sqrt(release.reader.law(best.typical).variance)
    assert error * 1.96 == pytest.approx(best.margin(), rel=0.3)


def test_every_forecast_can_be_published_as_it_is_told(tmp_path: Path) -> None:
    schema = schema_of(AGE, JOB, GRADE)
    for number, forecast in enumerate(plan(schema, epsilon="1", budgets=True).forecasts):
        release = publish(
            tmp_path,
            schema,
            f"r{number}",
            mechanism=forecast.mechanism,
            settings=forecast.parameters,
        )
        law = release.reader.law(forecast.typical)
        assert law.half_width(0.95) == pytest.approx(forecast.margin(), rel=0.02)


def test_a_family_is_planned_because_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = schema_of(AGE, JOB)
    best = plan(schema, epsilon="1").forecasts[0]
    toy: Any = ModuleType("hushtable.families.toy.forecast")
    toy.forecasts = lambda purpose: [
        replace(best, mechanism="toy", rmse=best.rmse / 2, by_attributes={})
    ]
    monkeypatch.setitem(sys.modules, toy.__name__, toy)
    monkeypatch.setitem(FAMILIES, "toy", Family({"toy": "toy"}, (), forecasts="exact"))
    found = plan(schema, epsilon="1")
    assert found.recommended.mechanism == "toy" and found.forecasts[1].rmse == best.rmse


def test_attributes_with_commas_in_their_names_are_planned_too(tmp_path: Path) -> None:
    schema = schema_of({**AGE, "name": "age, in years"}, JOB)
    found = plan(schema, epsilon="1")
    assert {f.mechanism for f in found.forecasts} == {"basic", "privelet", "mixed", "marginals"}
    for forecast in found.forecasts:
        find_mechanism(forecast.mechanism).check(
            schema, epsilon=Fraction(1), settings=forecast.parameters
        )


def test_settings_of_mixed_name_attributes(tmp_path: Path) -> None:
    schema = schema_of(AGE, JOB)
    mixed = find_mechanism("mixed")
    for settings in ({"height": "haar"}, {"age": "tree"}, {"job": "magic"}):
        with pytest.raises(OptionError):
            mixed.check(schema, epsilon=Fraction(1), settings=settings)
    mixed.check(schema, epsilon=Fraction(1), settings={"job": "nominal"})


ONE = {"name": "one", "kind": "ordinal", "range": [7, 7]}


@pytest.mark.parametrize(
    "workload", ["total + marginals:1", "total + identity", "everyday + total"]
)
@pytest.mark.parametrize("attributes", [(AGE, JOB), (ONE, AGE, GRADE), (ONE, ONE | {"name": "b"})])
def test_questions_that_name_no_attribute_are_planned_for_too(
    workload: str, attributes: tuple[dict[str, Any], ...]
) -> None:
    schema = schema_of(*attributes)
    for forecast in plan(schema, epsilon="1", workload=workload).forecasts:
        find_mechanism(forecast.mechanism).check(
            schema, epsilon=Fraction(1), settings=forecast.parameters
        )


def test_a_domain_beyond_all_floats_is_planned() -> None:
    long = {"kind": "ordinal", "range": [1, 1000]}
    schema = schema_of(*({"name": f"a{i}", **long} for i in range(104)))
    best = plan(schema, epsilon="1", workload="marginals:1").best
    assert best is not None and best.useful_from == pytest.approx(1000 * best.rmse, rel=0.01)


def test_a_plan_for_little_epsilon_computes_each_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws of summaries are as long as their noise is wide."""
    real, computed = expected._law, []
    monkeypatch.setattr(expected, "_law", lambda *key: (computed.append(key), real(*key))[1])
    plan(schema_of(AGE, JOB, GRADE), epsilon="0.004", people=300)
    assert 0 < len(computed) <= 3 * len(set(computed))


def test_a_table_of_more_people_than_cells_is_not_sparse() -> None:
    found = plan(schema_of(AGE, JOB, GRADE), epsilon="0.1", people=1000)
    assert found.summaries and found.best in found.forecasts


TWO = {"name": "a", "kind": "ordinal", "range": [0, 2]}
TREE = {"name": "b", "kind": "nominal", "tree": {"x": ["p", "q"], "y": ["r", "s"]}}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "settings",
    [
        {"a": "haar", "b": "tree@1/4,3/4"},
        pytest.param({"a": "tree:2x2", "b": "nominal"}, marks=pytest.mark.thorough),
        {"a": "rooted:2x2@1/2,1/4,1/4", "b": "rooted"},
        pytest.param({"b": "rooted@1/6,1/3,1/2"}, marks=pytest.mark.thorough),
        {"a": "tents:2@16", "b": "tree"},
    ],
    ids=str,
)
def test_nobody_loses_more_than_epsilon(settings: dict[str, str], neighbours: str) -> None:
    schema = schema_of(TWO, TREE, neighbours=neighbours)
    rows = [("0", "p"), ("0", "q"), ("2", "s"), ("1", "?")]
    report = check_mechanism("mixed", schema, rows=rows, epsilon="0.5", settings=settings)
    assert report.holds, report.problem
    if neighbours == "add-remove":
        assert report.tight


def huge() -> Schema:
    long = {"kind": "ordinal", "range": [1, 10**6]}
    return schema_of({"name": "home", **long}, {"name": "work", **long})


def test_a_domain_beyond_the_memory_is_summarised_for_declared_figures(tmp_path: Path) -> None:
    declared: dict[str, Any] = {"people": 1_000_000, "typical": 100.0}
    found = plan(huge(), epsilon="1", **declared)
    assert not found.forecasts and found.to_dict()["recommended"] == "filter-priority"
    (tmp_path / "trips.csv").write_text("home,work\n" + "5,7\n" * 500)
    release = hushtable.publish(
        tmp_path / "trips.csv",
        huge(),
        epsilon="1",
        out=tmp_path / "trips.release",
        ledger=tmp_path / "trips.ledger",
        **declared,
    )
    assert release.mechanism == "filter-priority"
    assert abs(release.count("home = 5 AND work = 7").value - 500) < 40


@pytest.mark.parametrize("people, match", [(None, "declare people"), (1_000_000, "mostly noise")])
def test_a_summary_that_may_be_noise_is_not_published(
    tmp_path: Path, people: int | None, match: str
) -> None:
    """Spread evenly, a million people leave almost all of so many cells empty."""
    assert plan(huge(), epsilon="1", people=people).recommended is None
    with pytest.raises(OptionError, match=match):
        publish(tmp_path, huge(), people=people)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_summary_is_recommended_for_declared_people_only() -> None:
    found = plan(huge(), epsilon="1", people=1_000_000, typical=100.0)
    assert found.recommended is not None and replace(found, people=None).recommended is None


def wide(**declared: Any) -> Schema:
    long = {"kind": "ordinal", "range": [1, 30]}
    return schema_of(*({"name": f"a{i}", **long} for i in range(8)), **declared)


def test_auto_refuses_what_would_be_mostly_noise(tmp_path: Path) -> None:
    enough = plan(wide(), epsilon="1")
    assert enough.recommended is not None
    needed = enough.recommended.useful_from
    few, many = (
        int(float(f"{needed:.1g}")) // 2,
        int(float(f"{needed:.1g}")) * 2,
    )
    assert plan(wide(people=many), epsilon="1").recommended is not None
    found = plan(wide(people=few), epsilon="1")
    assert found.best is not None and found.recommended is None
    assert found.to_dict()["recommended"] is None
    for schema, declared in ((wide(people=few), {}), (wide(people=many), {"people": few})):
        with pytest.raises(OptionError, match="would be noise") as refused:
            publish(tmp_path, schema, **declared)
        for remedy in ("fewer attributes", "coarser bins", "epsilon", "marginals:1"):
            assert remedy in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_the_epsilon_that_a_refusal_names_is_enough() -> None:
    few = 1000
    refused = plan(wide(people=few), epsilon="1").why_not()
    enough = refused.rpartition("epsilon ")[2]
    assert plan(wide(people=few), epsilon=enough).recommended is not None


@pytest.mark.parametrize("given", [{"people": 1000}, {"typical": 2.0}, {"workload": "ranges"}])
def test_what_a_plan_is_made_for_is_refused_without_one(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(given))} is for 'auto'"):
        publish(tmp_path, schema_of(AGE, JOB, GRADE), mechanism="basic", **given)


def test_summaries_are_forecast_for_declared_figures_only() -> None:
    schema = schema_of(AGE, JOB)
    assert plan(schema, epsilon="1").summaries == ()
    found = plan(schema, epsilon="1", people=1000, typical=10.0)
    assert {one.mechanism for one in found.summaries} == {"filter", "filter-priority"}
    for one in found.summaries:
        find_mechanism(one.mechanism).check(schema, epsilon=Fraction(1), settings=one.parameters)
    with pytest.raises(OptionError, match="typical"):
        plan(schema, epsilon="1", people=10, typical=11.0)


def test_a_domain_too_large_for_everything_is_refused() -> None:
    long = {"kind": "ordinal", "range": [1, 10**9]}
    with pytest.raises(OptionError, match="coarser bins"):
        plan(schema_of(*({"name": f"a{i}", **long} for i in range(4))), epsilon="1")

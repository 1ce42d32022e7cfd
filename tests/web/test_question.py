"""Questions in URLs: what they ask as SQL, and that a link carries all of them."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import HushError
from hushtable.web.grain import Grain, Level, Steps, default_grain, grains_of
from hushtable.web.question import Question, read_question
from tests.web.shared_releases import JOBS, town_schema

SCHEMA = town_schema()


def asked(query: str, start: str = "age") -> Question:
    return read_question(SCHEMA, parse_qsl(query, keep_blank_values=True), start=start)


def test_without_parameters_the_counts_of_an_attribute_are_asked_for() -> None:
    assert asked("").sql() == "SELECT age, COUNT(*)\nFROM town\nGROUP BY 1"


@pytest.mark.parametrize(
    ("query", "sql"),
    [
        ("by=-", "SELECT COUNT(*) FROM town"),
        ("by=job", "SELECT LEVEL(job, 1), COUNT(*) FROM town GROUP BY 1"),
        ("by=job&at=each", "SELECT job, COUNT(*) FROM town GROUP BY 1"),
        ("by=age&at=10", "SELECT FLOOR(age / 10) * 10 AS age, COUNT(*) FROM town GROUP BY 1"),
        ("by=sex&and=pay", "SELECT sex, pay, COUNT(*) FROM town GROUP BY 1, 2"),
        ("by=sex&and=sex", "SELECT sex, COUNT(*) FROM town GROUP BY 1"),
        ("by=sex&show=mean&of=age", "SELECT sex, AVG(age) FROM town GROUP BY 1"),
        (
            "by=sex&show=share&is.job=Farm",
            "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent"
            " FROM town WHERE job = 'Farm' GROUP BY 1",
        ),
        (
            "by=-&show=share&is.sex=F&from.age=18",
            "SELECT 100.0 * COUNT(*) FILTER (WHERE age >= 18 AND sex = 'F') / COUNT(*) AS percent"
            " FROM town",
        ),
        (
            "by=-&is.job=Farm&is.job=Clerk&from.pay=10&to.pay=50",
            "SELECT COUNT(*) FROM town WHERE job IN ('Farm', 'Clerk') AND pay >= 10 AND pay < 50",
        ),
        ("by=-&to.pay=100", "SELECT COUNT(*) FROM town WHERE pay <= 100"),
        (
            "by=-&missing.pay=on&to.pay=10",
            "SELECT COUNT(*) FROM town WHERE (pay < 10 OR pay IS NULL)",
        ),
        ("sql=SELECT 1&by=age", "SELECT 1"),
    ],
)
def test_a_url_is_this_sql(query: str, sql: str) -> None:
    assert " ".join(asked(query).sql().split()) == sql


@pytest.mark.parametrize("query", ["by=age&at=10&a=10&b=20", "by=job&a=Office&b=Outdoors"])
@pytest.mark.parametrize("shown", ["show=count", "show=share", "show=mean&of=age"])
def test_a_difference_is_that_of_the_two_rows(town: ht.Release, query: str, shown: str) -> None:
    question = asked(f"{query}&{shown}")
    assert question.compared is not None
    table = town.sql(question.sql())
    labels = [str(label) for label in table.groups[question.by[0].attribute.name]]
    first, second = (float(table.values[labels.index(label)]) for label in question.compared)
    sql = question.difference_sql()
    assert sql is not None
    assert float(town.sql(sql).values[0]) == pytest.approx(first - second)


@pytest.mark.parametrize(
    "query",
    [
        "by=nothing",
        "by=job&at=9",
        "by=sex&at=month",
        "show=most",
        "show=mean",
        "confidence=2",
        "confidence=x",
        "is.nobody=1",
        "from.age=1 OR 1=1",
        "from.age=1e9",
    ],
)
def test_what_is_no_question_is_refused_in_one_line(query: str) -> None:
    with pytest.raises(HushError) as refused:
        asked(query).sql()
    assert "\n" not in str(refused.value)


questions = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["by", "and"]), st.sampled_from(["age", "sex", "job", "pay"])),
        st.tuples(st.just("is.job"), st.sampled_from([*JOBS, "Farm", "a'b & c=d"])),
        st.tuples(st.just("is.sex"), st.sampled_from(["F", "M"])),
        st.tuples(st.sampled_from(["from.age", "to.age"]), st.sampled_from(["7", "30"])),
        st.tuples(st.just("to.pay"), st.sampled_from(["10", "100"])),
        st.sampled_from(
            [("missing.pay", "on"), ("together", "on"), ("estimate", "on"), ("show", "share")]
        ),
        st.tuples(st.just("confidence"), st.sampled_from(["0.9", "0.95", "0.999"])),
    ),
    max_size=9,
)


@given(questions)
def test_the_link_of_a_question_asks_the_same(pairs: list[tuple[str, str]]) -> None:
    question = read_question(SCHEMA, pairs, start="age")
    again = read_question(SCHEMA, parse_qsl(question.url()[1:]), start="sex")
    assert again == question


def test_a_group_and_what_is_inside_it_count_the_same(town: ht.Release) -> None:
    """By every grain of every attribute, as far as one can look inside."""
    for attribute in SCHEMA.attributes:
        for grain in grains_of(attribute):
            query = f"by={attribute.name}&at={grain.code}"
            question = asked(query)
            table = town.sql(question.sql())
            (labels,) = table.groups.values()
            for place in (0, len(table) - 1):
                label = None if labels[place] is None else str(labels[place])
                inside = question.within(question.by[0], label).split()
                count = town.sql(inside.sql()).values[0]
                assert count == pytest.approx(float(table.values[place]))


def test_one_looks_into_a_hierarchy_level_by_level() -> None:
    job = SCHEMA.attribute("job")
    grain: Grain | None = default_grain(job)
    assert grain == Level(1)
    assert grain.finer(job, "Outdoors") == Level(2)
    assert Level(2).finer(job, "Farm") == Grain()
    assert Level(2).finer(job, "Clerk") is None
    assert Steps(10).finer(SCHEMA.attribute("age"), "10") == Grain()


def test_dates_are_seen_by_years_and_months(tmp_path: object) -> None:
    days = {"name": "day", "kind": "ordinal", "dates": ["2020-01-01", "2023-12-31"]}
    schema = ht.Schema.from_dict({"name": "t", "budget": "1", "attribute": [days]})
    (attribute,) = schema.attributes
    assert [grain.code for grain in grains_of(attribute)] == ["year", "month", "each"]
    assert default_grain(attribute).code == "month"
    question = read_question(schema, [("by", "day")], start="day")
    narrowed = question.within(question.by[0], "2021-03-01")
    assert narrowed.filters[0].sql() == "day = '2021-03'"
    grain = question.by[0].grain
    assert grain.finer(attribute, "2021-03-01") == Grain()

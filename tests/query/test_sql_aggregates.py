"""SELECT lists, HAVING and ORDER BY become aggregates under names of their own."""

import pytest
from query_schemas import CENSUS, NEWER_PARSER

from hushtable.errors import QueryError
from hushtable.query.aggregate import (
    Arithmetic,
    Compared,
    Count,
    Joined,
    Mean,
    Named,
    Negated,
    Number,
    Overall,
    Quantile,
    Spread,
    Sum,
)
from hushtable.query.result import Order
from hushtable.query.sql import parse_query, parse_where

AGE, INCOME = 0, 1


def asked(text: str):
    """The one aggregate of a SELECT list."""
    (named,) = parse_query(f"SELECT {text} FROM census", CENSUS).aggregates
    return named.aggregate


def where(text: str):
    return parse_where(text, CENSUS)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("COUNT(*)", Count()),
        ("COUNT(1)", Count()),
        ("COUNT(grade)", Count()),
        ("COUNT(age)", Count(where("age IS NOT NULL"))),
        ("COUNT(NULL)", Count(())),
        ("COUNT_IF(age > 1)", Count(where("age > 1"))),
        ("COUNT(*) FILTER (WHERE age > 1)", Count(where("age > 1"))),
        ("COUNT(CASE WHEN age > 1 THEN 1 END)", Count(where("age > 1"))),
        ("SUM(age)", Sum(AGE)),
        ("SUM((age))", Sum(AGE)),
        ("SUM(income)", Sum(INCOME)),
        ("SUM(age) FILTER (WHERE grade = 'low')", Sum(AGE, where("grade = 'low'"))),
        ("SUM(CASE WHEN age > 1 THEN age ELSE 0 END)", Sum(AGE, where("age > 1"))),
        ("SUM(CASE WHEN age > 1 THEN 1 ELSE 0 END)", Count(where("age > 1"))),
        ("SUM(2 * age)", Arithmetic("*", Number(2.0), Sum(AGE))),
        (
            "SUM(age + 1)",
            Arithmetic("+", Sum(AGE), Count(where("age IS NOT NULL"))),
        ),
        (
            "SUM(age + income)",
            Arithmetic(
                "+",
                Sum(AGE, where("income IS NOT NULL")),
                Sum(INCOME, where("age IS NOT NULL")),
            ),
        ),
        ("SUM(0)", Number(0.0)),
        ("AVG(age)", Mean(AGE)),
        ("MEAN(age)", Mean(AGE)),
        ("AVG(CASE WHEN grade = 'low' THEN age END)", Mean(AGE, where("grade = 'low'"))),
        (
            "AVG(CASE WHEN age > 1 THEN 1.0 ELSE 0 END)",
            Arithmetic("/", Count(where("age > 1")), Count()),
        ),
        ("MEDIAN(age)", Quantile(AGE, 0.5)),
        ("QUANTILE_CONT(age, 0.9)", Quantile(AGE, 0.9)),
        ("QUANTILE_DISC(age, 0.9)", Quantile(AGE, 0.9)),
        ("QUANTILE(age, 0.9)", Quantile(AGE, 0.9)),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age)", Quantile(AGE, 0.25)),
        ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY age DESC)", Quantile(AGE, 0.75)),
        pytest.param(
            "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) FILTER (WHERE grade = 'low')",
            Quantile(AGE, 0.25, where("grade = 'low'")),
            marks=NEWER_PARSER,
        ),
        ("VARIANCE(age)", Spread(AGE)),
        ("VAR_SAMP(age)", Spread(AGE)),
        ("VAR_POP(age)", Spread(AGE, sample=False)),
        ("STDDEV(age)", Spread(AGE, root=True)),
        ("STDDEV_SAMP(age)", Spread(AGE, root=True)),
        ("STDDEV_POP(age)", Spread(AGE, root=True, sample=False)),
        ("COUNT(*)::float", Count()),
        ("CAST(COUNT(*) AS DOUBLE)", Count()),
        ("NULLIF(COUNT(*), 0)", Count()),
        ("COALESCE(SUM(age), 0)", Sum(AGE)),
        ("-COUNT(*)", Arithmetic("-", Number(0.0), Count())),
        (
            "100.0 * COUNT(*) FILTER (WHERE age > 1) / COUNT(*)",
            Arithmetic("/", Arithmetic("*", Number(100.0), Count(where("age > 1"))), Count()),
        ),
        ("COUNT(*) / SUM(COUNT(*)) OVER ()", Arithmetic("/", Count(), Overall(Count()))),
        (
            "SUM(2 * SUM(age) - COUNT(*)) OVER ()",
            Overall(Arithmetic("-", Arithmetic("*", Number(2.0), Sum(AGE)), Count())),
        ),
    ],
)
def test_an_aggregate_asks_this(text, meant):
    assert asked(text) == meant


@pytest.mark.parametrize(
    "text",
    ["SUM(COUNT(*) + 1) OVER ()", "SUM(COUNT(*) * COUNT(*)) OVER ()", "SUM(1 / COUNT(*)) OVER ()"],
)
def test_only_what_adds_up_over_groups_is_asked_of_all_of_them(text):
    with pytest.raises(QueryError, match="only counts and sums add up"):
        asked(text)


def test_aggregates_have_the_names_they_are_written_by_or_their_aliases():
    query = parse_query(
        "SELECT grade, COUNT(*), AVG(Age), count(*), COUNT(*) AS n, avg(age) FROM census"
        " GROUP BY grade",
        CENSUS,
    )
    names = ("count", "avg(age)", "count_1", "n", "avg(age)_1")
    assert query.columns == (0, *names)
    assert {named.name for named in query.aggregates} == set(names)
    assert query.count_name == "count" and query.selected == ("grade",)


def test_a_name_that_another_column_has_as_its_alias_gets_a_number():
    query = parse_query("SELECT COUNT(*), AVG(age) AS count FROM census", CENSUS)
    assert query.columns == ("count_1", "count")
    with pytest.raises(QueryError, match="two columns are called 'n'"):
        parse_query("SELECT COUNT(*) AS n, AVG(age) AS n FROM census", CENSUS)


def test_order_by_finds_what_is_selected_and_hides_what_is_not():
    query = parse_query(
        "SELECT grade, AVG(age) AS mean, COUNT(*) AS n FROM census GROUP BY grade"
        " ORDER BY AVG(age) DESC, n / 2, MEDIAN(age), 3",
        CENSUS,
    )
    names = [order.column for order in query.order]
    assert names == ["mean", "n / 2", "median(age)", "n"]
    assert query.order[0] == Order("mean", True)
    assert query.columns == (0, "mean", "n")
    halved = Named("n / 2", Arithmetic("/", Count(), Number(2.0)))
    assert query.aggregates[2:] == (halved, Named("median(age)", Quantile(AGE, 0.5)))


def test_having_compares_aggregates_and_aliases():
    query = parse_query(
        "SELECT grade, COUNT(*) AS n FROM census GROUP BY grade"
        " HAVING n > 10 AND NOT (AVG(age) BETWEEN 1 AND 2 OR 5 <> SUM(age))",
        CENSUS,
    )
    between = Joined(
        True, (Compared(">=", Mean(AGE), Number(1.0)), Compared("<=", Mean(AGE), Number(2.0)))
    )
    other = Compared("<>", Number(5.0), Sum(AGE))
    many = Compared(">", Count(), Number(10.0))
    assert query.having == Joined(True, (many, Negated(Joined(False, (between, other)))))


def test_an_alias_that_is_an_attribute_is_not_meant_by_having():
    with pytest.raises(QueryError, match="'age' stands outside an aggregate"):
        parse_query("SELECT COUNT(*) AS age FROM census HAVING age > 1", CENSUS)


def test_a_long_sum_is_not_nested_deeply():
    branches = " ".join(f"WHEN age = {k % 6 - 1} THEN {k + 2}" for k in range(150))
    deep = asked(f"SUM(CASE {branches} END)")
    depth = 0
    while isinstance(deep, Arithmetic) and deep.sign == "+":
        deep, depth = deep.left, depth + 1
    assert 2 <= depth <= 8

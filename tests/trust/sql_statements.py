"""Random SELECT statements with aggregates, expressions and derived tables, and rows to ask.

Each is written twice, for hushtable and for DuckDB, and the texts differ in two ways only: a sum of
nothing is zero here and NULL there, and what is divided by zero is NULL here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

import duckdb
import numpy as np
from slow_queries import Rows

from hushtable.schema import Schema

STATUSES = ("m%d", "married", "separated", "single")
SCHEMA = Schema.from_dict(
    {
        "name": "census",
        "budget": "3",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [-3, 12], "outside": "other"},
            {"name": "income", "kind": "ordinal", "edges": [0, 10, 20, 39], "outside": "other"},
            {"name": "grade", "kind": "ordinal", "labels": ["a high", "b mid", "c low"]},
            {"name": "status", "kind": "nominal", "values": list(STATUSES), "outside": "other"},
            {
                "name": "day",
                "kind": "ordinal",
                "dates": ["2020-12-26", "2021-01-05"],
                "by": "day",
                "outside": "other",
            },
            {
                "name": "month",
                "kind": "ordinal",
                "dates": ["2020-10-01", "2021-05-01"],
                "by": "month",
            },
        ],
    }
)
EDGES = (0, 10, 20, 39)
FIRST_DAY = date(2020, 12, 26)


def random_rows(seed: int, count: int = 400) -> tuple[Rows, list[tuple[Any, ...]]]:
    """Rows as codes and numbers, and as values."""
    chance = np.random.default_rng(seed)
    codes = np.stack([chance.integers(0, size, count) for size in SCHEMA.shape], axis=1)
    values = [_values(row, chance) for row in codes.tolist()]
    numbers = [
        np.array([np.nan if isinstance(v, str | date) or v is None else v for v in column], float)
        for column in zip(*values, strict=True)
    ]
    return Rows(SCHEMA, codes, numbers), values


def _values(codes: list[int], chance: np.random.Generator) -> tuple[Any, ...]:
    age, income, grade, status, day, month = codes
    return (
        None if age == 16 else age - 3,
        None if income == 3 else _income(income, chance),
        ("a high", "b mid", "c low")[grade],
        None if status == 4 else STATUSES[status],
        None if day == 11 else FIRST_DAY + timedelta(days=day),
        date(2020 + (9 + month) // 12, (9 + month) % 12 + 1, 1),
    )


def _income(code: int, chance: np.random.Generator) -> float:
    """A value in a bin, often at its ends: the last bin has both."""
    low, high = EDGES[code], EDGES[code + 1]
    last = high if code == 2 else high - 0.25
    return float(chance.choice([low, last, low + chance.integers(0, 4 * (high - low)) / 4]))


MIDDLES = (5.0, 15.0, 29.5)


def in_the_middle(values: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows whose incomes stand in the middle of their bins, where answers take them to be."""
    edges = np.array(EDGES[1:-1])
    return [
        (age, None if income is None else MIDDLES[int(np.searchsorted(edges, income, "right"))], *r)
        for age, income, *r in values
    ]


def database(values: list[tuple[Any, ...]]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the rows."""
    db = duckdb.connect()
    db.execute(
        "CREATE TABLE census (age INTEGER, income DOUBLE, grade VARCHAR, status VARCHAR,"
        " day DATE, month DATE)"
    )
    db.executemany("INSERT INTO census VALUES (?, ?, ?, ?, ?, ?)", values)
    return db


Pair = tuple[str, str]


def same(text: str) -> Pair:
    return text, text


# ── conditions and expressions of a row ──────────────────────────────────────────────────────────

SIGNS = ("=", "<>", "<", "<=", ">", ">=")


def condition(chance: Random, depth: int = 2) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.5:
        return comparison(chance)
    if kind < 0.65:
        return f"NOT ({condition(chance, depth - 1)})"
    word = chance.choice((" AND ", " OR "))
    return word.join(f"({condition(chance, depth - 1)})" for _ in range(2))


def comparison(chance: Random) -> str:
    sign, number = chance.choice(SIGNS), chance.randrange(-3, 13)
    return chance.choice(
        (
            lambda: f"age {sign} {number}",
            lambda: f"{number} {sign} age",
            lambda: f"age BETWEEN {number} AND {chance.randrange(-3, 13)}",
            lambda: f"income {chance.choice(('<', '>='))} {chance.choice((0, 10, 20))}",
            lambda: f"grade {chance.choice(('=', '<>'))} 'b mid'",
            lambda: f"grade {chance.choice(('<', '>='))} 'b mid'",
            lambda: f"status {chance.choice(('IN', 'NOT IN'))} ('single', 'married')",
            lambda: f"status {chance.choice(('', 'NOT '))}{_like(chance)}",
            lambda: f"day {sign} '{FIRST_DAY + timedelta(days=chance.randrange(0, 11))}'",
            lambda: f"month {chance.choice(('<', '>='))} '2021-{chance.randrange(1, 5):02}-01'",
            lambda: (
                f"{chance.choice(('age', 'status', 'day'))} IS {chance.choice(('', 'NOT '))}NULL"
            ),
            lambda: f"{_number(chance)} {sign} {chance.randrange(-2, 8)}",
            lambda: (
                f"{_number(chance)} BETWEEN {chance.randrange(-2, 2)} AND {chance.randrange(8)}"
            ),
            lambda: f"{_number(chance)} NOT IN ({chance.randrange(3)}, {chance.randrange(9)})",
            lambda: f"LEFT(status, 1) {chance.choice(('=', '<>'))} 's'",
            lambda: f"{_case(chance)} IS NULL",
            lambda: f"{_case(chance)} = 1",
        )
    )()


def _like(chance: Random) -> str:
    word = chance.choice(("LIKE", "ILIKE"))
    patterns = ("m%", "%e%", "M%", "_ingle", "s%e", "%", "m%d", "%r%d", "single", "")
    if chance.random() < 0.2:
        return "LIKE 'm!%d' ESCAPE '!'"
    return f"{word} '{chance.choice(patterns)}'"


def _number(chance: Random) -> str:
    """A function of one attribute that is a number."""
    k = chance.randrange(2, 6)
    part = chance.choice(("YEAR", "MONTH", "DAY", "DOW", "ISODOW", "WEEK", "QUARTER", "DOY"))
    return chance.choice(
        (
            f"FLOOR(age / {k})",
            f"FLOOR(age / {k}) * {k}",
            f"age // {k}",
            f"(age - {k}) // {k}",
            f"-age // {k}",
            f"CEIL(age / {k})",
            f"ROUND(age / {k})",
            f"CAST(age / {k} AS INTEGER)",
            f"(age / 2)::int + {k}",
            f"{k} - FLOOR(age * 0.5)",
            "FLOOR(income / 20)",
            "FLOOR(income / 10)",
            f"EXTRACT({part} FROM day)",
            f"DATE_PART('{part.lower()}', day)",
            "YEAR(month)",
            "MONTH(month) // 3",
            "QUARTER(month) * 10 + 1",
            "EXTRACT(DAY FROM month)",
        )
    )


def _case(chance: Random) -> str:
    """A CASE of numbers."""
    first = f"WHEN {condition(chance, 1)} THEN {chance.randrange(3)}"
    second = (
        f" WHEN {condition(chance, 0)} THEN {chance.randrange(3)}" if chance.random() < 0.5 else ""
    )
    other = chance.choice(("", " ELSE 1", " ELSE NULL", f" ELSE {chance.choice(('age', '2 * 3'))}"))
    return f"CASE {first}{second}{other} END"


def term(chance: Random) -> str:
    """Something to group by."""
    k = chance.randrange(0, 4)
    return chance.choice(
        (
            *("age", "grade", "status", "day", "month"),
            *(_number(chance), _number(chance), _case(chance), f"age * {k + 1} - 1"),
            f"({condition(chance, 1)})",
            f"CASE WHEN {condition(chance, 1)} THEN 'b' WHEN {condition(chance, 0)} THEN 'a' END",
            "CASE status WHEN 'single' THEN 'x' WHEN 'married' THEN 'y' ELSE grade END",
            f"DATE_TRUNC('{chance.choice(('week', 'month', 'year'))}', day)",
            f"DATE_TRUNC('{chance.choice(('quarter', 'month', 'year', 'week'))}', month)",
            *(f"LEFT(status, {k})", f"RIGHT(grade, {k})", f"SUBSTRING(status, {k + 1}, 2)"),
            f"COALESCE(age, {k})",
        )
    )


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────


def aggregate(chance: Random, depth: int = 2) -> Pair:
    """An aggregate, or arithmetic of some."""
    if depth == 0 or chance.random() < 0.6:
        return single(chance)
    one, two = aggregate(chance, depth - 1), aggregate(chance, depth - 1)
    sign = chance.choice("+-*/")
    if chance.random() < 0.3:
        one = same(chance.choice(("100", "2.5", "-1")))
    theirs = f"NULLIF({two[1]}, 0)" if sign == "/" else two[1]
    return f"({one[0]} {sign} {two[0]})", f"({one[1]} {sign} {theirs})"


def single(chance: Random) -> Pair:
    share, x = chance.choice((0, 0.1, 0.5, 0.75, 1)), chance.choice(("age", "income"))
    rows = f" FILTER (WHERE {condition(chance, 1)})" if chance.random() < 0.3 else ""
    if chance.random() < 0.3:
        sum_of = f"SUM({_summand(chance)}){rows}"
        return sum_of, f"COALESCE({sum_of}, 0)"
    text = chance.choice(
        (
            *("COUNT(*)", "COUNT(1)", f"COUNT({chance.choice(('age', 'status', 'day'))})"),
            f"COUNT({_case(chance)})",
            *(
                f"AVG({x})",
                f"AVG({_summand(chance)})",
                f"MEDIAN({x})",
                f"QUANTILE_CONT({x}, {share})",
            ),
            f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY {x}{chance.choice(('', ' DESC'))})",
            *(f"VARIANCE({x})", f"VAR_POP({x})", f"VAR_SAMP({x})", f"STDDEV({x})"),
            *(f"STDDEV_POP({x})", f"STDDEV_SAMP({x})"),
            f"MEDIAN(CASE WHEN {condition(chance, 0)} THEN {x} END)",
        )
    )
    return same(f"{text}{rows}")


def _summand(chance: Random) -> str:
    k = chance.randrange(1, 4)
    return chance.choice(
        (
            *("age", "income", f"{k} * age + 1", f"age - income / {k}", f"COALESCE(age, {k})"),
            f"CASE WHEN {condition(chance, 1)} THEN age ELSE 0 END",
            f"CASE WHEN {condition(chance, 1)} THEN 1.0 ELSE 0 END",
            f"CASE WHEN {condition(chance, 1)} THEN 1 END",
            f"{_case(chance)} * {k} - age",
            f"CAST(age >= {k} AS INTEGER)",
        )
    )


def having(chance: Random) -> Pair:
    one, number = single(chance), chance.choice((0, 1, 3, 10))
    sign = chance.choice((">", "<=", ">="))
    ours, theirs = (f"{text} {sign} {number}.1" for text in one)
    if chance.random() < 0.3:
        more = chance.choice((" AND ", " OR ")) + f"NOT COUNT(*) BETWEEN {number} AND 8"
        ours, theirs = ours + more, theirs + more
    return ours, theirs


# ── statements ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Statement:
    """One question, for hushtable and for DuckDB; `ordered` if the order of its rows is given."""

    ours: str
    theirs: str
    ordered: bool


def statement(chance: Random, *, held: bool = False) -> Statement:
    """A SELECT with some of everything; with `held`, of groups that have a row."""
    terms = list(dict.fromkeys(term(chance) for _ in range(chance.randrange(0, 3))))
    source, before = "census", ""
    if chance.random() < 0.3:
        source, before, terms = _derived(chance, terms)
    names = [f"g{i}" for i in range(len(terms))]
    asked = [aggregate(chance) for _ in range(chance.randrange(1, 4))]
    sets = _sets(chance, terms, names) if terms and chance.random() < 0.3 else None
    if terms and sets is None and chance.random() < 0.2:
        share = chance.choice(("COUNT(*)", "COUNT(age)"))
        asked.append(same(f"100.0 * {share} / SUM({share}) OVER ()"))
    shown = [f"{text} AS {name}" for text, name in zip(terms, names, strict=True)]
    where = f" WHERE {condition(chance)}" if chance.random() < 0.6 else ""
    group = "" if not terms else f" GROUP BY {sets or ', '.join(_named(chance, terms, names))}"
    keep = having(chance) if chance.random() < 0.3 and "OVER" not in asked[-1][0] else None
    order, ordered = _order(chance, terms, names, sets)
    texts = []
    for side in (0, 1):
        columns = [*shown, *(f"{text[side]} AS a{i}" for i, text in enumerate(asked))]
        kept = "" if keep is None else f" HAVING {keep[side]}"
        if held and terms:
            kept = " HAVING COUNT(*) > 0" + (f" AND ({keep[side]})" if keep else "")
        texts.append(
            f"{before}SELECT {', '.join(columns)} FROM {source}{where}{group}{kept}{order}"
        )
    return Statement(texts[0], texts[1], ordered or not terms)


def _derived(chance: Random, terms: list[str]) -> tuple[str, str, list[str]]:
    """A derived table with the terms as columns: the FROM, what comes before, and the terms."""
    columns = [f"{text} AS e{i}" for i, text in enumerate(terms)]
    where = f" WHERE {condition(chance)}" if chance.random() < 0.7 else ""
    inner = f"SELECT {', '.join(['*', *columns])} FROM census{where}"
    names = [f"e{i}" for i in range(len(terms))]
    if chance.random() < 0.3:
        inner = f"SELECT * FROM ({inner}) AS u WHERE {condition(chance, 0)}"
    if chance.random() < 0.5:
        return "t", f"WITH t AS ({inner}) ", names
    return f"({inner}) AS t", "", [chance.choice((name, f"t.{name}")) for name in names]


def _named(chance: Random, terms: list[str], names: list[str]) -> list[str]:
    """The terms of GROUP BY: by themselves, by their aliases or by their positions."""
    pairs = enumerate(zip(terms, names, strict=True))
    return [chance.choice((text, name, str(i + 1))) for i, (text, name) in pairs]


def _sets(chance: Random, terms: list[str], names: list[str]) -> str:
    listed = ", ".join(names)
    return chance.choice(
        (
            f"ROLLUP ({listed})",
            f"CUBE ({listed})",
            f"GROUPING SETS (({listed}), {names[0]}, ())",
            f"{names[0]}, ROLLUP ({names[-1]})" if len(terms) > 1 else f"ROLLUP ({listed})",
        )
    )


def _order(
    chance: Random, terms: list[str], names: list[str], sets: str | None
) -> tuple[str, bool]:
    """An order that leaves no ties, and a cut; or none."""
    if not terms or sets is not None or chance.random() < 0.5:
        return "", False
    keys = [] if chance.random() < 0.5 else [chance.choice(("COUNT(*)", "a0", "2 * COUNT(age)"))]
    keys += chance.sample(names, len(names))
    nulls = ("", " NULLS FIRST", " NULLS LAST")
    listed = [f"{key}{chance.choice(('', ' DESC'))}{chance.choice(nulls)}" for key in keys]
    cut = f" LIMIT {chance.randrange(0, 6)} OFFSET {chance.randrange(0, 3)}"
    return f" ORDER BY {', '.join(listed)}{cut if chance.random() < 0.5 else ''}", True

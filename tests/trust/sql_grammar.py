"""Random SQL, each statement as hushtable reads it and as SQLite does, and a table for SQLite.

The table has every cell of the schema as many times as its count says, each attribute by value,
by code and by the groups above it, so that COUNT(*) in SQLite is the sum over explicit cells.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np

from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "census",
        "budget": "3",
        "attribute": [
            {
                "name": "age",
                "kind": "ordinal",
                "range": [-1, 4],
                "outside": "other",
                "tree": {"young": ["-1", "0", "1"], "old": ["2", "3", "4"]},
            },
            {"name": "income", "kind": "ordinal", "edges": [0, 10, 20.5, 40], "outside": "other"},
            {"name": "grade", "kind": "ordinal", "labels": ["low", "mid", "high"]},
            {
                "name": "marital-status",
                "kind": "nominal",
                "tree": {"alone": ["single", "widowed"], "together": ["married", "joint"]},
                "outside": "other",
            },
        ],
    }
)
EDGES = (0, 10, 20.5, 40)
GRADES = ("low", "mid", "high")
STATUSES = ("single", "widowed", "married", "joint")
GROUPS = {
    "young": (-1, 0, 1),
    "old": (2, 3, 4),
    "alone": STATUSES[:2],
    "together": STATUSES[2:],
    "*": STATUSES,
}
SIGNS = ("=", "<>", "!=", "<", "<=", ">", ">=")
MIRRORED = {"=": "=", "<>": "<>", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
STATUS = '"marital-status"'


def counts(seed: int) -> np.ndarray:
    """A count of at least one for every cell, so that every group has rows."""
    return np.random.default_rng(seed).integers(1, 4, SCHEMA.shape)


def explicit_table(cells: np.ndarray, *, upper: bool) -> sqlite3.Connection:
    """SQLite with a row for every person; incomes at the lower or the upper end of their bins."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE TABLE census (cell INTEGER, age INTEGER, age_c INTEGER, age_1 TEXT, age_1c INTEGER,"
        " income REAL, income_c INTEGER, income_bin TEXT, grade TEXT, grade_c INTEGER,"
        f" {STATUS} TEXT, status_c INTEGER, status_1 TEXT, status_1c INTEGER)"
    )
    rows = []
    for number, place in enumerate(product(*map(range, cells.shape))):
        rows += [(number, *_values(place, upper))] * int(cells[place])
    db.executemany(f"INSERT INTO census VALUES ({', '.join('?' * 14)})", rows)
    return db


def _values(place: tuple[int, ...], upper: bool) -> tuple[Any, ...]:
    age, income, grade, status = place
    attributes = SCHEMA.attributes
    years = None if age == 6 else age - 1
    ends = (9.99, 20.49, 40) if upper else EDGES
    return (
        years,
        None if age == 6 else age,
        None if years is None else ("young" if years < 2 else "old"),
        None if years is None else 3 * (years >= 2),
        None if income == 3 else ends[income],
        None if income == 3 else income,
        None if income == 3 else attributes[1].label(income),
        GRADES[grade],
        grade,
        None if status == 4 else STATUSES[status],
        None if status == 4 else status,
        None if status == 4 else ("alone" if status < 2 else "together"),
        None if status == 4 else 2 * (status >= 2),
    )


# ── conditions: hushtable's text and SQLite's ────────────────────────────────────────────────────

Pair = tuple[str, str]


def condition(chance: Random, depth: int = 3) -> Pair:
    """A condition, with and without parentheses."""
    kind = chance.random()
    if depth == 0 or kind < 0.4:
        return comparison(chance)
    if kind < 0.55:
        ours, theirs = condition(chance, depth - 1)
        return (f"NOT ({ours})", f"NOT ({theirs})")
    if kind < 0.6:  # binds tighter than AND, looser than a comparison
        ours, theirs = comparison(chance)
        return (f"NOT {ours}", f"NOT {theirs}")
    word = chance.choice((" AND ", " OR "))
    parts = [condition(chance, depth - 1) for _ in range(chance.randrange(2, 4))]
    if chance.random() < 0.5:
        parts = [(f"({ours})", f"({theirs})") for ours, theirs in parts]
    return (word.join(ours for ours, _ in parts), word.join(theirs for _, theirs in parts))


def comparison(chance: Random) -> Pair:
    return chance.choice(
        (_age, _age, _age_between, _listed, _listed, _income, _bin, _grade, _status, _null, _truth)
    )(chance)


def _same(text: str) -> Pair:
    return text, text


def _sided(chance: Random, name: str, sign: str, value: str) -> str:
    if chance.random() < 0.3:
        return f"{value} {MIRRORED[sign]} {name}"
    return f"{name} {sign} {value}"


def _age(chance: Random) -> Pair:
    sign = chance.choice(SIGNS)
    value = chance.choice((*map(str, range(-3, 7)), "2.0", "1.5", "-0.5", "1e3", "NULL", "'2'"))
    if value in ("'2'", "1.5", "-0.5", "1e3") and chance.random() < 0.7:
        value = "1"
    return _same(_sided(chance, chance.choice(("age", "AGE", "census.age")), sign, value))


def _age_between(chance: Random) -> Pair:
    low, high = chance.randrange(-3, 6), chance.choice((*range(-3, 7), "NULL", 2.5))
    word = chance.choice(("", "NOT "))
    return _same(f"age {word}BETWEEN {low} AND {high}")


def _listed(chance: Random) -> Pair:
    name, values = chance.choice(
        (
            ("age", ["-1", "0", "3", "4", "NULL", "'young'", "'old'"]),
            ("grade", ["'low'", "'mid'", "'high'"]),
            (STATUS, ["'single'", "'joint'", "'alone'", "'together'", "'*'", "NULL"]),
        )
    )
    chosen = [chance.choice(values) for _ in range(chance.randrange(1, 4))]
    word = chance.choice(("IN", "NOT IN"))
    theirs = ", ".join(member for value in chosen for member in _members(value))
    return f"{name} {word} ({', '.join(chosen)})", f"{name} {word} ({theirs})"


def _members(value: str) -> list[str]:
    """A node of a hierarchy as the values below it."""
    below = GROUPS.get(value.strip("'"))
    return [value] if below is None else [repr(member) for member in below]


def _income(chance: Random) -> Pair:
    sign = chance.choice(SIGNS[3:])
    value = chance.choice(("-5", "0", "10", "20.5", "20.50", "40", "99", "15", "NULL"))
    return _same(_sided(chance, "income", sign, value))


def _bin(chance: Random) -> Pair:
    sign = chance.choice(("=", "<>"))
    label = SCHEMA.attributes[1].label(chance.randrange(3))
    return f"income {sign} '{label}'", f"income_bin {sign} '{label}'"


def _grade(chance: Random) -> Pair:
    sign, label = chance.choice(SIGNS), chance.choice(GRADES)
    return f"grade {sign} '{label}'", f"grade_c {sign} {GRADES.index(label)}"


def _status(chance: Random) -> Pair:
    sign = chance.choice(("=", "<>"))
    label = chance.choice((*STATUSES, "alone", "together", "*"))
    word = "IN" if sign == "=" else "NOT IN"
    members = ", ".join(_members(repr(label)))
    return f"{STATUS} {sign} '{label}'", f"{STATUS} {word} ({members})"


def _null(chance: Random) -> Pair:
    name = chance.choice(("age", "income", "grade", STATUS))
    return _same(f"{name} IS {chance.choice(('', 'NOT '))}NULL")


def _truth(chance: Random) -> Pair:
    return _same(chance.choice(("TRUE", "FALSE", "NULL")))


# ── statements ───────────────────────────────────────────────────────────────────────────────────

# What can be grouped by: our text, SQLite's columns for its label and its place in the order.
TERMS = (
    ("age", "age", "age_c"),
    ("LEVEL(age, 1)", "age_1", "age_1c"),
    ("income", "income_bin", "income_c"),
    ("grade", "grade", "grade_c"),
    (STATUS, STATUS, "status_c"),
    (f"LEVEL({STATUS}, 1)", "status_1", "status_1c"),
)


@dataclass(frozen=True)
class Statement:
    """One question, for hushtable and for SQLite."""

    ours: str
    theirs: str
    ordered: bool


def statement(chance: Random) -> Statement:
    """A count, or a table of counts, ordered and cut where that has one answer."""
    ours_where, theirs_where = "", ""
    if chance.random() < 0.9:
        ours, theirs = condition(chance)
        ours_where, theirs_where = f" WHERE {ours}", f" WHERE {theirs}"
    terms = _terms(chance)
    names = [term[0] for term in terms]
    shown = "".join(f"{name}, " for name in names)
    ours = f"SELECT {shown}COUNT(*) FROM census{ours_where}"
    labels = "".join(f"{term[1]}, " for term in terms)
    theirs = f"SELECT {labels}COUNT(*), COUNT(DISTINCT cell) FROM census{theirs_where}"
    if not terms:
        return Statement(ours, theirs, ordered=True)
    ours += f" GROUP BY {', '.join(names)}"
    theirs += f" GROUP BY {', '.join(term[1] for term in terms)}"
    ordered = chance.random() < 0.5
    if ordered:
        mine, other = _order(chance, terms)
        ours, theirs = ours + mine, theirs + other
    return Statement(ours, theirs, ordered)


def _terms(chance: Random) -> list[tuple[str, str, str]]:
    chosen: list[tuple[str, str, str]] = []
    for term in chance.sample(TERMS, chance.randrange(0, 3)):
        if not any(_attribute(term) == _attribute(other) for other in chosen):
            chosen.append(term)
    return chosen


def _attribute(term: tuple[str, str, str]) -> str:
    return term[0].removeprefix("LEVEL(").partition(",")[0]


def _order(chance: Random, terms: list[tuple[str, str, str]]) -> Pair:
    """An order by all group columns, so that it has one answer; sometimes by the count first."""
    ours, theirs = [], []
    if chance.random() < 0.4:
        direction = chance.choice(("", " DESC"))
        ours.append(f"COUNT(*){direction}")
        theirs.append(f"COUNT(*){direction}")
    for term in chance.sample(terms, len(terms)):
        direction = chance.choice(("", " ASC", " DESC"))
        nulls = chance.choice(("", " NULLS FIRST", " NULLS LAST"))
        ours.append(f"{term[0]}{direction}{nulls}")
        theirs.append(f"{term[2]}{direction}{nulls or ' NULLS LAST'}")
    cut = ""
    if chance.random() < 0.5:
        cut = f" LIMIT {chance.randrange(0, 8)}"
        cut += f" OFFSET {chance.randrange(0, 5)}" if chance.random() < 0.5 else ""
    return f" ORDER BY {', '.join(ours)}{cut}", f" ORDER BY {', '.join(theirs)}{cut}"


# ── damaged statements ───────────────────────────────────────────────────────────────────────────

TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|\w+(?:\.\w+)?|<>|<=|>=|!=|\S")
JUNK = (
    *("SELECT", "COUNT(*)", "FROM", "census", "WHERE", "GROUP", "BY", "AND", "OR", "NOT", "IN"),
    *("BETWEEN", "IS", "NULL", "TRUE", "age", "income", STATUS, "'single'", "'joint'", "(", ")"),
    *(",", "=", "<", ">=", "<>", "-", "+", "*", "0", "1", "-1", "2.0", "1e9", "1e-9", "'", '"'),
    *(";", "--", "/*", "*/", "AS", "x", "DISTINCT", "HAVING", "UNION", "ALL", "LIKE", "XOR", "||"),
    *("CASE", "CAST", "EXISTS", "JOIN", "LEVEL", "SUM", "\0", "\n", "é", "\u202e", "%", "?", ":a"),
    *("::int", "{", "}", "[", "]", "\\", "`", "$1", "@", "#", "~", "^", "!", "&", "|"),
)


def plain_statement(chance: Random) -> str:
    """A statement that both read as it is, without hierarchies, ordered labels or cuts."""
    parts = []
    for _ in range(chance.randrange(1, 4)):
        part = chance.choice(
            (
                lambda: _age(chance)[0],
                lambda: _age_between(chance)[0],
                lambda: f"{STATUS} = '{chance.choice(STATUSES)}'",
                lambda: f"age IN ({chance.randrange(-1, 5)}, {chance.randrange(-1, 5)})",
                lambda: _null(chance)[0],
            )
        )()
        parts.append(chance.choice(("{}", "NOT {}", "({})")).format(part))
    where = chance.choice((" AND ", " OR ")).join(parts)
    group = chance.choice(("", "", "age", STATUS, f"age, {STATUS}"))
    if not group:
        return f"SELECT COUNT(*) FROM census WHERE {where}"
    return f"SELECT {group}, COUNT(*) FROM census WHERE {where} GROUP BY {group}"


def damaged(chance: Random) -> str:
    """A statement with a few tokens lost, doubled, swapped or put in; or nothing but tokens."""
    if chance.random() < 0.1:
        return " ".join(chance.choice(JUNK) for _ in range(chance.randrange(0, 15)))
    return disturbed(chance, plain_statement(chance), JUNK)


def disturbed(chance: Random, sql: str, junk: tuple[str, ...]) -> str:
    """A statement with a few tokens lost, doubled, swapped or put in."""
    tokens = TOKENS.findall(sql)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place = chance.randrange(len(tokens)) if tokens else 0
        match chance.randrange(4):
            case 0 if tokens:
                del tokens[place]
            case 1 if tokens:
                tokens.insert(place, tokens[place])
            case 2 if tokens:
                other = chance.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case _:
                tokens.insert(place, chance.choice(junk))
    return chance.choice((" ", " ", " ", "\n", "")).join(tokens)

"""Workloads as text: `ranges`, `2*marginals:1 + queries.sql`, `level:occupation=1`, and so on.

A file of questions holds SELECT … COUNT(*) statements, each ended by a semicolon. A comment before
one, `-- weight 3`, makes it count three times as much; the groups of a GROUP BY share its weight.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from hushtable.errors import HushError, OptionError
from hushtable.query.aggregate import Aggregate, Arithmetic, Number, Overall
from hushtable.query.box import Boxes, common
from hushtable.query.grouping import Query, check_row_cap, row_boxes
from hushtable.schema import Schema
from hushtable.workload import workload as workloads
from hushtable.workload.workload import MOST_QUESTIONS, Question, Workload

PLAIN: dict[str, Callable[[Schema], Workload]] = {
    "everyday": workloads.everyday,
    "ranges": workloads.ranges,
    "prefixes": workloads.prefixes,
    "identity": workloads.identity,
    "cells": workloads.identity,
    "nodes": workloads.nodes,
    "total": workloads.total,
    "paper": workloads.paper,
}
DEFAULT = "everyday"
"""What is asked unless something else is named."""

HELP = (
    "a workload is everyday, ranges, prefixes, identity, nodes, total, paper, marginals:2,"
    " level:attribute=1, a file of SQL queries, or a sum such as 2*ranges + marginals:1"
)

_LARGEST_FILE = 2**22
_WEIGHTED = re.compile(r"\s*([0-9.eE]+)\s*\*\s*(.+)", re.DOTALL)
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(--[^\n]*)|(;)|.""", re.DOTALL)
_STATEMENT = re.compile(r"(SELECT|WITH)\b", re.IGNORECASE)
_WEIGHT = re.compile(r"--\s*weight\s*:?\s*(\S+)\s*", re.IGNORECASE)


def read_workload(text: str, schema: Schema) -> Workload:
    """The workload that a text describes."""
    if not isinstance(text, str) or not text.strip():
        raise OptionError(HELP)
    parts = [_part(part, schema) for part in text.split(" + ")]
    together = parts[0]
    for part in parts[1:]:
        together = together + part
    return together


def _part(text: str, schema: Schema) -> Workload:
    """One term of a sum, perhaps with a weight."""
    weighted = _WEIGHTED.fullmatch(text)
    if weighted:
        return _number(weighted[1]) * _part(weighted[2], schema)
    name, _, options = text.strip().partition(":")
    if name in PLAIN and not options:
        return PLAIN[name](schema)
    if name == "marginals":
        return workloads.marginals(schema, _whole(options, "marginals:2"))
    if name in ("level", "levels"):
        return workloads.levels(schema, _levels(options))
    if text.strip().lower().endswith((".sql", ".txt")):
        return from_file(Path(text.strip()), schema)
    raise OptionError(f"there is no workload {text.strip()!r}; {HELP}")


def _levels(options: str) -> dict[str, int]:
    """Read `occupation=1,region=2`."""
    found = {}
    for part in filter(None, (part.strip() for part in options.split(","))):
        name, _, depth = part.rpartition("=")
        found[name.strip()] = _whole(depth, "level:occupation=1")
    return found


def _whole(text: str, example: str) -> int:
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) < 10):
        raise OptionError(f"a whole number is missing; for example {example}")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError("a weight is a number; for example 2*ranges") from None


# ── files of questions ───────────────────────────────────────────────────────────────────────────


def from_file(path: Path, schema: Schema) -> Workload:
    """The questions in a file, each with its weight."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError):
        raise OptionError(f"{path} cannot be read as a text file of queries") from None
    if len(text) > _LARGEST_FILE:
        raise OptionError(f"{path} is too long for a file of queries")
    return from_sql(text, schema, name=path.name)


def from_sql(text: str, schema: Schema, *, name: str = "queries") -> Workload:
    """The questions of a text of SQL statements."""
    questions = itertools.islice(_questions(text, schema, name), MOST_QUESTIONS + 1)
    return Workload(name, schema.shape, questions=tuple(questions))


def _questions(text: str, schema: Schema, name: str) -> Iterator[Question]:
    """The questions one by one; an error says in which statement it is."""
    from hushtable.query.sql import parse_query, parse_where

    done = 0
    try:
        for sql, weight in _statements(text):
            if _STATEMENT.match(sql):
                yield from _counts(parse_query(sql, schema), weight, schema)
            else:
                yield Question(parse_where(sql, schema), weight)
            done += 1
    except HushError as wrong:
        raise type(wrong)(f"{name}, query {done + 1}: {wrong}") from None


def _statements(text: str) -> Iterator[tuple[str, float]]:
    """The statements and their weights; semicolons and dashes inside quotes are text."""
    sql, weight = "", 1.0
    for token in _TOKEN.finditer(text + ";"):
        _, comment, end = token.groups()
        if end and sql.strip():
            yield sql.strip(), weight
            sql, weight = "", 1.0
        elif comment:
            found = _WEIGHT.fullmatch(comment)
            weight = _number(found[1]) if found else weight
            if not 0 < weight < float("inf"):
                raise OptionError("the weight of a query must be a positive number")
        elif not end:
            sql += token[0]


def _counts(query: Query, weight: float, schema: Schema) -> Iterator[Question]:
    """One question for each group of a query, and each condition of an aggregate: the rows of it.

    Sums and the like are as accurate as the counts of the rows that they are of.
    """
    check_row_cap(query, schema, MOST_QUESTIONS)
    conditions = list(dict.fromkeys(_conditions(query)))
    found = []
    for _, _, boxes in row_boxes(query, schema):
        for condition in conditions:
            rows = boxes if condition is None else common(boxes, condition)
            if rows:
                found.append(rows)
    for boxes in found:
        yield Question(boxes, weight / len(found))


def _conditions(query: Query) -> Iterator[Boxes | None]:
    """The rows that the aggregates of a query are of, None for all."""
    pending: list[Aggregate] = [named.aggregate for named in query.aggregates]
    while pending:
        match pending.pop():
            case Arithmetic(_, left, right):
                pending += [right, left]
            case Overall(operand):
                pending.append(operand)
            case Number():
                pass
            case aggregate:
                yield aggregate.boxes

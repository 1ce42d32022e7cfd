"""Contribution bounding: of each person's rows, at most max_rows count; and tables of counts.

Which rows are kept is a function of that person's rows alone (and of a secret salt drawn for this
run), so a newcomer never displaces anybody else's. Rows without an id belong to nobody and are
dropped: pooled as one person, they would displace each other. The salt is a secret of its own, and
has nothing to do with the key of the noise.

In a table of counts, a row stands for as many people as it says. One of them more changes the
number of one row by one, and what it counts by one at most: a number above the largest is clipped,
for if its row were dropped, one person could take all the others along.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import ColumnError, engine_function, stripped
from hushtable.schema import CountColumn, Schema

PEOPLE = "people"
"""The column that says how many people a row stands for, in tables of counts."""

# Marks between digits: by threes, or, as in India, by twos before the last three.
_MARK = "[,'’ \u00a0\u202f]"
_GROUPED = f"^[0-9]{{1,3}}({_MARK}[0-9]{{2,3}})*{_MARK}[0-9]{{3}}([.]0*)?$"


def fresh_salt() -> str:
    """128 bits of the operating system, as text."""
    return secrets.token_hex(16)


def bound_contributions(table: Any, schema: Schema, salt: str) -> Any:
    """Drop rows that the schema drops, then all but max_rows rows of every person."""
    codes = [f"k{i}" for i in range(len(schema.attributes))]
    if schema.unit is None:
        rows = whole_rows(table, schema)
        return rows.select(*codes) if schema.counts is None else _of_some_people(rows, schema)
    return kept_rows(rows_of_people(table, schema), schema, salt)


def kept_rows(rows: Any, schema: Schema, salt: str) -> Any:
    """Of rows of persons, all of a person's at once, the codes of those that count.

    Rows of one person with the same codes are interchangeable, so it does not matter which of
    them the engine numbers first; the hash of (salt, person, codes, number) orders the rest.
    """
    import ibis

    assert schema.unit is not None
    codes = [f"k{i}" for i in range(len(schema.attributes))]
    rows = rows.mutate(twin=ibis.row_number().over(ibis.window(group_by=["person", *codes])))
    parts = [
        ibis.literal(salt),
        rows.person,
        *(rows[name].cast("string") for name in (*codes, "twin")),
    ]
    rows = rows.mutate(draw=ibis.literal("|").join(parts).hash())
    rows = rows.mutate(
        rank=ibis.row_number().over(
            ibis.window(group_by="person", order_by=[rows.draw, *(rows[code] for code in codes)])
        )
    )
    return rows.filter(rows["rank"] < schema.unit.max_rows).select(*codes)


def narrow_kinds(schema: Schema) -> dict[str, str]:
    """The columns of codes, and for each the narrowest type that holds them."""
    return {f"k{i}": str(np.min_scalar_type(size - 1)) for i, size in enumerate(schema.shape)}


def whole_rows(table: Any, schema: Schema) -> Any:
    """The rows that the schema does not drop: all their values have a code."""
    return table.filter([table[f"k{i}"].notnull() for i in range(len(schema.attributes))])


def people_column(rows: Any, schema: Schema) -> dict[str, Any]:
    """How many people each of the rows that count stands for, in a table of counts."""
    return {} if schema.counts is None else {PEOPLE: rows[PEOPLE]}


def miscounts(table: Any, schema: Schema) -> dict[str, Any]:
    """Why a row does not count as many people as it says: the first of these, if one is true."""
    assert schema.counts is not None
    number = _written_number(_count_column(table, schema), schema.counts)
    whole = number == engine_function("trunc", ("float64",), "float64")(number)  # never fails
    # Infinite is above the largest too: so is read what has more digits than a float.
    counts = (number >= 0) & whole
    return {"invalid": ~counts.fill_null(False), "above": number > schema.counts.most}


def _of_some_people(rows: Any, schema: Schema) -> Any:
    """The codes of rows that stand for anybody, and for how many.

    A row of nobody is none: cells that hold nothing else must not be told from empty ones.
    """
    import ibis

    counts = schema.counts
    assert counts is not None
    number = _written_number(_count_column(rows, schema), counts)
    why = miscounts(rows, schema)
    people = ibis.cases(
        (why["invalid"], ibis.literal(0, "int64")),
        (why["above"], ibis.literal(counts.most, "int64")),
        else_=number.try_cast("int64"),
    )
    rows = rows.mutate(**{PEOPLE: people})
    codes = [f"k{i}" for i in range(len(schema.attributes))]
    return rows.filter(rows[PEOPLE] > 0).select(*codes, PEOPLE)


def _count_column(table: Any, schema: Schema) -> Any:
    return table[f"c{len(schema.columns) - 1}"]  # behind those of attributes


def _written_number(column: Any, counts: CountColumn) -> Any:
    """The number in a column of counts as a float; NULL for what is none.

    Behind 999 comes 1,000: were it no number, one person more would take all the others along.
    """
    import ibis

    if column.type().is_unknown() and "TIMESTAMP" not in str(column.type()):
        column = column.cast("string")  # so the engine calls a column of nulls, too
    kind = column.type()
    shown = f"column {counts.column!r} is of type {type(kind).__name__.lower()}"
    if not (kind.is_string() or kind.is_numeric() or kind.is_null()):
        line = f"{shown}; the schema says it counts people"
        raise ColumnError(counts.column, line=line)
    if kind.is_floating() and kind.nbytes < 8:  # one person more may be 64 more, or infinite
        line = f"{shown}, which rounds large numbers of people; store it as integers"
        raise ColumnError(counts.column, line=line)
    text = stripped(column) if kind.is_string() else column
    number = text.try_cast("float64")
    if kind.is_string():
        whole = text.re_replace("[^0-9.]", "").try_cast("float64")
        number = ibis.cases((text.re_search(_GROUPED), whole), else_=number)
    return number.nullif(float("nan"))  # to the engine, NaN equals NaN


def rows_of_people(table: Any, schema: Schema) -> Any:
    """Of those, the rows of somebody, with who that is: all that counts if nobody has too many."""
    codes = [f"k{i}" for i in range(len(schema.attributes))]
    rows = whole_rows(table, schema)
    rows = rows.mutate(person=_person(rows[f"c{len(schema.columns)}"]))
    return rows.filter(rows.person.notnull() & (rows.person != "")).select("person", *codes)


def _person(column: Any) -> Any:
    """The id as text without blanks around it, or bytes in hexadecimal; NULL for no id.

    That is also NaN, as some tools write a missing number, and text with the mark that readers put
    in the place of broken characters: two people whose ids are broken would displace each other.
    """
    import ibis

    if column.type().is_timestamp() or column.type().is_time():
        raise DataError("the unit's column holds times; ids must be text, numbers or dates")
    if column.type().is_floating():
        # Adding zero makes 0 of −0, which is printed otherwise.
        column = ibis.cases((column.isnan(), ibis.null(column.type())), else_=column + 0.0)
    if column.type().is_binary():  # any byte may be one of an id
        return engine_function("hex", ("binary",), "string")(column)
    person = stripped(column.cast("string"))
    return ibis.cases((person.contains("\ufffd"), ibis.null("string")), else_=person)

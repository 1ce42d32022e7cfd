"""What becomes of every row and value, worked out by the engine in one reading of the table.

Codes are those that counting uses, by the same expressions. Of each value without a code of its own
it is told why, and of such values the most frequent ones. Until all is told, the engine holds of a
row no more than its codes, reasons and odd values.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import or_
from typing import Any

import numpy as np

from hushtable.kernel.counting.encoding.bound import (
    PEOPLE,
    bound_contributions,
    miscounts,
    rows_of_people,
    whole_rows,
)
from hushtable.kernel.counting.encoding.encode import encode, misfits
from hushtable.kernel.counting.encoding.statement import ROWS, SALT, SqlStatement, written
from hushtable.schema import Attribute, Labels, Schema

FITS, EMPTY, UNREADABLE, BELOW, ABOVE, UNKNOWN = range(6)
"""Why a value has no code of its own, or that it has one."""

LONGEST = 200
"""Odd values are told apart by so many characters."""
MOST_VALUES = 1000
"""Of each attribute, so many odd values are told."""

_FATES = "hush_fates"
_WORD = 2**62


def reasons_of(attribute: Attribute) -> tuple[int, ...]:
    """Why values of an attribute may have no code of their own."""
    if isinstance(attribute.values, Labels):
        return (EMPTY, UNKNOWN)
    return (EMPTY, UNREADABLE, BELOW, ABOVE)


@lru_cache(4)
def fate_statement(schema: Schema, types: Any) -> SqlStatement:
    """One row of all figures, for columns of these types."""
    import ibis

    coded = _fates(encode(ibis.table(types, name=ROWS), schema), schema)
    rows = ibis.table(coded.schema(), name=_FATES)
    parts = [_totals(rows, schema), _odd_values(rows), _cells(rows, schema)]
    parts += [_people(rows, schema)] if schema.unit else []
    parts += [_miscounted(rows, schema)] if schema.counts else []
    first, *rest = (written(part) for part in (coded, *parts))
    # Read once: what a stream holds cannot be read again.
    told = ", ".join(f"({part.sql})" for part in rest)
    sql = f"WITH {_FATES} AS MATERIALIZED ({first.sql}) SELECT * FROM {told}"
    return SqlStatement(sql, first.lists, salted=any(part.salted for part in rest))


def _fates(table: Any, schema: Schema) -> Any:
    """Of each row, the codes, the reasons, and the values that do not fit."""
    reasons = {f"r{i}": _reason(table, f"k{i}", a) for i, a in enumerate(schema.attributes)}
    table = table.mutate(**reasons)
    kinds = [np.min_scalar_type(size - 1) for size in schema.shape]
    codes = {f"k{i}": table[f"k{i}"].cast(str(kind)) for i, kind in enumerate(kinds)}
    whose = [f"c{len(schema.columns)}"] if schema.unit else []
    whose += [f"c{len(schema.columns) - 1}"] if schema.counts else []
    return table.select(*whose, *reasons, **codes, odd=_odd(table, len(codes)))


def _reason(table: Any, name: str, attribute: Attribute) -> Any:
    import ibis

    text = table[f"{name}_text"]
    empty = text.isnull() | (text == "") if text.type().is_string() else text.isnull()
    if isinstance(attribute.values, Labels):
        code = table[name]
        found = {"unknown": code.isnull() if attribute.other is None else code == attribute.other}
    else:
        found = misfits(table[f"{name}_number"], attribute)
    places = {"unreadable": UNREADABLE, "below": BELOW, "above": ABOVE, "unknown": UNKNOWN}
    first = next(iter(found.values()))
    cases = [(first & empty, EMPTY), *((misfit, places[name]) for name, misfit in found.items())]
    return ibis.cases(
        *((misfit, ibis.literal(place, "int8")) for misfit, place in cases),
        else_=ibis.literal(FITS, "int8"),
    )


def _odd(table: Any, attributes: int) -> Any:
    """The values of a row with what is wrong with each, as a list; NULL if all fit."""
    import ibis

    names = range(attributes)
    pairs = [
        ibis.struct(
            {
                "attribute": ibis.literal(i, "int32"),
                "reason": table[f"r{i}"],
                "value": table[f"k{i}_text"].cast("string").left(LONGEST + 1),
            }
        )
        for i in names
    ]
    is_odd = [table[f"r{i}"] > EMPTY for i in names]
    return ibis.cases((reduce(or_, is_odd), ibis.array(pairs)))


def _totals(rows: Any, schema: Schema) -> Any:
    """How many rows there are, and how many values of each attribute for each reason."""
    import ibis

    attributes = list(enumerate(schema.attributes))
    dropped = {i: rows[f"k{i}"].isnull() for i, a in attributes if a.outside != "other"}
    rows = rows.mutate(lost=sum((drop.cast("int32") for drop in dropped.values()), ibis.literal(0)))
    facts = {"rows": rows.count(), "whole": (rows.lost == 0).sum()}
    for i, attribute in attributes:
        reason = rows[f"r{i}"]
        facts |= {f"r{i}_{why}": (reason == why).sum() for why in reasons_of(attribute)}
        if i in dropped:
            facts[f"alone{i}"] = (dropped[i] & (rows.lost == 1)).sum()
    return rows.aggregate(**facts)


def _odd_values(rows: Any) -> Any:
    """The most frequent values of each attribute that do not fit, as one list."""
    import ibis

    rows = rows.filter(rows.odd.notnull())
    values = rows.select(odd=rows.odd.unnest()).unpack("odd")
    values = values.filter(values.reason > EMPTY)
    counted = values.group_by(["attribute", "reason", "value"]).aggregate(rows=values.count())
    order = ibis.window(group_by="attribute", order_by=[counted["rows"].desc(), counted["value"]])
    ranked = counted.mutate(place=ibis.row_number().over(order))
    ranked = ranked.filter(ranked.place < MOST_VALUES)
    names = ("attribute", "reason", "value", "rows", "place")
    return ranked.aggregate(odd=ibis.struct({name: ranked[name] for name in names}).collect())


def _cells(rows: Any, schema: Schema) -> Any:
    """How many cells are occupied, by how many rows and people in all, contributions bounded."""
    import ibis

    bounded = bound_contributions(rows, schema, SALT)
    words = _words(bounded, schema)
    each = bounded[PEOPLE] if schema.counts else ibis.literal(1, "int64")
    listed = bounded.select(**words, **{PEOPLE: each})
    cells = listed.group_by(list(words)).aggregate(
        number=listed.count(), people=listed[PEOPLE].sum()
    )
    return cells.aggregate(
        occupied=cells.count(), kept=cells.number.sum(), counted=cells.people.sum()
    )


def _words(rows: Any, schema: Schema) -> dict[str, Any]:
    """The linear code of a row's cell, in as many integers as it needs."""
    words: list[Any] = []
    room = 0
    for i, size in enumerate(schema.shape):
        code = rows[f"k{i}"].cast("int64")
        if room >= size:
            words[-1] = words[-1] * size + code
            room //= size
        else:
            words.append(code)
            room = _WORD // size
    return {f"w{i}": word for i, word in enumerate(words)}


def _miscounted(rows: Any, schema: Schema) -> Any:
    """How many rows do not count as many people as they say, of those that are not dropped."""
    rows = whole_rows(rows, schema)
    why = miscounts(rows, schema)
    return rows.aggregate(
        invalid=why["invalid"].sum(), above=(why["above"] & ~why["invalid"]).sum()
    )


def _people(rows: Any, schema: Schema) -> Any:
    """How many people have how many rows, of rows that the schema does not drop."""
    import ibis

    people = rows_of_people(rows, schema)
    people = people.group_by("person").aggregate(number=people.count())
    numbers = people.group_by("number").aggregate(people=people.count())
    struct = ibis.struct({"rows": numbers.number, "people": numbers.people})
    return numbers.aggregate(people=struct.collect())

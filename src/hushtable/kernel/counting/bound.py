"""Contribution bounding: of each person's rows, at most max_rows count.

Which rows are kept is a function of that person's rows alone (and of a secret salt drawn for this
run), so a newcomer never displaces anybody else's. Rows without an id belong to nobody and are
dropped: pooled as one person, they would displace each other. The salt is a secret of its own, and
has nothing to do with the key of the noise.
"""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.columns import stripped
from hushtable.schema import Schema


def fresh_salt() -> str:
    """128 bits of the operating system, as text."""
    return secrets.token_hex(16)


def bound_contributions(table: Any, schema: Schema, salt: str) -> Any:
    """Drop rows that the schema drops, then all but max_rows rows of every person.

    Rows of one person with the same codes are interchangeable, so it does not matter which of
    them the engine numbers first; the hash of (salt, person, codes, number) orders the rest.
    """
    import ibis

    codes = [f"k{i}" for i in range(len(schema.attributes))]
    rows = table.filter([table[code].notnull() for code in codes])
    if schema.unit is None:
        return rows.select(*codes)
    rows = rows.mutate(person=_person(rows[f"c{len(codes)}"]))
    rows = rows.filter(rows.person.notnull() & (rows.person != "")).select("person", *codes)
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


def _person(column: Any) -> Any:
    """The id as text without blanks around it, or bytes in hexadecimal; NULL for no id.

    That is also NaN, as some tools write a missing number, and text with the mark that readers put
    in the place of broken characters: two people whose ids are broken would displace each other.
    """
    import ibis

    if column.type().is_timestamp():
        raise DataError("the unit's column holds times; ids must be text, numbers or dates")
    if column.type().is_floating():
        # Adding zero makes 0 of −0, which is printed otherwise.
        column = ibis.cases((column.isnan(), ibis.null(column.type())), else_=column + 0.0)
    if column.type().is_binary():  # any byte may be one of an id
        return _hexadecimal()(column)
    person = stripped(column.cast("string"))
    return ibis.cases((person.contains("\ufffd"), ibis.null("string")), else_=person)


@cache
def _hexadecimal() -> Any:
    import ibis

    @ibis.udf.scalar.builtin(name="hex", signature=(("binary",), "string"))
    def hexadecimal(value):  # type: ignore[no-untyped-def]
        """What every engine calls hex."""

    return hexadecimal

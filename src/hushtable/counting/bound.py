"""Contribution bounding: of each person's rows, at most max_rows count.

Which rows are kept is a function of that person's rows alone (and of a secret salt drawn for this
run), so a newcomer never displaces anybody else's. Rows without an id belong to nobody and are
dropped: pooled as one person, they would displace each other.
"""

from __future__ import annotations

import secrets
from typing import Any

from hushtable.errors import DataError
from hushtable.schema import Schema


def bound_contributions(table: Any, schema: Schema) -> Any:
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
    salt = ibis.literal(secrets.token_hex(16))
    parts = [salt, rows.person, *(rows[name].cast("string") for name in (*codes, "twin"))]
    rows = rows.mutate(draw=ibis.literal("|").join(parts).hash())
    rows = rows.mutate(
        rank=ibis.row_number().over(
            ibis.window(group_by="person", order_by=[rows.draw, *(rows[code] for code in codes)])
        )
    )
    return rows.filter(rows["rank"] < schema.unit.max_rows).select(*codes)


def _person(column: Any) -> Any:
    """The id as text without blanks around it; NULL for what cannot tell people apart.

    That is NaN, as some tools write a missing number, and text with the marks that readers put in
    the place of broken characters: two people whose ids are broken would displace each other.
    """
    import ibis

    if column.type().is_timestamp():
        raise DataError("the unit's column holds times; ids must be text, numbers or dates")
    if column.type().is_floating():
        # Adding zero makes 0 of −0, which is printed otherwise.
        column = ibis.cases((column.isnan(), ibis.null(column.type())), else_=column + 0.0)
    person = column.cast("string").strip()
    broken = person.contains("?") | person.contains("\ufffd")
    return ibis.cases((broken, ibis.null("string")), else_=person)

"""Every small table, and every neighbour of it: what an exact privacy check goes through.

A row is a tuple of texts (or None), one for each attribute; with a unit column the id comes last. A
table is a sorted tuple of rows, because the order of rows means nothing. A person without a unit
column is one row. With one, a person is all the rows of an id, one row more than may count at the
most; a row without an id is a person of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from hushtable.kernel.counting import CodedColumns, Counts, code_table, count_table
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.privacy.loss import Neighbours
from hushtable.schema import Attribute, Edges, Labels, Schema, Unit

Row = tuple[str | None, ...]
Table = tuple[Row, ...]

PERSON = "person"
BYSTANDER = "bystander"


def as_table(rows: Iterable[Row]) -> Table:
    """Rows in the one order that stands for their multiset."""
    return tuple(sorted(rows, key=lambda row: [(value is not None, value or "") for value in row]))


def possible_values(attribute: Attribute) -> list[str | None]:
    """A text for every code of an attribute, and the odd ones: outside, unreadable, missing."""
    odd: list[str | None] = ["?", None]
    values = attribute.values
    if isinstance(values, Labels):
        return [*values.labels, *odd]
    if isinstance(values, Edges):
        return [*map(str, values.edges), str(values.edges[0] - 1), str(values.edges[-1] + 1), *odd]
    return [*map(str, range(values.low - 1, values.high + 2)), *odd]


def possible_rows(schema: Schema) -> list[Row]:
    """Every combination of the attributes' possible values."""
    return list(itertools.product(*map(possible_values, schema.attributes)))


def possible_people(rows: Sequence[Row], unit: Unit | None) -> list[Table]:
    """Everything a person may be: their rows, with an id where there is a unit column."""
    if unit is None:
        return [(row,) for row in rows]
    named = [
        as_table((*row, PERSON) for row in chosen)
        for size in range(1, unit.max_rows + 2)
        for chosen in itertools.combinations_with_replacement(rows, size)
    ]
    return named + [((*row, None),) for row in rows]


def neighbouring_pairs(
    rows: Sequence[Row], neighbours: Neighbours, unit: Unit | None, people: int = 2
) -> Iterator[tuple[Table, Table]]:
    """Every pair of small neighbouring tables, in one order of the two.

    Beside the same others, a person of every kind enters (which read backwards is leaving), or is
    replaced by a person of every other kind.
    """
    persons = possible_people(rows, unit)
    changes: Iterable[tuple[Table, Table]]
    if neighbours == "add-remove":
        changes = [((), person) for person in persons]
    else:
        changes = list(itertools.combinations(persons, 2))
    for others in _others(rows, unit, people):
        for before, after in changes:
            yield as_table(others + before), as_table(others + after)


def _others(rows: Sequence[Row], unit: Unit | None, people: int) -> list[Table]:
    """Who else may be there.

    Without a unit column: every table of fewer than `people` rows. With one: nobody, or a bystander
    with more rows than may count and two people without an id. Which rows of a person count depends
    on that person alone, so more of them would show nothing new.
    """
    if unit is None:
        return [
            chosen
            for size in range(people)
            for chosen in itertools.combinations_with_replacement(rows, size)
        ]
    many = itertools.islice(itertools.cycle(rows), unit.max_rows + 1)
    crowd = [(*row, BYSTANDER) for row in many]
    return [(), (*crowd, (*rows[0], None), (*rows[-1], None))]


# ── counting them ────────────────────────────────────────────────────────────────────────────────


def contents(held: Holding) -> tuple[object, ...]:
    """All that a holding holds, to tell it from others."""
    if isinstance(held, Counts):
        arrays: tuple[NDArray[Any], ...] = (held.codes, held.counts)
    else:
        assert isinstance(held, CodedColumns)
        arrays = (*held.columns, held.people_of_rows())
    return type(held), held.shape, *((array.dtype, array.tobytes()) for array in arrays)


class Holdings:
    """Small tables as the curator holds them, each counted once, by what counts every table.

    Which of a person's rows are kept depends on a secret salt; the guarantee holds for every salt,
    so all tables are counted with the same one.
    """

    def __init__(self, schema: Schema, salt: str = "salt") -> None:
        self._schema = schema.own_columns
        self._salt = salt
        self._known: dict[tuple[str, Table], Holding] = {}

    def of(self, table: Table, needs: Literal["counts", "columns"] = "counts") -> Holding:
        """The counts, or the coded columns, of a table."""
        key = (needs, as_table(table))
        if key not in self._known:
            count = count_table if needs == "counts" else code_table
            self._known[key] = count(self._arrow(table), self._schema, salt=self._salt)
        return self._known[key]

    def __len__(self) -> int:
        return len(self._known)

    def _arrow(self, table: Table) -> object:
        import pyarrow as pa

        names = [attribute.name for attribute in self._schema.attributes]
        names += [self._schema.unit.column] if self._schema.unit else []
        columns = zip(*table, strict=True) if table else [()] * len(names)
        return pa.table(
            {
                name: pa.array(column, pa.string())
                for name, column in zip(names, columns, strict=True)
            }
        )

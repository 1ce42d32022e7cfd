"""From the columns of a table to a schema that asks to be reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from hushtable.drafting.labels import recognise_labels, recognise_nothing, recognise_truth
from hushtable.drafting.looks import Look, look_at
from hushtable.drafting.names import is_count
from hushtable.drafting.numbers import recognise_numbers
from hushtable.drafting.people import people_counted, recognise_ids, unit_hint
from hushtable.drafting.places import recognise_places
from hushtable.drafting.proposal import LeftOut, Proposal, Recogniser
from hushtable.drafting.times import recognise_times
from hushtable.drafting.written import toml_value
from hushtable.errors import DataError, SchemaError
from hushtable.kernel.counting.encoding.columns import ColumnError
from hushtable.kernel.counting.readers.csvfile import CsvFormat
from hushtable.kernel.counting.readers.paths import settled, table_in
from hushtable.kernel.counting.silence import silent_engine
from hushtable.kernel.counting.source import column_names, interruptible, open_table
from hushtable.schema import Schema
from hushtable.schema.foreign import Draft
from hushtable.schema.schema import check_name

# The first that knows a column describes it.
RECOGNISERS: tuple[Recogniser, ...] = (
    recognise_nothing,
    recognise_truth,
    recognise_times,
    recognise_places,
    recognise_ids,
    recognise_numbers,
    recognise_labels,
)
_SEEN = {"range", "edges", "bins", "dates", "labels", "values", "tree"}
_FEW_PEOPLE = 1000
_NOT_PLAIN = "not plain values"
_NOTHING = "no column of the table looks like an attribute; write the schema by hand"
_COUNTS = "it looks like how many people a row stands for; see counts above"


def draft_schema(
    data: Any, *, name: str, table: str | None = None, csv: CsvFormat | None = None
) -> Draft:
    """Describe every column that looks like an attribute, and say why.

    The table is read once. What comes back has a schema that is not reviewed, a note for every
    attribute and the columns that are left out, with the reason.
    """
    source = _readable_once(settled(table_in(data, table)))
    left_out: dict[str, str] = {}
    columns = _usable(column_names(source, csv), left_out)
    while columns:
        try:
            looks, keys = _look(source, columns, csv, left_out)
            return _described(name, looks, keys, left_out)
        except ColumnError as refused:  # before anything is read
            columns.remove(refused.column)
            left_out[refused.column] = _NOT_PLAIN
    raise DataError(_NOTHING)


def _readable_once(data: Any) -> Any:
    """Streams that can be opened once are opened here."""
    import pyarrow as pa

    known = isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader)
    named = hasattr(data, "column_names") or hasattr(data, "columns")
    if known or named or not hasattr(data, "__arrow_c_stream__"):
        return data
    with silent_engine("the table in memory could not be converted to Arrow"):
        return pa.RecordBatchReader.from_stream(data)


def _usable(present: Iterable[str], left_out: dict[str, str]) -> list[str]:
    """The columns whose names may stand in a schema."""
    columns: list[str] = []
    seen: set[str] = set()
    for column in present:
        name = column.strip()
        if not name:
            left_out[column] = "it has no name"
        elif name.casefold() in seen:
            left_out[column] = "another column has the same name, or one that differs by case"
        elif not _is_name(name):
            left_out[column] = "its name is too long, or has characters that are not printable"
        else:
            columns.append(name)
            seen.add(name.casefold())
    return columns


def _is_name(name: str) -> bool:
    try:
        check_name(name, "it")
    except SchemaError:
        return False
    return True


def _look(
    data: Any, columns: Sequence[str], csv: CsvFormat | None, left_out: dict[str, str]
) -> tuple[list[Look], dict[str, Look]]:
    """Look at each column, and at rows without those that may count people."""
    with open_table(data, columns, csv) as table, silent_engine("the table could not be read"):
        plain = [i for i, _ in enumerate(columns) if _is_plain(table[f"c{i}"].type())]
        left_out |= {columns[i]: _NOT_PLAIN for i in set(range(len(columns))) - set(plain)}
        names = [columns[i] for i in plain]
        chosen = table.select(**{f"c{k}": _read(table[f"c{i}"]) for k, i in enumerate(plain)})
        keys = {
            name: [other for other in range(len(names)) if other != k]
            for k, name in enumerate(names)
            if is_count(name) and len(names) > 1
        }
        looks = interruptible(table, partial(look_at, chosen, names, keys))
    return looks[: len(names)], dict(zip(keys, looks[len(names) :], strict=True))


def _is_plain(kind: Any) -> bool:
    return not (kind.is_nested() or kind.is_binary() or kind.is_interval())


def _read(column: Any) -> Any:
    kind = column.type()
    return column.cast("string") if kind.is_null() or kind.is_unknown() else column


def _described(
    name: str, looks: Sequence[Look], keys: dict[str, Look], left_out: dict[str, str]
) -> Draft:
    counted = people_counted(looks, keys)
    tables: list[dict[str, Any]] = []
    notes: dict[str, tuple[str, ...]] = {}
    people: list[Look] = []
    taken = {look.name.casefold() for look in looks}
    for look in looks:
        found = _propose(look) if look is not counted else LeftOut(_COUNTS)
        if isinstance(found, LeftOut):
            left_out[look.name] = found.reason
            people += [look] * found.names_people
            continue
        for table in found.tables:
            table = _named_anew(table, look.name, taken)
            if not _is_valid(table):
                left_out[look.name] = "it could not be described"
                continue
            tables.append(table)
            notes[table["name"]] = _note(found, table)
    if not tables:
        raise DataError(_NOTHING)
    content = {"name": name, "budget": "1", "reviewed": False, "attribute": tables}
    schema = Schema.from_dict(content)
    told = [
        {**table, "outside": attribute.outside}
        for table, attribute in zip(tables, schema.attributes, strict=True)
    ]
    hints = (*_counts_hint(counted), *unit_hint(people), *_people_hint(looks, counted))
    return Draft(schema, tuple(left_out.items()), tuple(told), notes, hints)


def _is_valid(table: dict[str, Any]) -> bool:
    """Whether a schema takes an attribute; why it does not would quote values."""
    try:
        Schema.from_dict({"name": "draft", "budget": "1", "attribute": [table]})
    except SchemaError:
        return False
    return True


def _propose(look: Look) -> Proposal | LeftOut:
    return next(found for recognise in RECOGNISERS if (found := recognise(look)) is not None)


def _named_anew(table: dict[str, Any], column: str, taken: set[str]) -> dict[str, Any]:
    """An attribute whose name is no other's."""
    name = table["name"]
    while name != column and name.casefold() in taken:
        name += "_"
    taken.add(name.casefold())
    return {**table, "name": name}


def _note(found: Proposal, table: dict[str, Any]) -> tuple[str, ...]:
    """Why an attribute looks as it does; some parts of a moment need no values from the data."""
    looked = found.looked and _SEEN & table.keys()
    return (*found.why, f"from the data: {found.looked}") if looked else found.why


def _people_hint(looks: Sequence[Look], counted: Look | None) -> list[str]:
    """About how many people there are, for whoever may know it anyway."""
    number = float(looks[0].rows)
    if counted is not None:
        number = float(counted.numbers @ counted.number_counts)
    if number < _FEW_PEOPLE:
        return []
    return [
        "If it is publicly known that there are about so many (from the data), add:  people ="
        f" {float(f'{number:.1g}'):.0f}"
    ]


def _counts_hint(counted: Look | None) -> list[str]:
    if counted is None:
        return []
    return [
        f"{counted.name!r} looks like how many people a row stands for: no two rows have the same"
        " other values.",
        "With this line, people are counted and protected, instead of rows:",
        f"counts = {toml_value(counted.name)}",
    ]

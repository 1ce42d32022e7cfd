"""Schemas as TOML files and plain tables, in and out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct, field

from hushtable.errors import HushError, SchemaError
from hushtable.forms import fill, told
from hushtable.kernel.privacy.loss import format_epsilon, parse_stored_epsilon
from hushtable.schema.attribute import (
    Attribute,
    Edges,
    IntegerRange,
    Labels,
    Values,
    nominal,
    ordinal,
    part_values,
)
from hushtable.schema.bins import even_edges
from hushtable.schema.dates import Dates, parse_day
from hushtable.schema.files import HierarchyFolders, read_text
from hushtable.schema.hierarchy import Hierarchy, check_label
from hushtable.schema.origin import Origin, check_zone
from hushtable.schema.schema import MAX_COUNT, CountColumn, Schema, Unit

ONE_ROW = "one row per person"
"""How a table without an id column says that it belongs to a dataset of people."""
BUDGET = 'a positive decimal number, such as "3"'

# Parts of a key, bare or quoted, with a dot behind each.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){40}""")


# What names, labels and numbers must be is checked by the values that are made of them.


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a schema file."""


class _SchemaTable(_Table, frozen=True, kw_only=True):
    name: Any
    dataset: Any = None
    budget: Annotated[str | int | float, told(BUDGET)]
    neighbours: Any = "add-remove"
    unit: Any = None
    people: Any = None
    counts: Any = None
    reviewed: bool = True
    attribute: Annotated[list[Any], told("written as [[attribute]] tables")]


class _UnitTable(_Table, frozen=True):
    column: Any
    max_rows: Any = 1


class _CountsTable(_Table, frozen=True):
    column: Any
    most: Any = MAX_COUNT


class _BinsTable(_Table, frozen=True):
    first: Any
    last: Any
    width: Any


class _AttributeTable(_Table, frozen=True):
    name: str
    kind: Any
    column: Any = field(name="from", default=None)
    part: Any = None
    zone: Any = None
    prefix: Any = None
    decimal: Any = None
    outside: Any = None
    hierarchy: Any = None
    tree: Any = None

    def origin(self) -> Origin:
        return Origin(self.column, self.part, self.zone, self.prefix, self.decimal)


class _Ordinal(_AttributeTable, frozen=True):
    """Of range, edges, bins, labels and dates one is given, or none if the part needs none."""

    range: Annotated[tuple[Any, Any] | None, told("two integers")] = None
    edges: Annotated[list[Any] | None, told("a list of numbers")] = None
    bins: Any = None
    labels: Annotated[list[Any] | None, told("a list of labels")] = None
    dates: Annotated[tuple[Any, Any] | None, told("the first and the last day")] = None
    by: Any = None

    def values(self) -> Values:
        known = part_values(self.origin().part)
        keys = ("range", "edges", "labels", "dates", "bins")
        if known is not None and all(getattr(self, key) is None for key in (*keys, "by")):
            return known
        _only_one(self, *keys)
        if self.dates is not None:
            first, last = map(parse_day, self.dates)
            return Dates(first, last, "day" if self.by is None else self.by)
        if self.by is not None:
            raise SchemaError("by goes with dates")
        if self.range is not None:
            return IntegerRange(*self.range)
        if self.edges is not None:
            return Edges(tuple(self.edges))
        if self.bins is not None:
            bins = fill(_BinsTable, self.bins, "bins", SchemaError)
            return Edges(even_edges(bins.first, bins.last, bins.width))
        return Labels(tuple(map(check_label, self.labels or ())))


class _Nominal(_AttributeTable, frozen=True):
    """Of hierarchy, tree and values one is given."""

    outside: Any = "drop"
    values: Annotated[list[Any] | None, told("a list of values")] = None


def load_toml(path: Path, *, allow_paths: str | Path | Iterable[str | Path] = ()) -> Schema:
    """Read a schema file; hierarchy paths in it are relative to it."""
    folders = HierarchyFolders.beside(path, allow_paths)
    text = read_text(path)
    if _LONG_KEY.search(text):  # the parser takes the square of its length
        raise SchemaError(f"{path.name} has a dotted key of many parts; a schema needs none")
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        detail = " ".join(str(problem).split())
        if path.suffix.lower() != ".toml":  # whoever names a table by mistake needs no detail
            detail = "a schema is a TOML file, which hush schema draft DATA -o S.toml drafts"
        raise SchemaError(f"{path.name} is not valid TOML: {detail}") from None
    try:
        schema = schema_from_dict(content, folders=folders)
        for attribute in schema.attributes:
            _check_zone(attribute)
    except SchemaError as problem:
        raise SchemaError(f"{path.name}: {problem}") from None
    return replace(schema, source=path)


def _check_zone(attribute: Attribute) -> None:
    try:
        if attribute.origin.zone is not None:
            check_zone(attribute.origin.zone)
    except SchemaError as problem:
        raise SchemaError(f"attribute {attribute.name!r}: {problem}") from None


def save_toml(schema: Schema, path: Path) -> None:
    """Write a schema to a new or existing file, in one step."""
    import tomlkit

    from hushtable.scratch import whole_file

    content = schema_to_dict(schema)
    document = tomlkit.document()
    for key, value in content.items():
        if key == "attribute":
            continue
        document[key] = _inline(value) if isinstance(value, dict) else value
    tables = tomlkit.aot()
    for attribute in content["attribute"]:
        table = tomlkit.table()
        for key, value in attribute.items():
            table[key] = _inline(value) if isinstance(value, dict) else value
        tables.append(table)
    document["attribute"] = tables
    try:
        with whole_file(path) as partial:
            partial.write_text(tomlkit.dumps(document), encoding="utf-8")
    except OSError:
        raise SchemaError(f"{path} cannot be written") from None


def _inline(table: dict[str, Any]) -> Any:
    import tomlkit

    inline = tomlkit.inline_table()
    inline.update(table)
    return inline


def schema_from_dict(content: Any, *, folders: HierarchyFolders | None = None) -> Schema:
    """Read a schema from plain tables; without folders, hierarchies must stand inside."""
    table = fill(_SchemaTable, content, "the schema", SchemaError)
    return Schema(
        name=table.name,
        budget=_budget(table.budget),
        neighbours=table.neighbours,
        unit=_unit(table.unit, table.dataset, table.counts is not None),
        counts=_counts(table.counts),
        dataset=table.dataset,
        people=table.people,
        reviewed=table.reviewed,
        attributes=tuple(_named_attribute(entry, folders) for entry in table.attribute),
    )


def _budget(written: str | int | float) -> Fraction:
    try:
        return parse_stored_epsilon(str(written))
    except (HushError, ValueError):
        raise SchemaError(f"'budget' in the schema must be {BUDGET}") from None


def _unit(content: Any, dataset: Any, counted: bool) -> Unit | None:
    """Whom the rows belong to; a table that shares its dataset must say so.

    Of a table of counts, "one row per person" says that everyone is counted once, in one row.
    """
    if dataset is None and content == ONE_ROW:
        raise SchemaError(f"unit = {ONE_ROW!r} goes with dataset; otherwise leave it out")
    if dataset is not None and content is None:
        if counted:
            raise SchemaError(
                f'with dataset, a table of counts says unit = "{ONE_ROW}", if everyone is counted'
                " in one row of it, once"
            )
        raise SchemaError(
            "with dataset, say whose the rows are: unit = { column = …, max_rows = … }, or"
            f' unit = "{ONE_ROW}"'
        )
    if content in (None, ONE_ROW):
        return None
    table = fill(_UnitTable, content, "unit", SchemaError)
    return Unit(table.column, table.max_rows)


def _counts(content: Any) -> CountColumn | None:
    if content is None or isinstance(content, str):
        return None if content is None else CountColumn(content)
    table = fill(_CountsTable, content, "counts", SchemaError)
    return CountColumn(table.column, table.most)


def _named_attribute(content: Any, folders: HierarchyFolders | None) -> Attribute:
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise SchemaError("every attribute needs a name")
    try:
        return _attribute(content, folders)
    except SchemaError as problem:
        raise SchemaError(f"attribute {content['name']!r}: {problem}") from None


def _attribute(content: dict[str, Any], folders: HierarchyFolders | None) -> Attribute:
    if content.get("kind") == "ordinal":
        table = fill(_Ordinal, content, "an ordinal attribute", SchemaError)
        values, hierarchy = table.values(), _hierarchy(table, folders)
        origin = table.origin()
        return ordinal(
            table.name, values, outside=table.outside, hierarchy=hierarchy, origin=origin
        )
    if content.get("kind") == "nominal":
        return _nominal(fill(_Nominal, content, "a nominal attribute", SchemaError), folders)
    raise SchemaError("kind must be 'ordinal' or 'nominal'")


def _nominal(table: _Nominal, folders: HierarchyFolders | None) -> Attribute:
    _only_one(table, "hierarchy", "tree", "values")
    if table.values is None:
        hierarchy = _hierarchy(table, folders)
    else:
        labels = Labels(tuple(map(check_label, table.values)))
        hierarchy = Hierarchy.flat(labels.labels)
    return nominal(table.name, hierarchy, outside=table.outside, origin=table.origin())


def _hierarchy(table: _AttributeTable, folders: HierarchyFolders | None) -> Any:
    if table.tree is not None and table.hierarchy is not None:
        raise SchemaError("give either hierarchy or tree")
    if table.tree is not None:
        return Hierarchy.from_tree(table.tree)
    if table.hierarchy is None:
        return None
    if folders is None:
        raise SchemaError("a hierarchy file is not allowed here; write it as a tree")
    return folders.read(table.hierarchy)


def _only_one(table: _AttributeTable, *keys: str) -> None:
    if sum(getattr(table, key) is not None for key in keys) != 1:
        raise SchemaError(f"give exactly one of {', '.join(keys)}")


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Write a schema as plain tables that `schema_from_dict` reads back to an equal one."""
    content: dict[str, Any] = {
        "name": schema.name,
        **({} if schema.dataset is None else {"dataset": schema.dataset}),
        "budget": format_epsilon(schema.budget),
        "neighbours": schema.neighbours,
    }
    if schema.unit is not None:
        content["unit"] = {"column": schema.unit.column, "max_rows": schema.unit.max_rows}
    elif schema.dataset is not None:
        content["unit"] = ONE_ROW
    if schema.counts is not None:
        content["counts"] = {"column": schema.counts.column, "most": schema.counts.most}
    if schema.people is not None:
        content["people"] = schema.people
    if not schema.reviewed:
        content["reviewed"] = False
    content["attribute"] = [_attribute_to_dict(attribute) for attribute in schema.attributes]
    return content


def _attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    content: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind}
    origin = attribute.origin
    derived = {
        "from": origin.column,
        "part": origin.part,
        "zone": origin.zone,
        "prefix": origin.prefix,
        "decimal": origin.decimal,
    }
    content |= {key: value for key, value in derived.items() if value is not None}
    match attribute.values:
        case IntegerRange(low, high):
            content["range"] = [low, high]
        case Edges(edges):
            content["edges"] = list(edges)
        case Dates(first, last, by):
            content |= {"dates": [first.isoformat(), last.isoformat()], "by": by}
        case Labels(labels) if attribute.kind == "ordinal":
            content["labels"] = list(labels)
    hierarchy = attribute.hierarchy
    if hierarchy is not None:
        flat = Hierarchy.flat(hierarchy.leaves)
        if attribute.kind == "nominal" and hierarchy == flat:
            content["values"] = list(hierarchy.leaves)
        else:
            content["tree"] = hierarchy.to_tree()
    content["outside"] = attribute.outside
    return content

"""Schemas as TOML files and plain tables, in and out."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import HushError, SchemaError
from hushtable.kernel.privacy.loss import format_epsilon, parse_stored_epsilon
from hushtable.schema.attribute import (
    Attribute,
    Edges,
    IntegerRange,
    Labels,
    Values,
    nominal,
    ordinal,
)
from hushtable.schema.dates import Dates, parse_day
from hushtable.schema.files import HierarchyFolders, read_text
from hushtable.schema.hierarchy import Hierarchy, check_label
from hushtable.schema.schema import Schema, Unit

ONE_ROW = "one row per person"
"""How a table without an id column says that it belongs to a dataset of people."""

_SCHEMA_KEYS = ("name", "dataset", "budget", "neighbours", "unit", "reviewed", "attribute")
_UNIT_KEYS = ("column", "max_rows")
_ORDINAL_KEYS = (
    "name",
    "kind",
    "outside",
    "range",
    "edges",
    "labels",
    "dates",
    "by",
    "hierarchy",
    "tree",
)
# Parts of a key, bare or quoted, with a dot behind each.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){40}""")
_NOMINAL_KEYS = ("name", "kind", "outside", "hierarchy", "tree", "values")


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
        raise SchemaError(f"{path.name} is not valid TOML: {detail}") from None
    try:
        schema = schema_from_dict(content, folders=folders)
    except SchemaError as problem:
        raise SchemaError(f"{path.name}: {problem}") from None
    return replace(schema, source=path)


def save_toml(schema: Schema, path: Path) -> None:
    """Write a schema to a new or existing file, in one step."""
    import tomlkit

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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(tomlkit.dumps(document), encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise SchemaError(f"{path} cannot be written") from None


def _inline(table: dict[str, Any]) -> Any:
    import tomlkit

    inline = tomlkit.inline_table()
    inline.update(table)
    return inline


def schema_from_dict(content: Any, *, folders: HierarchyFolders | None = None) -> Schema:
    """Read a schema from plain tables; without folders, hierarchies must stand inside."""
    _check_keys(content, _SCHEMA_KEYS, "the schema")
    for key in ("name", "budget", "attribute"):
        if key not in content:
            raise SchemaError(f"the schema has no {key!r}")
    if not isinstance(content["attribute"], list):
        raise SchemaError("attributes are written as [[attribute]] tables")
    if not isinstance(content.get("reviewed", True), bool):
        raise SchemaError("reviewed must be true or false")
    return Schema(
        name=content["name"],
        budget=_budget(content["budget"]),
        neighbours=content.get("neighbours", "add-remove"),
        unit=_unit(content.get("unit"), content.get("dataset")),
        dataset=content.get("dataset"),
        reviewed=content.get("reviewed", True),
        attributes=tuple(_named_attribute(entry, folders) for entry in content["attribute"]),
    )


def _budget(content: Any) -> Fraction:
    try:
        return parse_stored_epsilon(content if isinstance(content, str) else _number(content))
    except (HushError, ValueError):
        raise SchemaError('budget must be a positive decimal number, such as "3"') from None


def _number(content: Any) -> str:
    if isinstance(content, bool) or not isinstance(content, int | float):
        raise ValueError
    return str(content)


def _unit(content: Any, dataset: Any) -> Unit | None:
    """Whom the rows belong to; a table that shares its dataset must say so."""
    if dataset is None and content == ONE_ROW:
        raise SchemaError(f"unit = {ONE_ROW!r} goes with dataset; otherwise leave it out")
    if dataset is not None and content is None:
        raise SchemaError(
            "with dataset, say whose the rows are: unit = { column = …, max_rows = … }, or"
            f' unit = "{ONE_ROW}"'
        )
    if content in (None, ONE_ROW):
        return None
    _check_keys(content, _UNIT_KEYS, "unit")
    if "column" not in content:
        raise SchemaError("unit needs a column")
    return Unit(content["column"], content.get("max_rows", 1))


def _named_attribute(content: Any, folders: HierarchyFolders | None) -> Attribute:
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise SchemaError("every attribute needs a name")
    try:
        return _attribute(content, folders)
    except SchemaError as problem:
        raise SchemaError(f"attribute {content['name']!r}: {problem}") from None


def _attribute(content: dict[str, Any], folders: HierarchyFolders | None) -> Attribute:
    if content.get("kind") == "ordinal":
        _check_keys(content, _ORDINAL_KEYS, "an ordinal attribute")
        return ordinal(
            content["name"],
            _values(content),
            outside=content.get("outside"),
            hierarchy=_hierarchy(content, folders),
        )
    if content.get("kind") == "nominal":
        _check_keys(content, _NOMINAL_KEYS, "a nominal attribute")
        _only_one(content, ("hierarchy", "tree", "values"))
        if "values" in content:
            labels = Labels(tuple(map(check_label, _list(content, "values"))))
            hierarchy = Hierarchy.flat(labels.labels)
        else:
            hierarchy = _hierarchy(content, folders)
        return nominal(content["name"], hierarchy, outside=content.get("outside", "drop"))
    raise SchemaError("kind must be 'ordinal' or 'nominal'")


def _values(content: dict[str, Any]) -> Values:
    key = _only_one(content, ("range", "edges", "labels", "dates"))
    entries = _list(content, key)
    if key == "dates":
        if len(entries) != 2:
            raise SchemaError("dates must be the first and the last day")
        first, last = map(parse_day, entries)
        return Dates(first, last, content.get("by", "day"))
    if "by" in content:
        raise SchemaError("by goes with dates")
    if key == "range":
        if len(entries) != 2:
            raise SchemaError("range must be two integers")
        return IntegerRange(*entries)
    if key == "edges":
        return Edges(tuple(entries))
    return Labels(tuple(map(check_label, entries)))


def _hierarchy(content: dict[str, Any], folders: HierarchyFolders | None) -> Any:
    if "tree" in content and "hierarchy" in content:
        raise SchemaError("give either hierarchy or tree")
    if "tree" in content:
        return Hierarchy.from_tree(content["tree"])
    if "hierarchy" not in content:
        return None
    if folders is None:
        raise SchemaError("a hierarchy file is not allowed here; write it as a tree")
    return folders.read(content["hierarchy"])


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
    if not schema.reviewed:
        content["reviewed"] = False
    content["attribute"] = [_attribute_to_dict(attribute) for attribute in schema.attributes]
    return content


def _attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    content: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind}
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


def _check_keys(content: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(content, dict):
        raise SchemaError(f"{where} must be a table")
    for key in content:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            raise SchemaError(f"unknown key {str(key)!r} in {where}; {hint}")


def _only_one(content: dict[str, Any], keys: tuple[str, ...]) -> str:
    given = [key for key in keys if key in content]
    if len(given) != 1:
        raise SchemaError(f"give exactly one of {', '.join(keys)}")
    return given[0]


def _list(content: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(content[key], list):
        raise SchemaError(f"{key} must be a list")
    return list(content[key])

"""Schemas that other tools have written: SmartNoise metadata, mbi domains, CSVW tables.

None of them says all that a schema needs, so what comes out is a draft: bins are a guess, the
budget is a placeholder, and columns without declared values are left out with the reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import SchemaError
from hushtable.schema.attribute import Attribute, Edges, IntegerRange, nominal, ordinal
from hushtable.schema.files import HierarchyFolders, read_text
from hushtable.schema.hierarchy import Hierarchy, check_label
from hushtable.schema.schema import Schema, Unit

BINS = 20
MAX_YAML = 2**20

# Anchors and aliases let a small file stand for an endless one.
_REFERENCES: Callable[[str], Any] = re.compile(r"(^|[\s\[{,:-])[&*][^\s,\]}]|<<\s*:").search

AttributeOrReason = Attribute | str
"""An attribute, or the reason why a column is left out."""


@dataclass(frozen=True)
class Draft:
    """A schema to be reviewed, and the columns it could not describe, with the reason."""

    schema: Schema
    left_out: tuple[tuple[str, str], ...]
    tables: tuple[dict[str, Any], ...] = ()
    """The attributes as they are to be written; by default, as the schema writes them."""
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of attributes, by their names: lines that say why."""
    hints: tuple[str, ...] = ()
    """Lines about the whole table, to be considered."""


def import_schema(
    path: Path, *, name: str, allow_paths: str | Path | Iterable[str | Path] = ()
) -> Draft:
    """Read SmartNoise YAML, an mbi domain or CSVW JSON; which one, its content tells."""
    folders = HierarchyFolders.beside(path, allow_paths)
    text = read_text(path)
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            return _draft(name, *_from_smartnoise(_parse_yaml(path, text)))
        content = _parse_json(path, text)
        if "tableSchema" in content or "tables" in content:
            return _draft(name, *_from_csvw(content, folders))
        return _draft(name, *_from_mbi(content))
    except SchemaError as problem:
        raise SchemaError(f"{path.name}: {problem}") from None


def _draft(name: str, columns: dict[str, AttributeOrReason], unit: Unit | None) -> Draft:
    attributes = tuple(found for found in columns.values() if isinstance(found, Attribute))
    if not attributes:
        raise SchemaError("no column has declared values, so there is nothing to import")
    left_out = tuple((key, why) for key, why in columns.items() if isinstance(why, str))
    return Draft(Schema(name, Fraction(1), attributes, unit=unit, reviewed=False), left_out)


def _parse_json(path: Path, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise SchemaError("it is not valid JSON") from None
    if not isinstance(content, dict):
        raise SchemaError("it is neither an mbi domain nor CSVW metadata")
    return content


def _parse_yaml(path: Path, text: str) -> Any:
    import yaml

    if len(text) > MAX_YAML or _REFERENCES(text):
        raise SchemaError(
            f"YAML must be at most {MAX_YAML:,} characters, without anchors or aliases"
        )
    try:
        return yaml.safe_load(text)
    except Exception:  # its constructors raise whatever they meet
        raise SchemaError("it is not valid YAML") from None


# ── mbi: {attribute: size} ───────────────────────────────────────────────────────────────────────


def _from_mbi(content: dict[str, Any]) -> tuple[dict[str, AttributeOrReason], None]:
    for key, size in content.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise SchemaError(f"an mbi domain gives every attribute a size; {key!r} has none")
    return {key: ordinal(key, IntegerRange(0, size - 1)) for key, size in content.items()}, None


# ── SmartNoise: collection → schema → table → columns ────────────────────────────────────────────

# Options of a table that stand among its columns.
_TABLE_OPTIONS = {
    "rows",
    "row_privacy",
    "max_ids",
    "sample_max_ids",
    "censor_dims",
    "clamp_counts",
    "clamp_columns",
    "use_dpsu",
    "row_count",
}


def _from_smartnoise(content: Any) -> tuple[dict[str, AttributeOrReason], Unit | None]:
    table = content
    for _ in range(3):
        if not isinstance(table, dict) or len(table) != 1:
            raise SchemaError("SmartNoise metadata with exactly one table is expected")
        table = next(iter(table.values()))
    if not isinstance(table, dict):
        raise SchemaError("SmartNoise metadata with exactly one table is expected")
    columns = {
        str(name): facts
        for name, facts in table.items()
        if name not in _TABLE_OPTIONS and isinstance(facts, dict)
    }
    unit = None
    for name, facts in columns.items():
        if facts.get("private_id") is True and table.get("row_privacy") is not True:
            unit = Unit(name, table.get("max_ids", 1))
    found = {
        name: _bounded(name, facts.get("type"), facts.get("lower"), facts.get("upper"))
        for name, facts in columns.items()
        if facts.get("private_id") is not True
    }
    return found, unit


def _bounded(name: str, kind: Any, low: Any, high: Any) -> AttributeOrReason:
    """A column by its type's name and its bounds."""
    kind = kind.lower() if isinstance(kind, str) else ""
    if kind in ("boolean", "bool"):
        return nominal(name, Hierarchy.flat(["true", "false"]))
    if kind not in ("int", "integer", "float", "number", "decimal", "double", "long"):
        return "its values are not listed; add values, a tree or a hierarchy"
    try:
        low, high = float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        return "it has no lower and upper bound"
    if not (math.isfinite(low) and math.isfinite(high)):
        return "its bounds are not finite"
    if kind in ("int", "integer", "long") and low == int(low) and high == int(high):
        return ordinal(name, IntegerRange(int(low), int(high)))
    edges = [low + (high - low) * i / BINS for i in range(BINS)] + [high]
    return ordinal(name, Edges(tuple(edges)))


# ── CSVW: tableSchema.columns, with a `hierarchy` of ours ────────────────────────────────────────


def _from_csvw(
    content: dict[str, Any], folders: HierarchyFolders
) -> tuple[dict[str, AttributeOrReason], None]:
    tables = content.get("tables", [content])
    if not isinstance(tables, list) or len(tables) != 1 or not isinstance(tables[0], dict):
        raise SchemaError("CSVW metadata of exactly one table is expected")
    described = tables[0].get("tableSchema")
    columns = described.get("columns") if isinstance(described, dict) else None
    if not isinstance(columns, list):
        raise SchemaError("CSVW metadata needs tableSchema.columns")
    found: dict[str, AttributeOrReason] = {}
    for column in columns:
        if not isinstance(column, dict) or column.get("virtual") is True:
            continue
        name = _title(column)
        if name in found:
            raise SchemaError(f"two columns are called {name!r}")
        found[name] = _csvw_column(name, column, folders)
    return found, None


def _title(column: dict[str, Any]) -> str:
    """The name in the file's header: its title if it has one."""
    title = column.get("titles", column.get("name"))
    if isinstance(title, dict):
        title = next(iter(title.values()), None)
    if isinstance(title, list):
        title = title[0] if title else None
    if not isinstance(title, str):
        raise SchemaError("every CSVW column needs a name or a title")
    return title


def _csvw_column(name: str, column: dict[str, Any], folders: HierarchyFolders) -> AttributeOrReason:
    hierarchy = column.get("hierarchy")
    if isinstance(hierarchy, str):
        return nominal(name, folders.read(hierarchy))
    if hierarchy is not None:
        return nominal(name, Hierarchy.from_tree(hierarchy))
    datatype = column.get("datatype", "string")
    facts = datatype if isinstance(datatype, dict) else {"base": datatype}
    base = facts.get("base", "string")
    if base == "string" and (values := _alternatives(facts.get("format"))):
        return nominal(name, Hierarchy.flat(values))
    low = facts.get("minimum", facts.get("minInclusive"))
    high = facts.get("maximum", facts.get("maxInclusive"))
    return _bounded(name, base, low, high)


_WORD = r"[^\\^$.|?*+()\[\]{}]+"
_LISTED: Callable[[str], re.Match[str] | None] = re.compile(
    rf"\^?\(?(?:\?:)?({_WORD}(?:\|{_WORD})*)\)?\$?"
).fullmatch


def _alternatives(pattern: Any) -> list[str]:
    """The values of a format that is a plain list of alternatives, as in ^(F|M)$."""
    listed = _LISTED(pattern) if isinstance(pattern, str) else None
    return [check_label(value) for value in listed[1].split("|")] if listed else []

"""What a mechanism made becomes files: its arrays, and for some readers a table for everyone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hushtable.release.store import Content, write_arrays
from hushtable.release.summary import write_table
from hushtable.schema import Schema

# By reader, as in `opening`: dense measurements are exported on demand, and have no table.
_TABLES: dict[str, Callable[[Path, Schema, Content], dict[str, Any]]] = {"summary": write_table}


def write_content(folder: Path, schema: Schema, content: Content) -> dict[str, Any]:
    """Write all files but the manifest, durably; returns what the manifest says of them."""
    told: dict[str, Any] = {"arrays": write_arrays(folder, content.arrays)}
    if content.reader in _TABLES:
        told["table"] = _TABLES[content.reader](folder, schema, content)
    return told

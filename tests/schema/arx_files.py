"""Hierarchies as ARX writes them."""

from __future__ import annotations

from pathlib import Path

from hushtable.schema.files import MAX_HIERARCHY, parse_arx, read_text
from hushtable.schema.hierarchy import Hierarchy


def read_arx(path: Path) -> Hierarchy:
    return parse_arx(path.name, read_text(path, MAX_HIERARCHY))

"""Pages of results: each benchmark replaces its own section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put(page: Path, heading: str, text: str) -> None:
    """Replace what stands between the line "## heading" and the next heading of its kind.

    What comes before the first empty line there stays: it says how the figures are made.
    """
    before, found, rest = page.read_text(encoding="utf-8").partition(f"## {heading}\n")
    if not found:
        raise SystemExit(f"{page} has no section {heading!r}")
    section, mark, after = rest.partition("\n## ")
    said = section.strip().partition("\n\n")[0]
    page.write_text(f"{before}{found}\n{said}\n\n{text.strip()}\n{mark}{after}", encoding="utf-8")

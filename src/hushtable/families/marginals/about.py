"""What there is to know of marginals."""

from __future__ import annotations

from hushtable.families.about import About, Setting, text, whole
from hushtable.families.marginals.tables import MOST_AXES, MOST_CELLS, MOST_TABLES

LARGEST = 2**24


def _shares(text: str) -> tuple[int, ...]:
    numbers = [part.strip() for part in text.split(":")]
    if not all(n.isascii() and n.isdecimal() and len(n) < 10 and int(n) > 0 for n in numbers):
        raise ValueError
    return tuple(map(int, numbers))


def _along(text: str) -> dict[str, str]:
    """Read `age=tree:10x10, income=tree:8x8`."""
    parts = [part.rpartition("=") for part in text.split(",") if part.strip()]
    found = {name.strip(): transform.strip() for name, _, transform in parts}
    if "" in found or len(found) < len(parts):
        raise ValueError
    return found


_TABLES = "age+sex, occupation@1"

WAYS = whole(
    "ways",
    "every table of so many attributes can be asked for",
    most=MOST_AXES,
    otherwise="2, of a single attribute 1",
    example="3",
)
TABLES = text(
    "tables",
    "the tables to measure, instead of those that a search finds",
    "names as age+sex, occupation@1 (a level of a hierarchy)",
    otherwise="the best for ways",
    example=_TABLES,
)
SHARES = Setting(
    "shares",
    "the parts of ε of the tables that are given",
    "whole numbers above zero with colons in between",
    _shares,
    otherwise="the best for the cells of the tables",
    example="2:1",
    beside={"tables": _TABLES},
)
ALONG = Setting(
    "along",
    "trees or tents along attributes that are asked by ranges",
    "written as age=tree:10x10, income=tree:8x8, each name once",
    _along,
    default="",
    example="age=tree:10x10",
)
MOST = whole(
    "most",
    "the most cells that a table may have",
    most=LARGEST,
    default=str(MOST_CELLS),
    example="50000",
)

MARGINALS = About(
    "marginals",
    releases="several small tables of a few columns each, made consistent",
    good_for="tables with many columns, questions that name a few",
    intervals="promises; of what no table tells there are estimates, by --estimate",
    page="marginals",
    settings=(WAYS, TABLES, SHARES, ALONG, MOST),
    limits=(
        f"a table has at most {MOST_AXES} attributes and {LARGEST:,} cells",
        f"at most {MOST_TABLES:,} tables",
        "estimates and synthetic rows need attributes of at most 65,536 codes",
    ),
)

ABOUT = (MARGINALS,)

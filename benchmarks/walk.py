"""The walk of a table through the house: which modules a publish and a query pass through.

    python -m benchmarks.walk

For one mechanism of every family: how many modules run code of theirs, in the order in which they
are first entered, and how often this order changes folder. Fewer is easier to follow.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pandas

import hushtable

SOURCE = Path(hushtable.__file__).parent
MECHANISMS = ("basic", "privelet+", "filter-priority", "privbayes", "ispe")
SCHEMA = """
name = "people"
budget = "100"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 15]
[[attribute]]
name = "job"
kind = "nominal"
tree = { office = ["clerk", "boss"], field = ["farmer", "driver"] }
"""


def visited(work: Callable[[], Any]) -> list[str]:
    """The modules of hushtable that run code while some work is done, first entered first."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and frame.f_code.co_name != "<module>" and name.startswith(str(SOURCE)):
            seen.setdefault(str(Path(name).relative_to(SOURCE)))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(seen)


def changes(modules: list[str]) -> int:
    """How often the folder changes along the way."""
    folders = [str(Path(module).parent) for module in modules]
    return sum(one != other for one, other in pairwise(folders))


def walk(mechanism: str, folder: Path) -> tuple[list[str], list[str]]:
    """The modules of a publish and of a query."""
    schema, out = folder / "people.toml", folder / f"{mechanism}.release"
    schema.write_text(SCHEMA)
    rows = pandas.DataFrame(
        {"age": [i % 16 for i in range(300)], "job": ["clerk", "boss", "farmer"] * 100}
    )

    def publish() -> None:
        hushtable.publish(rows, schema, epsilon="1", out=out, mechanism=mechanism)

    def query() -> None:
        hushtable.open(out).sql("SELECT COUNT(*) FROM people WHERE age < 9 AND job = 'office'")

    return visited(publish), visited(query)


def main() -> None:
    importlib.import_module("hushtable.publishing")
    print(f"{'':18}{'publish':>24}{'query':>24}")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HUSHTABLE_STATE"] = scratch
        for mechanism in MECHANISMS:
            told = [
                f"{len(modules):3} modules,{changes(modules):3} changes"
                for modules in walk(mechanism, Path(scratch))
            ]
            print(f"{mechanism:18}{told[0]:>24}{told[1]:>24}")


if __name__ == "__main__":
    main()

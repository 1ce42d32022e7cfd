"""Made-up tables with plausible structure: for demos, tests and the papers' experiments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hushtable.errors import OptionError
from hushtable.generators.made_up import MadeUpTable, own_dataset
from hushtable.generators.paper_census import brazil, us
from hushtable.generators.paper_grids import continuous, timing, unrelated
from hushtable.generators.small_census import census, census_schema, census_table
from hushtable.generators.sparse_cells import sparse
from hushtable.generators.wide_survey import survey, survey_schema

Generator = Callable[..., MadeUpTable]

GENERATORS: dict[str, Generator] = {
    "census": census_table,
    "survey": survey,
    "brazil": brazil,
    "us": us,
    "timing": timing,
    "sparse": sparse,
    "sparse-skewed": partial(sparse, places="skewed"),
    "sparse-2d": partial(sparse, dimensions=2),
    "sparse-2d-skewed": partial(sparse, dimensions=2, places="skewed"),
    "continuous": continuous,
    "random": unrelated,
}

_READERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}


def generate(
    name: str,
    rows: int | None = None,
    *,
    seed: int = 1,
    settings: Mapping[str, str] | None = None,
) -> MadeUpTable:
    """A made-up table by its name, with settings as text; rows are drawn when they are asked for.

    >>> generate("timing", 1000, settings={"cells": "256"}).schema.shape
    (4, 4, 4, 4)
    """
    if name not in GENERATORS:
        raise OptionError(
            f"there is no table {name!r} to generate; there are {', '.join(GENERATORS)}"
        )
    generator = GENERATORS[name]
    chosen = {key: _setting(name, key, text) for key, text in (settings or {}).items()}
    if rows is not None:
        chosen["rows"] = rows
    return generator(seed=seed, **chosen)


def _setting(name: str, key: str, text: str) -> Any:
    known = {
        key: str(parameter.annotation).removesuffix(" | None")
        for key, parameter in inspect.signature(GENERATORS[name]).parameters.items()
        if key not in ("rows", "seed")
    }
    if key not in known:
        listed = f"it has {', '.join(known)}" if known else "it has none"
        raise OptionError(f"{name} has no setting {key!r}; {listed}")
    try:
        return _READERS[known[key]](text)
    except ValueError:
        wanted = "a whole number" if known[key] == "int" else "a number"
        raise OptionError(f"{key} must be {wanted}") from None


__all__ = [
    "GENERATORS",
    "MadeUpTable",
    "brazil",
    "census",
    "census_schema",
    "continuous",
    "generate",
    "own_dataset",
    "sparse",
    "survey",
    "survey_schema",
    "timing",
    "unrelated",
    "us",
]

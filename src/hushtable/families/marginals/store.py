"""A release of small tables: from its manifest to what answers."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.marginals.layers import may_be_measured
from hushtable.families.marginals.least_squares import ReadTable
from hushtable.families.marginals.read import MarginalsReader
from hushtable.families.marginals.tables import (
    MOST_AXES,
    MOST_TABLES,
    SmallTable,
    Transforms,
    parse_tables,
    parse_transforms,
)
from hushtable.release.manifest import Manifest, check_arrays, noise_of_tables, read_parameters
from hushtable.release.store import StoredArray
from hushtable.schema.schema import MAX_NAME

_LIST = Meta(min_length=1, max_length=MOST_TABLES, description="a list of tables such as 'age+sex'")
# Every quote of a name is doubled, and a level stands behind it.
_LONGEST_NAME = MOST_AXES * (2 * MAX_NAME + 8)


class Parameters(Struct, frozen=True):
    """What was measured: every table by its attributes."""

    tables: Annotated[list[Annotated[str, Meta(max_length=_LONGEST_NAME)]], _LIST]
    along: dict[str, str] = {}
    """What is measured along attributes that are not counted code by code."""


def open_marginals(
    folder: Path, manifest: Manifest
) -> tuple[dict[str, StoredArray], MarginalsReader]:
    """The tables of a release, and what answers from them."""
    schema, (tables, transforms) = manifest.schema, _measured(folder, manifest)
    noises = noise_of_tables(folder, manifest, len(tables))
    check_arrays(folder, manifest, {"tables"})
    shapes = [table.product(schema, transforms).coefficient_shape for table in tables]
    sizes = [math.prod(shape) for shape in shapes]
    stored = StoredArray(folder, "tables", manifest.stated.arrays["tables"], (sum(sizes),))
    ends = np.cumsum([0, *sizes]).tolist()
    reads = [_reading(stored, ends[i], shape) for i, shape in enumerate(shapes)]
    return {"tables": stored}, MarginalsReader.of(schema, tables, noises, reads, transforms)


def _reading(stored: StoredArray, start: int, shape: tuple[int, ...]) -> ReadTable:
    def read() -> NDArray[Any]:
        return stored.read(slice(start, start + math.prod(shape))).reshape(shape)

    return read


def _measured(folder: Path, manifest: Manifest) -> tuple[tuple[SmallTable, ...], Transforms]:
    """The tables, and what is measured along their axes."""
    parameters = read_parameters(folder, manifest, Parameters)
    try:
        lists = [parse_tables(text, manifest.schema) for text in parameters.tables]
        transforms = parse_transforms(parameters.along, manifest.schema)
    except OptionError:
        lists, transforms = [()], {}
    found = tuple(itertools.chain(*lists))
    alone = all(len(tables) == 1 for tables in lists)
    if not alone or not may_be_measured(found):
        raise ReleaseError(f"{folder}: the manifest's tables are not of its schema")
    return found, transforms


READERS = {"marginals": open_marginals}

"""A release that is a summary or a sketch: from its manifest to what answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.sparse.kept import Errors, KeptPlaces
from hushtable.families.sparse.read.cells import CellSummary
from hushtable.families.sparse.read.nodes import NodeSummary
from hushtable.families.sparse.read.sketch import SketchReader
from hushtable.families.sparse.table import TABLE
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import LARGEST
from hushtable.kernel.maps.structure import On, Structure
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.manifest import Manifest, checked_noise, read_parameters
from hushtable.release.store import StoredArray, StoredFile, stored_length
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEPT = 2**40
_PIECE = 2**20


class SummaryParameters(Struct, frozen=True):
    """How a summary chose what it keeps; where that is not told, the worse is taken for true."""

    on: On
    theta: Annotated[int, Meta(ge=1, le=LARGEST, description="a whole number from 1 to 2^61")] = 1
    """The filter's threshold."""
    tau: Annotated[float, Meta(ge=0, le=2.0**100, description="a number from 0 to 2^100")] = 0.0
    """The sampling's threshold."""
    sides: Literal["one-sided", "two-sided"] = "two-sided"
    rule: Any = None
    consistent: Any = True

    def errors(self, noise: DiscreteLaplace) -> Errors:
        """How the values of the summary err."""
        return Errors(
            noise,
            self.theta,
            self.sides == "two-sided",
            # At θ or below, sampling leaves nothing out that has passed the filter.
            self.tau if self.tau > self.theta else 0.0,
            priority=self.rule not in ("filter", "threshold"),
            consistent=self.on == "dyadic" and self.consistent is not False,
        )


class SketchParameters(Struct, frozen=True):
    """The sketch, and how the rows of buckets are put together."""

    sketch: dict[str, Any]
    estimate: Literal["mean", "median"]


@dataclass(frozen=True, eq=False)
class CellRelease(CellSummary):
    """A summary of cells that also draws rows."""

    schema: Schema

    def batches(self, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
        """Rows drawn from the kept cells, as often as each stands for."""
        from hushtable.release.synthesize import draw_cells, rows_of

        weights = self.errors.weights(self.kept.values).astype(np.float64)
        random = np.random.default_rng(seed)
        noise = None if self.errors.two_sided else math.prod(self.shape) * self.errors.mean_of_empty
        picks = draw_cells(np.concatenate([weights, [0.0]]), self.total, rows, random, noise)
        # The last stands for no kept cell; it is only drawn where there is none at all.
        places = np.concatenate([self.kept.places.astype(np.int64), [0]])[picks]
        table: pa.Table = rows_of(self.schema, places, random)
        return iter(table.to_batches() or table.schema.empty_table().to_batches())


def open_summary(
    folder: Path, manifest: Manifest
) -> tuple[dict[str, StoredArray | StoredFile], CellRelease | NodeSummary]:
    """The arrays and the table of a summary, and what answers from them."""
    noise = checked_noise(folder, manifest, {"places", "values"})
    told = read_parameters(folder, manifest, SummaryParameters)
    errors = told.errors(noise)
    try:
        structure = Structure(told.on, manifest.schema.shape)
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    shape = (
        stored_length(folder, "places", manifest.stated.arrays["places"], range(MOST_KEPT + 1)),
    )
    places = StoredArray(folder, "places", manifest.stated.arrays["places"], shape)
    values = StoredArray(folder, "values", manifest.stated.arrays["values"], shape)
    table = StoredFile(folder, TABLE, manifest.content.get("table"))

    kept = KeptPlaces(lambda: _checked_places(folder, places.read(), structure.places), values.read)
    stored: dict[str, StoredArray | StoredFile] = {
        "places": places,
        "values": values,
        "table": table,
    }
    if structure.on == "cells":
        return stored, CellRelease(structure.shape, kept, errors, manifest.schema)
    return stored, NodeSummary(structure, kept, errors)


def _checked_places(folder: Path, places: NDArray[Any], domain: int) -> NDArray[Any]:
    """Places in order and within the domain, or answers would be nonsense."""
    steps = (places[first : first + _PIECE + 1] for first in range(0, len(places), _PIECE))
    ordered = all(bool((step[1:] > step[:-1]).all()) for step in steps)
    if len(places) and (places[0] < 0 or places[-1] >= domain or not ordered):
        raise ReleaseError(f"{folder}: the places of the summary are not in order")
    return places


def open_sketch(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], SketchReader]:
    """The buckets of a sketch, and what answers from them."""
    noise = checked_noise(folder, manifest, {"buckets"})
    told = read_parameters(folder, manifest, SketchParameters)
    try:
        rows: Any = told.sketch.get("rows")
        width: Any = told.sketch.get("width")
        sketch = Sketch(rows, width, manifest.schema.shape)
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    if sketch.to_dict() != told.sketch:
        raise ReleaseError(f"{folder}: this hushtable does not know the sketch's hash: upgrade it")
    shape = (sketch.rows, sketch.width)
    buckets = StoredArray(folder, "buckets", manifest.stated.arrays["buckets"], shape)
    return {"buckets": buckets}, SketchReader(sketch, buckets.read, noise, told.estimate)


READERS = {"summary": open_summary, "sketch": open_sketch}

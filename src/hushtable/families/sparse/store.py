"""A release that is a summary or a sketch: from its manifest to what answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.sparse.kept import Errors, KeptPlaces
from hushtable.families.sparse.read.cells import CellSummary
from hushtable.families.sparse.read.nodes import NodeSummary
from hushtable.families.sparse.read.sketch import SketchReader
from hushtable.families.sparse.table import TABLE
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import LARGEST
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.manifest import Manifest, checked_noise
from hushtable.release.store import StoredArray, StoredFile
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEPT = 2**40


@dataclass(frozen=True, eq=False)
class CellRelease(CellSummary):
    """A summary of cells that also draws rows."""

    schema: Schema

    def batches(self, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
        """Rows drawn from the kept cells, as often as each stands for."""
        from hushtable.release.synthesize import draw_cells, rows_of

        weights = self.errors.weights(self.kept.values).astype(np.float64)
        random = np.random.default_rng(seed)
        picks = draw_cells(np.concatenate([weights, [0.0]]), self.total, rows, random)
        # The last stands for no kept cell; it is only drawn where there is none at all.
        places = np.concatenate([self.kept.places.astype(np.int64), [0]])[picks]
        table: pa.Table = rows_of(self.schema, places, random)
        return iter(table.to_batches() or table.schema.empty_table().to_batches())


def open_summary(
    folder: Path, manifest: Manifest
) -> tuple[dict[str, StoredArray | StoredFile], CellRelease | NodeSummary]:
    """The arrays and the table of a summary, and what answers from them."""
    noise = checked_noise(folder, manifest, {"places", "values"})
    structure, errors = _described(folder, manifest, noise)
    shape = (_kept(folder, manifest.arrays["places"]),)
    places = StoredArray(folder, "places", manifest.arrays["places"], shape)
    values = StoredArray(folder, "values", manifest.arrays["values"], shape)
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


def _described(
    folder: Path, manifest: Manifest, noise: DiscreteLaplace
) -> tuple[Structure, Errors]:
    parameters = manifest.content["parameters"]
    try:
        return Structure(parameters.get("on"), manifest.schema.shape), errors_of(parameters, noise)
    except (OptionError, ReleaseError) as problem:
        raise ReleaseError(f"{folder}: {problem}") from None


def errors_of(parameters: dict[str, Any], noise: DiscreteLaplace) -> Errors:
    """How the values of a summary err, by what its manifest says."""
    theta, tau = parameters.get("theta", 1), parameters.get("tau", 0)
    sides = parameters.get("sides", "two-sided")
    if type(theta) is not int or not 1 <= theta <= LARGEST:
        raise ReleaseError("the filter's theta must be a whole number from 1 to 2^61")
    if type(tau) not in (int, float) or not 0 <= tau <= 2.0**100 or math.isnan(tau):
        raise ReleaseError("the sampling's tau must be a number from 0")
    if sides not in ("one-sided", "two-sided"):
        raise ReleaseError("a filter is one-sided or two-sided")
    # At θ or below, sampling leaves nothing out that has passed the filter.
    return Errors(
        noise,
        theta,
        sides == "two-sided",
        float(tau) if tau > theta else 0.0,
        # Unless told otherwise, the worse is taken for true.
        priority=parameters.get("rule") not in ("filter", "threshold"),
        consistent=parameters.get("on") == "dyadic" and parameters.get("consistent") is not False,
    )


def _kept(folder: Path, entry: Any) -> int:
    """How many places were kept, as the manifest says; the files' sizes must agree."""
    shape = entry.get("shape") if isinstance(entry, dict) else None
    length = shape[0] if isinstance(shape, list) and len(shape) == 1 else None
    if type(length) is not int or not 0 <= length <= MOST_KEPT:
        raise ReleaseError(f"{folder}: the manifest does not say how many places were kept")
    return length


def _checked_places(folder: Path, places: NDArray[Any], domain: int) -> NDArray[Any]:
    """Places in order and within the domain, or answers would be nonsense."""
    if len(places) and (places[0] < 0 or places[-1] >= domain or (np.diff(places) <= 0).any()):
        raise ReleaseError(f"{folder}: the places of the summary are not in order")
    return places


def open_sketch(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], SketchReader]:
    """The buckets of a sketch, and what answers from them."""
    noise = checked_noise(folder, manifest, {"buckets"})
    parameters = manifest.content["parameters"]
    described, estimate = parameters.get("sketch"), parameters.get("estimate")
    if (
        not isinstance(described, dict)
        or not {"rows", "width"} <= set(described)
        or estimate not in ("mean", "median")
    ):
        raise ReleaseError(f"{folder}: the manifest does not describe the sketch")
    try:
        sketch = Sketch(described["rows"], described["width"], manifest.schema.shape)
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    if sketch.to_dict() != described:
        raise ReleaseError(f"{folder}: this hushtable does not know the sketch's hash: upgrade it")
    shape = (sketch.rows, sketch.width)
    buckets = StoredArray(folder, "buckets", manifest.arrays["buckets"], shape)
    return {"buckets": buckets}, SketchReader(sketch, buckets.read, noise, estimate)


READERS = {"summary": open_summary, "sketch": open_sketch}

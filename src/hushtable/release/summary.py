"""A release that is a summary: the places that were kept, and the same as a table for everyone.

`places.npy` and `values.npy` are what answers are read from. `summary.parquet` says the same in the
schema's own labels, with the noisy count and what it stands for, for any tool that reads Parquet;
nothing here ever parses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.query.kept import Errors, KeptPlaces
from hushtable.query.nodes import NodeSummary
from hushtable.query.sketch import SketchReader
from hushtable.query.summary import CellSummary
from hushtable.release.manifest import Manifest, checked_scale
from hushtable.release.store import Content, StoredArray, StoredFile, finish_file
from hushtable.schema import Schema
from hushtable.summaries.rules import LARGEST
from hushtable.summaries.sketch import Sketch
from hushtable.summaries.structure import Structure, located, splits

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "summary.parquet"
MOST_KEPT = 2**40
_BATCH = 2**20


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def write_table(folder: Path, schema: Schema, content: Content) -> dict[str, Any]:
    """Write what was kept as a table, durably; returns what the manifest says of it."""
    import pyarrow.parquet as pq

    structure = Structure(content.parameters["on"], schema.shape)
    errors = _errors(content.parameters, Fraction(1))
    decode = _Labels(schema, structure)
    path = folder / TABLE
    places, values = content.arrays["places"], content.arrays["values"]
    columns = decode.batch(places[:0], values[:0], errors).schema
    # Numbers hardly repeat here, so that dictionaries of them would only cost time.
    texts: Any = [field.name for field in columns if str(field.type) == "string"]
    with pq.ParquetWriter(path, columns, compression="lz4", use_dictionary=texts) as writer:
        for start in range(0, len(places), _BATCH):
            stop = start + _BATCH
            writer.write_batch(decode.batch(places[start:stop], values[start:stop], errors))
    return finish_file(path)


class _Labels:
    """Places in the words of the schema.

    A cell has a column per attribute. A node has two, the first and the last label it holds; a Haar
    coefficient a third, where its second half begins, which is subtracted: null in a total.
    """

    def __init__(self, schema: Schema, structure: Structure) -> None:
        from hushtable.release.decode import decoder, unused_names

        self._structure = structure
        self._decoders = {a.name: decoder(a) for a in schema.attributes}
        names = list(self._decoders)
        if structure.on != "cells":
            ends = ("from", "to") if structure.on == "dyadic" else ("from", "to", "minus_from")
            names = [f"{name}_{end}" for name in names for end in ends]
        self._names = unused_names([*names, "count", "weight"])

    def batch(
        self, places: NDArray[np.int64], values: NDArray[np.int64], errors: Errors
    ) -> pa.RecordBatch:
        import pyarrow as pa

        columns = [*self._columns(places), pa.array(values), pa.array(errors.weights(values))]
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    def _columns(self, places: NDArray[np.int64]) -> Iterator[Any]:
        along = np.unravel_index(places, self._structure.axes)
        for decode, codes, size in zip(
            self._decoders.values(), along, self._structure.shape, strict=True
        ):
            if self._structure.on == "cells":
                yield decode(codes)
            elif self._structure.on == "dyadic":
                level, node = located(codes, size)
                yield decode(node << level)
                yield decode(np.minimum((node + 1) << level, size) - 1)
            else:
                yield from _halves(decode, codes, size)


def _halves(decode: Any, places: NDArray[np.int64], size: int) -> Iterator[Any]:
    """From where to where a Haar coefficient reaches, and where its second half begins."""
    import pyarrow.compute as pc

    total = places == 0
    half = np.where(total, 1 << splits(size), places & -places)
    yield decode(np.where(total, 0, places - half))
    yield decode(np.minimum(places + half, size) - 1)
    yield pc.if_else(total, None, decode(places))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


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
    scale = checked_scale(folder, manifest, {"places", "values"})
    structure, errors = _described(folder, manifest, scale)
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


def _described(folder: Path, manifest: Manifest, scale: Fraction) -> tuple[Structure, Errors]:
    parameters = manifest.content["parameters"]
    try:
        return Structure(parameters.get("on"), manifest.schema.shape), _errors(parameters, scale)
    except (OptionError, ReleaseError) as problem:
        raise ReleaseError(f"{folder}: {problem}") from None


def _errors(parameters: dict[str, Any], scale: Fraction) -> Errors:
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
        scale,
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
    scale = checked_scale(folder, manifest, {"buckets"})
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
    return {"buckets": buckets}, SketchReader(sketch, buckets.read, scale, estimate)

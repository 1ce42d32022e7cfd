"""A summary as a table for everyone: what was kept, in the schema's own labels.

`places.npy` and `values.npy` are what answers are read from. `summary.parquet` says the same with
the noisy count and what it stands for, for any tool that reads Parquet; hushtable never parses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.families.sparse.kept import Errors
from hushtable.forms import fill
from hushtable.kernel.maps.structure import Structure, located, splits
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.store import Content, finish_file
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "summary.parquet"
_BATCH = 2**20


def write_table(folder: Path, schema: Schema, content: Content) -> dict[str, Any]:
    """Write what was kept as a table, durably; returns what the manifest says of it."""
    import pyarrow.parquet as pq

    from hushtable.families.sparse.store import SummaryParameters

    structure = Structure(content.parameters["on"], schema.shape)
    parameters = fill(SummaryParameters, content.parameters, "a summary")
    errors = parameters.errors(DiscreteLaplace(Fraction(1)))
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

"""Tables of whole numbers that agree with each other exactly: those of one set of synthetic rows.

Tables that are rounded one by one do not agree any more where they share attributes. To round them
together is possible only in special cases: three tables of two attributes each may agree in pairs,
be whole and non-negative, and still be the tables of no rows at all. Tables that are counted off
the same rows always agree, whichever they are; and whoever draws rows from the release with the
same seed finds the same counts in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushtable.release.release import Release
from hushtable.release.table_form import TableForm
from hushtable.schema import Attribute, Edges, IntegerRange

# Tables of this many cells are counted at once; for the others, the same rows are drawn again.
_CELLS = 2**24

Advance = Callable[[int], None]


def row_counts(
    release: Release, forms: Sequence[TableForm], seed: int, advance: Advance
) -> Iterator[NDArray[np.int64]]:
    """The counts of each table, in order: as many rows as the noisy total says."""
    rows = release.number_of_rows()
    for lot in lots(forms):
        counts = [np.zeros(form.cells, np.int64) for form in lot]
        for batch in release.synthetic_batches(rows, seed=seed):
            _count(batch, lot, counts)
            advance(batch.num_rows)
        yield from counts


def lots(forms: Sequence[TableForm]) -> list[list[TableForm]]:
    """The tables in lots that memory holds at once."""
    found: list[list[TableForm]] = []
    room = 0
    for form in forms:
        if form.cells > room or not found:
            found.append([])
            room = _CELLS
        found[-1].append(form)
        room -= form.cells
    return found


def _count(
    batch: pa.RecordBatch, forms: Sequence[TableForm], counts: Sequence[NDArray[np.int64]]
) -> None:
    """Add the rows of a batch to each table."""
    attributes = forms[0].schema.attributes
    used = {axis for form in forms for axis, _ in form.places}
    codes = {axis: encode(attributes[axis], batch.column(axis)) for axis in used}
    for form, table in zip(forms, counts, strict=True):
        along = [
            np.searchsorted(np.asarray(ranges)[:, 0], codes[axis], side="right") - 1
            for axis, ranges in form.cuts()
        ]
        table += np.bincount(np.ravel_multi_index(along, form.shape), minlength=form.cells)


def encode(attribute: Attribute, values: pa.Array) -> NDArray[np.int64]:
    """The codes of synthetic values: the way back from `decoder_within_bins`."""
    known = attribute.values
    if isinstance(known, IntegerRange):
        codes: Any = pc.subtract(values, known.low)
    elif isinstance(known, Edges):
        drawn = pc.fill_null(values, known.edges[0]).to_numpy(zero_copy_only=False)
        bins = np.searchsorted(np.array(known.edges), drawn, side="right") - 1
        codes = pa.array(bins, mask=values.is_null().to_numpy(zero_copy_only=False))
    else:
        labels = pa.array([str(known.label(code)) for code in range(known.size)], pa.string())
        codes = pc.index_in(values, labels)
    other = 0 if attribute.other is None else attribute.other
    return np.asarray(pc.fill_null(codes, other), np.int64)

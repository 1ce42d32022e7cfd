"""Codes back into values, as Arrow columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.schema import Attribute, Edges, IntegerRange


def decode(attribute: Attribute, codes: NDArray[Any]) -> pa.Array:
    """The value of each code: an integer or a label, null for nulls and undeclared values."""
    codes = codes.astype(np.int64, copy=False)
    missing = None if attribute.other is None else codes == attribute.other
    if isinstance(attribute.values, IntegerRange):
        return pa.array(codes + attribute.values.low, mask=missing)
    labels = [str(attribute.label(code)) for code in range(attribute.declared)]
    picks = pa.array(codes, mask=missing)
    return pa.DictionaryArray.from_arrays(picks, pa.array(labels, pa.string())).cast(pa.string())


def decode_within_bins(
    attribute: Attribute, codes: NDArray[Any], random: np.random.Generator
) -> pa.Array:
    """Like `decode`, but a bin becomes a value drawn evenly from it."""
    if not isinstance(attribute.values, Edges):
        return decode(attribute, codes)
    edges = np.array(attribute.values.edges)
    missing = None if attribute.other is None else codes == attribute.other
    bins = np.minimum(codes, attribute.declared - 1)
    low, high = edges[bins], edges[bins + 1]
    if edges.dtype.kind == "i":  # whole edges: whole values, below the upper edge
        return pa.array(random.integers(low, high), mask=missing)
    return pa.array(low + random.random(len(low)) * (high - low), mask=missing)

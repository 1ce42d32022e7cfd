"""Codes back into values, as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.schema import Attribute, Edges, IntegerRange

Decoder = Callable[[NDArray[Any]], pa.Array]


def decoder(attribute: Attribute) -> Decoder:
    """What turns codes into values: integers or labels, null for nulls and undeclared values."""
    values = attribute.values
    if isinstance(values, IntegerRange):
        low = values.low
        return lambda codes: pa.array(_wide(codes) + low, mask=_missing(attribute, codes))
    labels = pa.array([str(values.label(code)) for code in range(values.size)], pa.string())
    return lambda codes: labels.take(pa.array(_wide(codes), mask=_missing(attribute, codes)))


def decoder_within_bins(attribute: Attribute, random: np.random.Generator) -> Decoder:
    """Like `decoder`, but a bin becomes a value drawn evenly from it."""
    if not isinstance(attribute.values, Edges):
        return decoder(attribute)
    edges = np.array(attribute.values.edges)

    def draw(codes: NDArray[Any]) -> pa.Array:
        bins = np.minimum(codes, len(edges) - 2)  # nulls draw too, and are masked
        low, high = edges[bins], edges[bins + 1]
        if edges.dtype.kind == "i":  # whole edges: whole values, below the upper edge
            drawn = random.integers(low, high)
        else:  # rounding may reach the upper edge, which is the next bin's
            spread = low + random.random(len(low)) * (high - low)
            drawn = np.minimum(spread, np.nextafter(high, low))
        return pa.array(drawn, mask=_missing(attribute, codes))

    return draw


def _wide(codes: NDArray[Any]) -> NDArray[np.int64]:
    return codes.astype(np.int64, copy=False)


def _missing(attribute: Attribute, codes: NDArray[Any]) -> NDArray[np.bool_] | None:
    return None if attribute.other is None else codes == attribute.other


def unused_names(names: Sequence[str]) -> list[str]:
    """Names of columns, with underscores where one was there before."""
    found: list[str] = []
    for name in names:
        while name in found:
            name += "_"
        found.append(name)
    return found

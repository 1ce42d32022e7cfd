"""Between which numbers an aggregate must lie, by the schema alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Mean,
    Overall,
    Quantile,
    Spread,
    Sum,
)
from hushtable.schema import Attribute, Edges, IntegerRange, Schema

Extent = tuple[float, float]


def extent_of(aggregate: Aggregate, schema: Schema) -> Extent | None:
    """The declared range of a mean, a quantile or a spread; none for counts, sums and arithmetic.

    An interval that covers most of it tells little, wherever zero is.
    """
    match aggregate:
        case Mean(axis=axis) | Quantile(axis=axis):
            return _declared(schema.attributes[axis])
        case Spread(axis=axis, root=root):
            ends = _declared(schema.attributes[axis])
            if ends is None:
                return None
            most = (ends[1] - ends[0]) / 2  # half of the rows at either end
            return 0.0, most if root else most**2
        case Overall(operand):
            return extent_of(operand, schema)
    return None


def clipping_of(aggregates: Iterable[Aggregate], schema: Schema) -> str:
    """What sums, means, quantiles and spreads are of: values that were clipped count as the ends.

    >>> from hushtable.schema import IntegerRange, ordinal
    >>> schema = Schema("t", 1, (ordinal("age", IntegerRange(0, 99)),))
    >>> clipping_of([Mean(0)], schema)
    'age is clipped to 0 … 99'
    """
    axes = dict.fromkeys(axis for aggregate in aggregates for axis in _summed(aggregate))
    ends = ((schema.attributes[axis], _declared(schema.attributes[axis])) for axis in axes)
    return "; ".join(
        f"{attribute.name} is clipped to {known[0]:.12g} … {known[1]:.12g}"
        for attribute, known in ends
        if known is not None and attribute.outside == "clip"
    )


def _summed(aggregate: Aggregate) -> Iterator[int]:
    """The attributes of whose values an aggregate tells."""
    match aggregate:
        case Sum(axis=axis) | Mean(axis=axis) | Quantile(axis=axis) | Spread(axis=axis):
            yield axis
        case Overall(operand):
            yield from _summed(operand)
        case Arithmetic(_, left, right):
            yield from _summed(left)
            yield from _summed(right)


def _declared(attribute: Attribute) -> Extent | None:
    match attribute.values:
        case IntegerRange(first, last):
            return float(first), float(last)
        case Edges(edges):
            return float(edges[0]), float(edges[-1])
    return None

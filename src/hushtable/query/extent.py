"""Between which numbers an aggregate must lie, by the schema alone."""

from __future__ import annotations

from hushtable.query.aggregate import Aggregate, Mean, Overall, Quantile, Spread
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


def _declared(attribute: Attribute) -> Extent | None:
    match attribute.values:
        case IntegerRange(first, last):
            return float(first), float(last)
        case Edges(edges):
            return float(edges[0]), float(edges[-1])
    return None

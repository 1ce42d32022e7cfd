"""The public tree of a schema, and the tree of counts over the boxes that are left of it."""

from __future__ import annotations

from hushtable.kernel.maps.splits import AxisSplits, SplitBoxes, Splits
from hushtable.kernel.maps.topology import Topology, groups_of
from hushtable.schema import Attribute, Schema


def splits_of(schema: Schema) -> Splits:
    """Hierarchies are split between their groups, all else by halving."""
    return Splits(tuple(_along(attribute) for attribute in schema.attributes))


def _along(attribute: Attribute) -> AxisSplits:
    if attribute.hierarchy is None or attribute.size == 1:
        return AxisSplits(attribute.size)
    return AxisSplits(attribute.size, groups_of(attribute))


def counted_tree(boxes: SplitBoxes, radices: tuple[int, ...] | None) -> Topology:
    """The tree whose nodes are counted: that of the boxes, or a regular one over its leaves."""
    return boxes.tree if radices is None else Topology.of_radices(boxes.parts, radices)

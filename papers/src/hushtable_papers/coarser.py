"""The same people over fewer cells: for runs that only show that everything works."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.counting import Counts
from hushtable.schema import Attribute, Hierarchy, IntegerRange, Schema, nominal, ordinal


def coarser_schema(schema: Schema, step: int) -> Schema:
    """So many neighbouring values of an ordinal attribute, or of a group of a nominal one, in one.

    Hierarchies keep their levels; a nominal attribute without groups stays as it is.
    """
    made = tuple(_coarser(attribute, step) for attribute in schema.attributes)
    return replace(schema, attributes=made)


def coarser_counts(counts: Counts, schema: Schema, step: int) -> Counts:
    """The counts of the same rows over `coarser_schema(schema, step)`."""
    if step == 1:
        return counts
    coarse = coarser_schema(schema, step)
    along = np.unravel_index(counts.codes, counts.shape)
    moved = [
        _places(attribute, step)[codes]
        for attribute, codes in zip(schema.attributes, along, strict=True)
    ]
    codes, inverse = np.unique(np.ravel_multi_index(moved, coarse.shape), return_inverse=True)
    summed = np.zeros(len(codes), np.int64)
    np.add.at(summed, inverse, counts.counts)
    return Counts(coarse.shape, codes, summed)


def _coarser(attribute: Attribute, step: int) -> Attribute:
    if step == 1 or not (_grouped(attribute) or isinstance(attribute.values, IntegerRange)):
        return attribute
    if attribute.hierarchy is None:
        return ordinal(attribute.name, IntegerRange(0, (attribute.size - 1) // step))
    leaves = attribute.hierarchy.leaves
    tree = {
        group.label: list(leaves[group.start : group.stop : step])
        for group in attribute.hierarchy.level(1)
    }
    return nominal(attribute.name, Hierarchy.from_tree(tree))


def _places(attribute: Attribute, step: int) -> NDArray[np.int64]:
    """The coarse code of each code."""
    codes = np.arange(attribute.size)
    if not _grouped(attribute):
        return codes // step if isinstance(attribute.values, IntegerRange) else codes
    assert attribute.hierarchy is not None
    places, start = np.empty_like(codes), 0
    for group in attribute.hierarchy.level(1):
        within = np.arange(group.stop - group.start) // step
        places[group.start : group.stop] = start + within
        start += int(within[-1]) + 1
    return places


def _grouped(attribute: Attribute) -> bool:
    return attribute.hierarchy is not None and attribute.hierarchy.height > 1

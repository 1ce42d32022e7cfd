"""Coarser views of an attribute: which codes stand together at each level.

Levels come from the schema alone. A hierarchy has one for every depth below its root; an ordinal
attribute without one gets pairs of adjacent codes, pairs of pairs, and so on. The code of nulls
and other values stays a group of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.schema.attribute import Attribute

Grouping = NDArray[np.int64]
"""The group of each code: from 0 upwards, in the order of the codes."""


def levels_of(attribute: Attribute) -> tuple[Grouping, ...]:
    """The groupings of an attribute's codes: first the codes themselves, then ever coarser ones.

    >>> from hushtable.schema import IntegerRange, ordinal
    >>> [groups.tolist() for groups in levels_of(ordinal("age", IntegerRange(0, 4)))]
    [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 1]]
    """
    coarser = _of_hierarchy(attribute) if attribute.hierarchy else _of_pairs(attribute)
    levels = [np.arange(attribute.size)]
    for groups in coarser:
        if attribute.other is not None:
            groups = np.append(groups, groups[-1] + 1)
        if 1 < groups[-1] + 1 < levels[-1][-1] + 1:
            levels.append(groups)
    return tuple(levels)


def _of_hierarchy(attribute: Attribute) -> list[Grouping]:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    return [
        np.repeat(np.arange(len(nodes)), [node.stop - node.start for node in nodes])
        for depth in range(hierarchy.height - 1, -1, -1)
        for nodes in [hierarchy.level(depth)]
    ]


def _of_pairs(attribute: Attribute) -> list[Grouping]:
    if attribute.kind == "nominal":
        return []
    halvings = range(1, max(attribute.declared - 1, 1).bit_length())
    return [np.arange(attribute.declared) >> halving for halving in halvings]

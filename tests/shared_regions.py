"""Sets of codes and nodes of hierarchies, as property tests draw them."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from hushtable.query.box import CodeSet


@st.composite
def code_sets(draw: st.DrawFn, size: int) -> CodeSet:
    return CodeSet.of(*((code, code + 1) for code in draw(st.sets(st.integers(0, size - 1)))))


@st.composite
def node_ranges(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Leaves, or ranges as the nodes of a level have them, perhaps with gaps, perhaps none."""
    if draw(st.booleans()):
        return [(code, code + 1) for code in range(size)]
    cuts = sorted({0, size, *draw(st.sets(st.integers(0, size)))})
    nodes = list(itertools.pairwise(cuts))
    kept = draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)))
    return [node for node, keep in zip(nodes, kept, strict=True) if keep]

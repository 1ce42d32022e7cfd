"""Algorithm 2 of the paper, word for word, with the bars that its difference lacks."""

from __future__ import annotations

import itertools
import math

import numpy as np

from hushtable.schema import Schema


def distance(schema: Schema, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Euclid's; siblings are one apart, other values of a nominal attribute out of reach."""
    square = 0.0
    for attribute, a, b in zip(schema.attributes, one, other, strict=True):
        if a == b:
            continue
        if attribute.kind == "ordinal":
            if attribute.other in (a, b):
                return math.inf
            square += (a - b) ** 2
        else:
            if parent(attribute, a) != parent(attribute, b):
                return math.inf
            square += 1
    return math.sqrt(square)


def parent(attribute, code):
    """The label of the smallest group that holds a code; the code of others is below the root."""
    nodes = attribute.hierarchy.nodes
    if code == attribute.other:
        return nodes[0].label
    groups = [n for n in nodes if not n.is_leaf and n.start <= code < n.stop]
    return max(groups, key=lambda node: node.depth).label


def algorithm_2(smooth: np.ndarray, schema: Schema, d: float, xi: float) -> np.ndarray:
    """Regions, numbered as they are begun: in the order of their first cells."""
    cells = list(itertools.product(*map(range, smooth.shape)))
    clustered: dict[tuple[int, ...], int] = {}
    partitions: list[list[tuple[int, ...]]] = []
    for seed in cells:
        if seed in clustered:
            continue
        new = [seed]
        partitions.append(new)
        clustered[seed] = len(partitions) - 1
        for c_j in new:  # it grows while we walk along it
            for c_k in cells:
                if c_k in clustered or not 0 < distance(schema, c_j, c_k) <= d + 1e-9:
                    continue
                if abs(smooth[c_k] - smooth[c_j]) < xi:
                    new.append(c_k)
                    clustered[c_k] = clustered[c_j]
    labels = np.empty(smooth.shape, np.int64)
    for cell, number in clustered.items():
        labels[cell] = number
    return labels

"""Hierarchical counts: noise on every node of a tree over each axis, made consistent.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| the tree of counts H           | `Tree`: counts of every node of a b-ary or mixed-radix tree   |
| consistent estimate H̄          | least squares on reading, exact for trees of any shape        |
| branching k                    | `--set branching=…`, or the one with the least mean variance  |

Deviations. Trees over several axes are multiplied: every combination of one node per axis is a
count. Nominal attributes use their own hierarchy. Where the root does not help, it is left out,
and a tree of one level is the plain counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from hushtable.curator import Curator
from hushtable.errors import OptionError
from hushtable.mechanisms.coefficients import check_coefficients, measure_coefficients
from hushtable.mechanisms.mechanism import Settings, check_settings
from hushtable.release.store import Content
from hushtable.schema import Attribute, Schema
from hushtable.transforms import AxisTransform, Identity, Product, Tree

# Intervals by which the trees of long axes are compared; short axes use all they have.
_SAMPLE = 2000


@dataclass(frozen=True)
class Hierarchical:
    """A tree of noisy counts along every axis."""

    name: str = "hierarchical"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, ("branching",))
        check_coefficients(self.name, schema, trees(schema, settings), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        return measure_coefficients(curator, trees(schema, settings), epsilon, {})


def trees(schema: Schema, settings: Settings) -> Product:
    """One tree per axis: as given, of the attribute's own hierarchy, or the best."""
    given = _branching(schema, settings.get("branching", ""))
    return Product(
        tuple(_tree(attribute, given.get(axis)) for axis, attribute in enumerate(schema.attributes))
    )


def _tree(attribute: Attribute, branching: int | None) -> AxisTransform:
    if attribute.size == 1:
        return Identity(1)
    if branching is not None:
        return Tree.uniform(attribute.size, branching)
    if attribute.kind == "nominal":
        own = Tree.of(attribute)
        return own if own.levels > 2 else Identity(attribute.size)
    return best_tree(attribute.size)


def _branching(schema: Schema, text: str) -> dict[int, int]:
    """Read `16` (every ordinal axis) or `age:16,income:8`."""
    given: dict[int, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.rpartition(":")
        if not number.strip().isdecimal() or int(number) < 2:
            raise OptionError("branching is a whole number from 2, or attribute:number, …")
        ordinals = [i for i, a in enumerate(schema.attributes) if a.kind == "ordinal"]
        axes = [schema.index(name.strip())] if colon else ordinals
        given |= {axis: int(number) for axis in axes}
    return given


@lru_cache(maxsize=256)
def best_tree(size: int) -> AxisTransform:
    """The tree over an axis under which a random range has the least noise variance.

    Per unit of ε² a range costs levels² · Σ weights², for add-remove neighbours; over several
    axes these multiply, so that each axis is chosen on its own.
    """
    starts, stops = _intervals(size)

    def cost(axis: AxisTransform) -> float:
        return axis.levels**2 * float(axis.gains(starts, stops).sum(axis=1).mean())

    return min((Identity(size), *_candidates(size)), key=cost)


def _candidates(size: int) -> Iterator[AxisTransform]:
    """Trees of few levels with nearly equal fan-outs, wider ones nearer to either end."""
    for depth in range(2, max(int(math.log2(size)), 1) + 1):
        middle = size ** (1 / depth)
        for tilt in (0.6, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6):
            radices = [max(2, round(middle * tilt ** (depth - 1 - i))) for i in range(1, depth)]
            last = math.ceil(size / math.prod(radices))
            if last >= 2:
                shape = (last, *radices)
                yield Tree.mixed(size, shape, root=False)
                yield Tree.mixed(size, shape, root=True)


def _intervals(size: int) -> tuple[np.ndarray, np.ndarray]:
    """All ranges of a short axis; of a long one, an even choice that is always the same."""
    if size * (size + 1) // 2 <= _SAMPLE:
        pairs = [(a, b) for a in range(size) for b in range(a + 1, size + 1)]
        starts, stops = np.array(pairs).T
        return starts, stops
    k = np.arange(_SAMPLE)
    golden, silver = (k * 0.6180339887498949) % 1, (k * 0.7548776662466927) % 1
    first, second = (golden * (size + 1)).astype(int), (silver * (size + 1)).astype(int)
    starts, stops = np.minimum(first, second), np.maximum(first, second)
    different = starts < stops
    return starts[different], stops[different]

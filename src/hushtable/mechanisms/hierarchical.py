"""Hierarchical counts: noise on every node of a tree over each axis, made consistent.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| the tree of counts H           | `Tree`: counts of every node of a b-ary or mixed-radix tree   |
| consistent estimate H̄          | least squares on reading, exact for trees of any shape        |
| branching k                    | `--set branching=…`, or the one with the least mean variance  |

Deviations. Trees over several axes are multiplied: every combination of one node per axis is a
count. Nominal attributes use their own hierarchy. The root is not measured: its level would cost
more than it tells, and the total is the sum of its children. A tree of one level is the plain
counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
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
_SHORT = 96
# From here on trees take long to build, and only a few even ones are compared.
_LONG = 8192


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
        return Tree.uniform(attribute.size, min(branching, attribute.size), root=False)
    if attribute.kind == "nominal":
        return Tree.of(attribute, root=False)
    return best_tree(attribute.size)


def _branching(schema: Schema, text: str) -> dict[int, int]:
    """Read `16` (every ordinal axis) or `age:16,income:8`, or both: `16,income:8`."""
    every: dict[int, int] = {}
    named: dict[int, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.rpartition(":")
        branching = _whole_number(number)
        if colon:
            named[schema.index(name.strip())] = branching
        else:
            ordinals = (i for i, a in enumerate(schema.attributes) if a.kind == "ordinal")
            every |= dict.fromkeys(ordinals, branching)
    return every | named


def _whole_number(text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) >= 2):
        raise OptionError("branching is a whole number from 2, or attribute:number, …")
    return int(digits)


@lru_cache(maxsize=256)
def best_tree(size: int) -> AxisTransform:
    """The tree over an axis under which a random range has the least noise variance.

    Per unit of ε² a range costs levels² · Σ weights², for add-remove neighbours; over several
    axes these multiply, so that each axis is chosen on its own. A root is never worth a level.
    """
    starts, stops = _intervals(size)

    @cache
    def cost(radices: tuple[int, ...]) -> float:
        axis = _of_radices(size, radices)
        return axis.levels**2 * float(axis.gains(starts, stops).sum(axis=1).mean())

    best: tuple[int, ...] = ()
    shallowest = 2 if size < _LONG else math.ceil(math.log(size, 40))
    for depth in range(shallowest, int(math.log2(size)) + 1):
        found = min(_even_radices(size, depth), key=cost)
        if size < _LONG:
            found = _improved(found, cost, size)
        if cost(found) >= cost(best):  # deeper ones only get worse
            break
        best = found
    return _of_radices(size, best)


def _of_radices(size: int, radices: tuple[int, ...]) -> AxisTransform:
    """The tree with these numbers of children below the top; without any, the plain counts."""
    if not radices:
        return Identity(size)
    top = math.ceil(size / math.prod(radices))
    return Tree.mixed(size, (top, *radices), root=False)


def _even_radices(size: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Nearly equal numbers of children, wider ones nearer to either end."""
    middle = size ** (1 / depth)
    for tilt in (0.75, 0.9, 1.0, 1.1, 1.3) if size < _LONG else (1.0, 1.1):
        radices = tuple(max(2, round(middle * tilt ** (depth - 1 - i))) for i in range(1, depth))
        if math.prod(radices) < size:
            yield radices


def _improved(
    radices: tuple[int, ...], cost: Callable[[tuple[int, ...]], float], size: int
) -> tuple[int, ...]:
    """Change one number at a time by one or two, as long as that helps."""
    while True:
        others = [
            (*radices[:i], number + step, *radices[i + 1 :])
            for i, number in enumerate(radices)
            for step in (-2, -1, 1, 2)
        ]
        allowed = [o for o in others if min(o) >= 2 and math.prod(o) < size]
        best = min([radices, *allowed], key=cost)
        if best == radices:
            return radices
        radices = best


def _intervals(size: int) -> tuple[np.ndarray, np.ndarray]:
    """All ranges of a short axis; of a long one, an even choice that is always the same."""
    if size <= _SHORT:
        pairs = [(a, b) for a in range(size) for b in range(a + 1, size + 1)]
        starts, stops = np.array(pairs).T
        return starts, stops
    k = np.arange(_SAMPLE)
    golden, silver = (k * 0.6180339887498949) % 1, (k * 0.7548776662466927) % 1
    first, second = (golden * (size + 1)).astype(int), (silver * (size + 1)).astype(int)
    starts, stops = np.minimum(first, second), np.maximum(first, second)
    different = starts < stops
    return starts[different], stops[different]

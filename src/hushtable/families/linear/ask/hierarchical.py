"""Hierarchical counts: noise on every node of a tree over each axis, made consistent.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| the tree of counts H           | `Tree`: counts of every node of a b-ary or mixed-radix tree   |
| consistent estimate H̄          | least squares on reading, exact for trees of any shape        |
| branching k                    | `--set branching=…`, or the one the planner finds best        |

Deviations. Trees over several axes are multiplied: every combination of one node per axis is a
count. Nominal attributes use their own hierarchy. The root is not measured: its level would cost
more than it tells, and the total is the sum of its children. A tree of one level is the plain
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.families.about import Settings
from hushtable.families.linear.about import BRANCHING, HIERARCHICAL
from hushtable.families.linear.ask.coefficients import check_coefficients, measure_coefficients
from hushtable.families.linear.choices import tree
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import AxisTransform, Product, Tree
from hushtable.release.store import Content
from hushtable.schema import Attribute, Schema


@dataclass(frozen=True)
class Hierarchical:
    """A tree of noisy counts along every axis."""

    name: str = HIERARCHICAL.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        HIERARCHICAL.check(settings, schema)
        check_coefficients(self.name, schema, trees(schema, settings), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        return measure_coefficients(curator, trees(schema, settings), epsilon, {})


def trees(schema: Schema, settings: Settings) -> Product:
    """One tree per axis: as given, of the attribute's own hierarchy, or the best."""
    given = _branching(schema, BRANCHING.given(settings) or "")
    return Product(
        tuple(_tree(attribute, given.get(axis)) for axis, attribute in enumerate(schema.attributes))
    )


def _tree(attribute: Attribute, branching: tuple[int, ...] | None) -> AxisTransform:
    if attribute.size == 1 or branching is None:
        return tree(attribute)
    if len(branching) > 1:
        return Tree.mixed(attribute.size, branching, root=False)
    return Tree.uniform(attribute.size, min(branching[0], attribute.size), root=False)


def _branching(schema: Schema, text: str) -> dict[int, tuple[int, ...]]:
    """Read `16` (every ordinal axis) or `age:16,income:11x9`, or both: `16,income:11x9`."""
    every: dict[int, tuple[int, ...]] = {}
    named: dict[int, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, numbers = part.rpartition(":")
        branching = tuple(_whole_number(number) for number in numbers.split("x"))
        if colon:
            named[schema.index(name.strip())] = branching
        else:
            ordinals = (i for i, a in enumerate(schema.attributes) if a.kind == "ordinal")
            every |= dict.fromkeys(ordinals, branching)
    return every | named


def _whole_number(text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) >= 2):
        raise BRANCHING.refusal()
    return int(digits)


MECHANISMS = (Hierarchical(),)

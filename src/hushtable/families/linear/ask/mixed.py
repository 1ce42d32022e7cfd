"""Mixed: a transform of its own along each axis, as the planner finds best or as one likes.

Settings name attributes: `--set age=tree:11x10 --set occupation=nominal`; an attribute that is not
named is counted plainly. What can be said is listed in `families/linear/choices.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.families.about import Settings
from hushtable.families.linear.about import ALONG_ATTRIBUTE, MIXED
from hushtable.families.linear.ask.coefficients import check_coefficients, measure_coefficients
from hushtable.families.linear.choices import parse
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Product
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class Mixed:
    """Wavelets along one axis, a tree along another, plain counts along a third."""

    name: str = MIXED.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        MIXED.check(settings, schema)
        check_coefficients(self.name, schema, chosen(schema, settings), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        told = {"axes": dict(settings)}
        return measure_coefficients(curator, chosen(schema, settings), epsilon, told)


def chosen(schema: Schema, settings: Settings) -> Product:
    """The transform that the settings describe, axis by axis."""
    attributes = schema.attributes
    return Product(tuple(parse(ALONG_ATTRIBUTE.named(a.name).of(settings), a) for a in attributes))


MECHANISMS = (Mixed(),)

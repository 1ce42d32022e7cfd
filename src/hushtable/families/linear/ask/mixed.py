"""Mixed: a transform of its own along each axis, as the planner finds best or as one likes.

Settings name attributes: `--set age=tree:11x10 --set occupation=nominal`; an attribute that is not
named is counted plainly. What can be said is listed in `families/linear/choices.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.families.linear.ask.coefficients import check_coefficients, measure_coefficients
from hushtable.families.linear.choices import parse
from hushtable.families.mechanism import Settings, check_settings
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Product
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class Mixed:
    """Wavelets along one axis, a tree along another, plain counts along a third."""

    name: str = "mixed"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, tuple(a.name for a in schema.attributes))
        check_coefficients(self.name, schema, chosen(schema, settings), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        told = {"axes": dict(settings)}
        return measure_coefficients(curator, chosen(schema, settings), epsilon, told)


def chosen(schema: Schema, settings: Settings) -> Product:
    """The transform that the settings describe, axis by axis."""
    return Product(tuple(parse(settings.get(a.name, "identity"), a) for a in schema.attributes))


MECHANISMS = (Mixed(),)

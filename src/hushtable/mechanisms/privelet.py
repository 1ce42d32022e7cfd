"""Privelet and Privelet+: noise on wavelet coefficients.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| HWT on an ordinal attribute    | `Haar`: sums and differences, as integers                     |
| nominal wavelet transform      | `Nominal`: f·leafsum(node) − leafsum(parent), as integers     |
| HN transform over d attributes | `Product`                                                     |
| S_A                            | the axes with `Identity`                                      |
| P(A), H(A)                     | `sensitivity_bound`, `variance_bound`                         |
| λ/W(c)                         | the scale times the factor of a coefficient's class           |
| M*                             | `release.cells()`: mean subtraction and inversion, on reading |

Deviations. Noise is discrete Laplace on integers. An odd last element passes up instead of padding
with zeros, so there are exactly as many Haar coefficients as counts. A nominal attribute without
groups is a hierarchy of two levels. The code of nulls and other values is one more value: last in
an order, below the root of a hierarchy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.curator import Curator
from hushtable.mechanisms.coefficients import check_coefficients, measure_coefficients
from hushtable.mechanisms.mechanism import Settings, check_settings, named_attributes
from hushtable.release.store import Content
from hushtable.schema import Attribute, Schema
from hushtable.transforms import AxisTransform, Haar, Identity, Nominal, Product


@dataclass(frozen=True)
class Privelet:
    """Wavelets along every axis."""

    name: str = "privelet"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, ())
        check_coefficients(self.name, schema, wavelets(schema, set()), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        return measure_coefficients(curator, wavelets(schema, set()), epsilon, {})


@dataclass(frozen=True)
class PriveletPlus:
    """Wavelets along the large axes, plain counts along the small ones (Figure 5)."""

    name: str = "privelet+"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, ("identity",))
        transform = wavelets(schema, identity_axes(schema, settings))
        check_coefficients(self.name, schema, transform, epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        plain = identity_axes(schema, settings)
        chosen = {"identity": [schema.attributes[axis].name for axis in sorted(plain)]}
        return measure_coefficients(curator, wavelets(schema, plain), epsilon, chosen)


def identity_axes(schema: Schema, settings: Settings) -> set[int]:
    """S_A: what `--set identity=age,sex` names, or else the axes that Equation 7 puts there."""
    if "identity" in settings:
        return named_attributes(schema, settings["identity"])
    return {
        axis
        for axis, attribute in enumerate(schema.attributes)
        if attribute.size <= sensitivity_bound(attribute) ** 2 * variance_bound(attribute)
    }


def sensitivity_bound(attribute: Attribute) -> int:
    """P(A): how many coefficients a row is in."""
    return _wavelet(attribute).levels


def variance_bound(attribute: Attribute) -> float:
    """H(A): the variance of any range along the axis, in units of a coefficient's."""
    if attribute.kind == "nominal":
        return 4.0
    return (2 + math.log2(attribute.size)) / 2


def wavelets(schema: Schema, plain: set[int]) -> Product:
    """The HN wavelet transform along all axes but the plain ones."""
    return Product(
        tuple(
            Identity(attribute.size) if axis in plain else _wavelet(attribute)
            for axis, attribute in enumerate(schema.attributes)
        )
    )


def _wavelet(attribute: Attribute) -> AxisTransform:
    if attribute.size == 1:
        return Identity(1)
    return Nominal.of(attribute) if attribute.kind == "nominal" else Haar(attribute.size)

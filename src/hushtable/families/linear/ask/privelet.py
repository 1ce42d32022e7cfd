"""Privelet and Privelet+: noise on wavelet coefficients.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| HWT on an ordinal attribute    | `Haar`: sums and differences, as integers                     |
| nominal wavelet transform      | `Nominal`: f·leafsum(node) − leafsum(parent), as integers     |
| HN transform over d attributes | `Product`                                                     |
| S_A                            | the axes with `Identity`                                      |
| P(A), H(A), Equation 7         | `bounds.py`                                                   |
| λ/W(c)                         | the scale times the factor of a coefficient's class           |
| M*                             | `release.cells()`: mean subtraction and inversion, on reading |

Deviations. Noise is discrete Laplace on integers. An odd last element passes up instead of padding
with zeros, so there are exactly as many Haar coefficients as counts. A nominal attribute without
groups is a hierarchy of two levels. The code of nulls and other values is one more value: last in
an order, below the root of a hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.families.about import Settings
from hushtable.families.linear.about import IDENTITY, PRIVELET, PRIVELET_PLUS
from hushtable.families.linear.ask.coefficients import check_coefficients, measure_coefficients
from hushtable.families.linear.bounds import worth_counting
from hushtable.families.linear.choices import wavelet
from hushtable.families.mechanism import named_attributes
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Identity, Product
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class Privelet:
    """Wavelets along every axis."""

    name: str = PRIVELET.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        PRIVELET.check(settings, schema)
        check_coefficients(self.name, schema, wavelets(schema, set()), epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        return measure_coefficients(curator, wavelets(schema, set()), epsilon, {})


@dataclass(frozen=True)
class PriveletPlus:
    """Wavelets along the large axes, plain counts along the small ones (Figure 5)."""

    name: str = PRIVELET_PLUS.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        PRIVELET_PLUS.check(settings, schema)
        check_coefficients(self.name, schema, chosen_wavelets(schema, settings)[0], epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        transform, chosen = chosen_wavelets(schema, settings)
        return measure_coefficients(curator, transform, epsilon, chosen)


def chosen_wavelets(schema: Schema, settings: Settings) -> tuple[Product, dict[str, list[str]]]:
    """The transform with plain counts along S_A, and what a manifest says of the choice."""
    plain = identity_axes(schema, settings)
    names = [schema.attributes[axis].name for axis in sorted(plain)]
    return wavelets(schema, plain), {"identity": names}


def identity_axes(schema: Schema, settings: Settings) -> set[int]:
    """S_A: what `--set identity=age,sex` names, or else the axes that Equation 7 puts there."""
    named = IDENTITY.given(settings)
    if named is not None:
        return named_attributes(schema, named)
    return {axis for axis, a in enumerate(schema.attributes) if worth_counting(a)}


def wavelets(schema: Schema, plain: set[int]) -> Product:
    """The HN wavelet transform along all axes but the plain ones."""
    return Product(
        tuple(
            Identity(attribute.size) if axis in plain else wavelet(attribute)
            for axis, attribute in enumerate(schema.attributes)
        )
    )


MECHANISMS = (Privelet(), PriveletPlus())

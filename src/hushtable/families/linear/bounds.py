"""The Privelet paper's bounds on the noise variance of any range count, for comparison.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011:
Equation 4 (Haar, one axis), Equation 6 (hierarchy, one axis) and Equation 7 (Privelet+, any axes,
of which the others are special cases). The paper's 8/ε² is 2λ² with λ = 2·ΠP(A)/ε, its relation
being replace-one; here λ is the scale that the release will have.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hushtable.kernel.maps import Haar, Identity, Nominal, Product
from hushtable.schema import Attribute, Schema


def sensitivity_bound(attribute: Attribute) -> int:
    """P(A): how many coefficients a row is in."""
    if attribute.size == 1:
        return 1
    if attribute.kind == "nominal":
        return Nominal.of(attribute).levels
    return Haar(attribute.size).levels


def variance_bound(attribute: Attribute) -> float:
    """H(A): the variance of any range along the axis, in units of a coefficient's."""
    if attribute.kind == "nominal":
        return 4.0
    return (2 + math.log2(attribute.size)) / 2


def worth_counting(attribute: Attribute) -> bool:
    """Whether Equation 7 prefers plain counts along an axis: |A| ≤ P(A)²·H(A)."""
    return attribute.size <= sensitivity_bound(attribute) ** 2 * variance_bound(attribute)


def range_bound(schema: Schema, transform: Product, scale: Fraction) -> float | None:
    """Equation 7 for a transform of the paper's: the largest standard error of a range count."""
    bound = 2 * float(scale) ** 2
    for attribute, axis in zip(schema.attributes, transform.axes, strict=True):
        if isinstance(axis, Identity):
            bound *= attribute.size
        elif isinstance(axis, Haar | Nominal):
            bound *= variance_bound(attribute)
        else:
            return None
    return math.sqrt(bound)

"""What the mechanisms that release noisy coefficients of a transform have in common."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hushtable.families.mechanism import check_memory
from hushtable.kernel.curator import Curator, Measurement
from hushtable.kernel.maps import Product
from hushtable.kernel.privacy.loss import check_scale
from hushtable.release.store import Content
from hushtable.schema import Schema


def check_coefficients(name: str, schema: Schema, transform: Product, epsilon: Fraction) -> None:
    """Refuse, by the schema alone, what memory or 64-bit integers could not hold."""
    check_memory(name, len(schema.shape), max(schema.cells, transform.cells))
    scale = schema.exposure.scale(epsilon, entering=transform.entering, moving=transform.moving)
    check_scale(scale * max(factor for _, factor in transform.blocks()))


def measure_coefficients(
    curator: Curator, transform: Product, epsilon: Fraction, parameters: dict[str, Any]
) -> Content:
    """Measure all coefficients at once; the rest is reading."""
    return stored(curator.noisy_coefficients(transform, epsilon=epsilon), transform, parameters)


def stored(noisy: Measurement, transform: Product, parameters: dict[str, Any]) -> Content:
    """What is stored of noisy coefficients."""
    return Content(
        reader="coefficients",
        arrays={"coefficients": noisy.values},
        noise={**noisy.noise.to_dict(), "on": "every coefficient"},
        parameters={**parameters, "transform": transform.to_dict()},
    )

"""A release of noisy cells or of noisy coefficients: from its manifest to what answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.errors import ReleaseError
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.kernel.privacy.loss import LARGEST_SCALE
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.reader import Reader
from hushtable.release.form import SMALLEST_SCALE
from hushtable.release.manifest import Manifest, checked_noise
from hushtable.release.store import StoredArray

if TYPE_CHECKING:
    from hushtable.kernel.maps import Product

Arrays = Mapping[str, StoredArray]


def _open_cells(folder: Path, manifest: Manifest) -> tuple[Arrays, Reader]:
    noise = checked_noise(folder, manifest, {"cells"})
    cells = _array(folder, manifest, "cells", manifest.schema.shape)
    return {"cells": cells}, NoisyCells(cells.read, noise)


# What a release does not need is not imported: the first answer should come at once.


def _open_coefficients(folder: Path, manifest: Manifest) -> tuple[Arrays, Reader]:
    from hushtable.families.linear.read.coefficients import NoisyCoefficients
    from hushtable.families.linear.read.transforms import ProductReading

    transform, noise = _transform(folder, manifest, {"coefficients"})
    stored = _array(folder, manifest, "coefficients", transform.coefficient_shape)
    _check_factors(folder, transform, noise)
    reading, note = ProductReading.of(transform), "weighted sum of noisy coefficients"
    return {"coefficients": stored}, NoisyCoefficients(reading, stored.read, noise, note)


def _open_shrunken(folder: Path, manifest: Manifest) -> tuple[Arrays, Reader]:
    from hushtable.families.linear.bands import Bands
    from hushtable.families.linear.read.shrunken import ShrunkenCoefficients
    from hushtable.kernel.maps import Tents, Tree

    transform, noise = _transform(folder, manifest, {"coefficients", "thresholds"})
    if any(isinstance(axis, Tents | Tree) for axis in transform.axes):
        raise ReleaseError(f"{folder}: only wavelets have subbands")
    shape = transform.coefficient_shape
    # The large array first: a domain that no file backs is refused before bands are laid out.
    arrays = {"coefficients": _array(folder, manifest, "coefficients", shape)}
    _check_factors(folder, transform, noise)
    bands = Bands.of(transform)
    arrays["thresholds"] = _array(folder, manifest, "thresholds", bands.shape)
    read, thresholds = arrays["coefficients"].read, arrays["thresholds"].read()
    return arrays, ShrunkenCoefficients(transform, read, noise, bands, thresholds)


def _array(folder: Path, manifest: Manifest, name: str, shape: tuple[int, ...]) -> StoredArray:
    return StoredArray(folder, name, manifest.stated.arrays[name], shape)


def _transform(
    folder: Path, manifest: Manifest, names: set[str]
) -> tuple[Product, DiscreteLaplace]:
    """The transform and the noise of a release of coefficients, with the arrays it must have."""
    from hushtable.families.linear.describe import product_from_dict

    noise = checked_noise(folder, manifest, names)
    try:
        transform = product_from_dict(manifest.stated.parameters.get("transform"))
    except ReleaseError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    if transform.shape != manifest.schema.shape:
        raise ReleaseError(f"{folder}: the transform does not have the shape of the schema")
    return transform, noise


def _check_factors(folder: Path, transform: Product, noise: DiscreteLaplace) -> None:
    """Refuse noise that was never drawn: a coefficient's is the scale times a factor per axis."""
    factors = [[c.factor for c in axis.classes] for axis in transform.axes]
    smallest = math.prod((min(along) for along in factors), start=Fraction(1))
    largest = math.prod((max(along) for along in factors), start=Fraction(1))
    # Of a tiny scale too: factors are squared, and must stay numbers.
    too_large = max(noise.scale, Fraction(1)) * largest > LARGEST_SCALE
    if too_large or noise.scale * smallest < SMALLEST_SCALE:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise")


READERS = {"cells": _open_cells, "coefficients": _open_coefficients, "shrunken": _open_shrunken}

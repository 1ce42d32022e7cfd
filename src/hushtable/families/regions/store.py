"""A release that is noisy cells, a region for each, and noisy counts of the regions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.options import Likelihood, Prior
from hushtable.families.regions.posterior import Estimator
from hushtable.families.regions.read import RegionReader
from hushtable.forms import told
from hushtable.release.form import Scale, StatedNoise
from hushtable.release.manifest import Manifest, check_arrays, read_noise, read_parameters
from hushtable.release.store import StoredArray, stored_length

CellDistance = Annotated[float, Meta(ge=0, le=1000)]
NAMES = {"cells", "regions", "counts"}


class RegionNoise(StatedNoise, frozen=True):
    """The scale of the cells' noise, and that of the noise of the counts of regions."""

    region_scale: Scale


class Parameters(Struct, frozen=True):
    """How the release is read: who is next to whom, and what is taken for likely."""

    neighbours: Literal["schema", "codes"]
    prior: Prior
    likelihood: Likelihood
    reference: Literal["on", "off"]
    d: Annotated[CellDistance | None, told("a number from 0 to 1000")] = None
    """How far adjacent cells are apart by the schema."""


def open_regions(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], RegionReader]:
    """The arrays of cells and regions, and what answers from them."""
    check_arrays(folder, manifest, NAMES)
    noise = read_noise(folder, manifest, RegionNoise)
    parameters = read_parameters(folder, manifest, Parameters)
    # The large arrays first: a domain that no file backs is refused before anything is laid out.
    shape = manifest.schema.shape
    arrays = {
        name: StoredArray(folder, name, manifest.stated.arrays[name], shape)
        for name in ("cells", "regions")
    }
    possible = range(1, math.prod(shape) + 1)
    number = stored_length(folder, "counts", manifest.stated.arrays["counts"], possible)
    arrays["counts"] = StoredArray(folder, "counts", manifest.stated.arrays["counts"], (number,))

    def read_regions() -> NDArray[Any]:
        numbers = arrays["regions"].read()
        if int(numbers.min()) < 0 or int(numbers.max()) >= number:
            raise ReleaseError(f"{folder}: a cell is in a region that is not counted")
        if not np.bincount(numbers.reshape(-1), minlength=number).all():
            raise ReleaseError(f"{folder}: a region that is counted has no cell")
        return numbers

    return arrays, RegionReader(
        _adjacency(folder, manifest, parameters),
        arrays["cells"].read,
        read_regions,
        arrays["counts"].read,
        Estimator(noise.known, noise.of(noise.region_scale), parameters.prior),
        reference=parameters.reference == "on",
        likelihood=parameters.likelihood,
    )


def _adjacency(folder: Path, manifest: Manifest, parameters: Parameters) -> Adjacency:
    """Who is next to whom: by the schema up to a distance, or simply in the order of the codes."""
    if parameters.neighbours == "codes":
        return Adjacency.in_order(manifest.schema.shape)
    if parameters.d is None:
        raise ReleaseError(f"{folder}: the manifest does not say how far adjacent cells are apart")
    adjacency = Adjacency.of(manifest.schema, parameters.d)
    try:
        adjacency.check()
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    return adjacency


READERS = {"regions": open_regions}

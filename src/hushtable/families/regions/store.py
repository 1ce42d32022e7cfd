"""A release that is noisy cells, a region for each, and noisy counts of the regions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.regions.adjacency import Neighbourhood
from hushtable.families.regions.options import LIKELIHOODS, PRIORS
from hushtable.families.regions.posterior import Estimator
from hushtable.families.regions.read import RegionReader
from hushtable.release.manifest import Manifest, check_arrays, read_noise
from hushtable.release.store import StoredArray

NAMES = {"cells", "regions", "counts"}


def open_regions(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], RegionReader]:
    """The arrays of cells and regions, and what answers from them."""
    check_arrays(folder, manifest, NAMES)
    estimator = _estimator(folder, manifest)
    # The large arrays first: a domain that no file backs is refused before anything is laid out.
    shape = manifest.schema.shape
    arrays = {
        name: StoredArray(folder, name, manifest.arrays[name], shape)
        for name in ("cells", "regions")
    }
    number = _number_of_regions(folder, manifest.arrays["counts"], math.prod(shape))
    arrays["counts"] = StoredArray(folder, "counts", manifest.arrays["counts"], (number,))

    def read_regions() -> NDArray[Any]:
        numbers = arrays["regions"].read()
        if int(numbers.min()) < 0 or int(numbers.max()) >= number:
            raise ReleaseError(f"{folder}: a cell is in a region that is not counted")
        if not np.bincount(numbers.reshape(-1), minlength=number).all():
            raise ReleaseError(f"{folder}: a region that is counted has no cell")
        return numbers

    parameters = manifest.content["parameters"]
    return arrays, RegionReader(
        _neighbourhood(folder, manifest),
        arrays["cells"].read,
        read_regions,
        arrays["counts"].read,
        estimator,
        reference=_one_of(folder, parameters, "reference", ("on", "off")) == "on",
        likelihood=_one_of(folder, parameters, "likelihood", LIKELIHOODS),
    )


def _estimator(folder: Path, manifest: Manifest) -> Estimator:
    noise = manifest.noise
    cells, counts = (
        read_noise({**noise, "scale": noise.get(name)}) for name in ("scale", "region_scale")
    )
    if cells is None or counts is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise")
    prior = _one_of(folder, manifest.content["parameters"], "prior", PRIORS)
    return Estimator(cells, counts, prior)


def _neighbourhood(folder: Path, manifest: Manifest) -> Neighbourhood:
    """Who is next to whom: by the schema up to a distance, or simply in the order of the codes."""
    parameters = manifest.content["parameters"]
    if _one_of(folder, parameters, "neighbours", ("schema", "codes")) == "codes":
        return Neighbourhood.in_order(manifest.schema.shape)
    distance = parameters.get("d")
    if type(distance) not in (int, float) or not 0 <= distance <= 1000:
        raise ReleaseError(f"{folder}: the manifest does not say how far neighbours are apart")
    neighbourhood = Neighbourhood.of(manifest.schema, float(distance))
    try:
        neighbourhood.check()
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    return neighbourhood


def _number_of_regions(folder: Path, entry: Any, cells: int) -> int:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    number = shape[0] if isinstance(shape, list) and len(shape) == 1 else None
    if type(number) is not int or not 1 <= number <= cells:
        raise ReleaseError(f"{folder}: the manifest does not say how many regions there are")
    return number


def _one_of(folder: Path, parameters: dict[str, Any], name: str, known: Any) -> Any:
    value = parameters.get(name)
    if not isinstance(value, str) or value not in known:
        raise ReleaseError(f"{folder}: the manifest's {name!r} must be {' or '.join(known)}")
    return value


READERS = {"regions": open_regions}

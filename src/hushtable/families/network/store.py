"""A release that is a network: its description, its noisy tables, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import ReleaseError
from hushtable.families.network.fit import FittedNetwork, fit
from hushtable.families.network.network import MOST_ROWS, Network
from hushtable.families.network.read import NetworkReader
from hushtable.release.manifest import Manifest, check_arrays, noise_scale
from hushtable.release.store import StoredArray

if TYPE_CHECKING:
    import pyarrow

    from hushtable.families.network.sample import RowSampler


@dataclass(frozen=True, eq=False)
class NetworkRelease(NetworkReader):
    """A network reader that also draws rows."""

    @cached_property
    def sampler(self) -> RowSampler:
        from hushtable.families.network.sample import RowSampler

        return RowSampler(self.fitted)

    def batches(self, rows: int, seed: int | None) -> Iterator[pyarrow.RecordBatch]:
        """Rows in batches, in flat memory."""
        return self.sampler.batches(rows, seed)


def open_network(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], NetworkRelease]:
    """The tables of a network's release, and what answers from them."""
    network, rows, rows_scale = _described(folder, manifest)
    scales = _scales(folder, manifest.noise, len(network.measured))
    names = [f"marginal_{i}" for i in range(len(network.measured))]
    check_arrays(folder, manifest, set(names))
    arrays = {
        name: StoredArray(folder, name, manifest.arrays[name], network.shape(table))
        for name, table in zip(names, network.measured, strict=True)
    }

    def fitted() -> FittedNetwork:
        tables = [arrays[name].read() for name in names]
        return fit(network, tables, scales=scales, rows=rows, rows_scale=rows_scale)

    return arrays, NetworkRelease(network, fitted)


def _scales(folder: Path, noise: dict[str, Any], tables: int) -> list[Fraction]:
    """The scale of each table's noise."""
    texts = noise.get("scales")
    listed = texts if isinstance(texts, list) else []
    scales = [noise_scale({**noise, "scale": text}) for text in listed]
    known = [scale for scale in scales if scale is not None]
    if len(known) != tables or len(listed) != tables or noise_scale(noise) is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise")
    return known


def _described(folder: Path, manifest: Manifest) -> tuple[Network, int, Fraction]:
    """The network, the number of rows and the scale of its noise, none if it was declared."""
    parameters: dict[str, Any] = manifest.content["parameters"]
    try:
        network = Network.from_dict(manifest.schema, parameters.get("network"))
    except ReleaseError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    rows, noise = parameters.get("rows"), parameters.get("rows_noise")
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ReleaseError(f"{folder}: the manifest does not say how many rows there are")
    if noise is None:
        return network, rows, Fraction(0)
    scale = noise_scale(noise) if isinstance(noise, dict) else None
    if scale is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise of its rows")
    return network, rows, scale


READERS = {"network": open_network}

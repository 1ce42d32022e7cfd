"""A release that is a network: its description, its noisy tables, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import ReleaseError
from hushtable.families.network.fit import FittedNetwork, fit
from hushtable.families.network.network import MOST_ROWS, Network
from hushtable.families.network.read import NetworkReader
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.release.manifest import Manifest, check_arrays, read_noise
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
    network, rows, rows_noise = _described(folder, manifest)
    noises = _noises(folder, manifest.noise, len(network.measured))
    names = [f"marginal_{i}" for i in range(len(network.measured))]
    check_arrays(folder, manifest, set(names))
    arrays = {
        name: StoredArray(folder, name, manifest.arrays[name], network.shape(table))
        for name, table in zip(names, network.measured, strict=True)
    }

    def fitted() -> FittedNetwork:
        tables = [arrays[name].read() for name in names]
        return fit(network, tables, noises=noises, rows=rows, rows_noise=rows_noise)

    return arrays, NetworkRelease(network, fitted)


def _noises(folder: Path, noise: dict[str, Any], tables: int) -> list[KnownNoise]:
    """The noise of each table."""
    texts = noise.get("scales")
    listed = texts if isinstance(texts, list) else []
    noises = [read_noise({**noise, "scale": text}) for text in listed]
    known = [found for found in noises if found is not None]
    if len(known) != tables or len(listed) != tables or read_noise(noise) is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise")
    return known


def _described(folder: Path, manifest: Manifest) -> tuple[Network, int, KnownNoise | None]:
    """The network, the number of rows and its noise, none if it was declared."""
    parameters: dict[str, Any] = manifest.content["parameters"]
    try:
        network = Network.from_dict(manifest.schema, parameters.get("network"))
    except ReleaseError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    rows, described = parameters.get("rows"), parameters.get("rows_noise")
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ReleaseError(f"{folder}: the manifest does not say how many rows there are")
    if described is None:
        return network, rows, None
    noise = read_noise(described) if isinstance(described, dict) else None
    if noise is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise of its rows")
    return network, rows, noise


READERS = {"network": open_network}

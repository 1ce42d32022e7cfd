"""A release that is a network: its description, its noisy tables, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from hushtable.errors import ReleaseError
from hushtable.families.network.fit import FittedNetwork, fit
from hushtable.families.network.network import MOST_ROWS, Network
from hushtable.families.network.read import NetworkReader
from hushtable.forms import told
from hushtable.release.form import StatedNoise
from hushtable.release.manifest import Manifest, check_arrays, noise_of_tables, read_parameters
from hushtable.release.store import StoredArray

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False)
class NetworkRelease(NetworkReader):
    """A network reader that also draws rows."""

    def batches(self, rows: int, seed: int | None) -> Iterator[pyarrow.RecordBatch]:
        """Rows in batches, in flat memory."""
        from hushtable.families.network.sample import row_batches

        return row_batches(self.fitted, rows, seed)


class Parameters(Struct, frozen=True):
    """The network, the number of rows, and its noise unless the number was declared."""

    network: Any
    rows: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="a positive number of rows")]
    rows_noise: Annotated[
        StatedNoise | None, told("a table to describe the noise of the number of rows")
    ] = None


def open_network(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], NetworkRelease]:
    """The tables of a network's release, and what answers from them."""
    parameters = read_parameters(folder, manifest, Parameters)
    network = _network(folder, manifest, parameters)
    rows_noise = parameters.rows_noise.known if parameters.rows_noise else None
    noises = noise_of_tables(folder, manifest, len(network.measured))
    names = [f"marginal_{i}" for i in range(len(network.measured))]
    check_arrays(folder, manifest, set(names))
    arrays = {
        name: StoredArray(folder, name, manifest.stated.arrays[name], network.shape(table))
        for name, table in zip(names, network.measured, strict=True)
    }

    def fitted() -> FittedNetwork:
        tables = [arrays[name].read() for name in names]
        return fit(network, tables, noises=noises, rows=parameters.rows, rows_noise=rows_noise)

    return arrays, NetworkRelease(network, fitted)


def _network(folder: Path, manifest: Manifest, parameters: Parameters) -> Network:
    try:
        return Network.from_dict(manifest.schema, parameters.network)
    except ReleaseError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None


READERS = {"network": open_network}

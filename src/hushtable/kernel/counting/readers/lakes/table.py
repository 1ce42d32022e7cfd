"""One snapshot of a table in a lake: its columns, and the files that hold its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile


@dataclass(frozen=True, eq=False)
class LakeFile:
    """A Parquet file of a table, and what is said of it elsewhere."""

    file: str | RemoteFile
    constants: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Columns of one value, as Arrow scalars."""
    kept: NDArray[np.bool_] | None = field(default=None, repr=False)
    """Which of its rows were not deleted; by default, all of them."""


@dataclass(frozen=True, eq=False)
class LakeTable:
    """The columns of a snapshot, as Arrow fields, and its files."""

    name: str
    schema: Any = field(repr=False)
    files: tuple[LakeFile, ...] = field(repr=False)
    ids: tuple[int, ...] | None = field(default=None, repr=False)
    """The number of each column, where files know columns by numbers and not by names."""

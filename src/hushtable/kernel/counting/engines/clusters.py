"""Tables on clusters, by what names them: an address and a name, or files that Spark reads.

Nothing here needs Spark; a session is opened when such a table is counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.silence import silent_engine

_ADDRESS = re.compile(r"(spark|sc)://.+", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_ENGINES = "engine is 'spark', for this machine, or an address: spark://host:7077, sc://host:15002"
_HIDDEN = ("_", ".")
_PATTERNS = frozenset("[]{}*?\\")
LAKES = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}
"""Folders by which tables are known whose files alone do not say what is in them."""


@dataclass(frozen=True)
class SparkTable:
    """A table by its name, or Parquet files, in a session that is opened to count them.

    The address may hold a token: it is not shown.
    """

    address: str | None = field(repr=False)
    name: str | None = None
    paths: tuple[str, ...] = ()
    listed: bool = False
    """Whether the paths are all files of a table, by its own list."""

    def __post_init__(self) -> None:
        """Refuse names that Spark would not take as they are: other files might match them."""
        if any(_PATTERNS & {*path} for path in self.paths):
            raise DataError(
                "to Spark, names with any of [ ] { } * ? \\ are patterns, by which it may read"
                " other files: name a folder or file without them, or leave out --engine"
            )


def is_cluster(data: Any) -> bool:
    """Whether a text is the address of a cluster."""
    return isinstance(data, str) and _ADDRESS.fullmatch(data) is not None


def cluster_table(address: str, name: str | None) -> SparkTable:
    """A table of a cluster, which must have a name."""
    if not name or not isinstance(name, str):
        raise OptionError("say which table of the cluster: --table NAME (in Python, table=)")
    return SparkTable(address, name)


def files_on_spark(data: Any, engine: str) -> SparkTable:
    """Parquet files that an engine is asked to read: by their names, or all of a folder."""
    if engine != "spark" and not is_cluster(engine):
        raise OptionError(_ENGINES)
    if not isinstance(data, str | Path) or is_cluster(data):
        raise OptionError("engine is for files: a table of Spark is counted there anyway")
    path = str(data)
    address = None if engine == "spark" else engine
    if address is not None or _ELSEWHERE.match(path):
        return SparkTable(address, paths=(path,))
    if os.path.isdir(os.path.join(path, "_delta_log")):
        return SparkTable(None, paths=tuple(delta_files(path)), listed=True)
    return SparkTable(None, paths=tuple(parquet_files(path)))


def delta_files(path: str) -> Sequence[str]:
    """The files of the present version of a Delta table of this machine.

    Refused where they alone do not tell its rows: Spark then takes what it finds in them.
    """
    import pyarrow.parquet as pq

    from hushtable.kernel.counting.readers.lakes.delta import delta_table

    table = delta_table(path)
    if not table.files:
        raise DataError(f"the table in {path} has no rows")
    files = [str(each.file) for each in table.files]
    with silent_engine(f"the files of the table in {path} could not be opened"):
        schemas = map(pq.read_schema, files)
        first, *others = ({field.name: field.type for field in schema} for schema in schemas)
    plain = not any(each.constants or each.kept is not None for each in table.files)
    told = {field.name: field.type for field in table.schema}
    if plain and _same_types(first, told) and all(first == one for one in others):
        return files
    raise DataError(
        f"the table in {path} has columns by which it is parted, deleted rows or files with other"
        " columns or types, which Spark by itself does not know of: leave out --engine, or open it"
        " in Spark and publish the frame from Python"
    )


def _same_types(found: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Whether a file's columns are those that its table tells of, however Arrow holds them.

    Moments that Spark wrote in its old form have no zone in the file: they are of UTC.
    """
    import pyarrow as pa

    from hushtable.kernel.counting.readers.readable import readable_schema

    moment = pa.timestamp("us", "UTC")
    types = {
        name: moment if kind == pa.timestamp("ns") and told.get(name) == moment else kind
        for name, kind in found.items()
    }
    return types.keys() == told.keys() and readable_schema(
        [types[name] for name in told]
    ) == readable_schema([*told.values()])


def parquet_files(path: str) -> Sequence[str]:
    """The Parquet files of this machine that a path, a pattern or a folder names, each once."""
    from hushtable.kernel.counting.readers.paths import each_once, find_files

    if not os.path.isdir(path):
        return [str(file) for file in find_files(path)]
    found = []
    for folder, folders, files in os.walk(path):
        check_no_lake(path, folders)
        # What is named so is hidden to Spark: among it is what jobs that failed have left.
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        found += [
            os.path.join(folder, name)
            for name in sorted(files)
            if name.endswith(".parquet") and not name.startswith(_HIDDEN)
        ]
    if not found:
        raise DataError(f"there are no Parquet files in {path}")
    return each_once(found)


def check_no_lake(path: str, folders: Collection[str]) -> None:
    """Refuse a folder where others of these names are: files in it may hold rows that are gone."""
    for name, kind in LAKES.items():
        if name in folders:
            raise DataError(
                f"{path} holds a table of {kind}, in whose folder are rows that it has no longer:"
                " open it in Spark, and publish the frame from Python, or leave out --engine"
            )

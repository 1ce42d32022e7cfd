"""Whether the name of a table is that of one in a lake."""

from __future__ import annotations

import os

from hushtable.errors import OptionError
from hushtable.kernel.counting.readers.elsewhere.addresses import is_address, read_address
from hushtable.kernel.counting.readers.lakes.table import LakeTable

CATALOG = "iceberg://"
METADATA = ".metadata.json"
_LOG = "_delta_log"
_WILD = frozenset("*?[")


def find_lake(place: str, name: str | None) -> LakeTable | None:
    """The table in a lake that is meant; none if it is another kind of table."""
    if place.lower().startswith(CATALOG):
        return _iceberg(place, _named(name))
    if place.endswith(METADATA):
        _by_itself(place, name)
        return _iceberg(place, None)
    if is_address(place):
        return _in_store(place, name)
    if os.path.isdir(os.path.join(place, _LOG)):
        _by_itself(place, name)
        return _delta(place)
    return None


def _in_store(place: str, name: str | None) -> LakeTable | None:
    """A folder of a store: a name that is no pattern, and no file by its ending."""
    address = read_address(place)
    last = address.key.strip("/").rpartition("/")[2]
    if address.on_web or not last or "." in last or not _WILD.isdisjoint(address.key):
        return None
    from hushtable.kernel.counting.readers.elsewhere.stores import ObjectStore
    from hushtable.kernel.counting.readers.lakes.delta import delta_table

    store = ObjectStore.of(address)
    folder = address.key.strip("/")
    if not store.has_below(f"{folder}/{_LOG}"):
        return None
    _by_itself(place, name)
    return delta_table(f"{store.start}{folder}", store)


def _delta(place: str) -> LakeTable:
    from hushtable.kernel.counting.readers.lakes.delta import delta_table

    return delta_table(place)


def _iceberg(place: str, name: str | None) -> LakeTable:
    from hushtable.kernel.counting.readers.lakes.iceberg import iceberg_table

    return iceberg_table(place, name)


def _named(name: str | None) -> str:
    if name is None:
        raise OptionError("a catalog holds many tables: name one with --table (in Python, table=)")
    return name


def _by_itself(place: str, name: str | None) -> None:
    if name is not None:
        raise OptionError(f"{place} is a table by itself: leave out --table (in Python, table=)")

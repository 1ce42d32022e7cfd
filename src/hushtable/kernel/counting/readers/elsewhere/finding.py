"""The files that addresses stand for, each pinned to its state.

The files of one table are all in one bucket or on one host: that two names elsewhere are two files
can be told within a store only. A bucket may have several names, a host may too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from hushtable.errors import DataError
from hushtable.kernel.counting.readers.elsewhere.addresses import Address, read_address
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile
from hushtable.kernel.counting.readers.elsewhere.stores import ObjectStore
from hushtable.kernel.counting.readers.elsewhere.web import find_on_web


def find_elsewhere(texts: Sequence[str]) -> list[RemoteFile]:
    """All files that these addresses and patterns stand for; those of one name are one."""
    addresses = [read_address(text) for text in texts]
    if len({(address.scheme, address.store) for address in addresses}) > 1:
        raise DataError(
            "the files of a table elsewhere must be in one bucket or on one host: two names in"
            " different ones may be one file"
        )
    return _on_web(addresses) if addresses[0].on_web else _in_store(addresses)


def _in_store(addresses: Sequence[Address]) -> list[RemoteFile]:
    """The objects of all names and patterns: one of two patterns stands here twice, by one name."""
    store = ObjectStore.of(addresses[0])
    found: list[RemoteFile] = []
    for address in addresses:
        files = store.find(address.key)
        if not files:
            raise _missing(store, address)
        found += files
    return found


def _missing(store: ObjectStore, address: Address) -> DataError:
    name = address.shown
    if store.has_below(address.key):
        return DataError(
            f"{name} is a folder; name its files, as in '{name.rstrip('/')}/*.parquet'"
        )
    return DataError(f"there is no file {name}")


def _on_web(addresses: Sequence[Address]) -> list[RemoteFile]:
    """A server is asked for every file once; the address it leads to tells which are one."""
    found: dict[Hashable, tuple[str, RemoteFile]] = {}
    for address in _apart(addresses):
        place, file = find_on_web(address)
        query, _ = found.setdefault(place.identity, (place.query, file))
        _check_query(place, query)
    return [file for _, file in found.values()]


def _apart(addresses: Sequence[Address]) -> list[Address]:
    found: dict[Hashable, Address] = {}
    for address in addresses:
        first = found.setdefault(address.identity, address)
        _check_query(address, first.query)
    return list(found.values())


def _check_query(address: Address, query: str) -> None:
    """What follows `?` may choose a file or sign a question: nobody but the server knows."""
    if address.query != query:
        raise DataError(
            f"{address.shown} is named twice, with different words after its '?': these may be one"
            " file, so download them, or name it once"
        )

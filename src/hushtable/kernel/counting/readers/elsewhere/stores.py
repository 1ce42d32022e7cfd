"""Stores of objects: S3, Google Cloud Storage and Azure, by one library.

Credentials come from the environment alone. Where it has none, nobody is asked: neither the store,
without a name, nor the machine that a cloud may have for such questions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from hushtable.errors import DataError, HushError, OptionError
from hushtable.kernel.counting.readers.elsewhere.addresses import Address
from hushtable.kernel.counting.readers.elsewhere.remote import CHANGED, PACKED, RemoteFile
from hushtable.kernel.counting.silence import raise_alone

_NEEDED = "files in cloud stores need another package: pip install 'hushtable[cloud]'"
_WILD = frozenset("*?[")
_YES = ("1", "true", "on", "yes", "y")

# Of each store: the ways to say who asks. A way has several parts, and a part may have several
# names. A library to which a part is missing would ask the machine of the cloud.
_SECRET = ("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET")
_CLIENT = ("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID")
_TENANT = (
    *("AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID"),
    *("AZURE_STORAGE_AUTHORITY_ID", "AZURE_AUTHORITY_ID"),
)
_CREDENTIALS: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "s3": (
        (("AWS_ACCESS_KEY_ID",), ("AWS_SECRET_ACCESS_KEY",)),
        (("AWS_WEB_IDENTITY_TOKEN_FILE",), ("AWS_ROLE_ARN",)),
        (("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),),
        (
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",),
        ),
        (("AWS_METADATA_ENDPOINT",),),
    ),
    "gs": (
        (
            (
                *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"),
                *("GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"),
            ),
        ),
    ),
    "az": (
        (
            (
                *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY"),
                *("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN"),
                *("AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "AZURE_USE_AZURE_CLI"),
            ),
        ),
        (_SECRET, _CLIENT, _TENANT),
        (("AZURE_FEDERATED_TOKEN_FILE",), _CLIENT, _TENANT),
    ),
}
_SWITCHES = {"AZURE_USE_AZURE_CLI"}
_OPEN = {"s3": "AWS_SKIP_SIGNATURE", "gs": "GOOGLE_SKIP_SIGNATURE", "az": "AZURE_SKIP_SIGNATURE"}
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}


@dataclass(frozen=True)
class ObjectStore:
    """A bucket or container, and how its addresses begin."""

    library: Any
    store: Any
    start: str

    @classmethod
    def of(cls, address: Address) -> ObjectStore:
        """The store that an address is in; nothing is asked of it yet."""
        try:
            import obstore
        except ModuleNotFoundError:
            raise_alone(OptionError(_NEEDED))
        start = f"{address.scheme}://{address.store}/"
        _check_credentials(address.scheme)
        with _said_by_us(start):
            return cls(obstore, _opened(address), start)

    def find_named(self, key: str) -> RemoteFile | None:
        """The object of a name, if there is one."""
        if _is_name(key):
            with _said_by_us(self.start + key), suppress(FileNotFoundError):
                return self._file(self.library.head(self.store, key))
        return None

    def find(self, key: str) -> list[RemoteFile]:
        """The objects that a name or a pattern stands for; none if there is none."""
        named = self.find_named(key)
        if named is not None:
            return [named]
        if _WILD.isdisjoint(key):
            return []
        return [self._file(meta) for meta in self._listed(key) if _matches(meta["path"], key)]

    def has_below(self, folder: str) -> bool:
        """Whether there is anything in a folder: whose name begins so."""
        if not _is_name(folder.strip("/")):
            return False
        with _said_by_us(self.start + folder):
            found = self.library.list(self.store, f"{folder.strip('/')}/", chunk_size=1)
            return any(len(batch) for batch in found)

    def _listed(self, pattern: str) -> Iterator[Any]:
        parts = pattern.split("/")
        plain = next(i for i, part in enumerate(parts) if not _WILD.isdisjoint(part))
        folder = "/".join(parts[:plain])
        if folder and not _is_name(folder):
            return
        with _said_by_us(self.start + pattern):
            for batch in self.library.list(self.store, f"{folder}/" if folder else None):
                yield from sorted(batch, key=lambda meta: str(meta["path"]))

    def _file(self, meta: Any) -> RemoteFile:
        """An object pinned to its state."""
        key, mark, version = str(meta["path"]), meta["e_tag"], meta["version"]
        name = self.start + key
        if not mark:
            raise DataError(
                f"{name} cannot be read: its store does not say which state it is in (no ETag);"
                " copy it here first"
            )
        pinned = {"if_match": mark, **({"version": version} if version else {})}

        def fetch(start: int, stop: int) -> bytes:
            with _said_by_us(name):
                found = self.library.get(
                    self.store, key, options={**pinned, "range": (start, stop)}
                )
                if (found.meta["e_tag"], found.meta["size"]) != (mark, meta["size"]):
                    raise DataError(f"{name} could not be read: {CHANGED}")
                if found.attributes.get("Content-Encoding") not in (None, "", "identity"):
                    raise DataError(f"{name} could not be read: {PACKED}")
                return bytes(found.bytes())

        return RemoteFile(name, int(meta["size"]), fetch)


def _is_name(key: str) -> bool:
    """Whether a key can be asked for as it is: the library would take steps and ends away."""
    return all(part not in ("", ".", "..") for part in key.split("/"))


def _matches(key: str, pattern: str) -> bool:
    """Whether a pattern stands for a key, as for a path here: hidden names are to be named."""
    return _parts_match(key.split("/"), pattern.split("/"))


def _parts_match(parts: list[str], patterns: list[str]) -> bool:
    if not patterns or not parts:
        return not patterns and not parts
    first, rest = patterns[0], patterns[1:]
    hidden = parts[0].startswith(".")
    if first == "**" and rest:
        deeper = not hidden and _parts_match(parts[1:], patterns)
        return deeper or _parts_match(parts, rest)
    if hidden and not first.startswith("."):
        return False
    return fnmatchcase(parts[0], first) and _parts_match(parts[1:], rest)


def _check_credentials(scheme: str) -> None:
    if _is_on(_OPEN[scheme]):
        return
    ways = _CREDENTIALS[scheme]
    lacking = {way: [part[0] for part in way if not any(map(_is_given, part))] for way in ways}
    if not all(lacking.values()):
        return
    begun = [names for way, names in lacking.items() if len(names) < len(way)]
    if begun:
        missing = min(begun, key=len)
        raise OptionError(
            f"the credentials for {scheme}://… in the environment lack a part: set"
            f" {' and '.join(missing)} too"
        )
    raise OptionError(
        f"the environment has no credentials for {scheme}://…: set {ways[0][0][0]} and what belongs"
        f" to it, or {_OPEN[scheme]}=true for what is open to all"
    )


def _is_given(name: str) -> bool:
    return _is_on(name) if name in _SWITCHES else bool(os.environ.get(name))


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").lower() in _YES


def is_plain(scheme: str) -> bool:
    """Whether the environment names an endpoint that does not encrypt, and so wants none."""
    named = next(filter(None, map(os.environ.get, _ENDPOINTS[scheme])), "")
    return named.startswith("http://")


def _opened(address: Address) -> Any:
    from obstore.store import AzureStore, GCSStore, S3Store

    client: Any = {"timeout": "300s", "connect_timeout": "20s"}
    client["allow_http"] = is_plain(address.scheme)
    if address.scheme == "s3":
        return S3Store(address.store, client_options=client)
    if address.scheme == "gs":
        return GCSStore(address.store, client_options=client)
    container, _, account = address.store.partition("@")
    return AzureStore(container, account_name=account, client_options=client)


@contextmanager
def _said_by_us(name: str) -> Iterator[None]:
    """One line for whatever a store or its library says: that may hold keys and addresses."""
    try:
        yield
    except HushError:
        raise
    except Exception as problem:
        raise_alone(DataError(f"{name} could not be read: {_reason(type(problem).__name__)}"))


def _reason(kind: str) -> str:
    if kind in ("PreconditionError", "FileNotFoundError"):
        return CHANGED
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        return "its store refused the credentials of the environment"
    return "check the environment (region, endpoint, credentials) and the connection"

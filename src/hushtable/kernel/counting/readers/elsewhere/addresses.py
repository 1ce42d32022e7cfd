"""Addresses of files elsewhere: the store, the object in it, and what of them may be shown.

What follows `?` in a web address may be a signature that opens the file to whoever has it. It is
sent to the server and stays out of everything that is shown or kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from posixpath import normpath
from urllib.parse import quote, unquote, urlsplit

from hushtable.errors import DataError
from hushtable.kernel.counting.silence import raise_alone

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
# What a scheme is called here: one store may have several.
_STORES = dict.fromkeys(("s3", "s3a", "s3n"), "s3")
_STORES |= dict.fromkeys(("gs", "gcs"), "gs")
_STORES |= dict.fromkeys(("az", "azure", "abfs", "abfss"), "az")
_KNOWN = "s3://BUCKET/…, gs://BUCKET/…, az://CONTAINER/…, abfss://…, http:// and https://"
_SENT_AS_IT_IS = "%/:=&?~+!$,;'@()*[]"


@dataclass(frozen=True)
class Address:
    """Where a file is: in a bucket, a container, or on a host of the web."""

    scheme: str
    store: str
    key: str
    query: str = field(default="", repr=False)

    @property
    def on_web(self) -> bool:
        return self.scheme in _PORTS

    @property
    def shown(self) -> str:
        """The address without what may be secret."""
        return f"{self.scheme}://{self.store}/{self.key}"

    @property
    def identity(self) -> Hashable:
        """What two addresses of one file have in common, as far as their text tells.

        Steps up and escapes do not matter on the web. In a store of objects, names are what they
        are.
        """
        key = normpath("/" + unquote(self.key).lstrip("/")) if self.on_web else self.key
        return self.scheme, self.store, key

    @property
    def url(self) -> str:
        """What a web server is asked for."""
        path = quote(self.key, safe=_SENT_AS_IT_IS)
        asked = f"?{quote(self.query, safe=_SENT_AS_IT_IS)}" if self.query else ""
        return f"{self.scheme}://{self.store}/{path}{asked}"


def is_address(path: str) -> bool:
    """Whether a path leads elsewhere."""
    return _REMOTE.match(path) is not None


def read_address(text: str) -> Address:
    """The address that a text is; refused if it is of no store that is known."""
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme in _PORTS:
        return _on_web(text)
    store, _, key = rest.partition("/")
    if scheme not in _STORES or not store:
        raise DataError(f"files are read from {_KNOWN}; copy others here first")
    kind = _STORES[scheme]
    return Address(kind, _container(store) if kind == "az" else store, key)


def _on_web(text: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port, named = parts.hostname, parts.port, parts.username is not None
    except ValueError:
        raise_alone(DataError("a web address of the table is not well-formed"))
    if named:
        raise DataError("a web address of the table has a password in it: leave it out")
    if not host:
        raise DataError("a web address of the table names no host")
    shown = f"[{host}]" if ":" in host else host
    usual = port is None or port == _PORTS[parts.scheme]
    store = shown if usual else f"{shown}:{port}"
    return Address(parts.scheme, store, parts.path.removeprefix("/"), parts.query)


def _container(store: str) -> str:
    """A container with its account, which a short address leaves to the environment."""
    container, at, host = store.partition("@")
    account = host.partition(".")[0] if at else os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    if not account:
        raise DataError(
            "an address in Azure needs its account: set AZURE_STORAGE_ACCOUNT_NAME, or write"
            " abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/…"
        )
    return f"{container}@{account}"

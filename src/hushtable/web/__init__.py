"""A release in the browser: an ASGI application over releases, and the pages that it serves.

    uvicorn --factory hushtable.web:app        # with HUSHTABLE_FOLDER set

The server imports no kernel but plain values: it reads releases as any analyst does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushtable.web.application import Settings, app, site

__all__ = ["Settings", "app", "site"]


def __getattr__(name: str) -> Any:
    # Workers and reports need no server.
    if name not in __all__:
        raise AttributeError(f"module 'hushtable.web' has no attribute {name!r}")
    return getattr(import_module("hushtable.web.application"), name)

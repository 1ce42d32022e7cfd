"""Functions compiled to machine code, which is kept between runs where there is a place for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile a function when it is first called, and run it without Python's lock.

    Numba keeps the machine code in the folder of NUMBA_CACHE_DIR, beside the source or in the
    user's cache. Where none of them can be written to, it is made anew by each process.
    """
    # Not `parallel`: it compiles slowly, and its threads would kill a forked child.
    try:
        return cast(_Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no folder to keep it in
        return cast(_Function, njit(nogil=True)(function))

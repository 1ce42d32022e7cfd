"""Tables in files that may hold several: which one is meant, and how its columns are opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import select_columns

_MOST_SHOWN = 20
_NAME_IT = "name one with --table (in Python, table=)"


@dataclass(frozen=True)
class FileTable:
    """A table in a file: the names of its columns, and a function that opens some of them."""

    names: tuple[str, ...]
    open: Callable[[Any, Sequence[int], Sequence[str], Collection[str]], Any]
    """It takes the engine's connection, the positions of columns, what the schema calls them and
    which of them are ids, and gives an Ibis table of columns c0, c1, …"""


@dataclass(frozen=True)
class OneOf:
    """The tables that a file holds, of which one is to be read."""

    path: str
    tables: Sequence[str]
    views: Sequence[str] = ()
    """A view is computed when it is read: it may fail by a value, or read another file."""
    aside: Sequence[str] = ()
    """Tables that are read only if they are named."""

    def choose(self, name: str | None) -> str:
        """The table of this name; without one, the only table that there is."""
        if name is None:
            if len(self.tables) == 1:
                return self.tables[0]
            raise DataError(f"{self.path} {self._held()}" + f"; {_NAME_IT}" * self._any)
        if name in (*self.tables, *self.aside):
            return name
        if name in self.views:
            raise DataError(
                f"{name!r} in {self.path} is a view, and only tables are read: make one of it with"
                " CREATE TABLE ... AS SELECT"
            )
        raise DataError(f"{self.path} has no table {name!r}; it {self._held()}")

    @property
    def _any(self) -> bool:
        return bool(self.tables or self.aside)

    def _held(self) -> str:
        if not self._any:
            return "holds no table" + " (views are not read)" * bool(self.views)
        names = [repr(name) for name in self.tables]
        names += [f"{name!r} (hidden)" for name in self.aside]
        more = [f"{len(names) - _MOST_SHOWN} more"] * (len(names) > _MOST_SHOWN)
        return f"holds {', '.join([*names[:_MOST_SHOWN], *more])}"


def open_stream(engine: Any, stream: Any) -> Any:
    """An Ibis table of all columns of a stream."""
    engine.con.register("hush_source", stream)
    return select_columns(engine.table("hush_source"), range(len(stream.schema)))

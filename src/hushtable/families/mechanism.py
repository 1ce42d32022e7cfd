"""What every mechanism is: questions to the curator, and what to store of its answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Protocol, runtime_checkable

from hushtable.arrays import MAX_AXES, available_memory
from hushtable.errors import OptionError
from hushtable.families.about import Settings
from hushtable.kernel.curator import Curator, View
from hushtable.release.store import Content
from hushtable.schema import Schema


class Mechanism(Protocol):
    """A way to turn a table into a release. It sees what the curator answers, never the table."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def needs(self) -> Literal["counts", "columns"]:
        """Whether the curator must hold counts of cells or coded columns."""

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        """Refuse what cannot work, by the schema alone, before anything is read or spent."""

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        """Ask the curator; post-process its answers into what is stored."""


@runtime_checkable
class Foreseeing(Protocol):
    """A mechanism that knows, by what is public, all tables that it will ask the curator for."""

    def tables(self, schema: Schema, *, settings: Settings) -> Sequence[Sequence[View]]:
        """The attributes of each table, in the order in which they are projected to."""


def foreseen(
    mechanism: Mechanism, schema: Schema, settings: Settings
) -> Sequence[Sequence[View]] | None:
    """The tables that a mechanism will ask for, if it knows them beforehand."""
    if isinstance(mechanism, Foreseeing):
        return mechanism.tables(schema, settings=settings)
    return None


def named_attributes(schema: Schema, names: str) -> set[int]:
    """The axes of a list of attributes such as `age,sex`; an empty list has none."""
    return {schema.index(name.strip()) for name in names.split(",") if name.strip()}


def check_memory(name: str, axes: int, cells: int) -> None:
    """Refuse a dense matrix of 64-bit integers that would not fit the memory."""
    if axes > MAX_AXES:
        raise OptionError(f"{name} takes at most {MAX_AXES} attributes")
    needed, available = 8 * cells, available_memory()
    if needed > available * 3 // 4:
        raise OptionError(
            f"{name} lays out all {cells:,} cells and needs {needed / 2**30:,.1f} GiB of"
            f" memory; {available / 2**30:,.1f} GiB are free: use coarser bins or fewer attributes"
        )

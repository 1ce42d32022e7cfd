"""Which counts a table of a few attributes has: its axes, their labels, their groups of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.query.cutting import Cuts
from hushtable.query.grouping import group_count, group_nodes
from hushtable.query.table_names import places_of, split_tables, write_table
from hushtable.release.decode import Decoder, decoder
from hushtable.release.release import Release
from hushtable.schema import Attribute, Schema


@dataclass(frozen=True, eq=False)
class TableForm:
    """The counts of all combinations of some attributes' values, or of their nodes at a level."""

    schema: Schema
    places: tuple[tuple[int, int | None], ...]
    """The place of each attribute in the schema, and its level if not each value is told."""

    @property
    def name(self) -> str:
        """As it is written: `age+occupation@1`."""
        return write_table((attribute.name, level) for attribute, level in self._axes)

    @property
    def columns(self) -> list[str]:
        """A name for each of its axes."""
        return [a.name if level is None else f"{a.name}@{level}" for a, level in self._axes]

    @property
    def title(self) -> str:
        """Its columns in one line, as people read them."""
        return "+".join(self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(group_count(attribute, level) for attribute, level in self._axes)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def _axes(self) -> list[tuple[Attribute, int | None]]:
        return [(self.schema.attributes[axis], level) for axis, level in self.places]

    def decoders(self) -> list[Decoder]:
        """What turns places along each axis into labels."""
        return [decoder(a) if level is None else _of_nodes(a, level) for a, level in self._axes]

    def cuts(self) -> Cuts:
        """The ranges of codes of each axis, one for each of its groups."""
        return [
            (axis, _ranges(attribute, level))
            for (axis, level), (attribute, _) in zip(self.places, self._axes, strict=True)
        ]


def forms_of(names: Sequence[str], release: Release) -> list[TableForm]:
    """The tables of these names, each once; one may be a list of tables."""
    schema = release.schema
    lists = [items for name in names for items in split_tables(name)]
    forms = [TableForm(schema, tuple(places_of(items, schema))) for items in lists]
    if len({frozenset(form.places) for form in forms}) < len(forms):
        raise OptionError("a table is named twice")
    return forms


def _of_nodes(attribute: Attribute, level: int) -> Decoder:
    nodes = group_nodes(attribute, level)
    labels = pa.array([None if n.label is None else str(n.label) for n in nodes], pa.string())
    return lambda places: labels.take(pa.array(places))


def _ranges(attribute: Attribute, level: int | None) -> NDArray[np.int64]:
    if level is None:
        codes = np.arange(attribute.size)
        return np.stack([codes, codes + 1], axis=1)
    return np.array([(n.start, n.stop) for n in group_nodes(attribute, level)], np.int64)

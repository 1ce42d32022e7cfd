"""Marginals: small tables of a wide table, each with its share of ε, read together.

Questions name a few attributes, whatever a table has. So a few small tables are counted with exact
noise, by default such that every combination of `ways` attributes is inside one of them, and least
squares makes them agree (`least_squares.py`). One row is in one cell of each table: a table with
share θ has noise of scale Δ/(θε), where Δ is what one person changes in a table of counts.

| here       | what it is                                                                  |
|------------|-----------------------------------------------------------------------------|
| `ways`     | every table of so many attributes can be asked for; 2 by default            |
| `tables`   | the tables to measure, instead of those that a search finds                 |
| `shares`   | their parts of ε, as numbers with colons in between; the best by default    |
| `along`    | trees along attributes that are asked by ranges: `age=tree:10x10`           |
| `most`     | the most cells that a table may have                                        |
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from hushtable.arrays import available_memory
from hushtable.errors import OptionError
from hushtable.families.about import Settings
from hushtable.families.marginals.about import ALONG, MARGINALS, MOST, SHARES, TABLES, WAYS
from hushtable.families.marginals.choose import (
    Design,
    Wanted,
    best_tables,
    cells_of,
    whole_shares,
)
from hushtable.families.marginals.layers import may_be_measured
from hushtable.families.marginals.tables import (
    MOST_AXES,
    MOST_LAYERS,
    SmallTable,
    groups_at,
    parse_tables,
    parse_transforms,
)
from hushtable.kernel.curator import Curator, View
from hushtable.release.store import Content
from hushtable.schema import Schema

# What a search compares: the parts of all tables that are asked for.
_MOST_PARTS = 2**20


@dataclass(frozen=True)
class Recipe:
    """The tables to measure, and the part of ε of each, as whole numbers."""

    tables: tuple[SmallTable, ...]
    shares: tuple[int, ...]
    along: Mapping[str, str] = field(default_factory=dict)
    """What is measured along attributes that are not counted code by code."""

    def parts(self, epsilon: Fraction) -> list[Fraction]:
        """The ε of each table: together exactly what there is."""
        return [epsilon * share / sum(self.shares) for share in self.shares]


@dataclass(frozen=True)
class Marginals:
    """Several small tables of a wide table: for many attributes, and questions about a few."""

    name: str = MARGINALS.name
    needs: Literal["counts", "columns"] = "columns"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        MARGINALS.check(settings, schema)
        recipe = read_recipe(schema, settings)
        transforms = parse_transforms(recipe.along, schema)
        products = [table.product(schema, transforms) for table in recipe.tables]
        for product, part in zip(products, recipe.parts(epsilon), strict=True):
            schema.exposure.scale(part, entering=product.entering, moving=product.moving)
        needed = 8 * sum(product.cells for product in products)
        if needed > available_memory() // 2:
            raise OptionError(
                f"these tables need {needed / 2**30:,.1f} GiB of memory: ask for fewer or smaller"
                " ones (ways, tables, most)"
            )

    def tables(self, schema: Schema, *, settings: Settings) -> list[list[View]]:
        return [_views(schema, table) for table in read_recipe(schema, settings).tables]

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        recipe = read_recipe(schema, settings)
        transforms = parse_transforms(recipe.along, schema)
        parts = zip(recipe.tables, recipe.parts(epsilon), strict=True)
        noisy = [
            curator.project(_views(schema, table)).noisy_coefficients(
                table.product(schema, transforms), epsilon=part
            )
            for table, part in parts
        ]
        return Content(
            reader="marginals",
            arrays={"tables": np.concatenate([table.values.reshape(-1) for table in noisy])},
            noise={
                **max(table.noise for table in noisy).to_dict(),
                "on": "every cell of every table; at most this scale",
                "scales": [str(table.noise.scale) for table in noisy],
            },
            parameters={
                "tables": [table.name(schema) for table in recipe.tables],
                "shares": list(recipe.shares),
                "along": dict(recipe.along),
            },
        )


def _views(schema: Schema, table: SmallTable) -> list[View]:
    return [View(seen.axis, groups_at(schema, seen)) for seen in table.seen]


def read_recipe(schema: Schema, settings: Settings) -> Recipe:
    """The tables and shares that the settings name, or the best for what they ask."""
    most, named, shares = MOST.of(settings), TABLES.given(settings), SHARES.given(settings)
    if named is not None and "ways" in settings:
        raise OptionError("give either ways or tables")
    if shares is not None and named is None:
        raise OptionError("shares go with tables: one number for each, with colons in between")
    along = ALONG.of(settings)
    parse_transforms(along, schema)
    if named is None:
        return replace(_searched(schema.shape, _ways(schema, settings), most), along=along)
    tables = parse_tables(named, schema)
    if not may_be_measured(tables):
        raise OptionError(
            f"a table has at most {MOST_AXES} attributes, and tables need at most {MOST_LAYERS}"
            " sets in which each attribute has one level"
        )
    for table in tables:
        if table.cells(schema) > most:
            name, cells = table.name(schema), table.cells(schema)
            raise OptionError(f"the table {name} has {cells:,} cells, more than most={most:,}")
    if shares is not None and len(shares) != len(tables):
        raise OptionError(f"there are {len(tables)} tables and {len(shares)} shares")
    return Recipe(tables, shares or _best_shares(schema, tables), along)


def _ways(schema: Schema, settings: Settings) -> int:
    attributes, ways = len(schema.shape), WAYS.given(settings)
    if ways is not None and ways > attributes:
        raise OptionError(f"ways must be from 1 to {attributes}, the number of attributes")
    return ways or min(2, attributes)


@lru_cache(maxsize=16)
def _searched(shape: tuple[int, ...], ways: int, most: int) -> Recipe:
    """The best tables for all cells of all tables of so many attributes."""
    if math.comb(len(shape), ways) << ways > _MOST_PARTS:
        raise OptionError(f"there are too many tables of {ways} attributes; ask for fewer ways")
    sets = list(itertools.combinations(range(len(shape)), ways))
    found = best_tables(Wanted.of(shape, [cells_of(axes, shape) for axes in sets]), most)
    tables = tuple(SmallTable.of(*axes) for axes in found.tables)
    return Recipe(tables, whole_shares(found.shares))


def _best_shares(schema: Schema, tables: tuple[SmallTable, ...]) -> tuple[int, ...]:
    """The shares that are best for the cells of these tables.

    An attribute at another level counts as another attribute: such tables tell each other nothing.
    """
    sizes: list[int] = []
    places: dict[tuple[int, int | None], int] = {}
    numbered = []
    for table in tables:
        for seen, size in zip(table.seen, table.shape(schema), strict=True):
            if (seen.axis, seen.level) not in places:
                places[seen.axis, seen.level] = len(sizes)
                sizes.append(size)
        numbered.append(tuple(sorted(places[seen.axis, seen.level] for seen in table.seen)))
    design = Design.of(Wanted.of(sizes, [cells_of(axes, sizes) for axes in numbered]), numbered)
    design.improve_shares(300)
    return whole_shares(design.shares)


MECHANISMS = (Marginals(),)

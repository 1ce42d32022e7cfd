"""Tables that are made for their shape: timing (Privelet, §8.2) and density (ISPE, §5.1).

Timing: two ordinal and two nominal attributes of m^(1/4) values each, uniform and independent; a
nominal one has √|A| groups. Where m^(1/4) is not whole, the nearest whole number is taken.

Density: counts over two ordinal attributes. `continuous`: people around a few centres, so that
adjacent cells are alike, which is what ISPE hopes for. `random`: every cell has a weight of its
own, and adjacent ones say nothing of it. The paper gives neither sizes nor laws; these are ours.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.generators.made_up import (
    BLOCK,
    Codes,
    Conditional,
    MadeUpTable,
    check_seed,
    table_of_codes,
)
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

# centre along both axes, spread along both axes (all relative to the side), weight
_CENTRES = ((0.3, 0.35, 0.12, 0.16, 5.0), (0.7, 0.6, 0.18, 0.1, 4.0), (0.45, 0.8, 0.3, 0.08, 2.0))
_EVERYWHERE = 0.05


def timing(rows: int = 5_000_000, *, cells: int = 2**24, seed: int = 1) -> MadeUpTable:
    """Uniform rows over about `cells` cells: two ordinal and two nominal attributes."""
    if not 16 <= cells <= 2**60:
        raise OptionError("cells must be a whole number from 16 to 2^60")
    size = round(cells**0.25)
    schema = Schema(
        name="timing",
        budget=Fraction(10),
        attributes=(
            ordinal("first", IntegerRange(0, size - 1)),
            ordinal("second", IntegerRange(0, size - 1)),
            nominal("third", _grouped("t", size)),
            nominal("fourth", _grouped("f", size)),
        ),
    )

    def draw(random: np.random.Generator) -> Codes:
        return tuple(random.integers(0, size, BLOCK) for _ in range(4))

    return table_of_codes(schema, rows, draw, seed=seed)


def _grouped(letter: str, size: int) -> Hierarchy:
    """Values in √size groups that are as equal as can be."""
    groups = np.array_split(np.arange(size), round(size**0.5))
    tree = {
        f"{letter}-group {i}": [f"{letter}{v}" for v in group] for i, group in enumerate(groups)
    }
    return Hierarchy.from_tree(tree)


def continuous(rows: int = 100_000, *, side: int = 64, seed: int = 1) -> MadeUpTable:
    """Rows over side × side cells whose density changes smoothly from cell to cell."""
    along = (np.arange(_checked_side(side)) + 0.5) / side
    density = np.full((side, side), _EVERYWHERE)
    for x, y, wide, high, weight in _CENTRES:
        bumps = [
            np.exp(-(((along - centre) / spread) ** 2) / 2) / spread
            for centre, spread in ((x, wide), (y, high))
        ]
        density += weight * np.outer(*bumps) / (2 * np.pi)
    return _from_density("continuous", density, rows, seed)


def unrelated(rows: int = 100_000, *, side: int = 64, seed: int = 1) -> MadeUpTable:
    """Rows over side × side cells, each with a density of its own: uniform from 0 to 1."""
    check_seed(seed)
    density = np.random.default_rng([seed, 0]).random((_checked_side(side), side))
    return _from_density("random", density, rows, seed)


def _checked_side(side: int) -> int:
    if not 2 <= side <= 10_000:
        raise OptionError("side must be a whole number from 2 to 10,000")
    return side


def _from_density(name: str, density: NDArray[np.float64], rows: int, seed: int) -> MadeUpTable:
    side = len(density)
    cell = Conditional(density.reshape(1, -1))
    schema = Schema(
        name=name,
        budget=Fraction(10),
        attributes=tuple(ordinal(axis, IntegerRange(0, side - 1)) for axis in ("x", "y")),
    )

    def draw(random: np.random.Generator) -> Codes:
        return np.divmod(cell.draw(np.zeros(BLOCK, np.int64), random), side)

    return table_of_codes(schema, rows, draw, seed=seed)

"""What summaries of sparse tables would be like, for a declared number of people.

Their errors depend on how many cells are occupied and by how many people, so these are forecasts
for declared figures, not exact ones: evenly spread cells that hold as many people each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats
from hushtable.errors import OptionError
from hushtable.families.forecast import (
    Purpose,
    SummaryForecast,
    by_attributes,
    typical_ratio,
)
from hushtable.families.sparse.about import DEFAULT_SIZE
from hushtable.families.sparse.expected import Expected, expected_of, filter_for_size
from hushtable.kernel.maps.rules import Filter, Priority, Rule
from hushtable.kernel.maps.structure import On, Structure

DEFAULT_PEOPLE = 10**6

# Combinations of levels up to which dyadic ranges are forecast: each is a law of its own.
_MOST_LEVELS = 64

RANGE = 100
"""The range that is forecast holds one cell in so many."""

# Sizes of questions of which errors are computed; between them they are interpolated.
_SIZES = 33
# Filters let pass one empty place for so many occupied cells, or less.
_OCCUPIED_FOR_EMPTY = 20


def forecasts(purpose: Purpose) -> list[SummaryForecast]:
    """Of the summaries, the one that answers ranges best first."""
    people = purpose.people or DEFAULT_PEOPLE
    if not 0 < purpose.typical <= people:
        raise OptionError("a typical cell holds more than nobody, and not more than all people")
    return sorted(_forecasts(purpose, people), key=lambda one: one.range)


def _forecasts(purpose: Purpose, people: int) -> Iterator[SummaryForecast]:
    schema = purpose.schema
    occupied = min(people / purpose.typical, schema.cells)
    typical = max(purpose.typical, people / schema.cells)  # people are somewhere
    empty = max(1, min(DEFAULT_SIZE, int(occupied / _OCCUPIED_FOR_EMPTY)))
    kinds: tuple[On, ...] = ("cells", "dyadic")
    for on in kinds:
        try:
            structure = Structure(on, schema.shape)
            scale = schema.exposure.scale(
                purpose.epsilon, entering=structure.entering, moving=structure.moving
            )
            theta = filter_for_size(structure.places, scale, empty)
        except OptionError:  # too many cells, or too little ε
            continue
        if on == "dyadic" and structure.entering > _MOST_LEVELS:
            continue
        rules: dict[str, Rule] = {
            "filter": Filter(theta),
            "filter-priority": Priority(DEFAULT_SIZE, theta),
        }
        for name, rule in rules.items():
            table = _Declared(structure, rule, scale, occupied, typical)
            errors, weights = table.errors(purpose), purpose.sample.weights
            yield SummaryForecast(
                mechanism=name,
                parameters={"on": on, "size": str(DEFAULT_SIZE), "theta": str(theta)},
                people=people,
                bounded=isinstance(rule, Priority),
                rmse=math.sqrt(float(np.average(errors**2, weights=weights))),
                by_attributes=by_attributes(purpose.sample, errors**2),
                useful_from=typical_ratio(errors, purpose.sample.shares, weights),
                **asdict(table.expected(max(schema.cells / RANGE, 1))),
            )


@dataclass(frozen=True)
class _Declared:
    """A summary of a table whose occupied cells are so many, hold as many rows each, and lie
    anywhere."""

    structure: Structure
    rule: Rule
    scale: Fraction
    occupied: float
    typical: float

    def expected(self, cells: float) -> Expected:
        """What to expect of it, and of a range of so many cells."""
        return expected_of(
            self.structure,
            self.rule,
            self.scale,
            occupied=self.occupied,
            count=self.typical,
            cells=cells,
        )

    def errors(self, purpose: Purpose) -> Floats:
        """The error of every question of the sample, as of a range of about its size."""
        sizes = np.maximum(purpose.sample.sizes, 1.0)
        grid = np.geomspace(sizes.min(), sizes.max(), _SIZES)
        errors = np.array([self.expected(size).range for size in grid])
        return np.asarray(np.interp(np.log(sizes), np.log(grid), errors))

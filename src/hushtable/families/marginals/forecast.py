"""How accurate small tables would be: the best ones for a workload, and their exact errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.errors import OptionError
from hushtable.families.forecast import MOST_NAMED, Forecast, Purpose, Resources
from hushtable.families.linear.choices import describe, has_trees, tents, tree
from hushtable.families.linear.gains import mean_gains
from hushtable.families.linear.grids import has_tents, tent_height
from hushtable.families.marginals.asked import rows_asked
from hushtable.families.marginals.axes import ReadAxis
from hushtable.families.marginals.choose import (
    Design,
    Question,
    Wanted,
    balanced,
    best_tables,
    boxes_of,
    first_tables,
    whole_shares,
)
from hushtable.families.marginals.designs import Axes
from hushtable.families.marginals.read import MarginalsReader
from hushtable.families.marginals.tables import MOST_AXES, MOST_CELLS, SmallTable, Transforms
from hushtable.kernel.maps import AxisTransform, Identity
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Box, Boxes
from hushtable.query.law import NoiseLaw
from hushtable.schema import Schema
from hushtable.workload import Workload
from hushtable.workload.intervals import AllRanges, Along, Either, Listed, some_of

# Seconds for each cell, each row of each table, and for the search.
_PER_CELL = 25e-9
_PER_ROW = 2e-9
_START = 3.0
# Intervals that stand for all ranges of a very long axis.
_SAMPLE = 2**16


@dataclass(frozen=True)
class SmallTables:
    """Tables, each measured once with its share of ε."""

    schema: Schema
    tables: tuple[SmallTable, ...]
    shares: tuple[int, ...]
    transforms: Transforms

    def reader(self, epsilon: Fraction) -> MarginalsReader:
        """What would answer from them; it has nothing to read."""
        pairs = zip(self.tables, self.shares, strict=True)
        noises = [self._noise(table, epsilon * share / sum(self.shares)) for table, share in pairs]
        reads = [_nothing] * len(noises)
        return MarginalsReader.of(self.schema, self.tables, noises, reads, self.transforms)

    def _noise(self, table: SmallTable, epsilon: Fraction) -> KnownNoise:
        product = table.product(self.schema, self.transforms)
        return self.schema.exposure.noise(epsilon, entering=product.entering, moving=product.moving)

    def law(self, boxes: Boxes, epsilon: Fraction) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        return self.reader(epsilon).law(boxes)

    @property
    def cells(self) -> int:
        """How many numbers are measured."""
        return sum(table.product(self.schema, self.transforms).cells for table in self.tables)

    @property
    def settings(self) -> dict[str, str]:
        """What to publish them with."""
        trees = {self.schema.attributes[i].name: describe(t) for i, t in self.transforms.items()}
        along = {"along": ", ".join(f"{name}={text}" for name, text in trees.items())}
        return {
            "tables": ", ".join(table.name(self.schema) for table in self.tables),
            "shares": ":".join(map(str, self.shares)),
            **(along if trees else {}),
        }


def _nothing() -> Integers:
    raise AssertionError("a forecast reads no table")


def forecasts(purpose: Purpose) -> list[Forecast]:
    """Of the best tables for the workload; none where a question needs too large a table."""
    if len(purpose.schema.shape) < 2:  # one attribute is one table
        return []
    asking = Asking(purpose.schema, purpose.workload)
    if not 0 < max(map(len, asking.wanted({}).weights)) <= MOST_AXES:
        return []  # the total alone needs no tables
    try:
        strategy, reader, mean = _best_strategy(purpose, asking)
    except OptionError:  # tables that are too large, noise that does not fit
        return []
    variances = _sampled(purpose, reader)
    return [
        Forecast.of(
            purpose,
            strategy,
            mechanism="marginals",
            parameters=strategy.settings,
            mean=mean,
            variances=variances,
            worst=math.sqrt(float(variances.max())),
            resources=_resources(purpose, strategy),
        )
    ]


def _best_strategy(purpose: Purpose, asking: Asking) -> tuple[SmallTables, MarginalsReader, float]:
    """The best tables, what would read them, and the mean variance.

    Trees alone lead to other tables than trees and tents, at times to better ones.
    """
    trees, every = (
        _best_transforms(purpose.schema, asking, with_tents=some) for some in (False, True)
    )
    tried = [trees] if trees == every else [trees, every]
    offers = [_with_tables(purpose, asking, chosen) for chosen in tried]
    return min(offers, key=lambda offer: offer[2])


def _with_tables(
    purpose: Purpose, asking: Asking, transforms: Transforms
) -> tuple[SmallTables, MarginalsReader, float]:
    found = best_tables(balanced(asking.by_number(transforms), MOST_CELLS), MOST_CELLS)
    tables = tuple(SmallTable.of(*axes) for axes in found.tables)
    strategy = SmallTables(purpose.schema, tables, whole_shares(found.shares), transforms)
    reader = strategy.reader(purpose.epsilon)
    return strategy, reader, _mean(asking.wanted(transforms), reader, purpose.workload.weight)


def _best_transforms(
    schema: Schema, asking: Asking, *, with_tents: bool
) -> dict[int, AxisTransform]:
    """A tree or tents along each attribute where that lowers the error, one after the other."""
    candidates = [
        (axis, transform)
        for axis, attribute in enumerate(schema.attributes)
        if "," not in attribute.name and has_trees(attribute)
        for along in asking.along(axis)
        for transform in _worth_trying(schema, axis, along, with_tents)
    ]
    chosen: dict[int, AxisTransform] = {}
    tables = first_tables(asking.wanted(chosen), MOST_CELLS).tables
    least = _loss(asking.wanted(chosen), tables)
    for axis, transform in candidates:
        if transform.levels == 1 or len(transform.classes) > 1:  # plain counts, or several scales
            continue
        loss = _loss(asking.wanted({**chosen, axis: transform}), tables)
        if loss < least * (1 - 1e-9):
            chosen, least = {**chosen, axis: transform}, loss
    return chosen


def _worth_trying(
    schema: Schema, axis: int, along: Along, with_tents: bool
) -> Iterator[AxisTransform]:
    attribute = schema.attributes[axis]
    yield tree(attribute, along)
    if with_tents and attribute.kind == "ordinal" and has_tents(attribute.size):
        yield tents(attribute, along, tent_height(schema.shape))


def _loss(wanted: Wanted, tables: Iterable[Axes]) -> float:
    design = Design.of(wanted, tables)
    design.improve_shares(30)
    return design.loss


def _mean(wanted: Wanted, reader: MarginalsReader, weight: float) -> float:
    """The mean variance: Σ a(R)·V(R)."""
    agreeing = reader.layers[0].agreeing
    parts = wanted.weights.items()
    return math.fsum(factor * agreeing.part_variance(part) for part, factor in parts) / weight


def _sampled(purpose: Purpose, reader: MarginalsReader) -> Floats:
    """The variances of the boxes and questions of the purpose's sample."""
    sample = purpose.sample
    boxes = reader.range_variances(sample.starts, sample.stops)
    asked = [reader.law(question.boxes).variance for question in sample.questions]
    return np.append(boxes, asked)


def _resources(purpose: Purpose, strategy: SmallTables) -> Resources:
    cells, rows = strategy.cells, purpose.people if purpose.people is not None else 10**6
    seconds = _START + _PER_CELL * cells + _PER_ROW * rows * len(strategy.tables)
    return Resources(8 * cells + rows * len(purpose.schema.shape), 4 * cells, seconds)


# ── from a workload to what it asks of each part ─────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Asking:
    """What a workload asks of the parts of tables, whatever is measured along their axes."""

    schema: Schema
    workload: Workload
    _axes: dict[tuple[int, AxisTransform | None], ReadAxis] = field(default_factory=dict)
    _moments: dict[tuple[ReadAxis, Along], tuple[float, float]] = field(default_factory=dict)

    def along(self, axis: int) -> list[Along]:
        """The sets of intervals that are asked along an axis, each once."""
        size = self.schema.shape[axis]
        found = dict.fromkeys(boxes.along[axis] for boxes in self.workload.box_sets)
        return [along for along in found if not _is_whole(along, size)]

    def wanted(self, transforms: Transforms) -> Wanted:
        """The parts that count, with their weights."""
        parts = self.by_number(transforms)
        return Wanted.joined(parts, [1.0] * len(parts))

    def by_number(self, transforms: Transforms) -> list[Wanted]:
        """The same of questions that name one, two, three, and more attributes, each by itself."""
        axes = [self._axis(axis, transforms.get(axis)) for axis in range(len(self.schema.shape))]
        numbered: dict[int, list[Question]] = {}
        for question in self._questions(axes):
            named = max(map(len, question))
            numbered.setdefault(min(named, MOST_NAMED), []).append(question)
        return [
            Wanted.of(
                [axis.reading.transform.coefficients for axis in axes],
                questions,
                [axis.gain for axis in axes],
                [axis.reading.transform.levels for axis in axes],
            )
            for _, questions in sorted(numbered.items())
        ]

    def _axis(self, axis: int, transform: AxisTransform | None) -> ReadAxis:
        if (axis, transform) not in self._axes:
            plain = Identity(self.schema.shape[axis])
            self._axes[axis, transform] = ReadAxis.of(plain if transform is None else transform)
        return self._axes[axis, transform]

    def _questions(self, axes: list[ReadAxis]) -> Iterator[Question]:
        for boxes, asked in zip(self.workload.box_sets, self._named, strict=True):
            moments = [self._asked(axes[i], boxes.along[i]) for i in asked]
            own, share = [own for own, _ in moments], [share for _, share in moments]
            yield boxes_of(asked, own, share, boxes.weight)
        for question in self.workload.questions:
            yield _of_boxes(question.boxes, axes, question.weight)

    @cached_property
    def _named(self) -> list[Axes]:
        """The attributes that each set of boxes asks about."""
        shape = self.schema.shape
        return [
            tuple(i for i, size in enumerate(shape) if not _is_whole(boxes.along[i], size))
            for boxes in self.workload.box_sets
        ]

    def _asked(self, axis: ReadAxis, along: Along) -> tuple[float, float]:
        if (axis, along) not in self._moments:
            self._moments[axis, along] = _moments(axis, along)
        return self._moments[axis, along]


def _of_boxes(boxes: Boxes, along: list[ReadAxis], weight: float) -> Question:
    """What one condition asks of each part: the squares of its weights, cell by cell."""
    axes = tuple(
        i for i, axis in enumerate(along) if any(b.sets[i].count < axis.size for b in boxes)
    )
    cut = [Box(tuple(box.sets[axis] for axis in axes)) for box in boxes]
    (asked,), _ = rows_asked(axes, cut, (), [along[axis] for axis in axes])
    return {
        part: weight * float((asked.counts(part) * weights**2).sum())
        for part, weights in asked.parts().items()
    }


def _is_whole(along: Along, size: int) -> bool:
    if not isinstance(along, Listed) or along.count > 1:
        return False
    return int(along.stops[0] - along.starts[0]) == size


def _moments(axis: ReadAxis, along: Along) -> tuple[float, float]:
    """Of the intervals of a set, the mean variance less the total's share, and the mean of that
    share's square."""
    share = _mean_share(axis, along)
    gain = _mean_length(along) if axis.plain else float(mean_gains(axis.reading, along).sum())
    return max(gain - axis.gain * share, 0.0), share


def _mean_length(along: Along) -> float:
    """How many codes an interval of a set has, in the mean."""
    if isinstance(along, Either):
        return math.fsum(map(_mean_length, along.parts)) / len(along.parts)
    if isinstance(along, AllRanges):
        return (along.codes + 2) / 3
    starts, stops = some_of(along, _SAMPLE)
    return float((stops - starts).mean())


def _mean_share(axis: ReadAxis, along: Along) -> float:
    """The mean of (qᵀu)²; of all ranges in closed form, from the ends."""
    if isinstance(along, Either):
        return math.fsum(_mean_share(axis, part) for part in along.parts) / len(along.parts)
    if isinstance(along, AllRanges) and axis.plain:
        return (along.codes + 1) * (along.codes + 2) / 6 / axis.size**2
    if isinstance(along, AllRanges) and along.exact:
        ends = axis.ends[: along.codes + 1]
        total = len(ends) * float(np.square(ends).sum()) - float(ends.sum()) ** 2
        return total / along.count
    starts, stops = some_of(along, _SAMPLE)
    return float(np.square(axis.shares(starts, stops)).mean())

"""A model of all attributes that agrees with small noisy tables: post-processing, nothing private.

The model is a Bayesian network. Attributes are added one by one, the one first that depends most on
one that is there. Its parents are chosen greedily: of the attributes that may be added, the one
whose measured table with the child tells most beyond what the model says of the two so far
(`refine.py`), until the tables tell nothing more that noise does not explain. The counts of child
and parents are then adjusted to all tables of the child with a parent, and to the wider tables that
were measured (iterative proportional fitting), and give Pr[child | parents].

All parents of a child are in the table of one earlier link. So what the model says of them is read
off that table, and inference never needs a table that is larger than those of the links.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hushtable.arrays import Floats
from hushtable.errors import QueryError, ReleaseError
from hushtable.families.marginals.joint import Alone, Joint, divergence
from hushtable.families.marginals.layers import Layer
from hushtable.families.marginals.least_squares import Agreeing
from hushtable.families.marginals.refine import Sight, refined, sights_of
from hushtable.families.network.network import Link, Network, Seen, check_schema_size
from hushtable.schema import Schema

MOST_PARENTS = 4
MOST_CELLS = 2**16
"""Of the table of a child and its parents, unless the child has more codes alone."""

# Nats by which a table must improve the likelihood of all rows: less is not worth a parent.
_WORTH = 5.0
# A parent is seen at the coarsest level that keeps this share of what its table tells.
_KEPT = 0.95
# Attributes that are tried as further parents of a child, those first that tell most of it.
_TRIED = 12
# Rounds of adjusting a link's table to measured ones.
_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Model:
    """A network with a distribution of every attribute given its parents."""

    network: Network
    conditionals: tuple[Floats, ...]
    """For each link Pr[child | parents]; axes are the parents, then the child."""
    total: float
    missed: float
    """The deviation of what the model may miss of two attributes together, over the most that there
    could be: by measured tables that it had not used."""


def fit_model(schema: Schema, layers: Sequence[Layer], total: float) -> Model:
    """The model of all attributes, from tables that are read together; always the same."""
    try:
        check_schema_size(schema)
    except ReleaseError as problem:
        raise QueryError(f"no model can be made of these tables: {problem}") from None
    total = max(total, 1.0)
    network = Network(schema, tuple(Link(axis) for axis in range(len(schema.shape))))
    growing = Growing(Told(layers, _alone(network, layers, total)))
    growing.grow()
    order = [joint.seen[-1][0] for joint in growing.joints]
    links = [Link(joint.seen[-1][0], joint.seen[:-1]) for joint in growing.joints]
    conditionals = [
        _conditional(joint, growing.told.alone.counts[axis])
        for axis, joint in zip(order, growing.joints, strict=True)
    ]
    return Model(Network(schema, tuple(links)), tuple(conditionals), total, growing.missed)


def _alone(network: Network, layers: Sequence[Layer], total: float) -> Alone:
    """The counts of each attribute by itself; even, where nothing is told."""
    sizes = network.schema.shape
    alone = Alone(network, tuple(np.full(size, total / size) for size in sizes))
    for layer in layers:
        counts = list(alone.counts)
        for axis in range(len(sizes)):
            if sights := sights_of(network, layer, (axis,)):
                base = alone.at(sights[0].seen)
                changed = refined(layer.agreeing, sights, base, alone)
                groups, shares = alone.spread(axis, sights[0].levels[0], 0)
                counts[axis] = changed[groups] * shares
        alone = Alone(network, tuple(counts))
    return alone


def _conditional(joint: Joint, alone: Floats) -> Floats:
    """Pr[child | parents]; of parents that nobody has, the child's own distribution."""
    found = joint.given_last()
    nobody = found.sum(axis=-1, keepdims=True) == 0
    return np.where(nobody, alone / alone.sum(), found)


@dataclass(frozen=True, eq=False)
class Told:
    """What measured tables tell of attributes together, beyond a model."""

    layers: Sequence[Layer]
    alone: Alone
    _sights: dict[tuple[int, ...], tuple[Agreeing, list[Sight]] | None] = field(
        default_factory=dict
    )

    def tells(self, axes: Sequence[int]) -> bool:
        """Whether some table has these attributes, at any levels."""
        return self._finest(tuple(sorted(axes))) is not None

    def _finest(self, axes: tuple[int, ...]) -> tuple[Agreeing, list[Sight]] | None:
        """The tables that show some attributes in the most cells."""
        if axes not in self._sights:
            found = ((layer, sights_of(self.alone.network, layer, axes)) for layer in self.layers)
            able = [(layer.agreeing, sights) for layer, sights in found if sights is not None]
            self._sights[axes] = max(
                able, key=lambda one: math.prod(sight.size for sight in one[1]), default=None
            )
        return self._sights[axes]

    def beyond(self, expected: Joint) -> tuple[Joint, Joint]:
        """What a model expects of attributes that a table has, as finely as the table has them,
        and what the table makes of it."""
        axes = tuple(sorted(axis for axis, _ in expected.seen))
        found = self._finest(axes)
        assert found is not None
        agreeing, sights = found
        base = expected.onto([sight.seen for sight in sights], self.alone)
        return base, Joint(base.seen, refined(agreeing, sights, base.counts, self.alone))

    def levels(self, axes: Sequence[int]) -> dict[int, int]:
        """The levels at which a table has some attributes."""
        found = self._finest(tuple(sorted(axes)))
        assert found is not None
        return {sight.axis: sight.levels[0] for sight in found[1]}

    def hidden(self, axes: Sequence[int]) -> float:
        """How large a sum of squares noise may hide."""
        found = self._finest(tuple(sorted(axes)))
        assert found is not None
        agreeing, sights = found
        cells = math.prod(agreeing.along[sight.axis].gain for sight in sights)
        return 2 * agreeing.part_variance(tuple(sorted(axes))) * math.sqrt(cells)


@dataclass(frozen=True, eq=False)
class Parent:
    """An attribute that may become a parent, and what its table with the child tells."""

    seen: Seen
    told: Joint
    gain: float
    known: Joint
    """The table of an earlier link that has it, and the parents so far."""


@dataclass(eq=False)
class Growing:
    """A network that grows, link by link."""

    told: Told
    joints: list[Joint] = field(default_factory=list)
    """The table of each link, the child last."""

    def __post_init__(self) -> None:
        self._alone, self._network = self.told.alone, self.told.alone.network
        self._held_out: dict[tuple[int, int], tuple[bool, float]] = {}
        axes = range(len(self._alone.counts))
        self._gains = np.zeros((len(axes), len(axes)))
        for pair in itertools.combinations(axes, 2):
            if self.told.tells(pair):
                base, found = self.told.beyond(self._independent(*pair))
                self._gains[pair] = self._gains[pair[::-1]] = divergence(found.counts, base.counts)

    def _independent(self, one: int, other: int) -> Joint:
        """Two attributes that do not depend on each other, as finely as a table has them."""
        levels = self.told.levels((one, other))
        seen = (one, levels[one]), (other, levels[other])
        ours, theirs = map(self._alone.at, seen)
        return Joint(seen, np.multiply.outer(ours, theirs / theirs.sum()))

    @property
    def missed(self) -> float:
        """What the model did not know of pairs whose tables it had not used, root mean square."""
        found = [part for tried, part in self._held_out.values() if tried]
        found = found or [part for _, part in self._held_out.values()]
        return math.sqrt(float(np.mean(found))) if found else 1.0

    def grow(self) -> None:
        """Add all attributes, each with its parents."""
        left = set(range(len(self._gains)))
        nearest = self._gains.sum(axis=1)
        while left:
            child = max(left, key=lambda axis: (nearest[axis], -axis))
            nearest = (
                self._gains[child] if not self.joints else np.maximum(nearest, self._gains[child])
            )
            self.joints.append(self._link(child))
            left.remove(child)

    def _link(self, child: int) -> Joint:
        """The table of a child and the parents that are found for it."""
        joint, tables = Joint(((child, 0),), self._alone.counts[child]), []
        while len(joint.seen) <= MOST_PARENTS:
            able = self._candidates(child, joint)
            parent = max(able, key=lambda one: one.gain, default=None)
            if parent is None or parent.gain < _WORTH:
                break
            seen = self._coarsest(parent, joint)
            if seen is None:
                break
            tables.append(parent.told)
            joint = self._with(joint, seen, parent.known, tables)
        return self._with_wider(joint)

    def _candidates(self, child: int, joint: Joint) -> Iterator[Parent]:
        """The attributes that may be added to a child's parents, with what is told of them."""
        parents = joint.seen[:-1]
        places = dict(self._places(parents))
        able = [axis for axis in places if self.told.tells((axis, child))]
        able.sort(key=lambda axis: (-self._gains[child, axis], axis))
        for axis in able[: _TRIED if parents else 1]:
            known = places[axis]
            expected = self._expected(joint, known, axis)
            base, found = self.told.beyond(expected)
            self._hold_out((child, axis), base, found, bool(parents))
            gain = divergence(found.counts, base.counts)
            yield Parent((axis, known.levels[axis]), found, gain, known)

    def _places(self, parents: Sequence[Seen]) -> Iterator[tuple[int, Joint]]:
        """Attributes that are in the table of a link together with all parents; finest last."""
        wanted = dict(parents)
        able = [
            joint
            for joint in self.joints
            if all(joint.levels.get(axis, level + 1) <= level for axis, level in wanted.items())
        ]
        seen = [(level, axis, joint) for joint in able for axis, level in joint.seen]
        for _, axis, joint in sorted(seen, key=lambda one: -one[0]):
            if axis not in wanted:
                yield axis, joint

    def _expected(self, joint: Joint, known: Joint, axis: int) -> Joint:
        """What the model says so far of an attribute and a child with its parents, as finely as
        it and a table have them."""
        *parents, (child, _) = joint.seen
        levels = self.told.levels((axis, child))
        seen = axis, max(known.levels[axis], levels[axis])
        beside = known.onto((*parents, seen), self._alone).counts
        coarse = joint.onto((*parents, (child, levels[child])), self._alone)
        given = coarse.given_last()
        counts = beside.reshape(-1, beside.shape[-1]).T @ given.reshape(-1, given.shape[-1])
        return Joint((seen, coarse.seen[-1]), counts)

    def _hold_out(self, pair: tuple[int, int], base: Joint, found: Joint, tried: bool) -> None:
        """Note how far the model was from a table that it has not used yet.

        Without any parent of the child, it said that the two are independent.
        """
        total = float(base.counts.sum())
        missed = float(((found.counts - base.counts) ** 2).sum()) + self.told.hidden(pair)
        shares = [self._alone.at(seen) / total for seen in base.seen]
        most = total**2 * math.prod(float((share * (1 - share)).sum()) for share in shares)
        self._held_out[pair] = tried, min(missed / most, 1.0) if most > 0 else 1.0

    def _coarsest(self, parent: Parent, joint: Joint) -> Seen | None:
        """A parent at the coarsest level that tells nearly as much; None where all are too fine."""
        axis, finest = parent.seen
        sizes = [self._network.size((axis, k)) for k in range(len(self._network.levels[axis]))]
        finest = max(finest, parent.told.levels[axis])
        told = [self._dependence(parent.told, axis, level) for level in range(finest, len(sizes))]
        able = [finest + i for i, one in enumerate(told) if one >= _KEPT * told[0]]
        small = [
            k for k in range(max(able), len(sizes)) if joint.counts.size * sizes[k] <= MOST_CELLS
        ]
        return (axis, small[0]) if small else None

    def _dependence(self, pair: Joint, axis: int, level: int) -> float:
        """How much two attributes depend on each other, with one of them at a level."""
        seen = [(one, level if one == axis else at) for one, at in pair.seen]
        counts = pair.onto(seen, self._alone).counts
        both = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0))
        return divergence(counts, both / counts.sum())

    def _with(self, joint: Joint, seen: Seen, known: Joint, tables: Sequence[Joint]) -> Joint:
        """The table of a child with one more parent, adjusted to what is told of all of them."""
        parents = known.onto((*joint.seen[:-1], seen), self._alone)
        counts = parents.counts[..., None] * np.expand_dims(joint.given_last(), -2)
        wider = Joint((*parents.seen, joint.seen[-1]), counts)
        return wider.raked([*self._as_coarse(wider, tables), parents], self._alone, _ROUNDS)

    def _as_coarse(self, joint: Joint, tables: Sequence[Joint]) -> list[Joint]:
        """Tables at levels that are not finer than those of a link."""
        return [
            table.onto([(a, max(level, joint.levels[a])) for a, level in table.seen], self._alone)
            for table in tables
        ]

    def _with_wider(self, joint: Joint) -> Joint:
        """The table of a link, adjusted to measured tables of the child and several parents."""
        *parents, child = joint.seen
        for number in range(2, len(parents) + 1):
            for some in itertools.combinations(parents, number):
                if not self.told.tells([axis for axis, _ in (*some, child)]):
                    continue
                base, found = self.told.beyond(joint.onto((*some, child), self._alone))
                if divergence(found.counts, base.counts) >= _WORTH:
                    tables = self._as_coarse(joint, [found])
                    whole = joint.onto(parents, self._alone)
                    joint = joint.raked([*tables, whole], self._alone, _ROUNDS)
        return joint

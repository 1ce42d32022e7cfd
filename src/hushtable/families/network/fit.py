"""From noisy tables to the network's conditional distributions: post-processing, nothing private.

1. Tables that share attributes are made to agree on what they share (`Agreement`).
2. Each becomes the nearest table without negative counts and with the right total.
   These two are repeated, because each undoes a little of the other.
3. A table gives Pr[child | parents]; combinations of parents that few rows have borrow from the
   child's distribution among all parents.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.families.network.network import Link, Network, Seen
from hushtable.kernel.privacy.noises import KnownNoise

ROUNDS = 3
TINY = 1e-9
# Beyond so many shared tables, agreement is reached in pairs of attributes at the most.
_MOST_SHARED = 2000


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """What was measured of a network."""

    tables: tuple[NDArray[np.int64], ...]
    noises: tuple[KnownNoise, ...]
    """For each table, the noise in every cell."""
    rows: int
    rows_noise: KnownNoise | None
    """The noise in the number of rows; none if it was declared."""


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with a distribution of every attribute given its parents."""

    network: Network
    noisy: NoisyTables
    total: float
    total_variance: float
    variances: tuple[float, ...]
    """For each measured table, of the noise in every cell."""
    tables: tuple[Floats, ...]
    """The measured tables, consistent and without negative counts, as they were measured."""
    conditionals: tuple[Floats, ...]
    """For each link Pr[child | parents]; axes are the parents, then the child."""
    parent_counts: tuple[Floats, ...]
    """For each link, the rows of each combination of parents."""


def fit(
    network: Network,
    tables: Sequence[NDArray[np.int64]],
    *,
    noises: Sequence[KnownNoise],
    rows: int,
    rows_noise: KnownNoise | None,
) -> FittedNetwork:
    """Make one distribution of all noisy tables."""
    counts = [np.asarray(table, np.float64).reshape(-1) for table in tables]
    variances = tuple(noise.variance for noise in noises)
    total, total_variance = _total(counts, variances, rows, rows_noise)
    agreement = Agreement(network, variances)
    for _ in range(ROUNDS):
        agreement.reach(counts, total)
        counts = [nearest(table, total) for table in counts]
    shaped = tuple(
        table.reshape(network.shape(seen))
        for table, seen in zip(counts, network.measured, strict=True)
    )
    joint = [project(network, shaped, link) for link in network.links]
    return FittedNetwork(
        network,
        NoisyTables(tuple(tables), tuple(noises), rows, rows_noise),
        total,
        total_variance,
        variances,
        shaped,
        tuple(
            _conditional(table, math.sqrt(variances[network.home(link)]))
            for link, table in zip(network.links, joint, strict=True)
        ),
        tuple(table.sum(axis=-1) for table in joint),
    )


def _total(
    counts: Sequence[Floats], noise: Sequence[float], rows: int, rows_noise: KnownNoise | None
) -> tuple[float, float]:
    """The number of rows by all that tell it, each by its precision, and its variance.

    At least one row; a declared number is taken as it is.
    """
    if rows_noise is None:
        return float(rows), 0.0
    variances = [len(table) * each for table, each in zip(counts, noise, strict=True)]
    variances.append(rows_noise.variance)
    weights = [1 / max(variance, TINY) for variance in variances]
    values = [*(float(table.sum()) for table in counts), float(rows)]
    return max(1.0, float(np.average(values, weights=weights))), 1 / sum(weights)


def nearest(table: Floats, total: float) -> Floats:
    """The nearest table without negative counts that has this total: max(count − t, 0)."""
    falling = np.sort(table)[::-1]
    thresholds = (np.cumsum(falling) - total) / np.arange(1, len(table) + 1)
    last = int(np.flatnonzero(falling > thresholds)[-1])
    return np.asarray(np.maximum(table - thresholds[last], 0.0))


def _conditional(table: Floats, noise: float) -> Floats:
    """Pr[child | parents], with as much of the child's own distribution as a cell has noise."""
    child = table.reshape(-1, table.shape[-1]).sum(axis=0)
    mixed = table + max(noise, TINY) * child / child.sum()
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))


def project(network: Network, tables: Sequence[NDArray[Any]], link: Link) -> Floats:
    """The table of a link, from the measured table that contains it."""
    home = network.home(link)
    flat = cell_map(network, network.measured[home], link.table)
    shape = network.shape(link.table)
    sums = np.bincount(flat, tables[home].reshape(-1), math.prod(shape))
    return np.asarray(sums.reshape(shape), np.float64)


def cell_map(network: Network, table: Sequence[Seen], onto: Sequence[Seen]) -> NDArray[np.int64]:
    """For each cell of a table, the cell of a coarser table that it belongs to."""
    level_in = dict(table)
    axes = [axis for axis, _ in table]
    cells = np.zeros(network.shape(table), np.int64)
    for axis, level in onto:
        groups = regroup(network, axis, level_in[axis], level)
        shape = [1] * len(axes)
        shape[axes.index(axis)] = len(groups)
        cells = cells * network.size((axis, level)) + groups.reshape(shape)
    return cells.reshape(-1)


def regroup(network: Network, axis: int, fine: int, coarse: int) -> NDArray[np.int64]:
    """The group at a coarser level of each group at a finer one."""
    levels = network.levels[axis]
    firsts = np.searchsorted(levels[fine], np.arange(levels[fine][-1] + 1))
    return levels[coarse][firsts]


class Agreement:
    """Makes tables agree on every table that several of them contain.

    Shared tables are taken from coarse to fine; on each, all that contain it move to their mean,
    weighted by precision, in equal steps over the cells of a group. Coarser agreements reached
    before are kept: the mean of tables that agree on something agrees with them.
    """

    def __init__(self, network: Network, variances: Sequence[float]) -> None:
        tables = network.measured
        self._precision = [
            1 / max(variance * math.prod(network.shape(table)), TINY)
            for table, variance in zip(tables, variances, strict=True)
        ]
        self._shared: list[list[tuple[int, NDArray[np.int64], Floats]]] = []
        for shared in _meets(tables):
            holders = [i for i, table in enumerate(tables) if _holds(table, shared)]
            if len(holders) < 2 and shared:
                continue
            onto = sorted(shared)
            self._shared.append([self._map(network, i, tables[i], onto) for i in holders])

    def _map(
        self, network: Network, i: int, table: Sequence[Seen], onto: Sequence[Seen]
    ) -> tuple[int, NDArray[np.int64], Floats]:
        cells = cell_map(network, table, onto)
        size = math.prod(network.shape(onto))
        return i, cells, np.bincount(cells, minlength=size).astype(np.float64)

    def reach(self, counts: list[Floats], total: float) -> None:
        """Change the tables in place, first their totals."""
        for holders in self._shared:
            sums = [np.bincount(cells, counts[i], len(per)) for i, cells, per in holders]
            weights = [self._precision[i] for i, _, _ in holders]
            mean = np.average(sums, axis=0, weights=weights)
            if len(mean) == 1:
                mean[:] = total
            for (i, cells, per), mine in zip(holders, sums, strict=True):
                counts[i] = counts[i] + ((mean - mine) / per)[cells]


def _holds(table: Sequence[Seen], shared: frozenset[Seen]) -> bool:
    finest = dict(table)
    return all(axis in finest and finest[axis] <= level for axis, level in shared)


def _meets(tables: Sequence[Sequence[Seen]]) -> list[frozenset[Seen]]:
    """What tables share, and what those share: coarse ones first."""
    known = {frozenset(table) for table in tables}
    fresh = set(known)
    shared: set[frozenset[Seen]] = {frozenset()}
    while fresh and len(shared) < _MOST_SHARED:
        found = {
            _meet(one, other) for one, other in itertools.product(fresh, known) if one != other
        }
        fresh = found - shared - known
        shared |= found
        known |= fresh
    return sorted(shared, key=lambda table: (_fineness(table), sorted(table)))


def _meet(one: frozenset[Seen], other: frozenset[Seen]) -> frozenset[Seen]:
    mine, theirs = dict(one), dict(other)
    return frozenset((axis, max(mine[axis], theirs[axis])) for axis in mine.keys() & theirs.keys())


def _fineness(table: frozenset[Seen]) -> int:
    """Grows with every attribute and every finer level: a coarser table comes first."""
    return sum(1000 - level for _, level in table)

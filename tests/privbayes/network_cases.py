"""Small networks with made-up tables, and what is true of them by enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.families.network.fit import FittedNetwork, NoisyTables
from hushtable.families.network.network import Link, Network
from hushtable.families.network.read import NetworkReader
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.schema import Attribute, Hierarchy, IntegerRange, Schema, nominal, ordinal

JOBS = Hierarchy.from_tree({"office": ["clerk", "boss"], "field": ["farmer", "driver", "miner"]})


def schema_of(*attributes: Attribute, budget: int = 1000, **options: object) -> Schema:
    return Schema("people", Fraction(budget), attributes, **options)  # type: ignore[arg-type]


SCHEMA = schema_of(
    ordinal("age", IntegerRange(0, 6)),
    nominal("job", JOBS, outside="other"),
    nominal("sex", Hierarchy.flat(["F", "M"])),
    ordinal("grade", IntegerRange(1, 4)),
)

# Parents at several levels, a fork, a join, and an attribute whose children see it differently.
NETWORKS = {
    "independent": (Link(0), Link(1), Link(2), Link(3)),
    "a chain": (Link(0), Link(1, ((0, 1),)), Link(2, ((1, 0),)), Link(3, ((2, 0),))),
    "levels": (Link(1), Link(0, ((1, 1),)), Link(3, ((0, 2), (1, 0))), Link(2, ((0, 1), (1, 1)))),
    "a join": (Link(2), Link(3), Link(0, ((2, 0), (3, 1))), Link(1, ((0, 0), (2, 0)))),
    "all of it": (
        Link(2),
        Link(3, ((2, 0),)),
        Link(1, ((2, 0), (3, 0))),
        Link(0, ((1, 0), (2, 0), (3, 0))),
    ),
}


def network_of(name: str) -> Network:
    return Network(SCHEMA, NETWORKS[name])


def random_fit(
    network: Network, seed: int = 1, total: float = 1000.0, least: float = 0.0
) -> FittedNetwork:
    """A network with random distributions, with zeros unless there is a least weight."""
    random = np.random.default_rng(seed)
    conditionals = []
    for link in network.links:
        weights = random.random(network.shape(link.table)) ** 3
        weights[weights < 0.02] = 0.0
        weights += least
        weights[..., 0] += 0.01
        conditionals.append(weights / weights.sum(axis=-1, keepdims=True))
    joint = joint_of(network, conditionals) * total
    tables = tuple(marginal(network, joint, table) for table in network.measured)
    joints = [marginal(network, joint, link.table) for link in network.links]
    noise = [np.rint(random.laplace(0, 2, table.shape)) for table in tables]
    noisy = (np.rint(table) + more for table, more in zip(tables, noise, strict=True))
    return FittedNetwork(
        network=network,
        noisy=NoisyTables(
            tuple(table.astype(np.int64) for table in noisy),
            tuple(DiscreteLaplace(Fraction(2 + i)) for i in range(len(tables))),
            rows=round(total),
            rows_noise=DiscreteLaplace(Fraction(3)),
        ),
        total=total,
        total_variance=4.0,
        variances=tuple(DiscreteLaplace(Fraction(2 + i)).variance for i in range(len(tables))),
        tables=tables,
        conditionals=tuple(conditionals),
        parent_counts=tuple(table.sum(axis=-1) for table in joints),
    )


def reader_of(fitted: FittedNetwork) -> NetworkReader:
    return NetworkReader(fitted.network, lambda: fitted)


def joint_of(network: Network, conditionals: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The distribution over all cells, one cell at a time."""
    joint = np.ones(network.schema.shape)
    for cell in itertools.product(*map(range, network.schema.shape)):
        for link, conditional in zip(network.links, conditionals, strict=True):
            place = tuple(int(network.levels[a][level][cell[a]]) for a, level in link.table)
            joint[cell] *= conditional[place]
    return joint


def marginal(
    network: Network, joint: NDArray[np.float64], table: tuple[tuple[int, int], ...]
) -> NDArray[np.float64]:
    """The sums of a joint table over the cells of a coarser one, one cell at a time."""
    sums = np.zeros(network.shape(table))
    for cell in itertools.product(*map(range, network.schema.shape)):
        sums[tuple(int(network.levels[a][level][cell[a]]) for a, level in table)] += joint[cell]
    return sums

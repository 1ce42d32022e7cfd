"""Workloads: what analysts will ask, by name, as text, or put together from parts."""

from hushtable.workload.parsing import DEFAULT, read_workload
from hushtable.workload.workload import (
    BoxSet,
    Question,
    Workload,
    everyday,
    identity,
    levels,
    marginals,
    nodes,
    paper,
    prefixes,
    ranges,
    total,
)

__all__ = [
    "DEFAULT",
    "BoxSet",
    "Question",
    "Workload",
    "everyday",
    "identity",
    "levels",
    "marginals",
    "nodes",
    "paper",
    "prefixes",
    "ranges",
    "read_workload",
    "total",
]

"""Workloads: what analysts will ask, by name, as text, or put together from parts."""

from hushtable.workload.parsing import read_workload
from hushtable.workload.workload import (
    BoxSet,
    Question,
    Workload,
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
    "BoxSet",
    "Question",
    "Workload",
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

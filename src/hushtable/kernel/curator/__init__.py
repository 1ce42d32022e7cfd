"""The trusted holder of true data: it charges, then draws, then answers."""

from hushtable.kernel.curator.curator import Curator
from hushtable.kernel.curator.measurement import Decisions, Measurement, Selection
from hushtable.kernel.curator.network_scores import (
    Assignment,
    Candidate,
    CandidateScores,
    Distance,
    Information,
)
from hushtable.kernel.curator.partition import Grid, Marginal, Partition, Regions, View, Whole
from hushtable.kernel.curator.scores import LargestPart, Score
from hushtable.kernel.curator.shared_ranges import SharedRanges
from hushtable.kernel.curator.sparse_summary import NoisySummary
from hushtable.kernel.curator.splitting import Pace

__all__ = [
    "Assignment",
    "Candidate",
    "CandidateScores",
    "Curator",
    "Decisions",
    "Distance",
    "Grid",
    "Information",
    "LargestPart",
    "Marginal",
    "Measurement",
    "NoisySummary",
    "Pace",
    "Partition",
    "Regions",
    "Score",
    "Selection",
    "SharedRanges",
    "View",
    "Whole",
]

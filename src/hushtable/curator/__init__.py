"""The trusted holder of true data: it charges, then draws, then answers."""

from hushtable.curator.curator import Curator
from hushtable.curator.measurement import Measurement, Selection
from hushtable.curator.partition import Grid, Partition, Regions, Whole
from hushtable.curator.scores import LargestPart, Score

__all__ = [
    "Curator",
    "Grid",
    "LargestPart",
    "Measurement",
    "Partition",
    "Regions",
    "Score",
    "Selection",
    "Whole",
]

"""The trusted holder of true data: it charges, then draws, then answers."""

from hushtable.curator.curator import Curator
from hushtable.curator.families import Assignment, Distance, Family, FamilyScores, Information
from hushtable.curator.measurement import Measurement, Selection
from hushtable.curator.partition import Grid, Marginal, Partition, Regions, View, Whole
from hushtable.curator.scores import LargestPart, Score
from hushtable.curator.sparse import NoisySummary

__all__ = [
    "Assignment",
    "Curator",
    "Distance",
    "Family",
    "FamilyScores",
    "Grid",
    "Information",
    "LargestPart",
    "Marginal",
    "Measurement",
    "NoisySummary",
    "Partition",
    "Regions",
    "Score",
    "Selection",
    "View",
    "Whole",
]

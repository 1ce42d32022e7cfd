"""What the curator may be asked by: a closed list, whose sensitivities this kernel vouches for.

A mechanism cannot bring a sensitivity of its own: neither a stranger nor a subclass is on the list.
What is on it checks its numbers and copies its arrays when it is made.
"""

from __future__ import annotations

from hushtable.errors import OptionError
from hushtable.kernel.curator.network_scores import CandidateScores
from hushtable.kernel.curator.partition import Grid, Marginal, Partition, Regions, Whole
from hushtable.kernel.curator.scores import LargestPart, Score
from hushtable.kernel.curator.shared_ranges import SharedRanges
from hushtable.kernel.maps import TRUSTED as TRUSTED_TRANSFORMS
from hushtable.kernel.maps import Product
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import TRUSTED_RULES, Rule
from hushtable.kernel.maps.splits import SplitBoxes
from hushtable.kernel.maps.structure import Structure

PARTITIONS = (Regions, Grid, Whole, Marginal, SplitBoxes)


def check_transform(transform: Product) -> None:
    axes = transform.axes if type(transform) is Product else ()
    if not axes or any(type(axis) not in TRUSTED_TRANSFORMS for axis in axes):
        raise OptionError("the curator only knows the transforms of hushtable.kernel.maps")


def check_partition(partition: Partition) -> None:
    if type(partition) not in PARTITIONS:
        raise OptionError("a partition is a Regions, Grid, Whole, Marginal or SplitBoxes")


def check_ranges(ranges: SharedRanges, parts: int) -> None:
    if type(ranges) is not SharedRanges:
        raise OptionError("ranges of parts are SharedRanges")
    ranges.check(parts)


def check_score(score: Score | CandidateScores) -> None:
    if type(score) is LargestPart:
        check_partition(score.partition)
    elif type(score) is not CandidateScores:
        raise OptionError("the curator only knows the scores of hushtable.kernel.curator.scores")


def check_summary(structure: Structure, rule: Rule) -> None:
    if type(structure) is not Structure:
        raise OptionError("the curator only knows the structures of hushtable.kernel.maps")
    if type(rule) not in TRUSTED_RULES:
        raise OptionError("the curator only knows the rules of hushtable.kernel.maps")


def check_sketch(sketch: Sketch) -> None:
    if type(sketch) is not Sketch:
        raise OptionError("the curator only knows the sketches of hushtable.kernel.maps")

"""What readers may know of many groups at once: sums, means and shares of all of them follow."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hushtable.arrays import Floats, Integers
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.reader import Answering
from hushtable.query.weighing import WeighedBox


@runtime_checkable
class AlikeReader(Protocol):
    """A reader that knows which groups have noise of the same law, whatever is summed in them."""

    def kinds(self, boxes: Boxes, cuts: Cuts) -> list[Integers]:
        """The kind of each group along each axis that is cut; boxes may overlap.

        Groups of the same kinds along all of them have the same law, in a linear question of these
        boxes that has weights along other axes.
        """


@runtime_checkable
class SummingReader(Protocol):
    """A reader that has the answers of all groups without their laws."""

    def group_sums(self, part: WeighedBox, cuts: Cuts) -> Floats:
        """What a weighed box counts in each group, without its factor; it has no weights along
        axes that are cut."""


@runtime_checkable
class ShrinkingReader(Protocol):
    """A reader whose answers were moved by known amounts, which add up as the answers do."""

    @property
    def noisy(self) -> AlikeReader:
        """The answers before, which have no error but their noise; a `WeighingReader` too."""

    @property
    def shrunken(self) -> Answering:
        """The answers themselves."""

    @property
    def lost(self) -> Answering:
        """The answers before, less those after: as counts."""

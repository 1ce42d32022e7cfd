"""PrivTree: boxes that are split where rows are, and their counts.

J. Zhang, X. Xiao, X. Xie. PrivTree: a differentially private algorithm for hierarchical
decompositions. SIGMOD 2016.

| paper                          | here                                                          |
|--------------------------------|---------------------------------------------------------------|
| T: Algorithm 2, λ, δ, θ        | `Curator.noisy_splits`, for `--set structure=…` of ε          |
| fan-out β                      | 2 for each attribute of more than one value: all halve at once|
| noisy counts of leaves         | `Curator.noisy_ranges`, for the rest of ε                     |
| count of an inner node         | counted too, and made to agree with its children              |

Deviations. Noise is discrete Laplace on integers, and ε₁ is less than the paper's bound
(`kernel/curator/splitting.py`). The paper counts leaves alone. Here every inner box is counted as
well, a level for 0.8 times the ε of the one below it, and a leaf for all that its ancestors left;
or, by default along a single attribute, the nodes of a regular tree over the leaves. All counts are
read together by least squares. The tree ends at a largest number of boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.errors import OptionError
from hushtable.families.about import Settings
from hushtable.families.splits.about import COUNTS, DECAY, MOST, PRIVTREE, STRUCTURE, THETA
from hushtable.families.splits.boxes import counted_tree, splits_of
from hushtable.families.splits.shares import (
    LARGEST_FACTOR,
    WHOLE,
    check_decay,
    node_shares,
    radices_over,
)
from hushtable.kernel.curator import Curator, Pace, SharedRanges
from hushtable.kernel.maps.splits import MOST_AXES, SplitBoxes
from hushtable.kernel.privacy.loss import check_scale, format_epsilon
from hushtable.release.store import Content
from hushtable.schema import Schema

# Chosen by the experiment of docs/mechanisms/privtree.md.
USUAL_STRUCTURE = (Fraction(3, 10), Fraction(2, 5))
"""Of one attribute, and of several."""

USUAL_DECAY = {"leaves": Fraction(3, 5), "boxes": Fraction(4, 5)}


@dataclass(frozen=True)
class PrivTree:
    """Boxes that were split where rows seemed to be, and noisy counts."""

    name: str = PRIVTREE.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        PRIVTREE.check(settings, schema)
        if len(schema.shape) > MOST_AXES:
            raise OptionError(f"{self.name} splits the cells of at most {MOST_AXES} attributes")
        chosen = _Chosen.of(schema, epsilon, settings)
        check_decay(chosen.decay)
        Pace.of(chosen.structure, splits_of(schema).fanout, schema.exposure)
        scale = schema.exposure.scale(chosen.rest, entering=1, moving=2)
        check_scale(scale * LARGEST_FACTOR)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        chosen, splits = _Chosen.of(schema, epsilon, settings), splits_of(schema)
        told = curator.noisy_splits(
            splits, theta=chosen.theta, most=chosen.most, epsilon=chosen.structure
        )
        boxes = SplitBoxes(splits, told.values, chosen.most)
        radices = radices_over(boxes.parts) if chosen.regular else None
        tree = counted_tree(boxes, radices)
        ranges = SharedRanges(tree.start, tree.stop, node_shares(tree, chosen.decay), WHOLE)
        counts = curator.noisy_ranges(boxes, ranges, epsilon=chosen.rest)
        return Content(
            reader="splits",
            arrays={"splits": told.values, "counts": counts.values},
            noise={
                **counts.noise.to_dict(),
                "on": "a count that has the whole of epsilon_counts",
                "splits_scale": str(told.scale),
            },
            parameters={
                "epsilon_splits": format_epsilon(chosen.structure),
                "epsilon_counts": format_epsilon(chosen.rest),
                "step": told.step,
                "theta": chosen.theta,
                "most": chosen.most,
                "decay": str(chosen.decay),
                "radices": None if radices is None else list(radices),
            },
        )


@dataclass(frozen=True)
class _Chosen:
    """The settings, as given or as usual."""

    structure: Fraction
    rest: Fraction
    theta: int
    most: int
    decay: Fraction
    regular: bool
    """Whether a regular tree over the leaves is counted."""

    @classmethod
    def of(cls, schema: Schema, epsilon: Fraction, settings: Settings) -> _Chosen:
        several = sum(size > 1 for size in schema.shape) > 1
        share = STRUCTURE.given(settings)
        share = USUAL_STRUCTURE[several] if share is None else share
        counts = COUNTS.given(settings) or ("boxes" if several else "leaves")
        return cls(
            structure=epsilon * share,
            rest=epsilon * (1 - share),
            theta=THETA.of(settings),
            most=MOST.of(settings),
            decay=DECAY.given(settings) or USUAL_DECAY[counts],
            regular=counts == "leaves",
        )


MECHANISMS = (PrivTree(),)

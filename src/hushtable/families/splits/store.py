"""A release of split boxes: from its manifest to what answers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from msgspec import Meta, Struct

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.splits.about import LARGEST_TREE
from hushtable.families.splits.boxes import counted_tree, splits_of
from hushtable.families.splits.least_squares import Consistent
from hushtable.families.splits.read import SplitCounts, SplitReader
from hushtable.families.splits.shares import WHOLE, check_decay, node_shares
from hushtable.forms import Ratio, told
from hushtable.kernel.maps.splits import SplitBoxes, Splits
from hushtable.kernel.maps.topology import DEEPEST
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.release.form import Scale, StatedNoise
from hushtable.release.manifest import Manifest, check_arrays, read_noise, read_parameters
from hushtable.release.store import StoredArray, stored_length


class Decay(Ratio):
    """How many times less of ε a level gets than the one below it."""

    words = "a fraction above 0 and below 2"

    @classmethod
    def read(cls, value: Any) -> Self:
        decay = super().read(value)
        try:
            check_decay(decay)
        except OptionError:
            raise ValueError from None
        return decay


class SplitNoise(StatedNoise, frozen=True):
    """The noise of a count that had the whole of its ε, and the scale of that of the splits."""

    splits_scale: Scale


Radix = Annotated[int, Meta(ge=2, le=2 * LARGEST_TREE)]
Radices = Annotated[list[Radix], Meta(max_length=DEEPEST)]


class Parameters(Struct, frozen=True):
    """How the counts are shared out, and the tree over the leaves if it is a regular one."""

    decay: Decay
    radices: Annotated[Radices | None, told("a list of numbers of children, or null")]


def open_splits(folder: Path, manifest: Manifest) -> tuple[dict[str, StoredArray], SplitReader]:
    """The decisions and the counts, and what answers from them."""
    check_arrays(folder, manifest, {"splits", "counts"})
    noise = read_noise(folder, manifest, SplitNoise).known
    parameters = read_parameters(folder, manifest, Parameters)
    try:
        splits = splits_of(manifest.schema)
    except OptionError as problem:
        raise ReleaseError(f"{folder}: {problem}") from None
    arrays = {}
    for name, least in (("splits", 0), ("counts", 1)):
        entry = manifest.stated.arrays[name]
        number = stored_length(folder, name, entry, range(least, 2 * LARGEST_TREE + 1))
        arrays[name] = StoredArray(folder, name, entry, (number,))

    def open_counts() -> SplitCounts:
        return _counts(folder, splits, arrays, noise, parameters)

    return arrays, SplitReader(manifest.schema, open_counts)


def _counts(
    folder: Path,
    splits: Splits,
    arrays: dict[str, StoredArray],
    noise: KnownNoise,
    parameters: Parameters,
) -> SplitCounts:
    """The tree of boxes from its decisions, and that of the counts, which must be as many."""
    try:
        boxes = SplitBoxes(splits, arrays["splits"].read(), LARGEST_TREE)
        radices = None if parameters.radices is None else tuple(parameters.radices)
        tree = counted_tree(boxes, radices)
    except OptionError as problem:
        raise ReleaseError(f"{folder}: the boxes do not fit the domain: {problem}") from None
    if tree.nodes != arrays["counts"].shape[0]:
        raise ReleaseError(f"{folder}: the boxes do not fit the domain: not each has a count")
    shares, kinds = np.unique(node_shares(tree, Fraction(parameters.decay)), return_inverse=True)
    noises = [noise.times(Fraction(WHOLE, share)) for share in shares.tolist()]
    variances = np.array([each.variance for each in noises])[kinds]
    consistent = Consistent(tree, variances)
    return SplitCounts(boxes, consistent, kinds, noises, arrays["counts"].read)


READERS = {"splits": open_splits}

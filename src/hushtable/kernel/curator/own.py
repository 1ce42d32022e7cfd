"""Copies of what a caller asks by, made from scratch before it is priced.

Python lets anyone put attributes and methods of their own in front of ours, change what was checked
before, or make numbers and types that change their mind. So the curator looks at a question once,
takes plain numbers out of it, builds its own from these, and never looks at the caller's again.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hushtable.errors import OptionError
from hushtable.kernel.curator.network_scores import (
    Assignment,
    Distance,
    Family,
    FamilyScores,
    Information,
    Measure,
)
from hushtable.kernel.curator.partition import Grid, Marginal, Partition, Regions, View, Whole
from hushtable.kernel.curator.scores import LargestPart, Score
from hushtable.kernel.maps import TRUSTED as TRUSTED_TRANSFORMS
from hushtable.kernel.maps import Product


def own_transform(transform: Product) -> Product:
    """A transform made from scratch: its fields are checked again, and nothing else comes along."""
    axes: tuple[Any, ...] = tuple(transform.axes) if type(transform) is Product else ()
    if not axes or not all(any(type(axis) is t for t in TRUSTED_TRANSFORMS) for axis in axes):
        raise OptionError("the curator only knows the transforms of hushtable.kernel.maps")
    return Product(tuple(replace(axis) for axis in axes))


def own_partition(partition: Partition) -> Partition:
    """A partition made from scratch."""
    kind = type(partition)
    given: Any = partition
    if kind is Regions:
        return Regions(given._labels, _plain(given._parts))
    if kind is Grid:
        return Grid(tuple(given._groups))
    if kind is Whole:
        return Whole(_numbers(given.shape))
    if kind is Marginal:
        return Marginal(_numbers(given._shape), _views(given._views))
    raise OptionError("a partition is a Regions, Grid, Whole or Marginal")


def own_score(score: Score | FamilyScores) -> Score | FamilyScores:
    """A score made from scratch."""
    given: Any = score
    if type(score) is LargestPart:
        return LargestPart(own_partition(given.partition))
    if type(score) is FamilyScores:
        return FamilyScores(
            _numbers(given.shape),
            _views(given.views),
            [Family(_plain(child), _numbers(parents)) for child, parents in given.families],
            _own_measure(given.measure),
            _numbers(given.handicaps),
        )
    raise OptionError("the curator only knows the scores of hushtable.kernel.curator.scores")


def _own_measure(measure: Measure) -> Measure:
    given: Any = measure
    if type(measure) is Distance:
        return Distance()
    if type(measure) is Assignment:
        return Assignment()
    if type(measure) is Information:
        return Information(_plain(given.limit), bool(given.binary))
    raise OptionError("the curator only knows the measures of `network_scores`")


def _views(views: Iterable[View]) -> list[View]:
    found = list(views)
    if any(type(view) is not View for view in found):
        raise OptionError("attributes are seen through a View of hushtable.kernel.curator")
    return [View(_plain(view.axis), view.groups) for view in found]


def _numbers(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> int:
    """A plain integer of the same value."""
    try:
        return int.__index__(operator.index(value))
    except TypeError:
        raise OptionError("the curator only takes whole numbers here") from None

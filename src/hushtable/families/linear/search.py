"""The best combination of one transform per axis for a workload."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from hushtable.errors import OptionError
from hushtable.families.linear.variances import Variances
from hushtable.kernel.maps import AxisTransform, Product
from hushtable.workload import Workload
from hushtable.workload.intervals import Along, Listed

# Combinations up to which all are compared; beyond, one axis is changed at a time.
_ALL = 4096

Choices = Sequence[Sequence[AxisTransform]]


def best_product(variances: Variances, choices: Choices, starts: Sequence[Product] = ()) -> Product:
    """The product of one choice per axis whose mean noise variance is least.

    Under add-remove and for one set of boxes the error is a product over axes, so changing one axis
    at a time finds the best; for several sets it is tried from several starts.
    """
    if math.prod(map(len, choices)) <= _ALL:
        products = (Product(axes) for axes in itertools.product(*choices))
        return min(products, key=lambda product: loss(variances, product))
    firsts = [Product(tuple(axis[0] for axis in choices)), *starts]
    ends = [_descend(variances, choices, start) for start in firsts]
    return min(ends, key=lambda product: loss(variances, product))


def loss(variances: Variances, product: Product) -> float:
    """The mean noise variance; infinite where noise would not fit 64-bit integers."""
    try:
        return variances.mean(product)
    except OptionError:
        return math.inf


def _descend(variances: Variances, choices: Choices, start: Product) -> Product:
    """Change the choice of one axis at a time, as long as that helps."""
    best, least = start, loss(variances, start)
    improved = True
    while improved:
        improved = False
        for i, others in enumerate(choices):
            for axis in others:
                changed = Product((*best.axes[:i], axis, *best.axes[i + 1 :]))
                found = loss(variances, changed)
                if found < least:
                    best, least, improved = changed, found, True
    return best


def sets_along(workload: Workload, axis: int) -> list[Along]:
    """The sets asked along an axis, each once; without those that ask for everything."""
    found = dict.fromkeys(boxes.along[axis] for boxes in workload.box_sets)
    asked: list[Along] = [along for along in found if along.count > 1]
    intervals = {
        interval
        for question in workload.questions
        for box in question.boxes
        for interval in box.sets[axis].intervals
    }
    if intervals - {(0, workload.shape[axis])}:
        asked.append(Listed.of(sorted(intervals)))
    return asked

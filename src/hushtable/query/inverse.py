"""Counts from noisy coefficients, axis by axis; of large arrays, slab by slab on every core.

Haar coefficients are here, since releases of more than one family hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import OptionError
from hushtable.kernel.maps import slabs
from hushtable.kernel.maps.axis import AxisTransform
from hushtable.kernel.maps.haar import Haar, pairs

Array = NDArray[Any]

# Coefficients from which slabs pay, and from which compiled code pays for its loading.
_LARGE = 1 << 18
_COMPILED = 1 << 22


class AxisInverse(Protocol):
    """How the noisy coefficients of one axis become counts."""

    @property
    def transform(self) -> AxisTransform:
        """What made the coefficients."""

    def inverse(self, values: Array, axis: int) -> Floats:
        """The counts that noisy coefficients suggest, along one axis."""

    def inverse_lines(self, source: Array, target: Floats, first: int, last: int) -> None:
        """The compiled twin of `inverse`: the middle axis of a slab, some of its columns."""


def inverse(axes: Sequence[AxisInverse], values: Array, out: Floats | None = None) -> Floats:
    """The counts that the noisy coefficients of a product suggest, in `out` if it is given.

    Where no axis changes its length, `out` may be the memory of the values themselves.
    """
    before = tuple(axis.transform.coefficients for axis in axes)
    after = tuple(axis.transform.size for axis in axes)
    if values.shape != before:
        raise OptionError(f"the coefficients must have the shape {before}")
    if out is not None and (out.shape != after or out.dtype != np.float64):
        raise OptionError(f"the estimates need an array of 64-bit floats of shape {after}")
    if out is not None or values.size >= _LARGE:
        compiled = values.size >= _COMPILED and find_spec("numba") is not None
        return _by_slabs(axes, values, out, compiled=compiled)
    estimates = np.array(values, dtype=np.float64)
    for i, axis in enumerate(axes):
        estimates = axis.inverse(estimates, i)
    return estimates


def _by_slabs(
    axes: Sequence[AxisInverse], values: Array, out: Floats | None, *, compiled: bool
) -> Floats:
    maps = [
        slabs.AxisMap(
            axis.inverse_lines if compiled else _plain_lines(axis),
            axis.transform.coefficients,
            axis.transform.size,
            axis.transform.in_place,
            axis.transform.kind == "identity",
        )
        for axis in axes
    ]
    result = slabs.apply(maps, np.ascontiguousarray(values), out)
    if out is None or result is out:
        return result
    np.copyto(out, result)
    return out


def _plain_lines(axis: AxisInverse) -> Callable[[Array, Array, int, int], None]:
    def run(source: Array, target: Array, first: int, last: int) -> None:
        target[:, :, first:last] = axis.inverse(source[:, :, first:last], 1)

    return run


@dataclass(frozen=True)
class HaarInverse:
    """Counts from sums and differences of halves."""

    transform: Haar

    def inverse(self, values: Array, axis: int) -> Floats:
        """Replace each pair (s, d) by ((s + d)/2, (s − d)/2), the last sums first."""
        counts = np.array(values, dtype=np.float64)
        lines = np.moveaxis(counts, axis, 0)
        for split in reversed(range(self.transform.splits)):
            left, right = pairs(lines, 1 << split)
            left += right
            left *= 0.5
            np.subtract(left, right, out=right)
        return counts

    def inverse_lines(self, source: Array, target: Floats, first: int, last: int) -> None:
        """The compiled twin of `inverse`."""
        from hushtable.query import haar_kernels

        haar_kernels.haar_inverse(target, first, last)

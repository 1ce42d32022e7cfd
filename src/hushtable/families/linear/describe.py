"""Reading transforms back from a manifest, which anybody may have written."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from msgspec import Struct

from hushtable.errors import OptionError, ReleaseError
from hushtable.forms import Ratio, fill, told
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tents, Tree
from hushtable.kernel.maps.tents import MARGIN, PEAKS
from hushtable.kernel.maps.topology import Spans


class _Axis(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    size: int


class _Identity(_Axis, frozen=True, tag="identity"):
    def built(self) -> AxisTransform:
        return Identity(self.size)


class _Haar(_Axis, frozen=True, tag="haar"):
    def built(self) -> AxisTransform:
        return Haar(self.size)


class _Nominal(_Axis, frozen=True, tag="nominal"):
    groups: Spans

    def built(self) -> AxisTransform:
        return Nominal(self.size, self.groups)


class _Tree(_Axis, frozen=True, tag="tree"):
    root: bool
    shares: tuple[Ratio, ...] | None
    groups: Spans | None = None
    radices: tuple[int, ...] | None = None

    def built(self) -> AxisTransform:
        shares = None if self.shares is None else tuple(map(Fraction, self.shares))
        return Tree(self.size, self.groups, self.radices, root=self.root, shares=shares)


class _Tents(_Axis, frozen=True, tag="tents"):
    coarse: int
    fine: int
    height: int
    peaks: tuple[int, int] = PEAKS
    left: int = MARGIN

    def built(self) -> AxisTransform:
        return Tents(self.size, self.coarse, self.fine, self.height, self.peaks, self.left)


class _Parameters(Struct, frozen=True):
    transform: Annotated[
        list[_Identity | _Haar | _Nominal | _Tree | _Tents],
        told("a list of transforms of known kinds, each with all of its parts"),
    ]


def product_from_dict(description: Any) -> Product:
    """The product that `Product.to_dict` described; anything else is refused."""
    content = {"transform": description}
    parameters = fill(_Parameters, content, "the manifest's 'parameters'", ReleaseError)
    try:
        return Product(tuple(axis.built() for axis in parameters.transform))
    except OptionError as problem:
        raise ReleaseError(f"a transform of the release is not one: {problem}") from None

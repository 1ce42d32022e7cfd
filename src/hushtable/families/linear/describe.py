"""Reading transforms back from a manifest, which anybody may have written."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hushtable.errors import OptionError, ReleaseError
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tree
from hushtable.kernel.maps.topology import Groups

_KEYS: dict[str, tuple[set[str], ...]] = {
    "identity": ({"size"},),
    "haar": ({"size"},),
    "nominal": ({"size", "groups"},),
    "tree": ({"size", "root", "shares", "groups"}, {"size", "root", "shares", "radices"}),
}
_SHARE_DIGITS = 400


def product_from_dict(description: Any) -> Product:
    """The product that `Product.to_dict` described; anything else is refused."""
    if not isinstance(description, list):
        raise ReleaseError("a product of transforms is described by a list")
    return Product(tuple(from_dict(axis) for axis in description))


def from_dict(description: Any) -> AxisTransform:
    """The transform that `to_dict` described; anything else is refused."""
    if not isinstance(description, dict) or not isinstance(description.get("kind"), str):
        raise ReleaseError("a transform is described by a table with its kind")
    kind, rest = description["kind"], {k: v for k, v in description.items() if k != "kind"}
    if set(rest) not in _KEYS.get(kind, ()):
        raise ReleaseError("a transform of the release is of no known kind, or misses a part")
    try:
        return _built(kind, rest)
    except OptionError as error:
        raise ReleaseError(f"a transform of the release is not one: {error}") from None


def _built(kind: str, rest: dict[str, Any]) -> AxisTransform:
    size = rest["size"]
    if kind == "identity":
        return Identity(size)
    if kind == "haar":
        return Haar(size)
    if kind == "nominal":
        return Nominal(size, _groups(rest["groups"]))
    return Tree(
        size,
        _groups(rest["groups"]) if "groups" in rest else None,
        tuple(_listed(rest["radices"])) if "radices" in rest else None,
        root=rest["root"],
        shares=None if rest["shares"] is None else tuple(map(_share, _listed(rest["shares"]))),
    )


def _groups(value: Any) -> Groups:
    return tuple((start, stop) for start, stop in map(_pair, _listed(value)))


def _pair(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise OptionError("a group is a pair of codes")
    return value[0], value[1]


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise OptionError("a list is needed")
    return value


def _share(text: Any) -> Fraction:
    numerator, slash, denominator = text.partition("/") if isinstance(text, str) else ("", "", "")
    written = [numerator, denominator] if slash else [numerator]
    if len(numerator + denominator) > _SHARE_DIGITS or not all(
        part.isascii() and part.isdecimal() and int(part) > 0 for part in written
    ):
        raise OptionError("a level's share of the budget is a positive ratio")
    return Fraction(*map(int, written))

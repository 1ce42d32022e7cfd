"""What may be done along one axis, as short texts that users can write too.

| text              | transform                                                                    |
|-------------------|------------------------------------------------------------------------------|
| `identity`        | plain counts                                                                 |
| `haar`            | the Haar wavelets of an order                                                |
| `nominal`         | the wavelets of the attribute's hierarchy                                    |
| `tree`            | counts of the nodes of the attribute's hierarchy                             |
| `tree:16x8`       | counts of the nodes of a tree: 16 nodes below the root, 8 below each of them |
| `tree:16x8@1/3,…` | the same, each level with its share of the budget                            |
| `tents`           | the codes, and sums under the tents that are best for all ranges             |
| `tents:8x9`       | the same under 8 coarse tents, with 9 fine ones from one to the next         |
| `tents:12`        | the same under 12 coarse tents alone                                         |
| `tents:8x9@128`   | the same, in integers of which 128 stands for 1; 256 unless given            |
| `tents:3:peaks:7` | coarse tents of 7 twentieths; `peaks:14x12`: fine ones of 12; 20x16 usually  |
| `tents:3:left:1`  | a quarter as margin on the left, for prefixes; 5 quarters unless given       |

A tree's root is not measured; `rooted` in place of `tree` measures it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hushtable.errors import OptionError
from hushtable.families.linear.grids import best_tents, has_tents, lower_tents
from hushtable.families.linear.trees import best_tree, with_budgets
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Tents, Tree
from hushtable.kernel.maps.tents import MARGIN, PEAKS
from hushtable.schema import Attribute
from hushtable.workload.intervals import LONGEST, Along

HELP = (
    "along an axis: identity, haar, nominal, tree, tree:16x8, tree:16x8@1/3,2/3, tents or tents:8x9"
)

_TENTS = f"tents look like tents:12, tents:8x9 or tents:8x9:peaks:14x12:left:1; {HELP}"


def wavelet(attribute: Attribute) -> AxisTransform:
    """The Privelet paper's transform: of the hierarchy if nominal, else of the order."""
    if attribute.size == 1:
        return Identity(1)
    return Nominal.of(attribute) if attribute.kind == "nominal" else Haar(attribute.size)


def tree(attribute: Attribute, along: Along | None = None) -> AxisTransform:
    """Counts of nodes: of a nominal attribute's hierarchy, else of the best tree."""
    if attribute.size == 1:
        return Identity(1)
    if attribute.kind == "nominal":
        return Tree.of(attribute, root=False)
    return best_tree(attribute.size, along)


def has_trees(attribute: Attribute) -> bool:
    """Whether trees over the axis are compared: of millions of nodes they would take minutes."""
    return attribute.size <= LONGEST


def tents(attribute: Attribute, along: Along | None = None, height: int = 256) -> AxisTransform:
    """Sums under the best tents."""
    return Identity(1) if attribute.size == 1 else best_tents(attribute.size, along, height)


def choices(
    attribute: Attribute, sets: list[Along], *, budgets: bool, height: int = 256
) -> list[AxisTransform]:
    """All that is worth trying along an axis for what is asked along it, plain counts first.

    The best tree and the best tents of each set of intervals, and of a hierarchy its tree and its
    wavelets. `height` is what columns of tents add up to.
    """
    if attribute.size == 1:
        return [Identity(1)]
    found: list[AxisTransform] = [Identity(attribute.size), wavelet(attribute)]
    if not has_trees(attribute):
        return found
    trees: list[tuple[AxisTransform, Along]] = [
        (best_tree(attribute.size, along), along) for along in sets
    ]
    if attribute.hierarchy is not None:
        found.append(Nominal.of(attribute))
        trees += [
            (Tree.of(attribute, root=root), along) for root in (False, True) for along in sets
        ]
    found += [axis for axis, _ in trees]
    if attribute.kind == "ordinal" and has_tents(attribute.size):
        found += [best_tents(attribute.size, along, height) for along in sets]
        found += lower_tents(attribute.size, sets, height)
    if budgets:
        found += [with_budgets(axis, along) for axis, along in trees if isinstance(axis, Tree)]
    return list(dict.fromkeys(found))


def describe(axis: AxisTransform) -> str:
    """The text of a transform."""
    if isinstance(axis, Tents):
        return _described_tents(axis)
    if not isinstance(axis, Tree):
        return axis.kind
    text = "rooted" if axis.root and axis.size > 1 else "tree"
    if axis.radices is not None:
        text += ":" + "x".join(map(str, axis.radices))
    if axis.shares is not None:
        text += "@" + ",".join(map(str, axis.shares))
    return text


def _described_tents(tents: Tents) -> str:
    text = f"tents:{tents.coarse}x{tents.fine}" if tents.fine else f"tents:{tents.coarse}"
    if tents.peaks != PEAKS:
        coarse, fine = tents.peaks
        text += f":peaks:{coarse}" + (f"x{fine}" if fine != PEAKS[1] else "")
    if tents.left != MARGIN:
        text += f":left:{tents.left}"
    return text + (f"@{tents.height}" if tents.height != 256 else "")


def parse(text: str, attribute: Attribute) -> AxisTransform:
    """The transform of a text along an attribute's axis."""
    kind, _, shares = text.strip().partition("@")
    kind, _, radices = kind.partition(":")
    if attribute.size == 1:
        return Identity(1)
    if kind == "identity" and not radices and not shares:
        return Identity(attribute.size)
    if kind == "haar" and not radices and not shares:
        return Haar(attribute.size)
    if kind in ("nominal", "tree", "rooted") and not radices and attribute.hierarchy is None:
        raise OptionError(f"{attribute.name} has no hierarchy for {kind!r}; {HELP}")
    if kind == "nominal" and not radices and not shares:
        return Nominal.of(attribute)
    if kind == "tents":
        return _parse_tents(radices, shares, attribute)
    if kind not in ("tree", "rooted"):
        raise OptionError(f"{attribute.name}: {HELP}")
    root, parts = kind == "rooted", _shares(shares)
    if not radices:
        return Tree.of(attribute, root=root, shares=parts)
    return Tree.mixed(attribute.size, _radices(radices), root=root, shares=parts)


def _radices(text: str) -> tuple[int, ...]:
    numbers = _whole_numbers(text.split("x"))
    if numbers is None:
        raise OptionError(f"the numbers of children look like 16x8; {HELP}")
    return numbers


def _parse_tents(text: str, height: str, attribute: Attribute) -> AxisTransform:
    grids, *others = text.split(":")
    given = dict(zip(others[::2], others[1::2], strict=False))
    if 2 * len(given) != len(others) or set(given) - {"peaks", "left"}:
        raise OptionError(_TENTS)
    (columns,) = _few(height or "256", 1)
    if not grids and not others:
        return tents(attribute, height=columns)
    coarse, fine = (*_few(grids, 2), 0)[:2]
    high, low = (*_few(given.get("peaks", "20"), 2), PEAKS[1])[:2]
    (left,) = _few(given.get("left", str(MARGIN)), 1)
    return Tents(attribute.size, coarse, fine, columns, (high, low), left)


def _few(text: str, most: int) -> tuple[int, ...]:
    numbers = _whole_numbers(text.split("x"))
    if numbers is None or len(numbers) > most:
        raise OptionError(_TENTS)
    return numbers


def _whole_numbers(texts: Sequence[str]) -> tuple[int, ...] | None:
    """The numbers of texts; none where one is no number."""
    if not all(n.isascii() and n.isdecimal() and len(n) < 16 for n in texts):
        return None
    return tuple(map(int, texts))


def _shares(text: str) -> tuple[Fraction, ...] | None:
    if not text:
        return None
    try:
        return tuple(Fraction(part) for part in text.split(",") if len(part) < 32)
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"shares of the budget look like 1/3,2/3; {HELP}") from None

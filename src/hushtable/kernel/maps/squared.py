"""Squares of what one row can change: for noise whose cost grows with them, as Gaussian noise's.

Gaussian noise with σ² = s²·factor² on every coefficient costs Δ²/(2s²) of zero-concentrated privacy
(M. Bun, T. Steinke. Concentrated differential privacy: simplifications, extensions, and lower
bounds. TCC 2016), where Δ² is the largest Σ (change / factor)² between neighbours. With a and b the
coefficients, each over its factor, of one row in either of two cells, that is

| a row that             | changes                   |
|------------------------|---------------------------|
| appears, or disappears | a², the sum of squares    |
| moves between cells    | (a − b)² = a² + b² − 2·ab |

and not twice as much for rows that move. All of it is exact, in fractions, for any factors.

**Over several axes**, a, b and ab of two cells are products of those along each axis, so that
(a − b)² = Πaᵢ² + Πbᵢ² − 2·Πaᵢbᵢ. The pairs of cells are too many to try; those that matter are few:

* The code of two that changes more may be the first one along every axis. Exchanging codes along
  some axes leaves Πaᵢbᵢ as it is, and where aᵢ² ≥ bᵢ² it lowers Πaᵢ² + Πbᵢ² by
  (Πaᵢ² − Πbᵢ²)·(Πaⱼ² − Πbⱼ²) ≥ 0, i over the axes of the exchange, j over the others.
* The other axes fixed, this is A·aᵢ² + B·bᵢ² − 2·C·aᵢbᵢ along one axis, with A, B ≥ 0. If C ≥ 0, a
  pair of codes is outdone by one with no smaller squares and no larger product. If C < 0, none
  exceeds the code of the largest square paired with itself, for no product is larger. So one axis
  after another can be reduced to the pairs that are not outdone, and that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

# Hierarchies along some axes leave a few pairs each; products of more than this are only bounded.
_MOST_PAIRS = 256


@dataclass(frozen=True)
class SquaredChange:
    """The largest Σ (change / factor)² when one row appears or disappears, and when it moves."""

    entering: Fraction
    moving: Fraction


class Pair(NamedTuple):
    """Two codes or cells, by what a row in either changes, each coefficient over its factor."""

    more: Fraction
    """The sum of squares of the one that changes no less."""
    less: Fraction
    """That of the other."""
    shared: Fraction
    """The sum of the products of both, below zero where they change more in opposite directions."""

    @classmethod
    def alike(cls, square: Fraction) -> Pair:
        """A code beside itself."""
        return cls(square, square, square)

    @property
    def apart(self) -> Fraction:
        """The sum of squares of the differences: what a row changes that moves between them."""
        return self.more + self.less - 2 * self.shared

    def beside(self, other: Pair) -> Pair:
        """Two pairs of codes along different axes as one of their combinations."""
        return Pair(self.more * other.more, self.less * other.less, self.shared * other.shared)


def not_outdone(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """The pairs of which no other has squares as large and a product as small."""
    kept: list[Pair] = []
    for pair in sorted(set(pairs), key=lambda pair: (-pair.more, -pair.less, pair.shared)):
        if all(pair.less > other.less or pair.shared < other.shared for other in kept):
            kept.append(pair)
    return tuple(kept)


def _outdoing(pairs: Sequence[Pair]) -> Pair:
    """A pair that outdoes all of these, though no two cells may be so."""
    more, less, shared = zip(*pairs, strict=True)
    return Pair(max(more), max(less), min(shared))


def over_axes(axes: Iterable[Sequence[Pair]]) -> SquaredChange:
    """What one row changes in a product of maps, by the pairs of codes along each axis."""
    most = Fraction(1)
    far: tuple[Pair, ...] = ()
    for pairs in axes:
        alike = Pair.alike(max(pair.more for pair in pairs))
        before = (*far, Pair.alike(most))
        far = not_outdone(one.beside(other) for one in before for other in (*pairs, alike))
        if len(far) > _MOST_PAIRS:
            far = (_outdoing(far),)
        most *= alike.more
    return SquaredChange(most, max((pair.apart for pair in far), default=Fraction(0)))

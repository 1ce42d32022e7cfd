"""What a person can change in squares, for noise whose cost grows with them."""

from __future__ import annotations

from .mutant import Mutant
from .suites import SQUARED

_EVERY = f"{SQUARED}::test_every_transform"
_PRODUCTS = f"{SQUARED}::test_products"
_TENTS = f"{SQUARED}::test_tents_of_which_many_codes_stand_high"
_RANGES = f"{SQUARED}::test_ranges_of_parts"

SQUARES = [
    Mutant(
        "moving rows priced in squares as entering ones",
        "kernel/maps/squared.py",
        "return self.more + self.less - 2 * self.shared",
        "return self.more",
        (_EVERY,),
    ),
    Mutant(
        "what two rows share taken off as if they went the same way twice",
        "kernel/maps/squared.py",
        "return self.more + self.less - 2 * self.shared",
        "return self.more + self.less - 4 * self.shared",
        (_EVERY,),
    ),
    Mutant(
        "a product shares what either axis shares",
        "kernel/maps/squared.py",
        "self.shared * other.shared)",
        "max(self.shared, other.shared))",
        (_PRODUCTS,),
    ),
    Mutant(
        "a product in squares as its most sensitive axis",
        "kernel/maps/squared.py",
        "most *= alike.more",
        "most = max(most, alike.more)",
        (_PRODUCTS,),
    ),
    Mutant(
        "rows that always move along every axis",
        "kernel/maps/squared.py",
        "for one in before for other in (*pairs, alike))",
        "for one in before for other in pairs)",
        (f"{SQUARED}::test_products_below_zero",),
    ),
    Mutant(
        "rows that always move along the axes before",
        "kernel/maps/squared.py",
        "before = (*far, Pair.alike(most))",
        "before = far or (Pair.alike(most),)",
        (f"{SQUARED}::test_products_below_zero",),
    ),
    Mutant(
        "pairs dropped for one that is larger or shares less",
        "kernel/maps/squared.py",
        "if all(pair.less > other.less or pair.shared < other.shared",
        "if all(pair.less > other.less and pair.shared < other.shared",
        (_PRODUCTS,),
    ),
    Mutant(
        "too many pairs bounded by the most that any share",
        "kernel/maps/squared.py",
        "return Pair(max(more), max(less), min(shared))",
        "return Pair(max(more), max(less), max(shared))",
        (f"{SQUARED}::test_more_pairs_than_are_combined_are_bounded",),
    ),
    Mutant(
        "the total left out of Haar's squares",
        "kernel/maps/haar.py",
        "most, right = Fraction(1 + splits)",
        "most, right = Fraction(splits)",
        (_EVERY,),
    ),
    Mutant(
        "codes on the right of Haar's last splitting in fewer differences",
        "kernel/maps/haar.py",
        "Fraction(2 + (rest - 1).bit_length())",
        "Fraction(1 + (rest - 1).bit_length())",
        (_EVERY,),
    ),
    Mutant(
        "only codes that Haar's last splitting parts",
        "kernel/maps/haar.py",
        "Pair(most, most, Fraction(right < most))",
        "Pair(most, right, Fraction(right < most))",
        (_EVERY,),
    ),
    Mutant(
        "siblings of a row's own group left out of its squares",
        "kernel/maps/nominal.py",
        "return over_factors(fanout * (fanout - 1), node)",
        "return over_factors((fanout - 1) ** 2, node)",
        (_EVERY,),
    ),
    Mutant(
        "siblings that part taken to share nothing",
        "kernel/maps/nominal.py",
        "return over_factors(-int(self.tree.fanout[node]), node)",
        "return Fraction(0)",
        (_EVERY,),
    ),
    Mutant(
        "squares of a hierarchy over factors that are those of all groups",
        "kernel/maps/nominal.py",
        "int(self.factors[self.tree.first[node]]) ** 2",
        "int(self.factors[-1]) ** 2",
        (_EVERY,),
    ),
    Mutant(
        "squares of a tree over its factors once",
        "kernel/maps/tree.py",
        "[1 / f**2 for f in self.level_factors]",
        "[1 / f for f in self.level_factors]",
        (_EVERY,),
    ),
    Mutant(
        "a root that is not measured in the squares of a tree",
        "kernel/maps/tree.py",
        "squares = [Fraction(0)] * self.omitted + ",
        "squares = [Fraction(1)] * self.omitted + ",
        (_EVERY,),
    ),
    Mutant(
        "each level of a hierarchy by the factor of the one above",
        "kernel/maps/tree.py",
        "squares[bisect(below, node)]",
        "squares[bisect(below, node) - 1]",
        (_EVERY,),
    ),
    Mutant(
        "codes that part taken for the one that changes least",
        "kernel/maps/topology.py",
        "more, less = heapq.nlargest(2, below[node] + alone)",
        "more, less = heapq.nsmallest(2, below[node] + alone)",
        (_EVERY,),
    ),
    Mutant(
        "only the last group on a row's way in its squares",
        "kernel/maps/topology.py",
        "above[node] = above[parent] + gain(parent)",
        "above[node] = root + gain(parent)",
        (_EVERY,),
    ),
    Mutant(
        "what tents hold left out of the squares",
        "kernel/maps/tents.py",
        "squares = own**2 + (weights**2).sum(axis=0)",
        "squares = own**2",
        (_EVERY,),
    ),
    Mutant(
        "a code under no tent far from itself",
        "kernel/maps/tents.py",
        "far[first] = False",
        "far[first] = far[first]",
        (_EVERY,),
    ),
    Mutant(
        "many high codes taken for those that differ as far ones do",
        "kernel/maps/tents.py",
        "return (Pair(most, most, Fraction(0)),)",
        "return (Pair(most, Fraction(farther), Fraction(0)),)",
        (_TENTS, f"{SQUARED}::test_few_codes_of_tents_or_many"),
    ),
    Mutant(
        "codes under common tents not compared",
        "kernel/maps/tents.py",
        "high = np.flatnonzero(squares > farther)",
        "high = np.flatnonzero(squares > most)",
        (_EVERY,),
    ),
    Mutant(
        "a row that moves within a bucket without a change",
        "kernel/maps/hashing.py",
        "each = 4 if self.collides else 2",
        "each = 2",
        (f"{SQUARED}::test_sketches",),
    ),
    Mutant(
        "nodes of a sparse axis that two codes share, its leaves too",
        "kernel/maps/structure.py",
        "Fraction(1 + splits(size)), Fraction(1))",
        "Fraction(1 + splits(size)), Fraction(2))",
        (f"{SQUARED}::test_structures",),
    ),
    Mutant(
        "ranges of parts shared whatever they hold",
        "kernel/curator/shared_ranges.py",
        "Fraction(2 * (most - always), whole)",
        "Fraction(most - always, whole)",
        (_RANGES,),
    ),
    Mutant(
        "shares of ranges not squared",
        "kernel/curator/shared_ranges.py",
        "self.shares.astype(np.int64 if fits else object) ** 2",
        "self.shares.astype(np.int64 if fits else object)",
        (_RANGES,),
    ),
    Mutant(
        "squares of shares beyond 64 bits",
        "kernel/curator/shared_ranges.py",
        "fits = self.most_shared(parts) < 2**31",
        "fits = self.most_shared(parts) < 2**41",
        (_RANGES,),
    ),
    Mutant(
        "ranges with the same start taken to hold every part",
        "kernel/curator/shared_ranges.py",
        "squares[(self.starts == 0) & (self.stops == parts)]",
        "squares[self.starts == 0]",
        (_RANGES,),
    ),
    Mutant(
        "a row that moves changes one count in squares",
        "kernel/curator/partition.py",
        "Fraction(min(2, partition.parts))",
        "Fraction(1)",
        (f"{SQUARED}::test_counts_of_parts",),
    ),
]

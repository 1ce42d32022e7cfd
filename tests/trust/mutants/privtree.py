"""Splits of boxes, their price, and the shares of the counts."""

from __future__ import annotations

from .mutant import Mutant
from .suites import BOXES, SPLIT_ANSWERS, SPLIT_PRICE

SPLITTING = "kernel/curator/splitting.py"
RANGES = "kernel/curator/shared_ranges.py"
RECIPE = "families/splits/ask/privtree.py"

PRIVTREE = [
    Mutant(
        "half of the noise of a split",
        SPLITTING,
        "noise.exceeding(biased, theta, pace.scale)",
        "noise.exceeding(biased, theta, pace.scale / 2)",
        (BOXES,),
    ),
    Mutant(
        "half of the price of a split",
        SPLITTING,
        "return (total + power / (1 - decay)) / self.scale",
        "return (total + power / (1 - decay)) / self.scale / 2",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "one box less in the price of splits",
        SPLITTING,
        "total = Fraction(2)",
        "total = Fraction(1)",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "boxes far above theta cost half",
        SPLITTING,
        "total += power / max(Fraction(1), 2 - 1 / self.scale - power)",
        "total += power / 4",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "a row that moves costs what one that enters does",
        SPLITTING,
        "return self.entering + 1 / self.scale",
        "return self.entering",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "splits paid for one row of a person",
        SPLITTING,
        "return per_row * exposure.max_rows",
        "return per_row",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "neighbours that are replaced pay as those that enter",
        SPLITTING,
        'per_row = self.entering if exposure.neighbours == "add-remove" else self.moving',
        "per_row = self.entering",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "e^-γ rounded downwards",
        SPLITTING,
        "return Fraction(math.ceil(number * _DIGITS), _DIGITS)",
        "return Fraction(math.floor(number * _DIGITS), _DIGITS)",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "a step too short for the fanout",
        SPLITTING,
        "while not grows_past(step / scale, fanout):",
        "while not grows_past(step / scale, fanout // 2):",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "a price beyond epsilon accepted",
        SPLITTING,
        "or self.cost(exposure) > epsilon:",
        "or self.cost(exposure) > 2 * epsilon:",
        (SPLIT_PRICE,),
    ),
    Mutant(
        "counts that do not fall with the depth",
        SPLITTING,
        "counts[where] - depth * pace.step",
        "counts[where]",
        (BOXES,),
    ),
    Mutant(
        "counts clipped at theta",
        SPLITTING,
        "theta - pace.step)",
        "theta)",
        (BOXES,),
    ),
    Mutant(
        "empty boxes that do not draw",
        SPLITTING,
        "    where = np.flatnonzero(level.divisible)\n    split",
        "    where = np.flatnonzero(level.divisible & (counts > 0))\n    split",
        (BOXES,),
    ),
    Mutant(
        "a cap that looks at the rows",
        SPLITTING,
        "if visited + len(below) > most:",
        "if visited + len(below) > most - len(rows):",
        (BOXES,),
    ),
    Mutant(
        "rows that stay in the first half",
        "kernel/maps/splits.py",
        "number += along >= middles[node, axis]",
        "number += along > middles[node, axis]",
        (BOXES,),
    ),
    Mutant(
        "splits drawn before they are charged for",
        "kernel/curator/curator.py",
        "        self._account.charge(amount)\n        decisions = grown(",
        "        decisions = grown(",
        (BOXES,),
    ),
    Mutant(
        "ranges of parts that cost twice epsilon",
        RANGES,
        "if self.most_shared(parts) > self.whole:",
        "if self.most_shared(parts) > 2 * self.whole:",
        (BOXES,),
    ),
    Mutant(
        "ranges each with the noise of the whole",
        "kernel/curator/curator.py",
        "[(where, noise.scale * factor) for where, factor in ranges.blocks()]",
        "[(where, noise.scale) for where, factor in ranges.blocks()]",
        (BOXES,),
    ),
    Mutant(
        "ranges that pay for rows that enter alone",
        "kernel/curator/curator.py",
        "amount, noise = self._price(epsilon, entering=1, moving=2)\n        blocks",
        "amount, noise = self._price(epsilon, entering=1, moving=1)\n        blocks",
        (BOXES,),
    ),
    Mutant(
        "counts of boxes paid for with all of epsilon again",
        RECIPE,
        "rest=epsilon * (1 - share),",
        "rest=epsilon,",
        (SPLIT_ANSWERS,),
    ),
    Mutant(
        "a cut box that counts as whole in the lower bound",
        "families/splits/read.py",
        "for which in (asked.whole, asked.whole | asked.cut)",
        "for which in (asked.whole | asked.cut, asked.whole | asked.cut)",
        (SPLIT_ANSWERS,),
    ),
    Mutant(
        "an interval that ends at the boxes wholly inside",
        "families/splits/read.py",
        "high = self.touched + self.touched_noise.reach(miss)",
        "high = self.inside + self.inside_noise.reach(miss)",
        (SPLIT_ANSWERS,),
    ),
    Mutant(
        "children that take no part of what their parent has left",
        "families/splits/least_squares.py",
        "values[here] += self._part[here] * (values[above] - sums[above])",
        "values[here] += 0 * (values[above] - sums[above])",
        (SPLIT_ANSWERS,),
    ),
    Mutant(
        "ranges that bring a price of their own",
        "kernel/curator/closed_list.py",
        "type(ranges) is not SharedRanges",
        "not isinstance(ranges, SharedRanges)",
        (BOXES,),
    ),
    Mutant(
        "ranges drawn as if samplers were exact",
        "kernel/curator/curator.py",
        "self._eta_sum.add(ranges_eta([scale for _, scale in blocks]))",
        "pass",
        (BOXES,),
    ),
    Mutant(
        "the upper end of a cut count missed twice as often",
        "families/splits/read.py",
        "high = self.touched + self.touched_noise.reach(miss)",
        "high = self.touched + self.touched_noise.reach(2 * miss)",
        (SPLIT_ANSWERS,),
    ),
    Mutant(
        "no room for rounding in the ends of many ranges",
        "families/splits/read.py",
        "return values, *unrounded(values, below, above)",
        "return values, values - below, values + above",
        (SPLIT_ANSWERS,),
    ),
]

"""What a person can change in a transform's coefficients, and the weights of answers in them."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    CURATOR,
    ESTIMATES,
    SENSITIVITY,
    SHARES,
    SHRINKING,
    SLABS,
    VALUES,
    WAVELETS,
)

_EVERY_COEFFICIENT = "test_every_coefficient_takes_noise_once_at_the_scale_of_its_factors"

_FOREIGN_PARTITION = 'raise OptionError("a partition is a Regions, Grid, Whole or Marginal")'

_SCALE_CHECK = "check_scale(noise.scale * max(factor for _, factor in transform.blocks()))"

TRANSFORMS = [
    Mutant(
        "axes that change after they were checked",
        "kernel/maps/product.py",
        'object.__setattr__(self, "axes", tuple(self.axes))',
        "pass",
        (f"{CURATOR}::TestTrust",),
    ),
    Mutant(
        "shares that change after they were checked",
        "kernel/maps/tree.py",
        'object.__setattr__(self, "shares", tuple(self.shares))',
        "pass",
        (f"{CURATOR}::TestTrust",),
    ),
    Mutant(
        "one scale for coefficients of every factor",
        "kernel/curator/dense.py",
        "noise.add_laplace(values[where], scale * factor)",
        "noise.add_laplace(values[where], scale)",
        (f"{WAVELETS}::test_people_of_several_rows_in_hierarchies_lose_at_most_epsilon",),
    ),
    Mutant(
        "a foreign transform let in",
        "kernel/curator/curator.py",
        "check_transform(transform)",
        "pass",
        (f"{CURATOR}::TestTrust",),
    ),
    Mutant(
        "the total left out of Haar's sensitivity",
        "kernel/maps/haar.py",
        "return 1 + self.splits",
        "return max(self.splits, 1)",
        (SENSITIVITY,),
    ),
    Mutant(
        "the total left out of the nominal sensitivity",
        "kernel/maps/nominal.py",
        "return self.tree.depth + 1",
        "return max(self.tree.depth, 1)",
        (SENSITIVITY,),
    ),
    Mutant(
        "half the factors of the nominal transform",
        "kernel/maps/nominal.py",
        "factors = 2 * self.tree.fanout[self.tree.parent] - 2",
        "factors = self.tree.fanout[self.tree.parent] - 1",
        (SENSITIVITY,),
    ),
    Mutant(
        "a root that is not measured taken for shared",
        "kernel/maps/tree.py",
        "return Fraction(0) if self.omitted else 1 / self.level_factors[0]",
        "return 1 / self.level_factors[0]",
        (SENSITIVITY,),
    ),
    Mutant(
        "every level of a tree twice its share",
        "kernel/maps/tree.py",
        "return tuple(1 / (self.levels * share) for share in self.shares)",
        "return tuple(1 / (2 * self.levels * share) for share in self.shares)",
        (SENSITIVITY,),
    ),
    Mutant(
        "a product as its most sensitive axis",
        "kernel/maps/product.py",
        "return math.prod(axis.levels for axis in self.axes)",
        "return max(axis.levels for axis in self.axes)",
        (SENSITIVITY,),
    ),
    Mutant(
        "rows that move in a product priced as entering",
        "kernel/maps/product.py",
        "return math.ceil(2 * self.entering - overlap - agreement)",
        "return self.entering",
        (SENSITIVITY,),
    ),
    Mutant(
        "all that two rows share taken for agreement",
        "kernel/maps/product.py",
        "2 * self.entering - overlap - agreement",
        "2 * self.entering - 2 * overlap",
        (f"{SENSITIVITY}::test_products",),
    ),
    Mutant(
        "a sensitivity rounded down",
        "kernel/maps/product.py",
        "return math.ceil(2 * self.entering",
        "return math.floor(2 * self.entering",
        (f"{SENSITIVITY}::test_large_domains_use_the_bound",),
    ),
    Mutant(
        "three coefficients shared by any two codes",
        "kernel/maps/haar.py",
        "return Fraction(min(self.size, 2))",
        "return Fraction(min(self.size, 3))",
        (f"{SENSITIVITY}::test_overlap_and_agreement_are_the_least_of_all_pairs",),
    ),
    Mutant(
        "siblings that part taken to agree",
        "kernel/maps/nominal.py",
        "Fraction(f - 4, 2 * f - 2)",
        "Fraction(f - 2, 2 * f - 2)",
        (f"{SENSITIVITY}::test_overlap_and_agreement_are_the_least_of_all_pairs",),
    ),
    Mutant(
        "a leaf that is its own root without a level",
        "kernel/maps/tree.py",
        "return self._depth() + 1 - self.omitted",
        "return self._depth() + int(self.root)",
        (f"{SENSITIVITY}::test_entering_is_exactly_the_number_of_levels",),
    ),
    Mutant(
        "levels of unlike shares as one class",
        "kernel/maps/tree.py",
        "if classes and classes[-1].factor == factor:",
        "if classes:",
        (f"{SHARES}::test_shares_of_the_budget_become_factors",),
    ),
    Mutant(
        "the last count of a tree without noise",
        "kernel/maps/tree.py",
        "ScaleClass(start, end - self.omitted, factor)",
        "ScaleClass(start, end - 2 * self.omitted, factor)",
        (f"{SHARES}::test_classes_follow_each_other",),
    ),
    Mutant(
        "the last coefficient of a hierarchy without noise",
        "kernel/maps/nominal.py",
        "ends = [*starts.tolist()[1:], self.coefficients]",
        "ends = [*starts.tolist()[1:], self.coefficients - 1]",
        (f"{SENSITIVITY}::test_entering_is_exactly_the_number_of_levels",),
    ),
    Mutant(
        "the last coefficient of each block without noise",
        "kernel/maps/product.py",
        "slice(c.start, c.stop) for c in combined",
        "slice(c.start, max(c.stop - 1, 1)) for c in combined",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
    ),
    Mutant(
        "the first block without noise",
        "kernel/curator/dense.py",
        "in transform.blocks()),",
        "in list(transform.blocks())[1:]),",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
    ),
    Mutant(
        "a block's largest factor for the product of them",
        "kernel/maps/product.py",
        "math.prod((c.factor for c in combined), start=Fraction(1))",
        "max(c.factor for c in combined)",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
    ),
    Mutant(
        "a foreign partition let in",
        "kernel/curator/closed_list.py",
        _FOREIGN_PARTITION,
        "pass",
        (f"{CURATOR}::TestTrust",),
    ),
    Mutant(
        "a foreign score let in",
        "kernel/curator/curator.py",
        "check_score(score)",
        "pass",
        (f"{CURATOR}::TestTrust",),
    ),
    Mutant(
        "a truth value for a size",
        "kernel/maps/axis.py",
        "if type(size) is not int or",
        "if not isinstance(size, int) or",
        ("tests/transforms/test_transform_descriptions.py",),
    ),
    Mutant(
        "noise of a large factor that does not fit",
        "kernel/curator/curator.py",
        _SCALE_CHECK,
        "check_scale(noise.scale)",
        (f"{CURATOR}::TestMisuse",),
    ),
    Mutant(
        "differences of halves not twice the right half",
        "kernel/maps/haar.py",
        "right *= -2",
        "right *= -1",
        (f"{ESTIMATES}::test_forward_is_the_matrix_along_any_axis",),
    ),
    Mutant(
        "compiled siblings compared without their number",
        "kernel/maps/kernels.py",
        "here[c] = f * here[c] - above[c]",
        "here[c] = here[c] - above[c]",
        (f"{SLABS}::test_sums_beyond_64_bits_wrap_around",),
    ),
    Mutant(
        "the last slab left as it is",
        "kernel/maps/slabs.py",
        "for first in range(0, lines, together)]",
        "for first in range(0, lines - together + 1, together)]",
        (f"{SLABS}::test_slabs_are_the_matrices",),
    ),
]

READING_WEIGHTS = [
    Mutant(
        "both ends of a range in one node as if in two",
        "families/linear/haar_reading.py",
        "np.where(above == below, 2 * more * less, 0)",
        "0",
        (f"{ESTIMATES}::test_weights_and_gains_of_every_interval",),
    ),
    Mutant(
        "least squares weighted by 1/factor",
        "families/linear/least_squares.py",
        "float(1 / c.factor**2) for c in counts.classes",
        "float(1 / c.factor) for c in counts.classes",
        (f"{ESTIMATES}::test_the_inverse_is_the_exact_estimator",),
    ),
    Mutant(
        "subtrees inside a range as if outside",
        "families/linear/least_squares.py",
        "np.square(1 + carry)[:, None] * inside",
        "np.square(carry)[:, None] * inside",
        (f"{ESTIMATES}::test_weights_and_gains_of_every_interval",),
    ),
    Mutant(
        "what is left over given to every child",
        "families/linear/least_squares.py",
        "z[children] += _along(self.numbers.share[children], z) * excess",
        "z[children] += excess",
        (f"{ESTIMATES}::test_the_inverse_is_the_exact_estimator",),
    ),
    Mutant(
        "bands in the order of nodes, not of coefficients",
        "families/linear/bands.py",
        "return depths[axis.order].astype(np.intp)",
        "return depths.astype(np.intp)",
        (f"{SHRINKING}::test_the_band_of_a_coefficient_is_the_depth_of_its_own_node",),
    ),
]

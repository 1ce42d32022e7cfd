"""Answers and their error bars."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    COEFFICIENTS,
    FUZZ,
    LAW,
    LINEAR,
    MEANING,
    RANGES,
)

_OF_MATRICES = (f"{COEFFICIENTS}::test_a_count_and_its_variance_are_those_of_the_matrices",)

_SHRUNKEN_BOXES = (
    f"{COEFFICIENTS}::test_every_box_of_shrunken_coefficients_has_its_noise_and_its_shift",
)

_MANY_BOXES = (f"{RANGES}::test_many_boxes_are_answered_as_one_by_one",)

ANSWERS = [
    Mutant(
        "the variance of the continuous Laplace law",
        "query/law.py",
        "return 2 * math.exp(-rate) / math.expm1(-rate) ** 2",
        "return 2 / rate**2",
        (LAW,),
    ),
    Mutant(
        "nulls in the complement of a range",
        "query/condition.py",
        "return Atom(axis, codes, CodeSet.single(attribute.other))",
        "return Atom(axis, codes)",
        (MEANING, FUZZ),
    ),
    Mutant(
        "boxes that overlap",
        "query/predicate.py",
        "yield Box(sets)",
        "yield Box(sets)\n            yield Box((*sets[:-1], CodeSet(sets[-1].intervals[:1])))",
        (MEANING, FUZZ),
    ),
    Mutant(
        "NOT over AND without De Morgan",
        "query/predicate.py",
        "conjunction=isinstance(formula, All) == wanted",
        "conjunction=isinstance(formula, All)",
        (MEANING, FUZZ),
    ),
    Mutant(
        "mirrored comparisons not mirrored",
        "query/condition.py",
        "left, right, sign = right, left, _MIRRORED[sign]",
        "left, right = right, left",
        (MEANING, FUZZ),
    ),
    Mutant(
        "parts of a statement ignored",
        "query/syntax.py",
        'if value and key.rstrip("_") not in allowed:',
        "if False:",
        ("tests/query/test_sql_refusals.py", FUZZ),
    ),
    Mutant(
        "groups ordered as they first appear",
        "query/answer.py",
        "places = self.places.get(name)",
        "places = None",
        (FUZZ,),
    ),
    Mutant(
        "grouped by an alias that hides an attribute",
        "query/sql.py",
        'clause == "GROUP BY" and self._hides_another',
        'clause == "nothing" and self._hides_another',
        (FUZZ,),
    ),
    Mutant(
        "BETWEEN without its AND",
        "query/syntax.py",
        "if empty or (kinds[0] in _ENDS_VALUE and kinds[1] in _BEGINS_VALUE):",
        "if empty:",
        (FUZZ,),
    ),
]

ERROR_BARS = [
    Mutant(
        "weights not squared in a variance",
        "query/linear.py",
        "math.fsum(count * weight**2 * v for",
        "math.fsum(count * weight * v for",
        (f"{LINEAR}::test_the_variance_and_kurtosis_are_those_of_the_convolved_law",),
    ),
    Mutant(
        "the factor left out of a sum of one kind",
        "query/linear.py",
        "DiscreteLaplaceSum(law.scale * factor, count)",
        "DiscreteLaplaceSum(law.scale, count)",
        (f"{LINEAR}::test_one_kind_of_term_is_the_plain_sum_stretched",),
    ),
    Mutant(
        "a half width not widened by its jitter",
        "query/linear.py",
        "covering * reach / n + jitter)",
        "covering * reach / n)",
        (f"{LINEAR}::test_half_widths_cover_and_are_hardly_wider_than_the_smallest_that_do",),
    ),
    Mutant(
        "the normal limit without half a step",
        "query/linear.py",
        "* quantile + max(weight for weight, _, _ in spread) / 2",
        "* quantile",
        (f"{LINEAR}::test_where_the_normal_limit_takes_over_it_misses_as_often_as_asked",),
    ),
    Mutant(
        "small weights taken for cancelled ones",
        "query/linear.py",
        "residue = 1e-14 * max",
        "residue = 1e-5 * max",
        (f"{LINEAR}::test_a_crowd_of_small_weights_counts_and_cancelled_ones_do_not",),
    ),
    Mutant(
        "the first coefficient of a class in the one before",
        "query/coefficients.py",
        'which = np.searchsorted([c.stop for c in classes], row.positions, side="right")',
        "which = np.searchsorted([c.stop for c in classes], row.positions)",
        (f"{COEFFICIENTS}::test_every_interval_of_every_transform",),
    ),
    Mutant(
        "factors of several axes not multiplied",
        "query/coefficients.py",
        "factor * another] += count * more",
        "factor] += count * more",
        _OF_MATRICES,
    ),
    Mutant(
        "the error of the first of several boxes",
        "query/coefficients.py",
        "return linear_noise(self.scale, self._touched(rows, read=False)[1])",
        "return linear_noise(self.scale, self._touched(rows[:1], read=False)[1])",
        _OF_MATRICES,
    ),
    Mutant(
        "cells' errors without their factors",
        "query/coefficients.py",
        "DiscreteLaplaceSum(self.scale * factor, 1).variance",
        "DiscreteLaplaceSum(self.scale, 1).variance",
        (f"{COEFFICIENTS}::test_cells_and_their_variances_are_counts_of_single_cells",),
    ),
    Mutant(
        "thresholds without the factor of a coefficient",
        "query/shrunken.py",
        "theta = theta * factors.reshape(",
        "factors.reshape(",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an interval",
        "query/shrunken.py",
        "self.noise.half_width(confidence) + abs(self.shift)",
        "self.noise.half_width(confidence)",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an error",
        "query/shrunken.py",
        "return self.noise.variance + self.shift**2",
        "return self.noise.variance",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "one side of the normal law for both",
        "query/law.py",
        "normal_half_width(self.variance, 0.0, 1 - checked_confidence(confidence))",
        "normal_half_width(self.variance, 0.0, 2 * (1 - checked_confidence(confidence)))",
        (f"{LAW}::test_an_estimated_error_is_that_of_a_normal_law",),
    ),
    Mutant(
        "corners of a box added with the wrong sign",
        "query/batch.py",
        "sign = (-1) ** (table.ndim - sum(corner))",
        "sign = (-1) ** sum(corner)",
        _MANY_BOXES,
    ),
]

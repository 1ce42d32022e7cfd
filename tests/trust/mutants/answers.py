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
        "wide noise left out because of its small weight",
        "query/law/noise_sum.py",
        "if count and abs(weight) / noise.rate > residue:",
        "if count and abs(weight) > residue:",
        (f"{LINEAR}::test_a_small_weight_of_a_wide_noise_counts",),
    ),
    Mutant(
        "the variance of the continuous Laplace law",
        "kernel/privacy/noises.py",
        "return 2 * math.exp(-self.rate) / math.expm1(-self.rate) ** 2",
        "return 2 / self.rate**2",
        (LAW,),
    ),
    Mutant(
        "nulls in the complement of a range",
        "query/sql/condition.py",
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
        "query/sql/condition.py",
        "left, right, sign = right, left, _MIRRORED[sign]",
        "left, right = right, left",
        (MEANING, FUZZ),
    ),
    Mutant(
        "parts of a statement ignored",
        "query/sql/syntax.py",
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
        "query/sql/select.py",
        'clause == "GROUP BY" and self._hides_another',
        'clause == "nothing" and self._hides_another',
        (FUZZ,),
    ),
    Mutant(
        "BETWEEN without its AND",
        "query/sql/syntax.py",
        "if empty or (kinds[0] in _ENDS_VALUE and kinds[1] in _BEGINS_VALUE):",
        "if empty:",
        (FUZZ,),
    ),
]

ERROR_BARS = [
    Mutant(
        "weights not squared in a variance",
        "query/law/noise_sum.py",
        "math.fsum(w**2 * (count * noise.variance)",
        "math.fsum(w * (count * noise.variance)",
        (f"{LINEAR}::test_the_variance_and_kurtosis_are_those_of_the_convolved_law",),
    ),
    Mutant(
        "the factor left out of a law",
        "families/linear/read/coefficients.py",
        "noises = {factor: self.noise.times(factor) for",
        "noises = {factor: self.noise for",
        (f"{COEFFICIENTS}::test_a_law_has_every_weight_as_often_as_it_occurs",),
    ),
    Mutant(
        "the weight left out of a sum of one kind",
        "query/law/noise_sum.py",
        "return weight * reach_of_alike(noise, count, miss) * room",
        "return reach_of_alike(noise, count, miss) * room",
        (f"{LINEAR}::test_one_kind_of_term_is_the_plain_sum_stretched",),
    ),
    Mutant(
        "a half width not widened by its jitter",
        "query/law/inversion.py",
        "covering * reach / n + jitter)",
        "covering * reach / n)",
        (f"{LINEAR}::test_half_widths_cover_and_are_hardly_wider_than_the_smallest_that_do",),
    ),
    Mutant(
        "a tenth off every half width of a weighted sum",
        "query/law/noise_sum.py",
        "        return _reach(self, miss) if",
        "        return 0.9 * _reach(self, miss) if",
        (f"{LINEAR}::test_half_widths_cover_and_are_hardly_wider_than_the_smallest_that_do",),
    ),
    Mutant(
        "stretches left out where the characteristic function comes round again",
        "query/law/inversion.py",
        "least[turns[:, 1:] != turns[:, :-1]] = 0.0",
        "least[turns[:, 1:] != turns[:, :-1]] *= 1.0",
        (f"{LINEAR}::test_parts_of_the_series_that_are_left_out_do_not_matter",),
    ),
    Mutant(
        "Chernoff's bound without the moments of the noise",
        "query/law/inversion.py",
        "(log_moments - math.log(miss)) / theta",
        "(0 * log_moments - math.log(miss)) / theta",
        (f"{LINEAR}::test_rare_misses_are_bounded_and_not_wildly",),
    ),
    Mutant(
        "a hundredth off the half widths of long sums",
        "query/law/alike.py",
        "tail, rounding = _log_tail_by_saddle, 1e-10",
        "tail, rounding = _log_tail_by_saddle, -0.01",
        (f"{LAW}::test_half_widths_of_long_sums_cover_and_hardly_less_would_not",),
    ),
    Mutant(
        "small weights taken for cancelled ones",
        "query/law/noise_sum.py",
        "residue = 1e-14 * max",
        "residue = 1e-5 * max",
        (f"{LINEAR}::test_a_crowd_of_small_weights_counts_and_cancelled_ones_do_not",),
    ),
    Mutant(
        "the first coefficient of a class in the one before",
        "families/linear/read/coefficients.py",
        'which = np.searchsorted([c.stop for c in classes], row.positions, side="right")',
        "which = np.searchsorted([c.stop for c in classes], row.positions)",
        (f"{COEFFICIENTS}::test_every_interval_of_every_transform",),
    ),
    Mutant(
        "factors of several axes not multiplied",
        "families/linear/read/coefficients.py",
        "factor * another] += count * more",
        "factor] += count * more",
        _OF_MATRICES,
    ),
    Mutant(
        "the error of the first of several boxes",
        "families/linear/read/coefficients.py",
        "return self._law(self._touched(rows, read=False)[1])",
        "return self._law(self._touched(rows[:1], read=False)[1])",
        _OF_MATRICES,
    ),
    Mutant(
        "cells' errors without their factors",
        "families/linear/read/coefficients.py",
        "self.noise.times(factor).variance",
        "self.noise.variance",
        (f"{COEFFICIENTS}::test_cells_and_their_variances_are_counts_of_single_cells",),
    ),
    Mutant(
        "thresholds without the factor of a coefficient",
        "families/linear/read/shrunken.py",
        "theta = theta * factors.reshape(",
        "factors.reshape(",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an interval",
        "families/linear/read/shrunken.py",
        "self.noise.half_width(confidence) + abs(self.shift)",
        "self.noise.half_width(confidence)",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an error",
        "families/linear/read/shrunken.py",
        "return self.noise.variance + self.shift**2",
        "return self.noise.variance",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "the normal law for a single Laplace noise",
        "query/law/normal.py",
        "return max(normal_quantile(miss), -math.log(miss) / math.sqrt(2))",
        "return normal_quantile(miss)",
        (f"{LAW}::test_an_estimated_error_allows_for_a_single_noise",),
    ),
    Mutant(
        "corners of a box added with the wrong sign",
        "query/batch.py",
        "sign = (-1) ** (table.ndim - sum(corner))",
        "sign = (-1) ** sum(corner)",
        _MANY_BOXES,
    ),
    Mutant(
        "intervals that end where rounding put them",
        "query/answer.py",
        "room = np.where(exact, 0.0, 1e-4 + 1e-12 * np.abs(values))",
        "room = np.zeros(len(values))",
        ("tests/query/test_answer.py",),
    ),
    Mutant(
        "small differences of large numbers believed to the last place",
        "query/answer.py",
        "1e-4 + 1e-12 * np.abs(values)",
        "1e-12 * (1 + np.abs(values))",
        ("tests/query/test_answer.py",),
    ),
    Mutant(
        "the largest of many noisy counts believed",
        "query/answer.py",
        "replace(shown, simultaneous=True) if by_count and len(shown) < len(self)",
        "replace(shown, simultaneous=True) if False",
        ("tests/query/test_answer.py",),
    ),
    Mutant(
        "the confidence of each of many rounded down",
        "query/law/interval.py",
        "each = each if 1 - each <= miss else math.nextafter(each, 1)",
        "each = math.nextafter(each, 0)",
        (LAW,),
    ),
]

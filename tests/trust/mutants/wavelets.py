"""The mechanisms on wavelets and trees, and the exact privacy check of them."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    HIERARCHICAL,
    SHRINKING,
    WAVELETS,
)

_NO_FACTOR_FITS = "test_what_no_factor_s_noise_would_fit_is_refused_before_anything_is_read"

_SCALE_CHECK = "check_scale(scale * max(factor for _, factor in transform.blocks()))"

_OF_EACH_SUBBAND = (f"{SHRINKING}::test_thresholds_are_rounded_down_from_those_of_each_subband",)

_EQUATION_11 = (f"{SHRINKING}::test_equation_11_by_hand",)

MECHANISMS = [
    Mutant(
        "Equation 7 turned round",
        "families/linear/bounds.py",
        "return attribute.size <= sensitivity_bound(attribute) ** 2",
        "return attribute.size > sensitivity_bound(attribute) ** 2",
        (f"{WAVELETS}::test_equation_7_keeps_an_axis_plain_while_that_has_the_smaller_bound",),
    ),
    Mutant(
        "half the scale in the manifest",
        "families/linear/ask/coefficients.py",
        "**noisy.noise.to_dict()",
        "**noisy.noise.times(Fraction(1, 2)).to_dict()",
        (f"{WAVELETS}::test_the_scale_is_the_product_of_the_levels_over_epsilon",),
    ),
    Mutant(
        "noise that does not fit found after paying",
        "families/linear/ask/coefficients.py",
        _SCALE_CHECK,
        "check_scale(scale)",
        (f"{WAVELETS}::{_NO_FACTOR_FITS}",),
    ),
    Mutant(
        "moving rows forgotten before paying",
        "families/linear/ask/coefficients.py",
        "moving=transform.moving",
        "moving=transform.entering",
        (f"{WAVELETS}::test_moving_rows_need_a_larger_epsilon",),
    ),
    Mutant(
        "memory for the cells alone",
        "families/linear/ask/coefficients.py",
        "max(schema.cells, transform.cells)",
        "schema.cells",
        (f"{WAVELETS}::test_memory_is_needed_for_the_coefficients_not_only_for_the_cells",),
    ),
    Mutant(
        "half the noise variance of a subband",
        "families/linear/ask/privelet_star.py",
        ".variance / f**2 for",
        ".variance / f**2 / 2 for",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "every factor of a subband as often as the others",
        "families/linear/ask/privelet_star.py",
        "np.average(variances, weights=list(counts.values()))",
        "np.average(variances)",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "coefficients of a subband not normalised",
        "families/linear/ask/privelet_star.py",
        "sizes /= part.factors.reshape(",
        "part.factors.reshape(",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "thresholds rounded up",
        "families/linear/ask/privelet_star.py",
        "np.floor(thresholds_of(",
        "np.ceil(thresholds_of(",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "all coefficients of a subband in Equation 10, not one less",
        "families/linear/ask/privelet_star.py",
        "(count - 1) * noise",
        "count * noise",
        _EQUATION_11,
    ),
    Mutant(
        "sizes sorted upwards, as Figure 8 scans them",
        "families/linear/ask/privelet_star.py",
        "np.sort(sizes, axis=1)[:, ::-1]",
        "np.sort(sizes, axis=1)",
        _EQUATION_11,
    ),
    Mutant(
        "Equation 11 with half its middle term",
        "families/linear/ask/privelet_star.py",
        "alpha - 2 * beta * below",
        "alpha - beta * below",
        _EQUATION_11,
    ),
    Mutant(
        "steps towards a threshold twice as long",
        "families/linear/ask/privelet_star.py",
        "(square - wanted) / (2 * sum_)",
        "(square - wanted) / sum_",
        _EQUATION_11,
    ),
    Mutant(
        "a hierarchy's root measured",
        "families/linear/choices.py",
        "return Tree.of(attribute, root=False)",
        "return Tree.of(attribute)",
        (f"{HIERARCHICAL}::test_by_default_ranges_get_the_best_tree_and_hierarchies_their_own",),
    ),
    Mutant(
        "levels of a tree not squared in its cost",
        "families/linear/trees.py",
        "return axis.levels**2 * float",
        "return axis.levels * float",
        (f"{HIERARCHICAL}::test_no_tree_has_a_smaller_mean_variance_than_the_best",),
    ),
]

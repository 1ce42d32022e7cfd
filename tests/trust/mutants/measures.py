"""Privacy loss in ρ: prices, roots, and what ρ means as (ε, δ)."""

from __future__ import annotations

from .mutant import Mutant
from .suites import COMPOSITION, CONVERSION, MEASURES

_PRICES = (f"{MEASURES}::test_prices",)
_PURE = (f"{MEASURES}::test_a_pure_question_costs_no_more_than_its_price",)
_CHOICE = (f"{MEASURES}::test_a_choice_costs_no_more_than_its_price",)
_GAUSSIAN = (f"{MEASURES}::test_gaussian_noise_on_integers_costs_its_price",)
_COVERED = (f"{COMPOSITION}::test_an_account_covers_every_pair_of_neighbours",)
_PAID = (f"{MEASURES}::test_an_amount_pays_for_what_is_asked_and_hardly_more",)
_OUTWARDS = (f"{CONVERSION}::test_every_step_is_rounded_outwards",)
_LOGARITHMS = (f"{CONVERSION}::test_logarithms_and_exponentials_are_beyond_the_truth",)
_DELTA = (f"{CONVERSION}::test_delta_is_that_of_the_formula_rounded_upwards",)
_EPSILON = (f"{CONVERSION}::test_epsilon_is_the_least_that_the_formula_covers",)
_RHO = (f"{CONVERSION}::test_rho_is_the_largest_that_the_formula_covers",)
_DISTANCE = (f"{CONVERSION}::test_the_samplers_distance_is_paid_on_both_tables",)
_TOLD = (f"{CONVERSION}::test_people_are_told_no_less_than_the_truth",)

_MEASURES = "kernel/privacy/measures.py"
_CONVERSION = "kernel/privacy/conversion.py"
_LOSS = "kernel/privacy/loss.py"


PRICES = [
    Mutant(
        "a pure question at half its price in rho",
        _MEASURES,
        "else epsilon**2 / 2",
        "else epsilon**2 / 4",
        _PURE,
    ),
    Mutant(
        "a pure question at the price of a choice",
        _MEASURES,
        "else epsilon**2 / 2",
        "else epsilon**2 / 8",
        _PURE,
    ),
    Mutant(
        "a pure question priced by epsilon instead of its square",
        _MEASURES,
        "else epsilon**2 / 2",
        "else epsilon / 2",
        _PRICES,
    ),
    Mutant(
        "a choice a tenth below its price in rho",
        _MEASURES,
        "else epsilon**2 / 8",
        "else epsilon**2 * 9 / 80",
        _CHOICE,
    ),
    Mutant(
        "pure epsilon priced as rho",
        _MEASURES,
        "return epsilon if self is Measure.PURE else epsilon**2 / 8",
        "return epsilon**2 / 8",
        _PRICES,
    ),
    Mutant(
        "Gaussian noise at half its price",
        _MEASURES,
        "squared / (2 * sigma_squared)",
        "squared / (4 * sigma_squared)",
        _GAUSSIAN,
    ),
    Mutant(
        "Gaussian noise in a pure dataset",
        _MEASURES,
        "if self is not Measure.ZCDP:",
        "if False:",
        (f"{MEASURES}::test_no_gaussian_noise_is_pure",),
    ),
    Mutant(
        "a question that costs twice the rho paid for it",
        _MEASURES,
        "root_below(2 * amount)",
        "root_below(4 * amount)",
        _PAID,
    ),
    Mutant(
        "a choice that costs twice the rho paid for it",
        _MEASURES,
        "root_below(8 * amount)",
        "root_below(16 * amount)",
        _PAID,
    ),
    Mutant(
        "roots rounded upwards",
        _MEASURES,
        "Fraction(math.isqrt(math.floor(scaled)))",
        "Fraction(math.isqrt(math.floor(scaled)) + 1)",
        _PAID,
    ),
    Mutant(
        "half the variance for rho",
        _LOSS,
        "check_variance(squared / (2 * rho))",
        "check_variance(squared / (4 * rho))",
        _COVERED,
    ),
    Mutant(
        "rows that are thought to point in different directions",
        _LOSS,
        "return self.max_rows**2 * self._of_row",
        "return self.max_rows * self._of_row",
        _COVERED,
    ),
    Mutant(
        "rows that leave a part forgotten in squares",
        _LOSS,
        "self.max_rows**2 * self._of_row(entering, moving)",
        "self.max_rows**2 * self._of_row(moving, moving)",
        _COVERED,
    ),
    Mutant(
        "rows that move forgotten in squares",
        _LOSS,
        "self.max_rows**2 * self._of_row(entering, moving)",
        "self.max_rows**2 * self._of_row(entering, entering)",
        _COVERED,
    ),
    Mutant(
        "a variance that overflows",
        _LOSS,
        "if sigma_squared > LARGEST_SCALE**2:",
        "if sigma_squared > 2 * LARGEST_SCALE**2:",
        (f"{MEASURES}::test_noise_that_would_not_fit_is_refused",),
    ),
    Mutant(
        "an account of rho that says epsilon",
        "kernel/privacy/account.py",
        "self.measure = partition.parent.measure",
        "self.measure = Measure.PURE",
        (f"{COMPOSITION}::test_an_account_of_rho_says_so",),
    ),
]


CONVERSIONS = [
    Mutant(
        "the factor (1-1/alpha)^alpha squared in delta",
        _CONVERSION,
        "(high * _decimal(rho) - least + ratio) -",
        "(high * _decimal(rho) - least + 2 * ratio) -",
        _DELTA,
    ),
    Mutant(
        "the factor (1-1/alpha)^alpha left out of delta",
        _CONVERSION,
        "(high * _decimal(rho) - least + ratio) - ln_below(low)",
        "(high * _decimal(rho) - least) - ln_below(beta)",
        _DELTA,
    ),
    Mutant(
        "the factor 1/alpha forgotten twice in delta",
        _CONVERSION,
        "+ ratio) - ln_below(low))",
        "+ ratio) - 2 * ln_below(low))",
        _DELTA,
    ),
    Mutant(
        "the factor (1-1/alpha)^alpha squared in epsilon",
        _CONVERSION,
        "+ ratio + most / beta",
        "+ 2 * ratio + most / beta",
        _EPSILON,
    ),
    Mutant(
        "the factor (1-1/alpha)^alpha left out of epsilon",
        _CONVERSION,
        "+ ratio + most / beta",
        "+ most / beta",
        _EPSILON,
    ),
    Mutant(
        "the factor (1-1/alpha)^alpha squared in rho",
        _CONVERSION,
        "least / beta - ratio) / high",
        "least / beta - 2 * ratio) / high",
        _RHO,
    ),
    Mutant(
        "the factor (1-1/alpha)^alpha left out of rho",
        _CONVERSION,
        "least / beta - ratio) / high",
        "least / beta) / high",
        _RHO,
    ),
    Mutant(
        "an order far from the best for epsilon",
        _CONVERSION,
        "share * beta**2 + (1 + beta).ln() - slack",
        "share * beta**2 / 2 + (1 + beta).ln() - slack",
        _EPSILON,
    ),
    Mutant(
        "an order far from the best for delta",
        _CONVERSION,
        "(2 * beta + 1) * share",
        "(beta + 1) * share",
        _DELTA,
    ),
    Mutant(
        "an order far from the best for rho",
        _CONVERSION,
        "return rho * beta**2 + least",
        "return 2 * rho * beta**2 + least",
        _RHO,
    ),
    Mutant(
        "epsilon rounded downwards in the end",
        _CONVERSION,
        "Decimal(0)), ROUND_CEILING)",
        "Decimal(0)), ROUND_FLOOR)",
        _EPSILON,
    ),
    Mutant(
        "delta rounded downwards in the end",
        _CONVERSION,
        "Decimal(1)), ROUND_CEILING)",
        "Decimal(1)), ROUND_FLOOR)",
        _DELTA,
    ),
    Mutant(
        "rho rounded upwards in the end",
        _CONVERSION,
        "epsilon, delta), ROUND_FLOOR)",
        "epsilon, delta), ROUND_CEILING)",
        _RHO,
    ),
    Mutant(
        "logarithms above that may be below",
        _CONVERSION,
        "UPWARDS.next_plus(UPWARDS.ln(number))",
        "UPWARDS.ln(number)",
        _LOGARITHMS,
    ),
    Mutant(
        "logarithms below that may be above",
        _CONVERSION,
        "DOWNWARDS.next_minus(DOWNWARDS.ln(number))",
        "DOWNWARDS.ln(number)",
        _LOGARITHMS,
    ),
    Mutant(
        "exponentials that may be below",
        _CONVERSION,
        "UPWARDS.next_plus(UPWARDS.exp(number))",
        "UPWARDS.exp(number)",
        _LOGARITHMS,
    ),
    Mutant(
        "arithmetic upwards that goes downwards",
        _CONVERSION,
        "UPWARDS = _rounding(ROUND_CEILING, 100)",
        "UPWARDS = _rounding(ROUND_FLOOR, 100)",
        _OUTWARDS,
    ),
    Mutant(
        "arithmetic downwards that goes upwards",
        _CONVERSION,
        "DOWNWARDS = _rounding(ROUND_FLOOR, 100)",
        "DOWNWARDS = _rounding(ROUND_CEILING, 100)",
        _OUTWARDS,
    ),
    Mutant(
        "the negative part of epsilon rounded downwards",
        _CONVERSION,
        """        most = -(ln_below(low) + ln_below(_decimal(delta)))
    with localcontext(UPWARDS):
        return""",
        """        most = -(ln_below(low) + ln_below(_decimal(delta)))
        return""",
        _OUTWARDS,
    ),
    Mutant(
        "epsilon rounded upwards before delta",
        _CONVERSION,
        """    with localcontext(DOWNWARDS):
        least = _decimal(epsilon)""",
        """    with localcontext(UPWARDS):
        least = _decimal(epsilon)""",
        _OUTWARDS,
    ),
    Mutant(
        "the order rounded to one side for all",
        _CONVERSION,
        "        return low, 1 + beta, ln_above(beta / low)",
        "        return 1 + beta, 1 + beta, ln_above(beta / (1 + beta))",
        _OUTWARDS,
    ),
    Mutant(
        "the samplers' distance of one of two tables in delta",
        _CONVERSION,
        "(1 + exp_above(_decimal(epsilon)))",
        "exp_above(_decimal(epsilon))",
        _DISTANCE,
    ),
    Mutant(
        "the samplers' distance not multiplied by e^epsilon in delta",
        _CONVERSION,
        "(1 + exp_above(_decimal(epsilon)))",
        "2",
        _DISTANCE,
    ),
    Mutant(
        "delta without the samplers' distance",
        _CONVERSION,
        "_delta_at(beta, rho, epsilon) + _delta_of_eta(epsilon, eta)",
        "_delta_at(beta, rho, epsilon)",
        _DISTANCE,
    ),
    Mutant(
        "no room left for the samplers' distance in rho",
        _CONVERSION,
        "_decimal(delta) - _delta_of_eta(epsilon, eta)",
        "_decimal(delta)",
        (f"{CONVERSION}::test_rho_leaves_room_for_the_samplers",),
    ),
    Mutant(
        "people told an epsilon that is rounded downwards",
        _CONVERSION,
        "localcontext(_rounding(ROUND_CEILING, _SHOWN))",
        "localcontext(_rounding(ROUND_FLOOR, _SHOWN))",
        _TOLD,
    ),
    Mutant(
        "people told a delta that the samplers exceed",
        _CONVERSION,
        "delta if total <= delta else _shown(total)",
        "delta",
        _TOLD,
    ),
    Mutant(
        "a delta of one and more",
        _CONVERSION,
        "if delta >= 1:",
        "if delta > 1:",
        (f"{CONVERSION}::test_what_is_no_delta_is_refused_in_one_line",),
    ),
]

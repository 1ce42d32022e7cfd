"""Network scores, choices, marginals and answers."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    PRIVBAYES_ERROR,
    PRIVBAYES_FIT,
    PRIVBAYES_INFERENCE,
    PRIVBAYES_RECIPE,
    PRIVBAYES_SCORES,
)

_BOUNDS = (f"{PRIVBAYES_SCORES}::test_no_row_changes_a_score_by_more_than_its_bound",)

_SPENDING = (f"{PRIVBAYES_RECIPE}::test_all_of_epsilon_is_spent_and_no_more",)

_DELTA = (f"{PRIVBAYES_INFERENCE}::test_the_error_is_that_of_the_delta_method",)

PRIVBAYES = [
    Mutant(
        "half the distance that an arriving row changes",
        "curator/families.py",
        "return 2 * UNIT",
        "return UNIT",
        _BOUNDS,
        quick=True,
    ),
    Mutant(
        "a move that changes no more distance than an arrival",
        "curator/families.py",
        "return 3 * UNIT",
        "return 2 * UNIT",
        (f"{PRIVBAYES_SCORES}::test_a_move_can_cost_nearly_three_rows_of_distance",),
    ),
    Mutant(
        "half the information that a move changes",
        "curator/families.py",
        "return math.ceil(UNIT * (one if self.binary else both)) + 3",
        "return math.ceil(UNIT * (one if self.binary else both) / 2) + 3",
        _BOUNDS,
    ),
    Mutant(
        "information by the binary bound for every table",
        "curator/families.py",
        "(one if self.binary else both)",
        "(one)",
        _BOUNDS,
    ),
    Mutant(
        "information of rows beyond the limit",
        "curator/families.py",
        "np.minimum(np.cumsum(table), self.limit)",
        "np.cumsum(table)",
        _BOUNDS,
    ),
    Mutant(
        "half of what an arriving row changes in an assignment",
        "curator/families.py",
        "def entering(self) -> int:\n        return UNIT",
        "def entering(self) -> int:\n        return UNIT // 2",
        _BOUNDS,
    ),
    Mutant(
        "half of what a moving row changes in an assignment",
        "curator/families.py",
        "def moving(self) -> int:\n        return UNIT",
        "def moving(self) -> int:\n        return UNIT // 2",
        _BOUNDS,
    ),
    Mutant(
        "measures of anyone's own",
        "curator/families.py",
        "if not any(type(measure) is known for known in MEASURES):",
        "if not isinstance(measure, MEASURES):",
        (f"{PRIVBAYES_SCORES}::TestRefusals::test_measures_of_ones_own",),
    ),
    Mutant(
        "a handicap that helps",
        "curator/select.py",
        "known[key] - less for",
        "known[key] + less for",
        (f"{PRIVBAYES_SCORES}::test_a_handicap_is_taken_off_the_score",),
    ),
    Mutant(
        "rows counted twice in a joint table",
        "counting/joint.py",
        "counts[codes[i], column[i]] += 1",
        "counts[codes[i], column[i]] += 2",
        (f"{PRIVBAYES_SCORES}::test_exponents_are_the_scores_over_twice_the_sensitivity",),
    ),
    Mutant(
        "the whole share of the network in every round",
        "mechanisms/privbayes.py",
        "share = epsilon / (attributes - 1)",
        "share = epsilon",
        _SPENDING,
    ),
    Mutant(
        "what the network cost spent on the marginals as well",
        "mechanisms/privbayes.py",
        "marginals=epsilon - shares.rows - spent)",
        "marginals=epsilon - shares.rows)",
        _SPENDING,
    ),
    Mutant(
        "what the number of rows cost spent on the network as well",
        "mechanisms/privbayes.py",
        "marginals=epsilon - shares.rows - spent)",
        "marginals=epsilon - spent)",
        _SPENDING,
    ),
    Mutant(
        "a number of rows for nothing",
        "mechanisms/privbayes.py",
        "epsilon * _ROWS_SHARE",
        "epsilon * _ROWS_SHARE / 2",
        (f"{PRIVBAYES_RECIPE}::test_nothing_is_spent_on_a_network_where_nobody_can_have_a_parent",),
    ),
    Mutant(
        "all of the marginals' share for the largest of them",
        "mechanisms/privbayes.py",
        "epsilon * root / sum(roots)",
        "epsilon * root / max(roots)",
        _SPENDING,
    ),
    Mutant(
        "usefulness by half of the noise",
        "mechanisms/privbayes.py",
        "2 ** (k + 1) * theta * one",
        "2 ** k * theta * one",
        (f"{PRIVBAYES_RECIPE}::test_k_is_the_largest_useful_one",),
    ),
    Mutant(
        "usefulness of general tables by the noise of one of them",
        "mechanisms/privbayes.py",
        "scale = one * attributes",
        "scale = one",
        (f"{PRIVBAYES_RECIPE}::test_general_domains_bound_the_joint_table",),
    ),
    Mutant(
        "cells of a marginal mixed up",
        "curator/partition.py",
        "            part *= view.size\n            part += view.groups",
        "            part += view.groups",
        (f"{PRIVBAYES_RECIPE}::test_levels_and_joins_are_recovered_at_a_large_epsilon",),
    ),
    Mutant(
        "a network's error without what its other cells take away",
        "query/network_reader.py",
        "given = given - (conditional * given).sum(axis=-1, keepdims=True)",
        "given = given * 1.0",
        _DELTA,
    ),
    Mutant(
        "a network's error without that of the total",
        "query/network_reader.py",
        "variances = shares**2 * self.fitted.total_variance",
        "variances = 0 * shares",
        _DELTA,
    ),
    Mutant(
        "a slope that takes in its own factor",
        "query/inference.py",
        "others = step.inputs[:i] + step.inputs[i + 1 :]",
        "others = step.inputs",
        _DELTA,
    ),
    Mutant(
        "negative counts left in a network's tables",
        "query/network_fit.py",
        "np.maximum(table - thresholds[last], 0.0)",
        "table - thresholds[last]",
        (f"{PRIVBAYES_FIT}::test_distributions_are_distributions",),
    ),
    Mutant(
        "tables that agree by the noisiest of them",
        "query/network_fit.py",
        "1 / max(variance * math.prod(network.shape(table)), TINY)",
        "max(variance * math.prod(network.shape(table)), TINY)",
        (f"{PRIVBAYES_FIT}::test_agreement_weighs_by_precision",),
    ),
    Mutant(
        "rows drawn by the wrong side of an alias",
        "release/sample.py",
        "own = scaled < self.keep",
        "own = scaled >= self.keep",
        (f"{PRIVBAYES_INFERENCE}::test_sampled_rows_match_the_network",),
    ),
    Mutant(
        "the network of anyone's folder believed",
        "query/network.py",
        "        network._check()\n",
        "",
        ("tests/privbayes/test_network_release.py::test_a_family_larger_than_memory_is_refused",),
    ),
    Mutant(
        "a measured count with half of its noise",
        "query/network_error.py",
        "key = (share, scales[i % len(scales)])",
        "key = (share, scales[i % len(scales)] / 2)",
        (PRIVBAYES_ERROR,),
    ),
    Mutant(
        "a count by cells of a table that reach beyond it",
        "query/network_error.py",
        "axis in levels and bool(groups_of(network, (axis, levels[axis]), part)[0].all())",
        "axis in levels",
        (PRIVBAYES_ERROR,),
    ),
    Mutant(
        "a network that misses nothing",
        "query/network_error.py",
        "return part * fitted.total * np.sqrt(squares), fitted.total * most",
        "return 0 * fitted.total * np.sqrt(squares), fitted.total * most",
        (PRIVBAYES_ERROR,),
    ),
    Mutant(
        "what was never measured taken for nothing",
        "query/network_error.py",
        "return math.sqrt(float(np.median(found))) if found else 1.0",
        "return math.sqrt(float(np.median(found))) if found else 0.0",
        (PRIVBAYES_ERROR,),
    ),
    Mutant(
        "a tenth off the error of a model",
        "query/network_error.py",
        "times = wider_quantile(miss)",
        "times = 0.9 * wider_quantile(miss)",
        (PRIVBAYES_ERROR,),
    ),
]

"""Small tables of a wide table: projections, shares, least squares, their laws and their model."""

from __future__ import annotations

from .mutant import Mutant
from .suites import LEAST_SQUARES, PROJECTION, SMALL_TABLES, TABLES_MODEL

_DENSE = (
    f"{LEAST_SQUARES}::test_an_answer_its_variance_and_all_weights_are_those_of_dense_least_squares",
)
_SHARES = (f"{SMALL_TABLES}::test_each_table_has_noise_for_its_share_of_epsilon",)

MARGINALS = [
    Mutant(
        "projections that spend from accounts of their own",
        "kernel/curator/curator.py",
        "projected(self.__held.data, chosen),\n            exposure=self._exposure,\n"
        "            account=self._account,",
        "projected(self.__held.data, chosen),\n            exposure=self._exposure,\n"
        "            account=Account(self._account.left),",
        (f"{PROJECTION}::test_all_projections_spend_one_account",),
    ),
    Mutant(
        "projections that forget how many rows a person has",
        "kernel/curator/curator.py",
        "projected(self.__held.data, chosen),\n            exposure=self._exposure,",
        "projected(self.__held.data, chosen),\n            exposure=Exposure('add-remove'),",
        (f"{PROJECTION}::test_noise_is_scaled_for_all_rows_of_a_person",),
    ),
    Mutant(
        "projections whose draws do not count as draws",
        "kernel/curator/curator.py",
        "noise=self._noise,\n            eta_sum=self._eta_sum,\n        )\n\n    def _price(",
        "noise=self._noise,\n        )\n\n    def _price(",
        (f"{PROJECTION}::test_the_distance_of_all_draws_adds_up",),
    ),
    Mutant(
        "codes taken for their groups",
        "kernel/curator/holding.py",
        "if view.size == len(view.groups) and",
        "if view.size <= len(view.groups) or",
        (f"{PROJECTION}::test_codes_of_one_group_are_one",),
    ),
    Mutant(
        "an attribute twice in a projection",
        "kernel/curator/curator.py",
        "if not chosen or len({view.axis for view in chosen}) < len(chosen):",
        "if not chosen:",
        (f"{PROJECTION}::test_what_is_no_projection_of_the_domain_is_refused",),
    ),
    Mutant(
        "all of epsilon for the table of the largest share",
        "families/marginals/ask/marginals.py",
        "epsilon * share / sum(self.shares)",
        "epsilon * share / max(self.shares)",
        _SHARES,
    ),
    Mutant(
        "tables weighed as if all had the same cells",
        "families/marginals/least_squares.py",
        "return 1 / others / max(table.noise.variance, _LEAST_VARIANCE)",
        "return 1 / max(table.noise.variance, _LEAST_VARIANCE)",
        _DENSE,
    ),
    Mutant(
        "tables weighed as if all had the same noise",
        "families/marginals/least_squares.py",
        "return 1 / others / max(table.noise.variance, _LEAST_VARIANCE)",
        "return 1 / others",
        _DENSE,
    ),
    Mutant(
        "the law of the first table alone",
        "families/marginals/least_squares.py",
        "for number, table in enumerate(self.tables):\n            shared",
        "for number, table in enumerate(self.tables[:1]):\n            shared",
        _DENSE,
    ),
    Mutant(
        "cells beside a question left out of its law",
        "families/marginals/least_squares.py",
        "terms[key] = terms.get(key, 0) + int(count)",
        "terms[key] = terms.get(key, 0) + 1",
        _DENSE,
    ),
    Mutant(
        "trees read as if their codes were alike",
        "families/marginals/axes.py",
        "return self.reading.inverse(self.whole, 0) / self.gain",
        "return np.full(self.size, 1 / self.size)",
        _DENSE,
    ),
    Mutant(
        "levels that differ read together",
        "families/marginals/read.py",
        "if all(levels.get(axis, level) == level for axis, level in table.levels.items()):",
        "if True:",
        (f"{SMALL_TABLES}::test_levels_that_differ_make_layers_and_are_averaged",),
    ),
    Mutant(
        "estimates that pass for promises",
        "families/network/error.py",
        "    def estimate(self) -> bool:\n        return True",
        "    def estimate(self) -> bool:\n        return False",
        (f"{TABLES_MODEL}::test_an_estimate_says_so_everywhere",),
    ),
    Mutant(
        "a model in place of what the tables tell",
        "families/marginals/estimate.py",
        "return self.tables.group(boxes, cuts)",
        "raise BeyondTablesError",
        (f"{TABLES_MODEL}::test_what_tables_tell_is_answered_as_without_the_flag",),
    ),
    Mutant(
        "noise taken for dependence",
        "families/marginals/refine.py",
        "_CERTAIN = 2.5",
        "_CERTAIN = 0.0",
        (f"{TABLES_MODEL}::test_noise_alone_gives_hardly_any_dependence",),
    ),
    Mutant(
        "rows drawn evenly in the order they come in",
        "families/network/sample.py",
        "order = random.permutation(len(parents))",
        "order = np.arange(len(parents))",
        (f"{TABLES_MODEL}::test_a_row_drawn_evenly_follows_the_model",),
    ),
]

"""Small tables of a wide table: projections, shares, least squares, their laws and their model."""

from __future__ import annotations

from .mutant import Mutant
from .suites import LEAST_SQUARES, PROJECTION, SMALL_TABLES, TABLES_MODEL

_DENSE = (
    f"{LEAST_SQUARES}::test_an_answer_its_variance_and_all_weights_are_those_of_dense_least_squares",
)
_ANY = (f"{LEAST_SQUARES}::test_any_part_of_a_table_is_answered_as_by_dense_least_squares",)
_MANY = (f"{LEAST_SQUARES}::test_many_ranges_at_once_are_those_asked_one_by_one",)
_LAYERS = (
    f"{LEAST_SQUARES}::"
    "test_layers_are_averaged_by_their_variances_each_read_as_by_dense_least_squares",
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
        "for number, table in enumerate(self.tables):\n                shared",
        "for number, table in enumerate(self.tables[:1]):\n                shared",
        _DENSE,
    ),
    Mutant(
        "cells beside a question left out of its law",
        "families/marginals/least_squares.py",
        "np.multiply.outer(telling.counts, classes)",
        "np.multiply.outer(telling.counts, classes**0)",
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
        "families/marginals/layers.py",
        "if all(levels.get(axis, level) == level for axis, level in table.levels.items()):",
        "if True:",
        (f"{SMALL_TABLES}::test_levels_that_differ_make_layers_and_are_averaged",),
    ),
    Mutant(
        "a tenth off every weight of a law",
        "families/marginals/least_squares.py",
        "weights.append((telling.shares @",
        "weights.append((0.9 * telling.shares @",
        _ANY,
    ),
    Mutant(
        "a tenth off the intervals of many ranges",
        "families/marginals/read.py",
        "halves = np.array([self.law((box,)).half_width(level) for box in boxes])",
        "halves = np.array([0.9 * self.law((box,)).half_width(level) for box in boxes])",
        _MANY,
    ),
    Mutant(
        "the tables that share most with a question left out of its law",
        "families/marginals/least_squares.py",
        "for shared, telling in self._tellings_of(asked.axes):",
        "for shared, telling in sorted(self._tellings_of(asked.axes), key=lambda t: len(t[0]))"
        "[: max(len(self._tellings_of(asked.axes)) - 1, 1)]:",
        _ANY,
    ),
    Mutant(
        "the cells along other attributes left out of a law",
        "families/marginals/least_squares.py",
        "counts = _outer([np.ones(1, np.int64), *(count for _, count in others)])",
        "counts = _outer([np.ones(1, np.int64), *(count // count for _, count in others)])",
        _ANY,
    ),
    Mutant(
        "the gain of a tree taken for its number of codes",
        "families/marginals/axes.py",
        "return float(self.size if self.plain else np.square(self.whole).sum())",
        "return float(self.size)",
        _ANY,
    ),
    Mutant(
        "the law of an average of layers with weights of its own",
        "families/marginals/read.py",
        "                (share[k], read.law(rows[k]))\n",
        "                (share[k] ** 2, read.law(rows[k]))\n",
        _LAYERS,
    ),
    Mutant(
        "layers averaged by their variances instead of one over them",
        "query/averaging.py",
        "return list(precision / precision.sum(axis=0))",
        "return list(1 / precision / (1 / precision).sum(axis=0))",
        _LAYERS,
    ),
    Mutant(
        "one layer of several asked",
        "families/marginals/read.py",
        "seen = (LayerQuestion.of(layer, axes, boxes, cuts) for layer in self.layers)",
        "seen = (LayerQuestion.of(layer, axes, boxes, cuts) for layer in self.layers[-1:])",
        _LAYERS,
    ),
    Mutant(
        "ranges of a tree alike wherever they begin",
        "families/marginals/read.py",
        "if not read.plain]] = False",
        "if not read.plain]] = True",
        _MANY,
    ),
    Mutant(
        "questions of the same attributes given one law",
        "families/marginals/asked.py",
        "return self.axes, self.factors, *(asked.key for asked in self.along)",
        "return self.axes, self.factors",
        _MANY,
    ),
    Mutant(
        "shares of a total that are not squared",
        "families/marginals/least_squares.py",
        "stops[:, i]) ** 2 for i, a in enumerate(axes)]",
        "stops[:, i]) for i, a in enumerate(axes)]",
        _MANY,
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
    Mutant(
        "layers asked about boxes that cut their groups",
        "families/marginals/layers.py",
        "fit &= np.isin(ends, self.edges[axis])",
        "fit &= True",
        (f"{SMALL_TABLES}::test_a_box_is_answered_the_same_whatever_else_is_asked",),
    ),
    Mutant(
        "layers left out of all boxes because of one",
        "families/marginals/layers.py",
        "fit &= np.isin(ends, self.edges[axis])",
        "fit &= np.isin(ends, self.edges[axis]).all()",
        (f"{SMALL_TABLES}::test_a_box_is_answered_the_same_whatever_else_is_asked",),
    ),
    Mutant(
        "estimates of what no table tells that are sure of it",
        "families/marginals/estimate.py",
        "np.maximum(deviation, self.most()) if left else deviation",
        "deviation",
        (f"{TABLES_MODEL}::test_an_attribute_in_no_table_may_be_anything",),
    ),
]

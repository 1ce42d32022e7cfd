"""PrivBayes: a table as a Bayesian network, learned and filled in under differential privacy.

J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao. PrivBayes: private data release via
Bayesian networks. SIGMOD 2014, ACM TODS 42(4), 2017.

| paper                        | here                                                          |
|------------------------------|---------------------------------------------------------------|
| N, AP pair (X, Π)            | `Network`, `Link`; parents at levels of their attributes      |
| ε₁ = βε, ε₂ = (1−β)ε         | `Shares`: of what the number of rows leaves                   |
| θ-usefulness, k              | `useful_cells`: how large a table its noise allows            |
| maximal parent sets ⊤(V, τ)  | `parent_sets`                                                 |
| exponential mechanism, Δ     | `curator.select(CandidateScores(…))`: R, I or F, each with its Δ |
| Algorithm 1, Lap(2(d−k)/nε₂) | `curator.noisy_counts(Marginal(…))` on every cell, as counts  |
| Pr*[X, Π] ≥ 0, sum 1         | on reading: `fit.py`                                          |

Deviations. Scores are in counts, not in probabilities, so that their sensitivities do not know n;
n itself, which usefulness and the number of synthetic rows need, is paid for or declared
(`rows=…`). Only tables that no other table contains are measured: d − k of them where k is
fixed, and often fewer than d elsewhere. The first attribute is the one with the most values, not
one at random. Ordinal attributes without a hierarchy have one of adjacent pairs. A candidate
carries a handicap, the noise that its table would have: a large table must be worth its noise.
Nothing is chosen, and nothing spent on choosing, where no attribute can have a parent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.about import Settings
from hushtable.families.network.about import PRIVBAYES
from hushtable.families.network.ask.options import Options, read_options
from hushtable.families.network.network import MOST_ROWS, Link, Network, Seen, check_schema_size
from hushtable.kernel.curator import (
    Assignment,
    Candidate,
    CandidateScores,
    Curator,
    Distance,
    Information,
    Marginal,
    View,
)
from hushtable.kernel.curator.network_scores import UNIT
from hushtable.progress import listener
from hushtable.release.store import Content
from hushtable.schema import Schema
from hushtable.schema.levels import levels_of

# What the number of rows is worth: a fiftieth of ε.
_ROWS_SHARE = Fraction(1, 50)
# Scoring takes about so many row-visits a second; beyond a few of these, parents are fewer.
_VISITS = 3 * 10**9
_OVERHEAD = 30_000
# θ for a choice that is off by as much as there are rows; found on Adult and ACS data.
_THETA_FOR_BLUR = 128
# No table may be larger, however much ε there is.
_MOST_CELLS = 2**20
# The price of the dearest question: mutual information of as many rows as can be.
_DEAREST = 2 * Information(2**31 - 1, binary=False).moving


@dataclass(frozen=True)
class Shares:
    """How ε is divided: exactly, so that the parts are the whole."""

    rows: Fraction
    network: Fraction
    marginals: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, options: Options) -> Shares:
        rows = Fraction(0) if options.rows is not None else epsilon * _ROWS_SHARE
        network = (epsilon - rows) * options.beta
        return cls(rows, network, epsilon - rows - network)


@dataclass(frozen=True)
class PrivBayes:
    """A Bayesian network with noisy tables: for many attributes, and for synthetic rows."""

    name: str = PRIVBAYES.name
    needs: Literal["counts", "columns"] = "columns"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        PRIVBAYES.check(settings, schema)
        options = read_options(settings)
        try:
            check_schema_size(schema)
        except ReleaseError as problem:
            raise OptionError(f"{self.name}: {problem}") from None
        if options.score == "F" and set(schema.shape) != {2}:
            raise OptionError("score=F is for tables of binary attributes; use R or I")
        # The smallest share that is ever asked for, and the most tables that share it.
        shares = Shares.of(epsilon, options)
        questions = len(schema.attributes)
        for part in filter(None, (shares.rows, shares.network, shares.marginals)):
            schema.exposure.scale(part / questions, entering=_DEAREST, moving=_DEAREST)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        options = read_options(settings)
        shares = Shares.of(epsilon, options)
        rows, rows_noise = number_of_rows(curator, options, shares)
        search = Search.of(schema, options, rows, shares)
        network, spent = learn_network(curator, search, shares.network)
        # What the network did not need (all of it, where nobody can have a parent) is not lost.
        shares = replace(shares, network=spent, marginals=epsilon - shares.rows - spent)
        tables = [
            curator.noisy_counts(Marginal(schema.shape, search.views_of(table)), epsilon=part)
            for table, part in divided(network, shares.marginals)
        ]
        return Content(
            reader="network",
            arrays={
                f"marginal_{i}": noisy.values.reshape(network.shape(network.measured[i]))
                for i, noisy in enumerate(tables)
            },
            noise={
                **max(noisy.noise for noisy in tables).to_dict(),
                "on": "every cell of every marginal; at most this scale",
                "scales": [str(noisy.noise.scale) for noisy in tables],
            },
            parameters={
                "network": network.to_dict(),
                "rows": rows,
                "rows_noise": rows_noise,
                **search.described(shares),
            },
        )


def divided(network: Network, epsilon: Fraction) -> Iterator[tuple[tuple[Seen, ...], Fraction]]:
    """The measured tables, each with its part of ε: as the square root of its cells.

    A table of m cells with scale s is off by about m·s, and s is as 1/ε: these parts make the sum
    over all tables smallest.
    """
    roots = [math.isqrt(10**6 * math.prod(network.shape(table))) for table in network.measured]
    for table, root in zip(network.measured, roots, strict=True):
        yield table, epsilon * root / sum(roots)


def number_of_rows(
    curator: Curator, options: Options, shares: Shares
) -> tuple[int, dict[str, str] | None]:
    """How many rows there are, at least one: declared, or noisy with a description of its noise."""
    if options.rows is not None:
        return options.rows, None
    noisy = curator.noisy_total(epsilon=shares.rows)
    rows = min(max(int(noisy.values[0]), 1), MOST_ROWS)
    return rows, noisy.noise.to_dict()


@dataclass(frozen=True)
class Search:
    """Which links may be chosen: all of it public."""

    schema: Schema
    options: Options
    views: tuple[tuple[View, ...], ...]
    """Every attribute at every level."""
    rows: int
    cells: int
    """The largest useful table."""
    degree: int
    scale: Fraction
    """The noise that usefulness reckons with."""

    @classmethod
    def of(cls, schema: Schema, options: Options, rows: int, shares: Shares) -> Search:
        views = tuple(
            tuple(View(axis, groups) for groups in levels_of(attribute))
            for axis, attribute in enumerate(schema.attributes)
        )
        most = options.degree
        if most is None:
            most = affordable_degree([len(levels) for levels in views], rows)
        if options.theta is None:
            options = replace(options, theta=default_theta(schema, rows, shares.network))
        assert options.theta is not None
        cells, degree, scale = useful_cells(schema, rows, shares.marginals, options.theta, most)
        return cls(schema, options, views, rows, cells, degree, scale)

    def size(self, seen: Seen) -> int:
        axis, level = seen
        return self.views[axis][level].size

    def views_of(self, table: Sequence[Seen]) -> list[View]:
        return [self.views[axis][level] for axis, level in table]

    def described(self, shares: Shares) -> dict[str, Any]:
        return {
            "score": self.options.score,
            "theta": str(self.options.theta),
            "degree": self.degree,
            "useful_cells": self.cells,
            "epsilon_rows": str(shares.rows),
            "epsilon_network": str(shares.network),
            "epsilon_marginals": str(shares.marginals),
        }


def is_binary(schema: Schema) -> bool:
    """Whether no attribute has more than two values."""
    return max(schema.shape) <= 2


def default_theta(schema: Schema, rows: int, epsilon: Fraction) -> Fraction:
    """How useful a table must be: 4 for binary attributes, as in the paper; elsewhere 1 or more.

    Where handicaps weigh tables against their noise, 1 will do as long as scores are clear. A
    choice is off by about 2Δ/ε of each round; if that is not small beside the number of rows, what
    is chosen is partly chance, and large tables for it are noise without use.
    """
    if is_binary(schema):
        return Fraction(4)
    score = Distance()
    change = schema.exposure.scale(epsilon, entering=score.entering, moving=score.moving) / UNIT
    blur = 2 * change * (len(schema.attributes) - 1) / rows
    return max(Fraction(1), Fraction(round(_THETA_FOR_BLUR * blur * 100), 100))


def useful_cells(
    schema: Schema, rows: int, epsilon: Fraction, theta: Fraction, most: int
) -> tuple[int, int, Fraction]:
    """θ-usefulness: the largest table whose mean count is θ times the scale of its noise.

    Where all attributes are binary, the degree is the largest k up to `most` for which the d − k
    tables of 2^(k+1) cells are useful; else d tables are reckoned with, and sizes alone decide.
    Also gives the degree and the scale that was reckoned with.
    """
    one = schema.exposure.scale(epsilon, entering=1, moving=2)
    attributes = len(schema.attributes)
    if not is_binary(schema):
        scale = one * attributes
        return min(int(rows / (theta * scale)), _MOST_CELLS), most, scale
    degree = 0
    for k in range(1, min(attributes, most + 1)):
        useful = 2 ** (k + 1) * theta * one * (attributes - k) <= rows
        if useful and 2 ** (k + 1) <= _MOST_CELLS:
            degree = k
    return 2 ** (degree + 1), degree, one * (attributes - degree)


def affordable_degree(levels: Sequence[int], rows: int) -> int:
    """The degree, from 1 to 3, with which all candidates can be scored in good time.

    Of every k + 1 attributes one is the child when its turn comes, and the others are its parents
    at any of their levels.
    """
    affordable = 1
    for degree in (2, 3):
        sets = [1] + [0] * (degree + 1)  # how many ways there are to choose 0, 1, … attributes
        for number in levels:
            for chosen in range(degree + 1, 0, -1):
                sets[chosen] += number * sets[chosen - 1]
        mean = sum(levels) / len(levels)
        if sets[degree + 1] / mean * (rows + _OVERHEAD) <= _VISITS:
            affordable = degree
    return affordable


def learn_network(curator: Curator, search: Search, epsilon: Fraction) -> tuple[Network, Fraction]:
    """GreedyBayes: one attribute and its parents at a time, each by the exponential mechanism.

    Also tells what that cost: a round with nothing to choose is free.
    """
    attributes, spent = len(search.views), Fraction(0)
    first = max(range(attributes), key=lambda axis: search.views[axis][0].size)
    links = [Link(first)]
    waiting = [axis for axis in range(attributes) if axis != first]
    tell = listener()
    while waiting:
        tell(len(links), attributes)
        candidates = list(candidate_links(search, [link.axis for link in links], waiting))
        chosen = 0  # where there is nothing to choose, or nothing to choose by: the first
        if len(candidates) > 1 and any(link.parents for link in candidates):
            share = epsilon / (attributes - 1)
            chosen = curator.select(candidate_scores(search, candidates), epsilon=share).choice
            spent += share
        links.append(candidates[chosen])
        waiting.remove(candidates[chosen].axis)
    return Network(search.schema, tuple(links)), spent


def candidate_links(
    search: Search, chosen: Sequence[int], waiting: Sequence[int]
) -> Iterator[Link]:
    """Every attribute that is not in the network yet, with every set of parents it may have."""
    known: dict[int, list[tuple[Seen, ...]]] = {}
    for axis in waiting:
        room = search.cells // search.size((axis, 0))
        if room not in known:
            known[room] = list(parent_sets(search, tuple(chosen), room))
        for parents in known[room]:
            yield Link(axis, parents)


def parent_sets(search: Search, chosen: tuple[int, ...], room: int) -> Iterator[tuple[Seen, ...]]:
    """All sets of at most `degree` attributes at any levels whose combinations fit in the room.

    Of binary attributes it is as many as there are, up to the degree.
    """
    least = min(search.degree, len(chosen)) if is_binary(search.schema) else 0
    for parents in _extended(search, chosen, room, search.degree, ()):
        if len(parents) >= least:
            yield parents


def _extended(
    search: Search, chosen: tuple[int, ...], room: int, more: int, begun: tuple[Seen, ...]
) -> Iterator[tuple[Seen, ...]]:
    yield begun
    if not more:
        return
    for i, axis in enumerate(chosen):
        for level in range(len(search.views[axis])):
            size = search.size((axis, level))
            if size <= room:
                extended = (*begun, (axis, level))
                yield from _extended(search, chosen[i + 1 :], room // size, more - 1, extended)


def candidate_scores(search: Search, links: Sequence[Link]) -> CandidateScores:
    """The question to the curator: which of these links?"""
    places = {
        (axis, level): place
        for place, (axis, level) in enumerate(
            (axis, level)
            for axis, levels in enumerate(search.views)
            for level in range(len(levels))
        )
    }
    candidates = [
        Candidate(places[link.axis, 0], tuple(places[seen] for seen in link.parents))
        for link in links
    ]
    views = [view for levels in search.views for view in levels]
    return CandidateScores(
        search.schema.shape, views, candidates, measure_of(search, links), handicaps(search, links)
    )


def measure_of(search: Search, links: Sequence[Link]) -> Distance | Information | Assignment:
    """The score that was asked for; I looks at no more rows than twice the noisy number."""
    if search.options.score == "R":
        return Distance()
    if search.options.score == "F":
        return Assignment()
    limit = min(max(2 * search.rows, 16), 2**31 - 1)
    return Information(limit, binary=is_binary(search.schema))


def handicaps(search: Search, links: Sequence[Link]) -> list[int]:
    """Half the noise that a link's table would have: its cells, times the scale.

    It is the part of the distance between the noisy and the true table that a table as large as
    this one cannot escape.
    """
    if search.options.score != "R":
        return [0] * len(links)
    unit = search.options.handicap * search.scale * UNIT / 2
    sizes = [math.prod(map(search.size, link.table)) for link in links]
    known = {size: math.floor(unit * size) for size in set(sizes)}
    return [known[size] for size in sizes]


MECHANISMS = (PrivBayes(),)

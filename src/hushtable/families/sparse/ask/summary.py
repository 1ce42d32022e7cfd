"""Summaries of sparse tables: geometric, filter, threshold, priority and their combinations.

G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012.

| paper                            | here                                                |
|----------------------------------|-----------------------------------------------------|
| M, m, n                          | the counts, `Structure.places`, the non-zero ones   |
| α = exp(−ε/Δ), Δ                 | noise of scale Δ/ε; `Structure.entering` / `moving` |
| M′, geometric mechanism          | discrete Laplace noise on every place               |
| high-pass filter at θ            | `Filter`                                            |
| threshold sampling at τ          | `Threshold`                                         |
| priority sampling of size s, τ_s | `Priority`; τ_s is the release's `tau`              |
| the shortcut, M′′                | `sparse_draws.py`; `Kept`                           |
| dyadic ranges, wavelets          | `Structure(on="dyadic")`, `on="haar"`               |
| consistency check                | `rooted`: drop a node with a missing ancestor       |

Deviations. Locations of upgraded zeros come from geometric gaps over the ranks of empty places,
which is the binomial count and the random locations in one. A filter is never run again because its
output was small, nor a priority sample because its guess was: that conditions on the data, and cost
1.43 for an ε of 1. n and the total are secrets: θ follows from the wished size, the domain and ε;
τ needs the total, which is declared, or measured for a share of ε. Levels are ⌈log₂ m⌉ + 1, leaves
and root included. Nominal attributes are halved in the order of their codes, like ordinal ones. A
table leaves out cells that came out zero: missing and zero are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

from hushtable.arrays import MAX_AXES, available_disk, available_memory
from hushtable.errors import OptionError
from hushtable.families.about import About, Settings
from hushtable.families.sparse.about import (
    CONSISTENT,
    FILTER,
    FILTER_PRIORITY,
    FILTER_THRESHOLD,
    GEOMETRIC,
    ON,
    PRIORITY,
    SHARE,
    SIDES,
    SIZE,
    TAU,
    THETA,
    THRESHOLD,
    TOTAL,
)
from hushtable.families.sparse.expected import expected_empty, filter_for_size, threshold_for_size
from hushtable.families.sparse.table import write_table
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.rules import Filter, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.privacy.loss import check_scale, format_epsilon
from hushtable.release.store import Content
from hushtable.schema import Schema

Sampling = Literal["none", "threshold", "priority"]

# For each place that is kept: memory, where all are put in order or sampled from; else files.
_BYTES = 64
_FILED = 16


@dataclass(frozen=True)
class Sparse:
    """A summary of noisy counts whose size follows what is kept, not the domain."""

    about: About
    filtering: bool
    sampling: Sampling = "none"
    needs: Literal["counts", "columns"] = "counts"

    @property
    def name(self) -> str:
        return self.about.name

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        self.about.check(settings, schema)
        if len(schema.shape) > MAX_AXES:
            raise OptionError(f"{self.name} takes at most {MAX_AXES} attributes")
        structure = _structure(schema, settings)
        share = self._share(settings)
        scale = schema.exposure.scale(
            epsilon * (1 - share), entering=structure.entering, moving=structure.moving
        )
        check_scale(scale * 2**5)
        rule, _ = self._rule(structure, scale, settings, float(TOTAL.given(settings) or 0))
        rooted = _consistent(structure, settings, filtering=self.filtering)
        # Nodes without an ancestor are dropped before sampling: all that pass the filter are made.
        made = Filter(rule.theta) if rooted else rule
        at_once = rooted or isinstance(rule, Priority)
        _check_size(self.name, expected_empty(structure.places, made, scale), at_once=at_once)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        structure, share = _structure(schema, settings), self._share(settings)
        total, told = float(TOTAL.given(settings) or 0), {}
        if share:
            paid = epsilon * share
            total = float(curator.noisy_total(epsilon=paid).values[0])
            told = {"total": f"noisy, for epsilon {format_epsilon(paid)}: {total:.0f}"}
        elif "total" in settings and "tau" not in settings:
            told = {"total": f"declared: {total:.0f}"}
        rest = epsilon * (1 - share)
        scale = schema.exposure.scale(rest, entering=structure.entering, moving=structure.moving)
        rule, chosen = self._rule(structure, scale, settings, total)
        rooted = _consistent(structure, settings, filtering=self.filtering)
        noisy = curator.noisy_summary(structure, rule, epsilon=rest, rooted=rooted)
        parameters = {**noisy.what, "tau": _plain(noisy.kept.tau), "consistent": rooted}
        return Content(
            reader="summary",
            arrays={"places": noisy.kept.places, "values": noisy.kept.values},
            noise={**noisy.noise.to_dict(), "on": "every place"},
            parameters={**parameters, "chosen": {**chosen, **told}},
            write_table=write_table,
        )

    def _share(self, settings: Settings) -> Fraction:
        """The share of ε that a noisy total costs: none where it is declared, or not needed."""
        if self.sampling != "threshold" or "tau" in settings or "total" in settings:
            if "share" in settings:
                raise OptionError("share pays for a noisy total, which is not needed here")
            return Fraction(0)
        return SHARE.of(settings)

    def _rule(
        self, structure: Structure, scale: Fraction, settings: Settings, total: float
    ) -> tuple[Rule, dict[str, str]]:
        """The rule, and where its numbers come from."""
        if not self.filtering and self.sampling == "none":
            return Filter(1), {}
        places, size = structure.places, SIZE.of(settings)
        sides, chosen = SIDES.of(settings) == "two", {}
        theta = 1
        if self.filtering:
            theta = THETA.given(settings) or 0
            chosen["theta"] = "given" if theta else f"from size {size}"
            theta = theta or filter_for_size(places, scale, size, two_sided=sides)
        if self.sampling == "none":
            return Filter(theta, sides), chosen
        if self.sampling == "priority":
            return Priority(size, theta), chosen
        tau = TAU.given(settings) or 0
        chosen["tau"] = "given" if tau else f"from size {size}"
        touched = max(total, 0.0) * structure.entering
        return Threshold(
            tau or threshold_for_size(places, scale, theta, size, touched), theta
        ), chosen


def _structure(schema: Schema, settings: Settings) -> Structure:
    return Structure(cast(Any, ON.of(settings)), schema.shape)


def _consistent(structure: Structure, settings: Settings, *, filtering: bool) -> bool:
    """Whether nodes with a missing ancestor are dropped: for dyadic filters, unless told not to."""
    text = CONSISTENT.given(settings)
    if text == "yes" and structure.on != "dyadic":
        raise OptionError("consistent=yes is for on=dyadic: only its nodes have ancestors")
    return structure.on == "dyadic" and filtering if text is None else text == "yes"


def _check_size(name: str, kept: float, *, at_once: bool) -> None:
    """Refuse, by public figures alone, a summary that memory or temporary files could not hold."""
    fits = kept * _BYTES <= available_memory() * 3 / 4
    if not fits and not at_once:
        fits = kept * _FILED <= available_disk() * 3 / 4
    if not fits:
        raise OptionError(
            f"{name} would keep about {kept:.3g} places that are empty in truth, more than memory"
            f" {'holds' if at_once else 'and TMPDIR hold'}: ask for a smaller size, or a larger"
            " theta or tau"
        )


def _plain(tau: float) -> int | float:
    """A whole number as one, so that sums over it stay whole."""
    return int(tau) if tau == int(tau) else tau


MECHANISMS = (
    Sparse(GEOMETRIC, filtering=False),
    Sparse(FILTER, filtering=True),
    Sparse(THRESHOLD, filtering=False, sampling="threshold"),
    Sparse(PRIORITY, filtering=False, sampling="priority"),
    Sparse(FILTER_THRESHOLD, filtering=True, sampling="threshold"),
    Sparse(FILTER_PRIORITY, filtering=True, sampling="priority"),
)

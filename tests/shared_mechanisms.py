"""What tests must know about single mechanisms, while they go over all that are registered.

A mechanism that is not named here has one form, without settings; but for checksums and integer
types nothing in the manifest of its releases follows from noise; and nor do its standard errors.
"""

from __future__ import annotations

from typing import Any

from hushtable.families import MECHANISMS

Recipe = tuple[str, ...]
"""A mechanism and its settings, such as `filter`, `size=6`."""

_PLACES = ("on=cells", "on=dyadic", "on=haar")
_SUMMARIES = tuple(("size=6", on) for on in _PLACES)

# Summaries are small, so that something is left out of them. The first form is tried in every
# run, the others with --check and --trust.
FORMS: dict[str, tuple[Recipe, ...]] = {
    "filter": (
        *_SUMMARIES,
        ("size=6",),
        ("theta=2", "sides=one"),
        ("size=6", "on=dyadic", "consistent=no"),
    ),
    "threshold": (*_SUMMARIES[::-1], ("tau=3",), ("size=6", "total=12")),
    "priority": _SUMMARIES,
    "filter-threshold": _SUMMARIES,
    "filter-priority": (_SUMMARIES[1], _SUMMARIES[0], _SUMMARIES[2]),
    "sketch": (("width=7", "rows=2"), (), ("width=7", "rows=3", "estimate=mean")),
    "privbayes": ((), ("degree=1",)),
    "ispe": ((), ("iterations=0",)),
    "privtree": ((), ("counts=boxes",), ("counts=leaves", "decay=1", "theta=2", "structure=0.5")),
}

# How much was kept follows from the noisy values; τ is one of them, or made of a noisy total.
_KEPT = ("arrays.places.shape", "arrays.values.shape", "table.bytes")
_SAMPLED = (*_KEPT, "parameters.tau")
# Regions follow from noisy cells; if all is one, nobody who moves leaves it: less noise.
_REGIONS = ("arrays.counts.shape", "noise.region_scale")
# Boxes follow from noisy decisions, and so does a regular tree over those that are left.
_SPLITS = ("arrays.splits.shape", "arrays.counts.shape", "parameters.radices")
# The network is chosen by noisy scores, and by a noisy number of rows what it can afford.
_NETWORK = (
    "arrays",
    "noise.scale",
    "noise.scales",
    "parameters.network",
    "parameters.rows",
    "parameters.theta",
    "parameters.useful_cells",
    "parameters.epsilon_network",
    "parameters.epsilon_marginals",
)
NOISY: dict[str, tuple[str, ...]] = {
    "geometric": _KEPT,
    "filter": _KEPT,
    "threshold": (*_SAMPLED, "parameters.chosen.total"),
    "filter-threshold": (*_SAMPLED, "parameters.chosen.total"),
    "priority": _SAMPLED,
    "filter-priority": _SAMPLED,
    "ispe": _REGIONS,
    "kdtree": _REGIONS,
    "privtree": _SPLITS,
    "privbayes": _NETWORK,
}
"""The parts of a manifest that follow from noisy answers."""

NOISY_ERRORS = {*NOISY, "sketch"} - {"geometric"}
"""Mechanisms that say a standard error, when they publish, that follows from noisy answers."""


def recipes(*, every: bool) -> tuple[Recipe, ...]:
    """Every registered mechanism, in one form or in `every` one."""
    return tuple(
        (name, *form)
        for name in MECHANISMS
        for form in FORMS.get(name, ((),))[: None if every else 1]
    )


def settings_of(recipe: Recipe) -> dict[str, str]:
    """The settings of a recipe by name."""
    return dict(setting.split("=", 1) for setting in recipe[1:])


def remove_noisy(manifest: dict[str, Any], mechanism: str) -> list[Any]:
    """Take out of a manifest what follows from noisy numbers; returns what was taken."""
    stored = [*manifest["arrays"].values(), *([manifest["table"]] if "table" in manifest else [])]
    taken = [(array.pop("sha256"), array.pop("dtype", None)) for array in stored]
    for path in NOISY.get(mechanism, ()):
        *above, last = path.split(".")
        part = manifest
        for name in above:
            part = part.get(name, {})
        taken.append(part.pop(last, None))
    return taken

"""The ways in which a release of regions can be read, its publisher's choice named first."""

from __future__ import annotations

from typing import Literal

Prior = Literal["uniform", "non-negative"]
Likelihood = Literal["joint", "plain"]
Intervals = Literal["promised", "posterior"]

PRIORS: tuple[Prior, ...] = ("uniform", "non-negative")
LIKELIHOODS: tuple[Likelihood, ...] = ("joint", "plain")
INTERVALS: tuple[Intervals, ...] = ("promised", "posterior")

"""What is kept of a noisy table: the rules, by name and number.

A rule looks at the noisy value v of one place at a time, never at where it is, so that all empty
places are alike. A filter keeps v with abs(v) ≥ θ. Sampling then keeps a survivor with probability
min(abs(v)/τ, 1), for a τ that is given (threshold sampling), or for the largest τ that leaves no
more than a wished size (priority sampling). θ = 1 filters nothing: a noisy zero is never kept, and
means the same as a missing one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError

LARGEST = 2**61
"""No θ, τ or size is larger: what could be kept then fits 64-bit integers."""


class Held(NamedTuple):
    """The true values of the places that may not be empty, in the order of the places.

    All other places of the domain hold zero.
    """

    places: NDArray[np.int64]
    values: NDArray[np.int64]
    domain: int


class Kept(NamedTuple):
    """The noisy values that a rule kept, in the order of their places.

    Each stands for sign(v)·max(abs(v), tau): where it was sampled, others were left out.
    """

    places: NDArray[np.int64]
    values: NDArray[np.int64]
    tau: float


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the noisy values v ≥ theta or, two-sided, abs(v) ≥ theta."""

    theta: int
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check("theta", self.theta)

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""
        sides = "two-sided" if self.two_sided else "one-sided"
        return {"rule": "filter", "theta": self.theta, "sides": sides}


@dataclass(frozen=True, slots=True)
class Threshold:
    """Keep a noisy value that passes the filter with probability min(abs(v)/tau, 1)."""

    tau: int
    theta: int = 1

    def __post_init__(self) -> None:
        _check("tau", self.tau)
        _check("theta", self.theta)

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""
        return {"rule": "threshold", "theta": self.theta, "tau": self.tau}


@dataclass(frozen=True, slots=True)
class Priority:
    """Keep the `size` values of highest priority abs(v)/r, r uniform in (0, 1], past the filter.

    `first` is the priority from which on candidates are drawn, a matter of speed alone: if there
    are too few, lower ones are added. It must not depend on the data.
    """

    size: int
    theta: int = 1
    first: int | None = None

    def __post_init__(self) -> None:
        _check("size", self.size)
        _check("theta", self.theta)
        if self.first is not None:
            _check("first", self.first)

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""
        return {"rule": "priority", "theta": self.theta, "size": self.size}


Rule = Filter | Threshold | Priority


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise OptionError(f"{name} must be a whole number from 1 to 2^61")


# The rules whose laws this package vouches for.
TRUSTED_RULES: tuple[type, ...] = (Filter, Threshold, Priority)

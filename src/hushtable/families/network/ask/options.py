"""What the owner may set of PrivBayes, read from text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hushtable.families.about import Settings
from hushtable.families.network.about import BETA, DEGREE, HANDICAP, ROWS, SCORE, THETA


@dataclass(frozen=True)
class Options:
    """What the owner may set."""

    beta: Fraction
    theta: Fraction | None
    """By default `privbayes.default_theta`."""
    score: str
    degree: int | None
    """The most parents an attribute may have; by default three, or fewer if time is short."""
    rows: int | None
    """The number of rows, where it is public."""
    handicap: Fraction


def read_options(settings: Settings) -> Options:
    """The owner's settings, checked."""
    return Options(
        beta=BETA.of(settings),
        theta=THETA.given(settings),
        score=SCORE.of(settings),
        degree=DEGREE.given(settings),
        rows=ROWS.given(settings),
        handicap=HANDICAP.of(settings),
    )

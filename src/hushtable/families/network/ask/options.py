"""What the owner may set of PrivBayes, read from text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hushtable.errors import OptionError
from hushtable.families.mechanism import Settings
from hushtable.kernel.privacy.loss import parse_epsilon

SETTINGS = ("beta", "theta", "score", "degree", "handicap", "rows")


@dataclass(frozen=True)
class Options:
    """What the owner may set."""

    beta: Fraction = Fraction(3, 20)
    theta: Fraction | None = None
    """By default `privbayes.default_theta`."""
    score: Literal["R", "I", "F"] = "R"
    degree: int | None = None
    """The most parents an attribute may have; by default three, or fewer if time is short."""
    rows: int | None = None
    """The number of rows, where it is public."""
    handicap: Fraction = Fraction(1, 2)


def read_options(settings: Settings) -> Options:
    """The owner's settings, checked."""
    known: dict[str, Any] = {}
    if "beta" in settings:
        known["beta"] = parse_epsilon(settings["beta"], what="beta")
        if known["beta"] >= 1:
            raise OptionError("beta must be below one: the share of ε that chooses the network")
    if "theta" in settings:
        known["theta"] = parse_epsilon(settings["theta"], what="theta")
    if "handicap" in settings:
        none = settings["handicap"].strip() == "0"
        known["handicap"] = (
            Fraction(0) if none else parse_epsilon(settings["handicap"], what="handicap")
        )
    if "score" in settings:
        if settings["score"] not in ("R", "I", "F"):
            raise OptionError("score must be R, I or F")
        known["score"] = settings["score"]
    for key, least in (("degree", 0), ("rows", 1)):
        if key in settings:
            known[key] = _whole(settings[key], key, least)
    return Options(**known)


def _whole(text: str, key: str, least: int) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 13 and int(digits) >= least):
        raise OptionError(f"{key} must be a whole number from {least}")
    return int(digits)

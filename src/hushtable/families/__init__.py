"""Ways to publish a table, one folder for each family of them.

Every folder has the same parts: `about` says what its mechanisms are for and what may be set, `ask`
puts questions to the curator, `store` goes from a release's manifest to what answers, `read`
answers, and `forecast` says how accurate a release would be, where that can be known. A family is
registered by one entry of `FAMILIES`; its parts are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.families.about import About
    from hushtable.families.mechanism import Mechanism


Certainty = Literal["exact", "declared"]
"""Whether forecasts follow from public facts, or hold only if figures declared of the data do."""


class ForFew(NamedTuple):
    """A mechanism that is worth trying where ε·people is small for the cells."""

    mechanism: str
    rows: int
    """It may be the best where ε·people is at most so many for each cell."""
    attributes: int
    """It takes at most so many."""


class Family(NamedTuple):
    """What a folder registers: its mechanisms, and the kinds of releases that they make.

    Each mechanism is named with the file of `ask` in whose `MECHANISMS` it is; `about.ABOUT` has
    what there is to know of each, and `store.READERS` a function for each kind that opens it. With
    `forecasts` there is a `forecast.py`, whose function `forecasts` has those of a purpose.
    """

    mechanisms: dict[str, str]
    readers: tuple[str, ...]
    forecasts: Certainty | None = None
    data_dependent: tuple[str, ...] = ()
    """Mechanisms that a plan names but cannot list: their error depends on the data."""
    for_few: tuple[ForFew, ...] = ()
    lays_out: bool = True
    """Whether those that are data-dependent hold all cells of the domain."""


FAMILIES = {
    "linear": Family(
        {
            "basic": "basic",
            "privelet": "privelet",
            "privelet+": "privelet",
            "privelet*": "privelet_star",
            "hierarchical": "hierarchical",
            "mixed": "mixed",
        },
        ("cells", "coefficients", "shrunken"),
        forecasts="exact",
        data_dependent=("privelet*",),
    ),
    "sparse": Family(
        {
            "geometric": "summary",
            "filter": "summary",
            "threshold": "summary",
            "priority": "summary",
            "filter-threshold": "summary",
            "filter-priority": "summary",
            "sketch": "sketch",
        },
        ("summary", "sketch"),
        forecasts="declared",
    ),
    "marginals": Family({"marginals": "marginals"}, ("marginals",), forecasts="exact"),
    "network": Family({"privbayes": "privbayes"}, ("network",)),
    "regions": Family(
        {"ispe": "ispe", "kdtree": "kdtree"}, ("regions",), data_dependent=("ispe", "kdtree")
    ),
    "splits": Family(
        {"privtree": "privtree"},
        ("splits",),
        data_dependent=("privtree",),
        for_few=(ForFew("privtree", rows=10, attributes=4),),
        lays_out=False,
    ),
}

MECHANISMS = {name: home for home, family in FAMILIES.items() for name in family.mechanisms}
"""The family of every mechanism."""

READERS = {kind: home for home, family in FAMILIES.items() for kind in family.readers}
"""The family of every kind of release."""

DATA_DEPENDENT = tuple(name for family in FAMILIES.values() for name in family.data_dependent)
"""Mechanisms whose error depends on the data, so that it cannot be known before."""

LAID_OUT = tuple(
    name for family in FAMILIES.values() if family.lays_out for name in family.data_dependent
)
"""Those of them that lay out all cells, several times over."""

FOR_FEW = tuple(told for family in FAMILIES.values() for told in family.for_few)
"""Mechanisms whose error cannot be known, but where they may be the best."""

AUTO = "auto"


def find_mechanism(name: str) -> Mechanism:
    """The mechanism of that name; `auto` is no mechanism, but what a plan recommends."""
    home = _home(name)
    asking = import_module(f"hushtable.families.{home}.ask.{FAMILIES[home].mechanisms[name]}")
    found: Mechanism = next(known for known in asking.MECHANISMS if known.name == name)
    return found


def about_mechanism(name: str) -> About:
    """What there is to know of a mechanism; nothing that publishes is loaded for it."""
    home = _home(name)
    told = import_module(f"hushtable.families.{home}.about").ABOUT
    found: About = next(about for about in told if about.name == name)
    return found


def mechanisms() -> dict[str, About]:
    """All mechanisms by name: what each is for, its settings and its limits."""
    return {name: about_mechanism(name) for name in MECHANISMS}


def _home(name: str) -> str:
    """The family of a mechanism; a name that is none is refused, with those that are like it."""
    if name in MECHANISMS:
        return MECHANISMS[name]
    from difflib import get_close_matches

    known = [*MECHANISMS, AUTO]
    close = get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
    raise OptionError(f"there is no mechanism {name!r}; {hint}")


def forecasting(kind: Certainty) -> Iterator[Any]:
    """The modules that have forecasts of a kind, by a function `forecasts` of a purpose."""
    for home, family in FAMILIES.items():
        if family.forecasts == kind:
            yield import_module(f"hushtable.families.{home}.forecast")


__all__ = [
    "AUTO",
    "DATA_DEPENDENT",
    "FAMILIES",
    "FOR_FEW",
    "MECHANISMS",
    "READERS",
    "Certainty",
    "Family",
    "ForFew",
    "about_mechanism",
    "find_mechanism",
    "forecasting",
    "mechanisms",
]

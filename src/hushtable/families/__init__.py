"""Ways to publish a table, one folder for each family of them.

Every folder has the same parts: `ask` puts questions to the curator, `store` goes from a release's
manifest to what answers, and other files read and forecast. A family is registered by one entry of
`FAMILIES`; its parts are imported when they are needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.families.mechanism import Mechanism


class Family(NamedTuple):
    """What a folder registers: its mechanisms, and the kinds of releases that they make.

    Each mechanism is named with the file of `ask` in whose `MECHANISMS` it is, and `store.READERS`
    has a function for each kind that opens it.
    """

    mechanisms: dict[str, str]
    readers: tuple[str, ...]


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
    ),
    "network": Family({"privbayes": "privbayes"}, ("network",)),
    "regions": Family({"ispe": "ispe", "kdtree": "kdtree"}, ("regions",)),
}

MECHANISMS = {name: home for home, family in FAMILIES.items() for name in family.mechanisms}
"""The family of every mechanism."""

READERS = {kind: home for home, family in FAMILIES.items() for kind in family.readers}
"""The family of every kind of release."""

AUTO = "auto"


def find_mechanism(name: str) -> Mechanism:
    """The mechanism of that name; `auto` is no mechanism, but what a plan recommends."""
    if name not in MECHANISMS:
        known = ", ".join([*MECHANISMS, AUTO])
        raise OptionError(f"there is no mechanism {name!r}; there are {known}")
    home = MECHANISMS[name]
    asking = import_module(f"hushtable.families.{home}.ask.{FAMILIES[home].mechanisms[name]}")
    found: Mechanism = next(known for known in asking.MECHANISMS if known.name == name)
    return found


__all__ = ["AUTO", "FAMILIES", "MECHANISMS", "READERS", "Family", "find_mechanism"]

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
    """What a folder registers: the names of its mechanisms, and those of its kinds of releases.

    `ask.MECHANISMS` has the mechanisms, and `store.READERS` a function for each kind that opens it.
    """

    mechanisms: tuple[str, ...]
    readers: tuple[str, ...]


FAMILIES = {
    "linear": Family(
        ("basic", "privelet", "privelet+", "privelet*", "hierarchical", "mixed"),
        ("cells", "coefficients", "shrunken"),
    ),
    "sparse": Family(
        (
            "geometric",
            "filter",
            "threshold",
            "priority",
            "filter-threshold",
            "filter-priority",
            "sketch",
        ),
        ("summary", "sketch"),
    ),
    "network": Family(("privbayes",), ("network",)),
    "regions": Family(("ispe", "kdtree"), ("regions",)),
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
    asking = import_module(f"hushtable.families.{MECHANISMS[name]}.ask")
    found: Mechanism = next(known for known in asking.MECHANISMS if known.name == name)
    return found


__all__ = ["AUTO", "FAMILIES", "MECHANISMS", "READERS", "Family", "find_mechanism"]

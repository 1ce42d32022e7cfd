"""Mechanisms: recipes of questions to the curator, one paper to a file."""

from hushtable.errors import OptionError
from hushtable.mechanisms.basic import Basic
from hushtable.mechanisms.hierarchical import Hierarchical
from hushtable.mechanisms.ispe import Ispe
from hushtable.mechanisms.kdtree import KdTree
from hushtable.mechanisms.mechanism import Mechanism
from hushtable.mechanisms.mixed import Mixed
from hushtable.mechanisms.privbayes import PrivBayes
from hushtable.mechanisms.privelet import Privelet, PriveletPlus
from hushtable.mechanisms.privelet_star import PriveletStar
from hushtable.mechanisms.sketch import CountSketch
from hushtable.mechanisms.sparse import SPARSE

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        Basic(),
        Privelet(),
        PriveletPlus(),
        PriveletStar(),
        Hierarchical(),
        Mixed(),
        *SPARSE,
        CountSketch(),
        PrivBayes(),
        Ispe(),
        KdTree(),
    )
}

AUTO = "auto"


def find_mechanism(name: str) -> Mechanism:
    """The mechanism of that name; `auto` is no mechanism, but what a plan recommends."""
    if name not in MECHANISMS:
        known = ", ".join([*MECHANISMS, AUTO])
        raise OptionError(f"there is no mechanism {name!r}; there are {known}")
    return MECHANISMS[name]


__all__ = ["AUTO", "MECHANISMS", "Mechanism", "find_mechanism"]

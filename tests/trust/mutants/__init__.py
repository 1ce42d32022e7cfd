"""Every way we know to break a promise by one change of the source, and the tests that notice.

A new mechanism, transform or score adds its own mutants here: at least one that halves each of its
scales, one that drops each of its splits of ε, and one that misjudges what a person can change.

`old` must stand in the file exactly once, so that the list cannot drift away from the source.
"""

from __future__ import annotations

from attack import Extent

from .answers import ANSWERS, ERROR_BARS
from .combining import COMBINED
from .counting import COUNTING, OF_FILES, READING
from .elsewhere import PLACES
from .engines import ENGINES
from .foreign import FIGURES, HIERARCHIES, TEXTS
from .ispe import ISPE
from .ledger import LEDGERS, PUBLISHED
from .marginals import MARGINALS
from .measures import CONVERSIONS, PRICES
from .mutant import ROOT, SOURCE, Mutant, run_tests
from .noise import PRECISION, RANDOMNESS, SAMPLERS
from .paying import PAYING, SCALES
from .planning import PLANNING
from .privbayes import PRIVBAYES
from .privtree import PRIVTREE
from .proxies import PROXIES
from .sparse import SPARSE
from .squares import SQUARES
from .transforms import READING_WEIGHTS, TRANSFORMS
from .wavelets import MECHANISMS

__all__ = ["MUTANTS", "ROOT", "SOURCE", "Mutant", "chosen", "run_tests"]

EVERY = 3
"""Of so many mutants outside the kernel, --check tries one."""

MUTANTS: tuple[Mutant, ...] = (
    *SCALES,
    *PAYING,
    *PRICES,
    *CONVERSIONS,
    *TRANSFORMS,
    *READING_WEIGHTS,
    *SQUARES,
    *MECHANISMS,
    *RANDOMNESS,
    *SAMPLERS,
    *PRECISION,
    *LEDGERS,
    *PUBLISHED,
    *COUNTING,
    *READING,
    *PLACES,
    *OF_FILES,
    *ENGINES,
    *ANSWERS,
    *ERROR_BARS,
    *COMBINED,
    *SPARSE,
    *PRIVBAYES,
    *MARGINALS,
    *PLANNING,
    *PROXIES,
    *ISPE,
    *PRIVTREE,
    *HIERARCHIES,
    *TEXTS,
    *FIGURES,
)


def chosen(extent: Extent) -> list[Mutant]:
    """All mutants; those of the kernel and every third of the others; or the quick ones.

    Which these are follows from the order of the list.
    """
    if extent == "small":
        return [mutant for mutant in MUTANTS if mutant.quick]
    kernel = [mutant for mutant in MUTANTS if mutant.file.startswith("kernel/")]
    others = [mutant for mutant in MUTANTS if mutant not in kernel]
    return kernel + (others if extent == "full" else others[::EVERY])

"""Every way we know to break a promise by one change of the source, and the tests that notice.

A new mechanism, transform or score adds its own mutants here: at least one that halves each of its
scales, one that drops each of its splits of ε, and one that misjudges what a person can change.

`old` must stand in the file exactly once, so that the list cannot drift away from the source.
"""

from __future__ import annotations

from .answers import ANSWERS, ERROR_BARS
from .counting import COUNTING, READING
from .foreign import FIGURES, HIERARCHIES, TEXTS
from .ispe import ISPE
from .ledger import LEDGERS, PUBLISHED
from .mutant import ROOT, SOURCE, Mutant, run_tests
from .noise import PRECISION, RANDOMNESS, SAMPLERS
from .paying import PAYING, SCALES
from .privbayes import PRIVBAYES
from .sparse import SPARSE
from .transforms import READING_WEIGHTS, TRANSFORMS
from .wavelets import MECHANISMS

__all__ = ["MUTANTS", "ROOT", "SOURCE", "Mutant", "run_tests"]

MUTANTS: tuple[Mutant, ...] = (
    *SCALES,
    *PAYING,
    *TRANSFORMS,
    *READING_WEIGHTS,
    *MECHANISMS,
    *RANDOMNESS,
    *SAMPLERS,
    *PRECISION,
    *LEDGERS,
    *PUBLISHED,
    *COUNTING,
    *READING,
    *ANSWERS,
    *ERROR_BARS,
    *SPARSE,
    *PRIVBAYES,
    *ISPE,
    *HIERARCHIES,
    *TEXTS,
    *FIGURES,
)

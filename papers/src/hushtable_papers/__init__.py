"""The figures of the papers, by name."""

from __future__ import annotations

from hushtable_papers import ispe, privbayes, privelet, sparse
from hushtable_papers.claims import Statement
from hushtable_papers.figure import Figure, Scope
from hushtable_papers.reproducing import Reproduced, reproduce

FIGURES: dict[str, Figure] = {
    figure.name: figure for paper in (privelet, sparse, ispe, privbayes) for figure in paper.FIGURES
}

__all__ = ["FIGURES", "Figure", "Reproduced", "Scope", "Statement", "reproduce"]

"""Summaries of sparse tables: what may be kept of a noisy table, and with which probability.

Plain values and closed forms. Nothing here reads data or draws noise: the curator asks which places
a table touches and what one row changes in them, the noise which laws to draw from, the planner
what to expect, and readers how to add up what was kept.
"""

from hushtable.summaries.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.summaries.structure import Structure

# The rules and structures whose laws and sensitivities this package vouches for.
TRUSTED_RULES: tuple[type, ...] = (Filter, Threshold, Priority)

__all__ = [
    "TRUSTED_RULES",
    "Filter",
    "Held",
    "Kept",
    "Priority",
    "Rule",
    "Structure",
    "Threshold",
]

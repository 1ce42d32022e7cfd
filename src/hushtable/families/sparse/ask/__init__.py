"""The mechanisms of this family: filters and samples of noisy values, and sketches."""

from hushtable.families.sparse.ask.sketch import CountSketch
from hushtable.families.sparse.ask.summary import SPARSE

MECHANISMS = (*SPARSE, CountSketch())

"""The mechanisms of this family: ISPE and k-d trees."""

from hushtable.families.regions.ask.ispe import Ispe
from hushtable.families.regions.ask.kdtree import KdTree

MECHANISMS = (Ispe(), KdTree())

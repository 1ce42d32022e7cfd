"""What there is to know of ispe and kdtree."""

from __future__ import annotations

from hushtable.arrays import MAX_AXES
from hushtable.families.about import About, choice, exact, number, whole
from hushtable.families.regions.options import LIKELIHOODS, PRIORS

MOST_ITERATIONS = 1000

ALPHA1 = exact(
    "alpha1",
    "the ε of the cells; the regions get the rest",
    otherwise="0.9·ε",
    example="0.5",
)
SMOOTHING = choice(
    "smoothing",
    "how noisy cells are smoothed before regions grow",
    "gaussian",
    "median",
    default="gaussian",
    example="median",
)
SIGMA = number(
    "sigma",
    "the width of the Gaussian mask, in cells",
    least=0.05,
    most=100,
    default="0.5",
    example="1",
)
ITERATIONS = whole(
    "iterations",
    "how often cells are smoothed",
    least=0,
    most=MOST_ITERATIONS,
    otherwise="5; none where the noise has a deviation below 0.5",
    example="2",
)
XI = number(
    "xi",
    "adjacent cells whose smoothed counts differ by less belong together",
    least=0,
    most=1e15,
    otherwise="what noise alone hardly ever exceeds",
    example="4",
)
D = number(
    "d",
    "cells at most so far apart are adjacent",
    least=0,
    most=1000,
    default="1",
    example="1.5",
)
SPLIT = number(
    "threshold",
    "a cut must explain so many times the variance of the noise",
    least=0,
    most=1e300,
    otherwise="2·ln(cells) + 4",
    example="30",
)
# How analysts read the release unless they choose otherwise.
PRIOR = choice(
    "prior",
    "what answers take for likely before looking; the analyst may choose another",
    *PRIORS,
    default=PRIORS[0],
    example="non-negative",
)
LIKELIHOOD = choice(
    "likelihood",
    "whether adjacent cells are seen together, or as the paper has it; likewise",
    *LIKELIHOODS,
    default=LIKELIHOODS[0],
    example="plain",
)
REFERENCE = choice(
    "reference",
    "whether a question for one cell also looks at adjacent ones; likewise",
    "on",
    "off",
    default="on",
    example="off",
)
READING = (PRIOR, LIKELIHOOD, REFERENCE)

_LIMITS = (
    f"at most {MAX_AXES} attributes",
    "every cell of the domain is laid out in memory, several times over: 64 bytes each",
)
_INTERVALS = 'promises; estimates with reading(intervals="posterior")'

ISPE = About(
    "ispe",
    releases="noisy cells, and noisy counts of the regions of similar cells that they show",
    good_for="cells of smooth tables, with a posterior for an answer",
    intervals=_INTERVALS,
    page="ispe",
    paper="Y. Xiao, L. Xiong, C. Yuan. ISPE: adaptive differentially private data release and"
    " query estimation. Emory University, TR-2011-005, 2011",
    settings=(ALPHA1, SMOOTHING, SIGMA, ITERATIONS, XI, D, *READING),
    limits=(*_LIMITS, "a cell has at most 4,096 adjacent ones"),
)
KDTREE = About(
    "kdtree",
    releases="noisy cells, and noisy counts of the boxes that a kd-tree of them has",
    good_for="cells of tables with large even boxes",
    intervals=_INTERVALS,
    page="kdtree",
    paper="Y. Xiao, L. Xiong, C. Yuan. Differentially private data release through"
    " multidimensional partitioning. Secure Data Management 2010",
    settings=(ALPHA1, SPLIT, *READING),
    limits=_LIMITS,
)

ABOUT = (ISPE, KDTREE)

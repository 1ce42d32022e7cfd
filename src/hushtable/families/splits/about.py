"""What there is to know of privtree."""

from __future__ import annotations

from hushtable.families.about import About, choice, exact, whole
from hushtable.kernel.maps.splits import MOST_AXES

LARGEST_THETA = 10**12
LARGEST_TREE = 2**20

STRUCTURE = exact(
    "structure",
    "the part of ε that decides which boxes are split; their counts get the rest",
    below=1,
    otherwise="0.3; 0.4 of two attributes and more",
    example="0.25",
)
THETA = whole(
    "theta",
    "a box is split if it seems to hold more rows than this, and so many more at each depth",
    least=0,
    most=LARGEST_THETA,
    default="0",
    example="20",
)
COUNTS = choice(
    "counts",
    "what is counted: all boxes, or the leaves and a tree over them",
    "boxes",
    "leaves",
    otherwise="leaves; boxes of two attributes and more",
    example="boxes",
)
DECAY = exact(
    "decay",
    "how many times less of ε a level gets than the one below it",
    below=2,
    otherwise="0.6 of leaves, 0.8 of boxes",
    example="0.7",
)
MOST = whole(
    "most",
    "the most boxes there may be; a level that would lead beyond is not split",
    most=LARGEST_TREE,
    default="262144",
    example="4096",
)

PRIVTREE = About(
    "privtree",
    releases="the boxes into which the domain was split where rows are, and noisy counts of them",
    good_for="ranges of skewed or spatial tables with few rows for their cells",
    intervals="promises; wide for a question that cuts a box",
    page="privtree",
    paper="J. Zhang, X. Xiao, X. Xie. PrivTree: a differentially private algorithm for"
    " hierarchical decompositions. SIGMOD 2016",
    settings=(STRUCTURE, THETA, COUNTS, DECAY, MOST),
    limits=(
        f"at most {MOST_AXES} attributes",
        "at most 2^62 cells; they are never laid out",
    ),
)

ABOUT = (PRIVTREE,)

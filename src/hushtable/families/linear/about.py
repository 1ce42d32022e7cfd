"""What there is to know of basic, privelet and its kin, hierarchical and mixed."""

from __future__ import annotations

from hushtable.arrays import MAX_AXES
from hushtable.families.about import ATTRIBUTE, About, text

LIMITS = (
    f"at most {MAX_AXES} attributes",
    "every cell of the domain is laid out in memory: 8 bytes each",
)
_PRIVELET = (
    "X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8),"
    " 2011"
)

IDENTITY = text(
    "identity",
    "attributes that are counted plainly, without wavelets; an empty list for none",
    "a list of attributes",
    otherwise="those whose order or hierarchy is too short for wavelets to help",
    example="sex",
)
BRANCHING = text(
    "branching",
    "children of the nodes of trees over ordinal attributes",
    "a whole number from 2, several as 16x8, or attribute:… for one",
    otherwise="the best for ranges",
    example="age:10x10",
)
ALONG_ATTRIBUTE = text(
    ATTRIBUTE,
    "what is measured along the attribute of this name",
    "identity, haar, nominal, tree, tree:16x8, tree:16x8@1/3,2/3 (shares of ε by level), tents or"
    " tents:8x9 (coarse and fine)",
    default="identity",
    example="tree",
)

BASIC = About(
    "basic",
    releases="every cell with independent noise",
    good_for="cells, small ranges, tables with few cells",
    intervals="promises",
    page="basic",
    paper="C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating noise to sensitivity in private"
    " data analysis. TCC 2006",
    limits=LIMITS,
)
PRIVELET = About(
    "privelet",
    releases="wavelet coefficients along every axis",
    good_for="large ranges and hierarchy nodes of large domains",
    intervals="promises",
    page="privelet",
    paper=_PRIVELET,
    limits=LIMITS,
)
PRIVELET_PLUS = About(
    "privelet+",
    releases="wavelets along large axes, plain counts along small ones",
    good_for="ranges of tables whose attributes are of different sizes",
    intervals="promises",
    page="privelet",
    paper=_PRIVELET,
    settings=(IDENTITY,),
    limits=LIMITS,
)
PRIVELET_STAR = About(
    "privelet*",
    releases="privelet+, with small coefficients taken for noise",
    good_for="large sparse tables",
    intervals="promises",
    page="privelet-star",
    paper=f"{_PRIVELET}, Section 7",
    settings=(IDENTITY,),
    limits=LIMITS,
)
HIERARCHICAL = About(
    "hierarchical",
    releases="counts of every node of a tree per axis, made consistent",
    good_for="ranges of ordinal attributes",
    intervals="promises",
    page="hierarchical",
    paper="M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially"
    " private histograms through consistency. PVLDB 3(1), 2010",
    settings=(BRANCHING,),
    limits=(*LIMITS, "and so is every combination of one node per axis"),
)
MIXED = About(
    "mixed",
    releases="a transform of its own along each axis",
    good_for="what the planner finds best",
    intervals="promises",
    page="mixed",
    settings=(ALONG_ATTRIBUTE,),
    limits=(*LIMITS, "nominal, and tree without numbers, need an attribute with a hierarchy"),
)

ABOUT = (BASIC, PRIVELET, PRIVELET_PLUS, PRIVELET_STAR, HIERARCHICAL, MIXED)

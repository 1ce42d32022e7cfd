"""What there is to know of privbayes."""

from __future__ import annotations

from hushtable.families.about import About, choice, exact, whole
from hushtable.families.network.network import MOST_ATTRIBUTES, MOST_CODES, MOST_ROWS

BETA = exact(
    "beta",
    "the part of ε that chooses the network",
    below=1,
    default="0.15",
    example="0.3",
)
THETA = exact(
    "theta",
    "how many times its noise the mean count of a table must be",
    otherwise="4 for binary tables, else 1, or more where ε is small",
    example="2",
)
SCORE = choice(
    "score",
    "what links are chosen by: distance, information, or for binary tables assignment",
    "R",
    "I",
    "F",
    default="R",
    example="I",
)
DEGREE = whole(
    "degree",
    "the most parents an attribute may have",
    least=0,
    otherwise="3, or fewer where scoring would take long",
    example="2",
)
HANDICAP = exact(
    "handicap",
    "how much of a table's noise counts against it, for score=R",
    zero=True,
    default="0.5",
    example="1",
)
ROWS = whole(
    "rows",
    "the number of rows, where it is public",
    most=MOST_ROWS,
    otherwise="a noisy number, for a fiftieth of ε",
    example="100000",
)

PRIVBAYES = About(
    "privbayes",
    releases="a Bayesian network of small noisy tables",
    good_for="many columns; synthetic rows",
    intervals="estimates; promises where one measured table has all attributes of the question",
    page="privbayes",
    paper="J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao. PrivBayes: private data"
    " release via Bayesian networks. SIGMOD 2014, ACM TODS 42(4), 2017",
    settings=(BETA, THETA, SCORE, DEGREE, HANDICAP, ROWS),
    limits=(
        f"at most {MOST_ATTRIBUTES:,} attributes of at most {MOST_CODES:,} codes each",
        "the domain may have any number of cells",
    ),
)

ABOUT = (PRIVBAYES,)

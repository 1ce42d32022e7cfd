"""What there is to know of the summaries of sparse tables, and of sketches."""

from __future__ import annotations

from hushtable.arrays import MAX_AXES
from hushtable.families.about import About, choice, exact, whole
from hushtable.kernel.maps.hashing import MOST_BUCKETS, MOST_ROWS
from hushtable.kernel.maps.structure import KINDS

_PAPER = (
    "G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for"
    " sparse data. ICDT 2012"
)
DEFAULT_SIZE = 100_000
DEFAULT_WIDTH = 2**18

ON = choice(
    "on",
    "what is noised: cells, the nodes of binary trees over the axes, or Haar coefficients",
    *KINDS,
    default="cells",
    example="dyadic",
)
SIZE = whole(
    "size",
    "about how many noisy values to keep; of a priority sample, at most",
    default=str(DEFAULT_SIZE),
    example="20000",
)
THETA = whole(
    "theta",
    "smaller noisy values are left out",
    otherwise="from size, the domain and ε",
    example="12",
)
CONSISTENT = choice(
    "consistent",
    "leave out nodes with a missing ancestor; for on=dyadic only",
    "yes",
    "no",
    otherwise="yes for on=dyadic, else no",
    example="no",
    beside={"on": "dyadic"},
)
SIDES = choice(
    "sides",
    "keep large values of both signs, or positive ones alone",
    "one",
    "two",
    default="two",
    example="one",
)
TAU = whole(
    "tau",
    "noisy values from here on are all kept, smaller ones with a chance in proportion",
    otherwise="from size, the domain, ε and the total",
    example="50",
)
TOTAL = whole(
    "total",
    "the number of rows, where it is public: tau follows from it",
    otherwise="a noisy total, which costs the share",
    example="1000000",
)
SHARE = exact(
    "share",
    "the part of ε that a noisy total costs, where neither tau nor total is given",
    below=1,
    default="0.05",
    example="0.1",
)
ROWS = whole(
    "rows",
    "rows of buckets; the noise grows with their number",
    most=MOST_ROWS,
    default="1",
    example="3",
)
WIDTH = whole(
    "width",
    "buckets in each row; no more than there are cells",
    most=MOST_BUCKETS,
    default=str(DEFAULT_WIDTH),
    example="65536",
)
ESTIMATE = choice(
    "estimate",
    "how the rows are put together",
    "mean",
    "median",
    default="median",
    example="mean",
)

_LIMITS = (
    f"at most {MAX_AXES} attributes",
    "at most 2^62 places, about 10^18.6: cells, or for on=dyadic and on=haar the nodes",
)
_PROMISES = "promises, but for one-sided Haar coefficients"
_SAMPLED = "promises, but for Haar coefficients and nodes with consistent=yes"

GEOMETRIC = About(
    "geometric",
    releases="basic as a table: every cell whose noisy count is not zero",
    good_for="middling domains, for who wants a table",
    intervals="promises",
    page="sparse",
    paper=_PAPER,
    limits=(*_LIMITS, "about as many cells are kept as the domain has"),
)
FILTER = About(
    "filter",
    releases="noisy counts that are large",
    good_for="vast domains whose true counts are well above the noise",
    intervals=_PROMISES,
    page="sparse",
    paper=_PAPER,
    settings=(ON, SIZE, THETA, CONSISTENT, SIDES),
    limits=_LIMITS,
)
THRESHOLD = About(
    "threshold",
    releases="a sample of noisy counts, large ones for certain",
    good_for="sums over vast domains",
    intervals="promises, but for Haar coefficients",
    page="sparse",
    paper=_PAPER,
    settings=(ON, SIZE, TAU, TOTAL, SHARE),
    limits=_LIMITS,
)
PRIORITY = About(
    "priority",
    releases="a sample of noisy counts, of a size that is known",
    good_for="sums over vast domains, many of them of small counts",
    intervals="estimates",
    page="sparse",
    paper=_PAPER,
    settings=(ON, SIZE),
    limits=_LIMITS,
)
FILTER_THRESHOLD = About(
    "filter-threshold",
    releases="a sample of the noisy counts that pass a filter",
    good_for="domains far larger than their data",
    intervals=_SAMPLED,
    page="sparse",
    paper=_PAPER,
    settings=(ON, SIZE, THETA, CONSISTENT, TAU, TOTAL, SHARE),
    limits=_LIMITS,
)
FILTER_PRIORITY = About(
    "filter-priority",
    releases="the same, of a size that is known",
    good_for="domains far larger than their data: the all-rounder",
    intervals="estimates",
    page="sparse",
    paper=_PAPER,
    settings=(ON, SIZE, THETA, CONSISTENT),
    limits=_LIMITS,
)
SKETCH = About(
    "sketch",
    releases="a noisy count sketch: signed sums of many cells",
    good_for="single cells of vast domains",
    intervals="promises where no two cells share a bucket, else estimates",
    page="sketch",
    paper=f"{_PAPER}; M. Charikar, K. Chen, M. Farach-Colton. Finding frequent items in data"
    " streams. ICALP 2002",
    settings=(ROWS, WIDTH, ESTIMATE),
    limits=(
        f"at most {MAX_AXES} attributes and 2^61 cells",
        "a question looks up every cell it names, at most 8 million",
    ),
)

ABOUT = (GEOMETRIC, FILTER, THRESHOLD, PRIORITY, FILTER_THRESHOLD, FILTER_PRIORITY, SKETCH)

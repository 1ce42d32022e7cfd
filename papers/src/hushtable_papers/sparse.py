"""The experiments of the paper on sparse data, by name.

G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012.

| paper                                              | here                                    |
|----------------------------------------------------|-----------------------------------------|
| parameters of filters and samples                  | `sparse-filter`, `sparse-sampling`      |
| accuracy of ranges, default table                  | `sparse-ranges`                         |
| higher deviation, lower density                    | `sparse-sigma`, `sparse-density`        |
| throughput                                         | `sparse-throughput`                     |
| dyadic ranges, uniform and skewed                  | `sparse-dyadic`                         |
| consistency checks                                 | `sparse-consistency`                    |
| OnTheMap: homes and places of work                 | `sparse-origins`                        |
| m, n, μ, σ                                         | `cells`, n, `MEAN`, `deviation`         |

Deviations. Noise on dyadic ranges is that of one level more, as leaves and root both count. Sizes
are wished by the domain and a declared total, as n and the total are secrets otherwise. Where the
paper's text does not print a parameter (range sizes, most θ, the larger σ), it is ours.
"""

from __future__ import annotations

from hushtable_papers.sparse_nodes import CONSISTENCY, DYADIC
from hushtable_papers.sparse_origins import ORIGINS
from hushtable_papers.sparse_parameters import FILTER, SAMPLING
from hushtable_papers.sparse_ranges import DENSITY, RANGES, SIGMA
from hushtable_papers.sparse_throughput import THROUGHPUT

FIGURES = (
    FILTER,
    SAMPLING,
    RANGES,
    DENSITY,
    SIGMA,
    THROUGHPUT,
    DYADIC,
    CONSISTENCY,
    ORIGINS,
)

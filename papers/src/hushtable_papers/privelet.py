"""The experiments of the Privelet paper (§8), by name.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011;
an earlier version, ICDE 2010, has the same experiments without Privelet*.

| paper | here |
|---|---|
| Figures 9 and 11, Brazil | `privelet-brazil` |
| Figures 10 and 12, US | `privelet-us` |
| Figures 13 and 14, time | `privelet-time` |
| S_A | the setting `identity` |
| n, m | `rows`, `cells` |

Deviations. The people are made up (`generators/paper_census.py`), as the censuses may not be handed
on. Noise is discrete Laplace on integers. ε is that of the paper's neighbours: replace one person.
"""

from __future__ import annotations

from functools import partial

from hushtable_papers import privelet_census, privelet_claims, privelet_time
from hushtable_papers.figure import Figure


def _census(name: str, country: str, coverage: int, selectivity: int, minutes: float) -> Figure:
    return Figure(
        name=name,
        title=f"Privelet, Figures {coverage} and {selectivity}: errors of range counts, {country}",
        tasks=partial(privelet_census.tasks, name),
        plots=privelet_census.PLOTS,
        claims=privelet_claims.claims(coverage, selectivity),
        minutes=minutes,
    )


FIGURES = (
    _census("privelet-brazil", "Brazil", 9, 11, 5),
    _census("privelet-us", "US", 10, 12, 5),
    Figure(
        name="privelet-time",
        title="Privelet, Figures 13 and 14: time against the number of people and of cells",
        tasks=privelet_time.tasks,
        plots=privelet_time.PLOTS,
        claims=privelet_time.CLAIMS,
        minutes=6,
    ),
)

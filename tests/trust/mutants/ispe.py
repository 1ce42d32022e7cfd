"""Regions, posteriors and the budget of both histograms."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    EXAMPLE,
    GROWING,
    NOISE_SUMS,
    POSTERIORS,
    REGIONS,
)

PAID = f"{REGIONS}::test_both_histograms_cost_epsilon_together"

ISPE = [
    Mutant(
        "too many neighbours refused by an assertion",
        "mechanisms/ispe.py",
        "Neighbourhood.of(schema, chosen.d).check()",
        "assert Neighbourhood.of(schema, chosen.d).steps is not None",
        ("tests/ispe/test_optimised_python.py",),
    ),
    Mutant(
        "regions paid for with all of epsilon again",
        "mechanisms/regions.py",
        "return cls(first, epsilon - first)",
        "return cls(first, epsilon)",
        (PAID,),
    ),
    Mutant(
        "half of what the regions may cost is left over",
        "mechanisms/regions.py",
        "return cls(first, epsilon - first)",
        "return cls(first, (epsilon - first) / 2)",
        (PAID,),
    ),
    Mutant(
        "cells measured at the price of the regions",
        "mechanisms/regions.py",
        "return curator.noisy_coefficients(cells, epsilon=split.cells)",
        "return curator.noisy_coefficients(cells, epsilon=split.regions)",
        (PAID,),
    ),
    Mutant(
        "alpha1 as large as epsilon",
        "mechanisms/regions.py",
        "if first >= epsilon:",
        "if first > epsilon:",
        (f"{REGIONS}::test_alpha1_is_less_than_epsilon",),
    ),
    Mutant(
        "differences without their bars",
        "query/neighbours.py",
        "near = np.abs(values[here] - values[there]) < below",
        "near = values[here] - values[there] < below",
        (GROWING,),
    ),
    Mutant(
        "others next to the last of an order",
        "query/neighbours.py",
        "return Line(attribute.size, attribute.declared)",
        "return Line(attribute.size, attribute.size)",
        (GROWING,),
    ),
    Mutant(
        "regions hung together one edge too few",
        "query/neighbours.py",
        "root[np.maximum(one, other)] = np.minimum(one, other)",
        "root[np.maximum(one, other)[:1]] = np.minimum(one, other)[:1]\n            break",
        (GROWING,),
    ),
    Mutant(
        "a mask that is not weighted anew at the edges",
        "mechanisms/smoothing.py",
        "return np.asarray(mixed / held.reshape(-1, *[1] * (along.ndim - 1)))",
        "return np.asarray(mixed)",
        (GROWING,),
    ),
    Mutant(
        "the count of a region without its noise",
        "query/posterior.py",
        "return NoiseSum(self.cell_scale, siblings, self.region_scale, 1)",
        "return NoiseSum(self.cell_scale, siblings, self.region_scale / 2, 1)",
        (POSTERIORS,),
    ),
    Mutant(
        "cells with half of their noise",
        "query/posterior.py",
        "return NoiseSum(self.cell_scale, cells)",
        "return NoiseSum(self.cell_scale / 2, cells)",
        (POSTERIORS, EXAMPLE),
    ),
    Mutant(
        "equal cells not counted as often as there are",
        "query/posterior.py",
        "times, target, others = float(len(cells)), rest, siblings",
        "times, target, others = 1.0, rest, siblings",
        (POSTERIORS,),
    ),
    Mutant(
        "a prior that lets negative counts be",
        "query/posterior.py",
        'return -seen if self.prior == "non-negative" else None',
        "return None",
        (POSTERIORS,),
    ),
    Mutant(
        "intervals that leave twice as much out",
        "query/posterior.py",
        "half = (1 - confidence) / 2",
        "half = 1 - confidence",
        (POSTERIORS,),
    ),
    Mutant(
        "densities without their step",
        "query/densities.py",
        "values = np.fft.irfft(np.exp(-exponent), length)[: length // 2] / step",
        "values = np.fft.irfft(np.exp(-exponent), length)[: length // 2]",
        (NOISE_SUMS,),
    ),
    Mutant(
        "regions that a box cuts taken as a whole",
        "query/crossing.py",
        "cut = siblings > 0",
        "cut = siblings > 1",
        (REGIONS,),
    ),
    Mutant(
        "neighbours believed to be equal whatever is seen",
        "query/reference.py",
        "same = valid & (layout.labels[place] == label) & credible[places]",
        "same = valid & (layout.labels[place] == label)",
        (REGIONS,),
    ),
    Mutant(
        "the assumption of equal cells not said",
        "query/regions.py",
        "note = ALIKE.format(self.note) if alike.count[i] > 1 else None",
        "note = None",
        (REGIONS,),
    ),
    Mutant(
        "region numbers of a release believed",
        "release/regions.py",
        "if int(numbers.min()) < 0 or int(numbers.max()) >= number:",
        "if False:",
        (REGIONS,),
    ),
    Mutant(
        "regions in pieces believed",
        "query/crossing.py",
        "if int(components(self.labels.size, links).max()) + 1 != self.regions:",
        "if False:",
        (REGIONS,),
    ),
    Mutant(
        "a cut of equal cells",
        "mechanisms/kdtree.py",
        "if gain <= max(least, 0.0):",
        "if gain <= 0.0:",
        (REGIONS,),
    ),
]

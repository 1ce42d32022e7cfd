"""How close the draws are to their ideal law: η, a bound on the total-variation distance.

Everything here is a function of public numbers: scales, sizes of domains, rules. Nothing looks at a
table or at what was drawn, so η may be told, and is the same for neighbouring tables.

**One draw.** Tables say themselves how close they are. A draw by `exact` has its exact law, unless
it is beyond 2^62 and does not fit: at the largest scale, 2^55, with a chance of e^-128 < 2^-184.
A Gaussian draw is made of proposals, and its η counts as many of them as are expected (`gaussian`).

**Many draws.** Run the sampler and its ideal side by side and let each pair of draws agree as often
as their laws allow. The results differ only if some pair does, so the distance is at most the η of
one draw times the number of draws; times the number that the ideal sampler *expects* to make, where
that depends on what was drawn before.

**Held places of a sparse summary.** How many there are is the table's secret, so they cannot all be
counted. They need not be: given the noise on the places that neither of two neighbouring tables
treats differently, which has one law in both, the two are compared by the other places alone. Those
are the places that one person's rows touch, a public number, and the empty ones.

**Empty places.** Each of `domain` places at most is chosen with the same chance p, by one gap for
each chosen place and, in each of the s stretches of the domain, one that leads beyond its last:
s + domain·p gaps are expected at most, and domain·p magnitudes; s follows from the domain alone.
The scale of the gaps is rounded so that p is off by less than 10^-79 of itself, over all places by
less than 2^-190. A chance below 10^-60 is taken as none, which is off by domain·p at most.

**Priority sampling** draws candidates at thresholds τ₀ > τ₁ > … until they are more than `size`.
Let P_r be the chance of an empty place to be drawn at τ_r or before. Round r is only reached if at
most `size` of the n empty places were drawn before it. A place drawn in round r is not among these,
so n·(P_r − P_(r−1))·P[Binomial(n − 1, P_(r−1)) ≤ size] places at most are expected to be drawn in
it. Their magnitudes are drawn by rejection, of which a share (P_r − P_(r−1))/P_r is accepted: so
n·P_r·P[…] of them. Both are at most n·P_r, and at most 6·size + 6: thresholds fall to a third at
the most, so P_r ≤ 3·P_(r−1). With μ = n·P_(r−1) this is at most 3μ, enough for μ ≤ 2·size + 2; for
larger μ Chernoff's bound makes it 3μ·exp(−(μ − 1)/8) < 11.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import Filter, Priority, Rule, Threshold
from hushtable.kernel.maps.thresholds import descending_thresholds
from hushtable.kernel.noise.gaussian import gaussian_tables
from hushtable.kernel.noise.stretches import number_of_stretches
from hushtable.kernel.noise.tables import geometric_tables, in_range, laplace_tables

EXACT_ETA = Fraction(1, 2**184)
"""A draw by the exact samplers, which fails if it does not fit 64 bits."""

GAP_ETA = Fraction(1, 2**115)
"""A gap, whatever its scale: 5724 thresholds of the high part and 255 for each of seven digits."""

# Rounding to 128 bits, of a chance with a hundred digits.
_HEAD_ETA = Fraction(1, 2**127)
_ROUNDING = Fraction(1, 2**190)


def laplace_eta(scale: Fraction) -> Fraction:
    """Bound the total-variation distance between one Laplace draw and the ideal law."""
    return laplace_tables(scale).eta if in_range(scale) else EXACT_ETA


def gaussian_eta(sigma_squared: Fraction) -> Fraction:
    """Bound the total-variation distance between one Gaussian draw and the ideal law."""
    return gaussian_tables(sigma_squared).eta


def geometric_eta(scale: Fraction) -> Fraction:
    """Bound the total-variation distance between one geometric draw and the ideal law."""
    return geometric_tables(scale).eta if in_range(scale) else EXACT_ETA


def magnitude_eta(theta: int, tau: int, scale: Fraction) -> Fraction:
    """Bound the distance of one draw by `sparse.magnitudes`."""
    if tau <= theta:
        return geometric_eta(scale)
    return 2 * geometric_eta(scale) + (_HEAD_ETA if theta > 1 else 0)


def empty_places_eta(
    domain: int, rule: Rule, scale: Fraction, *, thinned: bool = False
) -> Fraction:
    """Bound the distance of all draws that a rule takes for empty places, of which there are
    `domain` at most.

    `thinned`: all that passes the rule's filter is drawn, and sampled later.
    """
    if isinstance(rule, Filter):
        chance = laws.chance_of_filter(scale, rule.theta, two_sided=rule.two_sided)
        return _drawn_eta(domain, chance, chance, magnitude_eta(rule.theta, rule.theta, scale))
    if thinned:
        return empty_places_eta(domain, Filter(rule.theta), scale)
    if isinstance(rule, Threshold):
        chance = laws.chance_of_threshold(scale, rule.theta, rule.tau)
        return _drawn_eta(domain, chance, chance, magnitude_eta(rule.theta, rule.tau, scale))
    return _priority_eta(domain, rule, scale)


def _priority_eta(domain: int, rule: Priority, scale: Fraction) -> Fraction:
    """The sum over all rounds that may be reached."""
    taus = list(descending_thresholds(domain, scale, rule))
    first = Threshold(taus[0], rule.theta)
    eta = empty_places_eta(domain, first, scale)
    for above, tau in pairwise(taus):
        chance = laws.chance_between(scale, rule.theta, tau, above)
        drawn = laws.chance_of_threshold(scale, rule.theta, tau)
        magnitude = magnitude_eta(rule.theta, tau, scale)
        eta += _drawn_eta(domain, chance, drawn, magnitude, most=most_in_a_round(rule.size))
    return eta


def most_in_a_round(size: int) -> int:
    """No more magnitudes are expected in a later round of priority sampling, weighed by the chance
    that it is reached.
    """
    return 6 * size + 6


def _drawn_eta(
    domain: int, chance: Decimal, drawn: Decimal, magnitude: Fraction, most: int | None = None
) -> Fraction:
    """Bound the distance of places chosen with a chance, and of their magnitudes.

    `drawn` is the share of places for which a magnitude is expected, chosen ones among them; no
    more than `most` are expected if that is given.
    """
    if chance < laws.NEVER:
        return domain * Fraction(chance) + _ROUNDING
    expected = math.ceil(domain * Fraction(drawn)) + 1  # one for what rounding takes away
    if most is not None:
        expected = min(expected, most)
    closing = number_of_stretches(domain)
    return (closing + expected) * GAP_ETA + expected * magnitude + _ROUNDING

"""Discrete Gaussian noise: how it is drawn, and how far readers take it to reach."""

from __future__ import annotations

from .mutant import Mutant
from .suites import GAUSSIAN, GAUSSIAN_LAW, SLOW

_TABLES = "kernel/noise/gaussian.py"
_DRAWS = "kernel/noise/gaussian_draws.py"
_LAW = "kernel/privacy/noises.py"
_ACCEPTED = "test_discrete_gaussian_has_its_law"

DRAWN = [
    Mutant(
        "half of sigma squared, slowly",
        "kernel/noise/exact.py",
        "if bernoulli_exp(away**2 / (2 * sigma_squared), entropy):",
        "if bernoulli_exp(away**2 / sigma_squared, entropy):",
        (f"{SLOW}::{_ACCEPTED}",),
    ),
    Mutant(
        "a proposal accepted by its distance from zero",
        "kernel/noise/exact.py",
        "away = abs(proposal) - sigma_squared / scale",
        "away = abs(proposal)",
        (f"{SLOW}::{_ACCEPTED}",),
    ),
    Mutant(
        "a proposal accepted by its distance from sigma on the right alone",
        "kernel/noise/exact.py",
        "away = abs(proposal) - sigma_squared / scale",
        "away = proposal - sigma_squared / scale",
        (f"{SLOW}::{_ACCEPTED}",),
    ),
    Mutant(
        "a rejected proposal drawn as zero",
        "kernel/noise/exact.py",
        "            return proposal\n",
        "            return proposal\n        return 0\n",
        (f"{SLOW}::{_ACCEPTED}",),
    ),
    Mutant(
        "half of sigma squared in the tables",
        _TABLES,
        "value = _exp(-(start**2) / (2 * sigma_squared))\n"
        "    ratio = _exp(-(2 * start * step + step**2) / (2 * sigma_squared))\n"
        "    fall = _exp(-(step**2) / sigma_squared)\n",
        "value = _exp(-(start**2) / sigma_squared)\n"
        "    ratio = _exp(-(2 * start * step + step**2) / sigma_squared)\n"
        "    fall = _exp(-2 * (step**2) / sigma_squared)\n",
        (GAUSSIAN,),
    ),
    Mutant(
        "a Gaussian that falls as a Laplace law does",
        _TABLES,
        "value, ratio = value * ratio >> _PRECISION, ratio * fall >> _PRECISION",
        "value = value * ratio >> _PRECISION",
        (GAUSSIAN,),
    ),
    Mutant(
        "zero drawn twice as often by the tables",
        _TABLES,
        "for start in (0, 1))",
        "for start in (0, 0))",
        (GAUSSIAN,),
    ),
    Mutant(
        "a Gaussian without its negative side",
        _TABLES,
        "largest = below[::-1] + above",
        "below = []\n    largest = below[::-1] + above",
        (GAUSSIAN,),
    ),
    Mutant(
        "thresholds of the Gaussian off by one in 2^128",
        _TABLES,
        "((end << 129) // whole + 1) >> 1",
        "((end << 129) // whole + 3) >> 1",
        (GAUSSIAN,),
    ),
    Mutant(
        "the tails of the Gaussian cut at 2^-100",
        _TABLES,
        "_NOTHING = 1 << (_PRECISION - 200)",
        "_NOTHING = 1 << (_PRECISION - 100)",
        (GAUSSIAN,),
    ),
    Mutant(
        "places accepted unseen that should be tested",
        _TABLES,
        "return [max(_CUTS * b // a - 1, 0)",
        "return [max(_CUTS * b // a + 1, 0)",
        (GAUSSIAN,),
    ),
    Mutant(
        "every place of a cell accepted",
        _TABLES,
        "cuts = _cuts(below)[::-1] + _cuts(above)",
        "pass",
        (GAUSSIAN,),
    ),
    Mutant(
        "pieces that are tested taken for decided",
        _TABLES,
        "(least - origin) | (most > least)",
        "(least - origin & -2) | (most > least)",
        (GAUSSIAN,),
    ),
    Mutant(
        "half of the exponent in a test",
        _DRAWS,
        "gamma = rate * beyond * (beyond + 2.0 * nearest)",
        "gamma = rate * beyond * (beyond + nearest)",
        (GAUSSIAN,),
    ),
    Mutant(
        "the far end of negative cells taken for the near one",
        _DRAWS,
        "nearest = cell << bits if cell >= 0 else 1 - ((cell + 1) << bits)",
        "nearest = cell << bits if cell >= 0 else -(cell << bits)",
        (GAUSSIAN,),
    ),
    Mutant(
        "a test that forgets what was accepted unseen",
        _DRAWS,
        "ahead = cut + (1.0 - cut) * (more[k, 2] * 2.0**-64) - chance",
        "ahead = more[k, 2] * 2.0**-64 - chance",
        (GAUSSIAN,),
    ),
    Mutant(
        "unclear tests accepted",
        _DRAWS,
        "verdicts[i] = _ACCEPTED if accepted else _REJECTED",
        "verdicts[i] = _ACCEPTED",
        (GAUSSIAN,),
    ),
    Mutant(
        "a test of 64 bits believed however close",
        _DRAWS,
        "if abs(ahead) < _CLEAR:",
        "if abs(ahead) < 0:",
        (GAUSSIAN,),
    ),
    Mutant(
        "bits of a close test drawn twice",
        _TABLES,
        "bits, known = bits << 64 | entropy.bits(64), known + 64",
        "bits, known = bits << 64 | bits & (1 << 64) - 1, known + 64",
        (GAUSSIAN,),
    ),
    Mutant(
        "rejected proposals left without noise",
        _DRAWS,
        "        values[open_draws[rejected]] += others\n",
        "        pass\n",
        (GAUSSIAN,),
    ),
    Mutant(
        "rejected proposals drawn all the same",
        _DRAWS,
        "rejected = verdicts == _REJECTED",
        "rejected = verdicts == 99",
        (GAUSSIAN,),
    ),
    Mutant(
        "the low bits of a wide Gaussian are zeros",
        _DRAWS,
        "            entropy.fill(places)\n",
        "            places[:] = 0\n",
        (GAUSSIAN,),
    ),
    Mutant(
        "half of the Gaussian thresholds counted",
        _TABLES,
        "Fraction(len(self.thresholds) + 2, 1 << 128)",
        "Fraction(len(self.thresholds) // 2, 1 << 128)",
        (GAUSSIAN,),
    ),
    Mutant(
        "proposals that are rejected not counted",
        _TABLES,
        "return Fraction(33, 32) * Fraction(",
        "return Fraction(1) * Fraction(",
        (GAUSSIAN,),
    ),
    Mutant(
        "the distance of one Gaussian draw for all",
        "kernel/noise/bulk.py",
        "return values.size * gaussian_eta(sigma_squared)",
        "return gaussian_eta(sigma_squared)",
        (GAUSSIAN,),
    ),
    Mutant(
        "sigma for its square",
        "kernel/noise/bulk.py",
        "add_draws(values, gaussian_tables(sigma_squared), entropy)",
        "add_draws(values, gaussian_tables(sigma_squared**2), entropy)",
        (GAUSSIAN,),
    ),
    Mutant(
        "Gaussian noise that may not fit",
        "kernel/noise/bulk.py",
        "if sigma_squared > LARGEST_SCALE**2:",
        "if sigma_squared > LARGEST_SCALE**3:",
        (GAUSSIAN,),
    ),
]

REACHES = [
    Mutant(
        "a Gaussian tail of one side",
        _LAW,
        "return np.asarray(above / (above[-1] + 0.5))",
        "return np.asarray(above / (2 * above[-1] + 1))",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "a wide Gaussian reaches half a step less",
        _LAW,
        "if math.erfc((middle + 0.5) / spread) <= least:",
        "if math.erfc((middle + 1) / spread) <= least:",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "a wide Gaussian reaches a tenth less",
        _LAW,
        "math.sqrt(2) * self.sigma",
        "math.sqrt(2) * self.sigma * 0.9",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "a narrow Gaussian reaches one step less",
        _LAW,
        'np.searchsorted(self._tails, least, side="right"))',
        'np.searchsorted(self._tails, least, side="right") - 1)',
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "sums of Gaussians decay too slowly",
        _LAW,
        "return np.asarray(breadths * np.square(angles) / 2 -",
        "return np.asarray(breadths * np.square(angles) / 1.6 -",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "the lattice of a Gaussian forgotten",
        _LAW,
        "- np.log1p(beside) + whole)",
        ")",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "narrow Gaussians of one step alone",
        _LAW,
        "for n in range(1, 10):",
        "for n in range(1, 2):",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "half of the bound on moments of a Gaussian",
        _LAW,
        "return np.asarray(np.square(x / rates) / 2)",
        "return np.asarray(np.square(x / rates) / 4)",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "a factor of sigma taken for one of its square",
        _LAW,
        "return DiscreteGaussian(self.sigma_squared * factor**2)",
        "return DiscreteGaussian(self.sigma_squared * factor)",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "the sum of Gaussians as wide as one",
        "query/law/noise_sum.py",
        "return DiscreteGaussian(count * noise.sigma_squared).reach(",
        "return DiscreteGaussian(1 * noise.sigma_squared).reach(",
        (GAUSSIAN_LAW,),
    ),
    Mutant(
        "the sum of narrow Gaussians taken for one of them",
        "query/law/noise_sum.py",
        "if count * math.exp(-(math.pi**2) * noise.breadth) <= 1e-13:",
        "if count * math.exp(-(math.pi**2) * noise.breadth) <= 1e13:",
        (GAUSSIAN_LAW,),
    ),
]

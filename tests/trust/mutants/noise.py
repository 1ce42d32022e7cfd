"""Where random bits come from, and the samplers on them."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    BULK,
    CLOSENESS,
    COMPILED,
    CURATOR,
    CURATOR_CLOSENESS,
    ENTROPY,
    LOW_BITS,
    PUBLISHING,
    SLOW,
    TABLES,
)

_OWN_KEY = """self._process = this_process()
        self._stream = Keystream(os.urandom(KEY_BYTES))"""

RANDOMNESS = [
    Mutant(
        "a spawned source is the same source",
        "kernel/noise/entropy.py",
        "return SystemEntropy()",
        "return self",
        (ENTROPY,),
    ),
    Mutant(
        "a forked child keeps the key",
        "kernel/noise/entropy.py",
        "if self._process != process:",
        "if False:",
        (ENTROPY,),
    ),
    Mutant(
        "spare bits used again",
        "kernel/noise/entropy.py",
        "self._spare >>= k",
        "self._spare >>= 0",
        (ENTROPY,),
    ),
    Mutant(
        "the same key every time",
        "kernel/noise/entropy.py",
        _OWN_KEY,
        _OWN_KEY.replace("os.urandom(KEY_BYTES)", "bytes(KEY_BYTES)"),
        (ENTROPY,),
    ),
    Mutant(
        "the keystream from its start at every fill",
        "kernel/noise/entropy.py",
        "with self._lock:\n            for start in range",
        "with self._lock:\n            self._cipher.reset_nonce(bytes(16))\n"
        "            for start in range",
        (ENTROPY,),
    ),
    Mutant(
        "one keystream for all chunks",
        "kernel/noise/bulk.py",
        "chunks = [(chunk, entropy.spawn()) for chunk in _chunks(values)]",
        "chunks = [(chunk, entropy) for chunk in _chunks(values)]",
        (BULK,),
    ),
    Mutant(
        "an injected source believed to be private",
        "kernel/noise/bulk.py",
        "return self._own",
        "return bool(self._entropy.private)",
        (f"{PUBLISHING}::TestInjectedRandomness",),
    ),
    Mutant(
        "an injected source of the system believed to be private",
        "kernel/noise/bulk.py",
        "return self._own",
        "return type(self._entropy) is SystemEntropy",
        (f"{PUBLISHING}::TestInjectedRandomness",),
    ),
    Mutant(
        "the samplers' distance of one draw for all",
        "kernel/noise/bulk.py",
        "return values.size * laplace_eta(scale)",
        "return laplace_eta(scale)",
        (LOW_BITS,),
    ),
]

_EMPTY = """eta = empty_places_eta(held.domain, rule, scale, thinned=keep is not None)
        return summarise(held, rule, scale, self._entropy, keep), eta"""

PRECISION = [
    Mutant(
        "half of the thresholds counted",
        "kernel/noise/tables.py",
        "return Fraction(len(self.thresholds) + 2 * len(self.entries), 1 << 128)",
        "return Fraction(len(self.thresholds) // 2, 1 << 128)",
        (TABLES,),
    ),
    Mutant(
        "thresholds of digits not counted",
        "kernel/noise/tables.py",
        "return Fraction(len(self.thresholds) + 2 * len(self.entries), 1 << 128)",
        "return Fraction(int(self.bounds[1]) + 2, 1 << 128)",
        (TABLES,),
    ),
    Mutant(
        "a gap taken for closer than it is",
        "kernel/noise/closeness.py",
        "GAP_ETA = Fraction(1, 2**115)",
        "GAP_ETA = Fraction(1, 2**118)",
        (CLOSENESS,),
    ),
    Mutant(
        "draws that do not fit taken for none",
        "kernel/noise/closeness.py",
        "EXACT_ETA = Fraction(1, 2**184)",
        "EXACT_ETA = Fraction(0)",
        (CLOSENESS,),
    ),
    Mutant(
        "eta counted by the places that rows touch",
        "kernel/noise/bulk.py",
        _EMPTY,
        _EMPTY.replace(
            "        return", "        eta += len(held.places) * laplace_eta(scale)\n        return"
        ),
        (CLOSENESS, CURATOR_CLOSENESS),
    ),
    Mutant(
        "eta counted by the places that are empty",
        "kernel/noise/bulk.py",
        _EMPTY,
        _EMPTY.replace("held.domain, rule", "held.domain - len(held.places), rule"),
        (CLOSENESS, CURATOR_CLOSENESS),
    ),
    Mutant(
        "eta counted by what was kept",
        "kernel/noise/bulk.py",
        _EMPTY,
        _EMPTY.replace(
            "return summarise(held, rule, scale, self._entropy, keep), eta",
            "kept = summarise(held, rule, scale, self._entropy, keep)\n"
            "        return kept, eta * len(kept.places) / held.domain",
        ),
        (CLOSENESS, CURATOR_CLOSENESS),
    ),
    Mutant(
        "the gaps that end stretches counted once for all",
        "kernel/noise/closeness.py",
        "closing = number_of_stretches(domain)",
        "closing = 1",
        (CLOSENESS,),
    ),
    Mutant(
        "one gap for all empty places",
        "kernel/noise/closeness.py",
        "return (closing + expected) * GAP_ETA + expected * magnitude + _ROUNDING",
        "return GAP_ETA + expected * magnitude + _ROUNDING",
        (CLOSENESS,),
    ),
    Mutant(
        "magnitudes of empty places not counted",
        "kernel/noise/closeness.py",
        "return (closing + expected) * GAP_ETA + expected * magnitude + _ROUNDING",
        "return (closing + expected) * GAP_ETA + _ROUNDING",
        (CLOSENESS,),
    ),
    Mutant(
        "one draw for a magnitude made of two",
        "kernel/noise/closeness.py",
        "return 2 * geometric_eta(scale) + (_HEAD_ETA if theta > 1 else 0)",
        "return geometric_eta(scale) + (_HEAD_ETA if theta > 1 else 0)",
        (CLOSENESS,),
    ),
    Mutant(
        "a later round that draws no more than is wanted",
        "kernel/noise/closeness.py",
        "return 6 * size + 6",
        "return size",
        (CLOSENESS,),
    ),
    Mutant(
        "only the first round of a priority sample counted",
        "kernel/noise/closeness.py",
        "    for above, tau in pairwise(taus):\n",
        "    for above, tau in pairwise(taus[:1]):\n",
        (CLOSENESS,),
    ),
    Mutant(
        "places taken for never chosen at no cost",
        "kernel/noise/closeness.py",
        "return domain * Fraction(chance) + _ROUNDING",
        "return _ROUNDING",
        (CLOSENESS,),
    ),
    Mutant(
        "one place for all that a person touches",
        "kernel/curator/sparse_summary.py",
        "return touched * laplace_eta(scale)",
        "return laplace_eta(scale)",
        (CURATOR_CLOSENESS,),
    ),
    Mutant(
        "the places that a row leaves not counted",
        "kernel/curator/sparse_summary.py",
        "moving=2 * structure.entering)",
        "moving=structure.entering)",
        (CURATOR_CLOSENESS,),
    ),
    Mutant(
        "the noise on held places not counted",
        "kernel/curator/curator.py",
        "self._eta_sum.add(eta + held_places_eta(structure, noise.scale, self._exposure))",
        "self._eta_sum.add(eta)",
        (CURATOR_CLOSENESS,),
    ),
    Mutant(
        "eta tells how many regions noisy cells made",
        "kernel/curator/curator.py",
        "            eta = regions_eta(most, amount, self._exposure)\n",
        "            pass\n",
        (CURATOR_CLOSENESS,),
    ),
    Mutant(
        "eta of the last answer for all of them",
        "kernel/curator/curator.py",
        "            self.eta += eta\n",
        "            self.eta = eta\n",
        (f"{CURATOR}::TestPrecision", CURATOR_CLOSENESS),
    ),
    Mutant(
        "the smallest eta for every release",
        "publishing.py",
        "stated_eta(curator.eta)",
        "stated_eta(0 * curator.eta)",
        (f"{PUBLISHING}::TestPrecision",),
    ),
    Mutant(
        "eta rounded down",
        "kernel/privacy/loss.py",
        "while eta > Fraction(1, 2**bits):",
        "while eta > Fraction(32, 2**bits):",
        ("tests/privacy/test_loss.py", f"{PUBLISHING}::TestPrecision"),
    ),
]

SAMPLERS = [
    Mutant(
        "one draw for values that share memory",
        "kernel/noise/bulk.py",
        " or not _apart(values)",
        "",
        (BULK,),
    ),
    Mutant(
        "thresholds off by one in 2^128",
        "kernel/noise/tables.py",
        "// whole + 1) >> 1 for power in powers]",
        "// whole + 3) >> 1 for power in powers]",
        (TABLES,),
    ),
    Mutant(
        "the table of another digit",
        "kernel/noise/tables.py",
        "for j in reversed(range(digits))]",
        "for j in range(digits)]",
        (TABLES,),
    ),
    Mutant(
        "the negative side as heavy as the positive",
        "kernel/noise/tables.py",
        "below = _tail(alpha * _ONE // (_ONE + alpha), ratio)",
        "below = _tail(_ONE // 2, ratio)",
        (TABLES,),
    ),
    Mutant(
        "digits of negative draws not complemented",
        "kernel/noise/bulk.py",
        "entry = found[i] ^ ((draws[i] >> 63) & _TWICE_255)",
        "entry = found[i]",
        (BULK,),
    ),
    Mutant(
        "digits of open negative draws not complemented",
        "kernel/noise/bulk.py",
        "(draw << 8) | (value ^ ((draw >> 63) & 255))",
        "(draw << 8) | value",
        (BULK,),
    ),
    Mutant(
        "ties with a threshold on the wrong side",
        "kernel/noise/look_up.py",
        "thresholds[row, 1] <= lower",
        "thresholds[row, 1] < lower",
        (BULK,),
    ),
    Mutant(
        "open draws never settled",
        "kernel/noise/bulk.py",
        "        values[i] += draw\n",
        "        values[i] += 0\n",
        (BULK,),
    ),
    Mutant(
        "exp(-gamma) wrong above 1",
        "kernel/noise/exact.py",
        "for _ in range(whole):",
        "for _ in range(whole - 1):",
        (SLOW,),
    ),
    Mutant(
        "zero drawn twice as often",
        "kernel/noise/exact.py",
        "if magnitude or not negative:",
        "if magnitude is not None:",
        (SLOW,),
    ),
    Mutant(
        "uniform by remainder",
        "kernel/noise/exact.py",
        "if candidate < n:\n            return candidate",
        "if candidate is not None:\n            return candidate % n",
        (SLOW,),
    ),
    Mutant(
        "no kernels where nothing can be written",
        "compiled.py",
        "except RuntimeError:",
        "except ZeroDivisionError:",
        (COMPILED,),
    ),
    Mutant(
        "noise in steps of two",
        "kernel/noise/bulk.py",
        "        add_laplace(values, scale, self._entropy)\n",
        "        noise = np.zeros(values.shape, np.int64)\n"
        "        add_laplace(noise, scale / 2, self._entropy)\n"
        "        values += 2 * noise\n",
        (LOW_BITS,),
    ),
]

"""Where random bits come from, and the samplers on them."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    BULK,
    ENTROPY,
    HOSTILITY,
    LOW_BITS,
    PUBLISHING,
    SLOW,
    TABLES,
)

_OWN_KEY = """self._process = _process()
        self._stream = Keystream(os.urandom(KEY_BYTES))"""

RANDOMNESS = [
    Mutant(
        "a spawned source is the same source",
        "noise/entropy.py",
        "return SystemEntropy()",
        "return self",
        (ENTROPY,),
    ),
    Mutant(
        "a forked child keeps the key",
        "noise/entropy.py",
        "if self._process != process:",
        "if False:",
        (ENTROPY,),
    ),
    Mutant(
        "spare bits used again",
        "noise/entropy.py",
        "self._spare >>= k",
        "self._spare >>= 0",
        (ENTROPY,),
    ),
    Mutant(
        "the same key every time",
        "noise/entropy.py",
        _OWN_KEY,
        _OWN_KEY.replace("os.urandom(KEY_BYTES)", "bytes(KEY_BYTES)"),
        (ENTROPY,),
        quick=True,
    ),
    Mutant(
        "the keystream from its start at every fill",
        "noise/entropy.py",
        "with self._lock:\n            for start in range",
        "with self._lock:\n            self._cipher.reset_nonce(bytes(16))\n"
        "            for start in range",
        (ENTROPY,),
    ),
    Mutant(
        "one keystream for all chunks",
        "noise/bulk.py",
        "sources = [entropy.spawn() for _ in chunks]",
        "sources = [entropy for _ in chunks]",
        (BULK,),
    ),
    Mutant(
        "an injected source believed to be private",
        "noise/bulk.py",
        "return type(self._entropy) is SystemEntropy",
        "return bool(self._entropy.private)",
        (f"{PUBLISHING}::TestInjectedRandomness",),
    ),
    Mutant(
        "the samplers' distance of one draw for all",
        "noise/bulk.py",
        "return values.size * laplace_eta(scale)",
        "return laplace_eta(scale)",
        (LOW_BITS,),
    ),
]

SAMPLERS = [
    Mutant(
        "one draw for values that share memory",
        "noise/bulk.py",
        " or not _apart(values)",
        "",
        (BULK,),
    ),
    Mutant(
        "tables remembered for numbers of a caller's own kind",
        "remembered.py",
        "if _plain(given) and _plain(tuple(named.values())):",
        "if True:",
        (HOSTILITY,),
    ),
    Mutant(
        "thresholds off by one in 2^128",
        "noise/tables.py",
        "// whole + 1) >> 1 for power in powers]",
        "// whole + 3) >> 1 for power in powers]",
        (TABLES,),
    ),
    Mutant(
        "the table of another digit",
        "noise/tables.py",
        "for j in reversed(range(digits))]",
        "for j in range(digits)]",
        (TABLES,),
    ),
    Mutant(
        "the negative side as heavy as the positive",
        "noise/tables.py",
        "below = _tail(alpha * _ONE // (_ONE + alpha), ratio)",
        "below = _tail(_ONE // 2, ratio)",
        (TABLES,),
    ),
    Mutant(
        "digits of negative draws not complemented",
        "noise/bulk.py",
        "entry = found[i] ^ ((draws[i] >> 63) & _TWICE_255)",
        "entry = found[i]",
        (BULK,),
    ),
    Mutant(
        "digits of open negative draws not complemented",
        "noise/bulk.py",
        "(draw << 8) | (value ^ ((draw >> 63) & 255))",
        "(draw << 8) | value",
        (BULK,),
    ),
    Mutant(
        "ties with a threshold on the wrong side",
        "noise/bulk.py",
        "thresholds[row, 1] <= lower",
        "thresholds[row, 1] < lower",
        (BULK,),
    ),
    Mutant(
        "open draws never settled",
        "noise/bulk.py",
        "        values[i] += draw\n",
        "        values[i] += 0\n",
        (BULK,),
    ),
    Mutant(
        "exp(-gamma) wrong above 1",
        "noise/exact.py",
        "for _ in range(whole):",
        "for _ in range(whole - 1):",
        (SLOW,),
    ),
    Mutant(
        "zero drawn twice as often",
        "noise/exact.py",
        "if magnitude or not negative:",
        "if magnitude is not None:",
        (SLOW,),
    ),
    Mutant(
        "uniform by remainder",
        "noise/exact.py",
        "if candidate < n:\n            return candidate",
        "if candidate is not None:\n            return candidate % n",
        (SLOW,),
    ),
    Mutant(
        "noise in steps of two",
        "noise/bulk.py",
        "        add_laplace(values, scale, self._entropy)\n",
        "        noise = sample_laplace(scale / 2, values.size, self._entropy)\n"
        "        values += 2 * noise.reshape(values.shape)\n",
        (LOW_BITS,),
    ),
]

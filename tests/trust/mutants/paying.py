"""What the curator asks for an answer, and the noise it adds."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    ACCOUNT,
    CURATOR,
    DURABLE,
    EXACT,
    PUBLISHING,
    VALUES,
)

_NOISE_ON_COUNTS = """values = part_counts(self.__held.data, partition)
        eta = self._noise.add_laplace(values, noise.scale)"""

_CHARGED_COUNTS = """self._account.charge(amount)
        values = part_counts(self.__held.data, partition)
        eta = self._noise.add_laplace(values, noise.scale)"""

_CHARGED_COEFFICIENTS = """self._account.charge(amount)
        values = dense_counts(self.__held.data, transform.coefficient_shape)
        transform.forward_within(values)
        self._eta_sum.add(add_noise(values, transform, noise.scale, self._noise))"""

_CHARGED_SELECTION = """self._account.charge(amount)
        values = score"""


def _charged_last(block: str) -> str:
    charge, rest = block.split("\n        ", 1)
    return f"{rest}\n        {charge}"


SCALES = [
    Mutant(
        "half the scale on counts",
        "kernel/curator/curator.py",
        _NOISE_ON_COUNTS,
        _NOISE_ON_COUNTS.replace("scale)", "scale / 2)"),
        (f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more",),
    ),
    Mutant(
        "half the scale on coefficients",
        "kernel/curator/curator.py",
        "add_noise(values, transform, noise.scale, self._noise)",
        "add_noise(values, transform, noise.scale / 2, self._noise)",
        ("tests/mechanisms/test_conformance.py::test_no_neighbour_loses_more_than_epsilon",),
    ),
    Mutant(
        "half the scale of a selection",
        "kernel/curator/curator.py",
        "[value / doubled for value in values]",
        "[2 * value / doubled for value in values]",
        (f"{EXACT}::test_a_selection_loses_at_most_epsilon",),
    ),
    Mutant(
        "no factor 2 in a selection",
        "kernel/curator/curator.py",
        "entering=2 * score.entering, moving=2 * score.moving",
        "entering=score.entering, moving=score.moving",
        (f"{EXACT}::test_a_selection_loses_at_most_epsilon", VALUES),
    ),
    Mutant(
        "a row that moves changes one count",
        "kernel/curator/curator.py",
        "moving=min(2, partition.parts)",
        "moving=1",
        (f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more",),
    ),
    Mutant(
        "moving rows priced as entering ones",
        "kernel/privacy/loss.py",
        "else max(entering, moving)",
        "else entering",
        (VALUES,),
        quick=True,
    ),
    Mutant(
        "max_rows not in the scale",
        "kernel/privacy/loss.py",
        "return self.max_rows * self._of_row",
        "return self._of_row",
        (VALUES, f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more"),
    ),
    Mutant(
        "neighbours swapped in the scale",
        "kernel/privacy/loss.py",
        'return entering if self.neighbours == "add-remove"',
        'return entering if self.neighbours == "replace-one"',
        (VALUES, f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more"),
    ),
    Mutant(
        "delta without its e^epsilon",
        "kernel/privacy/loss.py",
        "bound = (1 + growth) * self.eta",
        "bound = 2 * self.eta",
        ("tests/privacy/test_loss.py",),
    ),
    Mutant(
        "epsilon by binary fractions",
        "kernel/privacy/loss.py",
        "return Fraction(number)",
        "return Fraction(float(number))",
        ("tests/privacy/test_loss.py",),
    ),
]

PAYING = [
    Mutant(
        "counts charged after drawing",
        "kernel/curator/curator.py",
        _CHARGED_COUNTS,
        _charged_last(_CHARGED_COUNTS),
        (CURATOR,),
    ),
    Mutant(
        "coefficients charged after drawing",
        "kernel/curator/curator.py",
        _CHARGED_COEFFICIENTS,
        _charged_last(_CHARGED_COEFFICIENTS),
        (CURATOR,),
    ),
    Mutant(
        "a selection never charged",
        "kernel/curator/curator.py",
        _CHARGED_SELECTION,
        _CHARGED_SELECTION.split("\n        ", 1)[1],
        (CURATOR,),
    ),
    Mutant(
        "accounts never charged",
        "kernel/privacy/account.py",
        'left of the allotment")\n        self._spent += amount',
        'left of the allotment")',
        (ACCOUNT,),
    ),
    Mutant(
        "an account beyond its allotment",
        "kernel/privacy/account.py",
        "if amount > self.left:",
        "if amount > self._allotment:",
        (ACCOUNT,),
    ),
    Mutant(
        "parts that the whole does not pay for",
        "kernel/privacy/account.py",
        "self._partition.parent._pay(max(Fraction(0), amount - self._partition.free(self)))",
        "pass",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "the second largest part for nothing",
        "kernel/privacy/account.py",
        'counted=1 if neighbours == "add-remove" else 2',
        "counted=1",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "neighbours swapped in a split",
        "kernel/privacy/account.py",
        'counted=1 if neighbours == "add-remove" else 2',
        'counted=2 if neighbours == "add-remove" else 1',
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "the allotment again for every part",
        "kernel/curator/curator.py",
        "account=account,\n                noise=self._noise,",
        "account=Account(self._account.left),\n                noise=self._noise,",
        (CURATOR,),
    ),
    Mutant(
        "a forked copy of an account",
        "kernel/privacy/account.py",
        "if this_process() != self._process:",
        "if False:",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "a forked copy of an account under the same pid",
        "kernel/processes.py",
        "return os.getpid(), _forks",
        "return os.getpid(), 0",
        (ACCOUNT,),
    ),
    Mutant(
        "twice the allotment for a mechanism",
        "publishing.py",
        "noise, account = make_noise(), Account(amount)",
        "noise, account = make_noise(), Account(2 * amount)",
        (f"{DURABLE}::test_a_mechanism_cannot_spend_more_than_was_paid",),
    ),
    Mutant(
        "twice the allotment for a curator",
        "publishing.py",
        "return Curator(holding, exposure=schema.exposure, account=Account(amount)",
        "return Curator(holding, exposure=schema.exposure, account=Account(2 * amount)",
        (f"{PUBLISHING}::TestCurate",),
    ),
]

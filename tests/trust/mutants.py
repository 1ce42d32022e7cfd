"""Every way we know to break a promise by one change of the source, and the tests that notice.

A new mechanism, transform or score adds its own mutants here: at least one that halves each of its
scales, one that drops each of its splits of ε, and one that misjudges what a person can change.

`old` must stand in the file exactly once, so that the list cannot drift away from the source.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
SECONDS = 300


@dataclass(frozen=True)
class Mutant:
    """One wrong change, and the tests of which at least one must go red."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    quick: bool = False
    """Whether an ordinary run tries it too."""

    def applied(self, source: str) -> str:
        """The source with the mutant in it."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text stands {source.count(self.old)} times")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Outcome:
    """How the tests of a mutant ended."""

    code: int
    seconds: float
    output: str

    @property
    def caught(self) -> bool:
        """Whether a test failed: not that none was found, nor that nothing could be imported."""
        return self.code == 1

    @property
    def by(self) -> str:
        """The test that failed."""
        found = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+::\S+)", self.output, re.MULTILINE)
        return found.group(1) if found else "?"


# Exit codes that pytest does not have.
_NOT_THE_COPY = 97
_RUN = f"""
import os, sys
import hushtable
if not os.path.realpath(hushtable.__file__).startswith(os.path.realpath(sys.argv[1]) + os.sep):
    sys.exit({_NOT_THE_COPY})
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


def run_tests(tests: tuple[str, ...], folder: Path, mutant: Mutant | None = None) -> Outcome:
    """Run tests on a copy of the source, with one mutant in it or as it is."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy)
    if mutant is not None:
        _apply(mutant, copy)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(copy), *options, *tests],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, time.monotonic() - start, done.stdout + done.stderr)


def _apply(mutant: Mutant, copy: Path) -> None:
    path = copy / "hushtable" / mutant.file
    path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
    # Compiled code that was cached for the true source must not be found beside the copy.
    stale = f"{path.stem}.*"
    if "njit" in path.read_text(encoding="utf-8"):
        stale = "*"  # compiled functions of other files may hold this one's code
    for folder in copy.rglob("__pycache__"):
        for cached in folder.glob(stale):
            cached.unlink()


EXACT = "tests/mechanisms/test_exact_privacy.py"
CURATOR = "tests/curator/test_curator.py"
VALUES = "tests/curator/test_curator_values.py"
ACCOUNT = "tests/privacy/test_account.py"
LEDGER = "tests/privacy/test_ledger.py"
PUBLISHING = "tests/test_publishing.py"
ENTROPY = "tests/noise/test_noise_entropy.py"
TABLES = "tests/noise/test_noise_tables.py"
BULK = "tests/noise/test_noise_bulk.py"
SLOW = "tests/noise/test_noise_exact.py"
BOUND = "tests/counting/test_bound.py"
ENCODE = "tests/counting/test_encode.py"
FILES = "tests/counting/test_source.py"
CSV = "tests/counting/test_csvfile.py"
READABLE = "tests/counting/test_readable.py"
STORE = "tests/release/test_store.py"
HOSTILE = "tests/release/test_hostile_releases.py"
LAW = "tests/query/test_answer_law.py"
LINEAR = "tests/query/test_linear.py"
COEFFICIENTS = "tests/query/test_coefficients.py"
RANGES = "tests/release/test_count_ranges.py"
MEANING = "tests/query/test_sql_meaning.py"
CANARY = "tests/trust/test_canary.py"
DURABLE = "tests/trust/test_ledger_attacks.py"
NEIGHBOURS = "tests/trust/test_neighbouring_bytes.py"
LOW_BITS = "tests/trust/test_low_bits.py"
FOLDERS = "tests/trust/test_hostile_folders.py"
FUZZ = "tests/trust/test_sql_fuzz.py"

_NOISE_ON_COUNTS = """values = part_counts(self.__held.data, partition)
        self._tally.add(self._noise.add_laplace(values, scale))"""

SCALES = [
    Mutant(
        "half the scale on counts",
        "curator/curator.py",
        _NOISE_ON_COUNTS,
        _NOISE_ON_COUNTS.replace("scale)", "scale / 2)"),
        (f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more",),
    ),
    Mutant(
        "half the scale on coefficients",
        "curator/curator.py",
        "add_noise(values, transform, scale, self._noise)",
        "add_noise(values, transform, scale / 2, self._noise)",
        ("tests/mechanisms/test_conformance.py::test_no_neighbour_loses_more_than_epsilon",),
    ),
    Mutant(
        "half the scale of a selection",
        "curator/curator.py",
        "[value / doubled for value in values]",
        "[2 * value / doubled for value in values]",
        (f"{EXACT}::test_a_selection_loses_at_most_epsilon",),
    ),
    Mutant(
        "no factor 2 in a selection",
        "curator/curator.py",
        "entering=2 * score.entering, moving=2 * score.moving",
        "entering=score.entering, moving=score.moving",
        (f"{EXACT}::test_a_selection_loses_at_most_epsilon", VALUES),
    ),
    Mutant(
        "a row that moves changes one count",
        "curator/curator.py",
        "moving=min(2, partition.parts)",
        "moving=1",
        (f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more",),
    ),
    Mutant(
        "moving rows priced as entering ones",
        "privacy/loss.py",
        "else max(entering, moving)",
        "else entering",
        (VALUES,),
        quick=True,
    ),
    Mutant(
        "max_rows not in the scale",
        "privacy/loss.py",
        "return per_row * self.max_rows",
        "return per_row",
        (VALUES, f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more"),
    ),
    Mutant(
        "neighbours swapped in the scale",
        "privacy/loss.py",
        'per_row = entering if self.neighbours == "add-remove"',
        'per_row = entering if self.neighbours == "replace-one"',
        (VALUES, f"{EXACT}::test_noisy_counts_lose_epsilon_and_never_more"),
    ),
    Mutant(
        "delta without its e^epsilon",
        "privacy/loss.py",
        "bound = (1 + growth) * self.eta",
        "bound = 2 * self.eta",
        ("tests/privacy/test_loss.py",),
    ),
    Mutant(
        "epsilon by binary fractions",
        "privacy/loss.py",
        "return Fraction(number)",
        "return Fraction(float(number))",
        ("tests/privacy/test_loss.py",),
    ),
]

_CHARGED_COUNTS = """self._account.charge(amount)
        values = part_counts(self.__held.data, partition)
        self._tally.add(self._noise.add_laplace(values, scale))"""
_CHARGED_COEFFICIENTS = """self._account.charge(amount)
        values = dense_counts(self.__held.data, transform.coefficient_shape)
        transform.forward_within(values)
        self._tally.add(add_noise(values, transform, scale, self._noise))"""
_CHARGED_SELECTION = """self._account.charge(amount)
        values = score"""


def _charged_last(block: str) -> str:
    charge, rest = block.split("\n        ", 1)
    return f"{rest}\n        {charge}"


PAYING = [
    Mutant(
        "counts charged after drawing",
        "curator/curator.py",
        _CHARGED_COUNTS,
        _charged_last(_CHARGED_COUNTS),
        (CURATOR,),
    ),
    Mutant(
        "coefficients charged after drawing",
        "curator/curator.py",
        _CHARGED_COEFFICIENTS,
        _charged_last(_CHARGED_COEFFICIENTS),
        (CURATOR,),
    ),
    Mutant(
        "a selection never charged",
        "curator/curator.py",
        _CHARGED_SELECTION,
        _CHARGED_SELECTION.split("\n        ", 1)[1],
        (CURATOR,),
    ),
    Mutant(
        "accounts never charged",
        "privacy/account.py",
        'left of the allotment")\n        self._spent += epsilon',
        'left of the allotment")',
        (ACCOUNT,),
        quick=True,
    ),
    Mutant(
        "an account beyond its allotment",
        "privacy/account.py",
        "if epsilon > self.left:",
        "if epsilon > self._allotment:",
        (ACCOUNT,),
    ),
    Mutant(
        "parts that the whole does not pay for",
        "privacy/account.py",
        "self._partition.parent._pay(max(Fraction(0), epsilon - self._partition.free(self)))",
        "pass",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "the second largest part for nothing",
        "privacy/account.py",
        'counted=1 if neighbours == "add-remove" else 2',
        "counted=1",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "neighbours swapped in a split",
        "privacy/account.py",
        'counted=1 if neighbours == "add-remove" else 2',
        'counted=2 if neighbours == "add-remove" else 1',
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "the allotment again for every part",
        "curator/curator.py",
        "account=account,\n                noise=self._noise,",
        "account=Account(self._account.left),\n                noise=self._noise,",
        (CURATOR,),
    ),
    Mutant(
        "a forked copy of an account",
        "privacy/account.py",
        "if os.getpid() != self._process:",
        "if False:",
        (ACCOUNT, CURATOR),
    ),
    Mutant(
        "twice the allotment for a mechanism",
        "publishing.py",
        "curator = Curator(holding, exposure=schema.exposure, account=Account(amount)",
        "curator = Curator(holding, exposure=schema.exposure, account=Account(2 * amount)",
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

SENSITIVITY = "tests/transforms/test_transform_sensitivity.py"
ESTIMATES = "tests/transforms/test_transform_estimates.py"
BLOCKS = "tests/transforms/test_transform_blocks.py"
SHARES = "tests/transforms/test_transform_trees.py"
WAVELETS = "tests/mechanisms/test_wavelets.py"
SHRINKING = "tests/mechanisms/test_privelet_star.py"
HIERARCHICAL = "tests/mechanisms/test_trees.py"

_EVERY_COEFFICIENT = "test_every_coefficient_takes_noise_once_at_the_scale_of_its_factors"
_NO_FACTOR_FITS = "test_what_no_factor_s_noise_would_fit_is_refused_before_anything_is_read"
_FOREIGN_PARTITION = (
    'raise OptionError("a partition is a Regions, Grid, Whole or Marginal of hushtable.curator")'
)
_SCALE_CHECK = "check_scale(scale * max(factor for _, factor in transform.blocks()))"

TRANSFORMS = [
    Mutant(
        "one scale for coefficients of every factor",
        "curator/dense.py",
        "noise.add_laplace(values[where], scale * factor)",
        "noise.add_laplace(values[where], scale)",
        (f"{WAVELETS}::test_people_of_several_rows_in_hierarchies_lose_at_most_epsilon",),
    ),
    Mutant(
        "a transform that may change behind the curator's back",
        "curator/curator.py",
        "transform = own_transform(transform)",
        "transform = transform",
        (CURATOR,),
    ),
    Mutant(
        "the total left out of Haar's sensitivity",
        "transforms/haar.py",
        "return 1 + self.splits",
        "return max(self.splits, 1)",
        (SENSITIVITY,),
    ),
    Mutant(
        "the total left out of the nominal sensitivity",
        "transforms/nominal.py",
        "return self.tree.depth + 1",
        "return max(self.tree.depth, 1)",
        (SENSITIVITY,),
    ),
    Mutant(
        "half the factors of the nominal transform",
        "transforms/nominal.py",
        "factors = 2 * self.tree.fanout[self.tree.parent] - 2",
        "factors = self.tree.fanout[self.tree.parent] - 1",
        (SENSITIVITY,),
    ),
    Mutant(
        "a root that is not measured taken for shared",
        "transforms/tree.py",
        "return Fraction(0) if self.omitted else 1 / self.level_factors[0]",
        "return 1 / self.level_factors[0]",
        (SENSITIVITY,),
    ),
    Mutant(
        "every level of a tree twice its share",
        "transforms/tree.py",
        "return tuple(1 / (self.levels * share) for share in self.shares)",
        "return tuple(1 / (2 * self.levels * share) for share in self.shares)",
        (SENSITIVITY,),
    ),
    Mutant(
        "a product as its most sensitive axis",
        "transforms/product.py",
        "return math.prod(axis.levels for axis in self.axes)",
        "return max(axis.levels for axis in self.axes)",
        (SENSITIVITY,),
    ),
    Mutant(
        "rows that move in a product priced as entering",
        "transforms/product.py",
        "return math.ceil(2 * self.entering - overlap - agreement)",
        "return self.entering",
        (SENSITIVITY,),
    ),
    Mutant(
        "all that two rows share taken for agreement",
        "transforms/product.py",
        "2 * self.entering - overlap - agreement",
        "2 * self.entering - 2 * overlap",
        (f"{SENSITIVITY}::test_products",),
    ),
    Mutant(
        "a sensitivity rounded down",
        "transforms/product.py",
        "return math.ceil(2 * self.entering",
        "return math.floor(2 * self.entering",
        (f"{SENSITIVITY}::test_large_domains_use_the_bound",),
    ),
    Mutant(
        "three coefficients shared by any two codes",
        "transforms/haar.py",
        "return Fraction(min(self.size, 2))",
        "return Fraction(min(self.size, 3))",
        (f"{SENSITIVITY}::test_overlap_and_agreement_are_the_least_of_all_pairs",),
    ),
    Mutant(
        "siblings that part taken to agree",
        "transforms/nominal.py",
        "Fraction(f - 4, 2 * f - 2)",
        "Fraction(f - 2, 2 * f - 2)",
        (f"{SENSITIVITY}::test_overlap_and_agreement_are_the_least_of_all_pairs",),
    ),
    Mutant(
        "a leaf that is its own root without a level",
        "transforms/tree.py",
        "return self._depth() + 1 - self.omitted",
        "return self._depth() + int(self.root)",
        (f"{SENSITIVITY}::test_entering_is_exactly_the_number_of_levels",),
    ),
    Mutant(
        "levels of unlike shares as one class",
        "transforms/tree.py",
        "if classes and classes[-1].factor == factor:",
        "if classes:",
        (f"{SHARES}::test_shares_of_the_budget_become_factors",),
    ),
    Mutant(
        "the last count of a tree without noise",
        "transforms/tree.py",
        "ScaleClass(start, end - self.omitted, factor)",
        "ScaleClass(start, end - 2 * self.omitted, factor)",
        (f"{SHARES}::test_classes_follow_each_other",),
    ),
    Mutant(
        "the last coefficient of a hierarchy without noise",
        "transforms/nominal.py",
        "ends = [*starts.tolist()[1:], self.coefficients]",
        "ends = [*starts.tolist()[1:], self.coefficients - 1]",
        (f"{SENSITIVITY}::test_entering_is_exactly_the_number_of_levels",),
    ),
    Mutant(
        "the last coefficient of each block without noise",
        "transforms/product.py",
        "slice(c.start, c.stop) for c in combined",
        "slice(c.start, max(c.stop - 1, 1)) for c in combined",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
        quick=True,
    ),
    Mutant(
        "the first block without noise",
        "curator/dense.py",
        "in transform.blocks()),",
        "in list(transform.blocks())[1:]),",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
    ),
    Mutant(
        "a block's largest factor for the product of them",
        "transforms/product.py",
        "math.prod((c.factor for c in combined), start=Fraction(1))",
        "max(c.factor for c in combined)",
        (f"{VALUES}::TestScales::{_EVERY_COEFFICIENT}",),
    ),
    Mutant(
        "what was put in front of a transform comes along",
        "curator/own.py",
        "return product_from_dict([type(axis).to_dict(axis) for axis in axes])",
        "return transform",
        (f"{CURATOR}::TestMisuse",),
        quick=True,
    ),
    Mutant(
        "a foreign partition let in",
        "curator/own.py",
        _FOREIGN_PARTITION,
        "return partition",
        ("tests/curator/test_curator_hostility.py",),
    ),
    Mutant(
        "a measure used as it came",
        "curator/own.py",
        "_own_measure(given.measure),",
        "given.measure,",
        ("tests/curator/test_curator_hostility.py",),
    ),
    Mutant(
        "a score used as it came",
        "curator/curator.py",
        "score = own_score(score)",
        "pass",
        ("tests/curator/test_curator_hostility.py",),
    ),
    Mutant(
        "an epsilon of its own kind",
        "privacy/loss.py",
        "ratio = Fraction(int(value.numerator), int(value.denominator))",
        "ratio = Fraction(value)",
        ("tests/curator/test_curator_hostility.py",),
    ),
    Mutant(
        "a size of its own kind",
        "transforms/axis.py",
        "if type(size) is not int or",
        "if not isinstance(size, int) or",
        ("tests/transforms/test_transform_descriptions.py",),
    ),
    Mutant(
        "noise of a large factor that does not fit",
        "curator/curator.py",
        _SCALE_CHECK,
        "check_scale(scale)",
        (f"{CURATOR}::TestMisuse",),
    ),
    Mutant(
        "differences of halves not twice the right half",
        "transforms/haar.py",
        "right *= -2",
        "right *= -1",
        (f"{ESTIMATES}::test_forward_is_the_matrix_along_any_axis",),
    ),
    Mutant(
        "compiled siblings compared without their number",
        "transforms/kernels.py",
        "here[c] = f * here[c] - above[c]",
        "here[c] = here[c] - above[c]",
        (f"{BLOCKS}::test_sums_beyond_64_bits_wrap_around",),
    ),
    Mutant(
        "the last slab left as it is",
        "transforms/blocks.py",
        "for first in range(0, lines, together)]",
        "for first in range(0, lines - together + 1, together)]",
        (f"{BLOCKS}::test_blocks_are_the_matrices",),
    ),
]

READING_WEIGHTS = [
    Mutant(
        "both ends of a range in one node as if in two",
        "transforms/haar.py",
        "np.where(above == below, 2 * more * less, 0)",
        "0",
        (f"{ESTIMATES}::test_weights_and_gains_of_every_interval",),
    ),
    Mutant(
        "least squares weighted by 1/factor",
        "transforms/tree.py",
        "float(1 / c.factor**2), k",
        "float(1 / c.factor), k",
        (f"{ESTIMATES}::test_the_inverse_is_the_exact_estimator",),
    ),
    Mutant(
        "subtrees inside a range as if outside",
        "transforms/consistency.py",
        "np.square(1 + carry)[:, None] * inside",
        "np.square(carry)[:, None] * inside",
        (f"{ESTIMATES}::test_weights_and_gains_of_every_interval",),
    ),
    Mutant(
        "what is left over given to every child",
        "transforms/consistency.py",
        "z[children] += _along(self.share[children], z) * excess",
        "z[children] += excess",
        (f"{ESTIMATES}::test_the_inverse_is_the_exact_estimator",),
    ),
    Mutant(
        "bands in the order of nodes, not of coefficients",
        "transforms/bands.py",
        "return depths[axis.order].astype(np.intp)",
        "return depths.astype(np.intp)",
        (f"{SHRINKING}::test_the_band_of_a_coefficient_is_the_depth_of_its_own_node",),
    ),
]

_OF_EACH_SUBBAND = (f"{SHRINKING}::test_thresholds_are_rounded_down_from_those_of_each_subband",)
_EQUATION_11 = (f"{SHRINKING}::test_equation_11_by_hand",)

MECHANISMS = [
    Mutant(
        "Equation 7 turned round",
        "planner/bounds.py",
        "return attribute.size <= sensitivity_bound(attribute) ** 2",
        "return attribute.size > sensitivity_bound(attribute) ** 2",
        (f"{WAVELETS}::test_equation_7_keeps_an_axis_plain_while_that_has_the_smaller_bound",),
    ),
    Mutant(
        "half the scale in the manifest",
        "mechanisms/coefficients.py",
        "str(noisy.scale)",
        "str(noisy.scale / 2)",
        (f"{WAVELETS}::test_the_scale_is_the_product_of_the_levels_over_epsilon",),
    ),
    Mutant(
        "noise that does not fit found after paying",
        "mechanisms/coefficients.py",
        _SCALE_CHECK,
        "check_scale(scale)",
        (f"{WAVELETS}::{_NO_FACTOR_FITS}",),
    ),
    Mutant(
        "moving rows forgotten before paying",
        "mechanisms/coefficients.py",
        "moving=transform.moving",
        "moving=transform.entering",
        (f"{WAVELETS}::test_moving_rows_need_a_larger_epsilon",),
    ),
    Mutant(
        "memory for the cells alone",
        "mechanisms/coefficients.py",
        "max(schema.cells, transform.cells)",
        "schema.cells",
        (f"{WAVELETS}::test_memory_is_needed_for_the_coefficients_not_only_for_the_cells",),
    ),
    Mutant(
        "half the noise variance of a subband",
        "mechanisms/privelet_star.py",
        ".variance / factor**2 for",
        ".variance / factor**2 / 2 for",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "every factor of a subband as often as the others",
        "mechanisms/privelet_star.py",
        "np.average(variances, weights=list(counts.values()))",
        "np.average(variances)",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "coefficients of a subband not normalised",
        "mechanisms/privelet_star.py",
        "sizes /= part.factors.reshape(",
        "part.factors.reshape(",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "thresholds rounded up",
        "mechanisms/privelet_star.py",
        "np.floor(thresholds_of(",
        "np.ceil(thresholds_of(",
        _OF_EACH_SUBBAND,
    ),
    Mutant(
        "all coefficients of a subband in Equation 10, not one less",
        "mechanisms/privelet_star.py",
        "(count - 1) * noise",
        "count * noise",
        _EQUATION_11,
    ),
    Mutant(
        "sizes sorted upwards, as Figure 8 scans them",
        "mechanisms/privelet_star.py",
        "np.sort(sizes, axis=1)[:, ::-1]",
        "np.sort(sizes, axis=1)",
        _EQUATION_11,
    ),
    Mutant(
        "Equation 11 with half its middle term",
        "mechanisms/privelet_star.py",
        "alpha - 2 * beta * below",
        "alpha - beta * below",
        _EQUATION_11,
    ),
    Mutant(
        "steps towards a threshold twice as long",
        "mechanisms/privelet_star.py",
        "(square - wanted) / (2 * sum_)",
        "(square - wanted) / sum_",
        _EQUATION_11,
    ),
    Mutant(
        "a hierarchy's root measured",
        "planner/choices.py",
        "return Tree.of(attribute, root=False)",
        "return Tree.of(attribute)",
        (f"{HIERARCHICAL}::test_by_default_ranges_get_the_best_tree_and_hierarchies_their_own",),
    ),
    Mutant(
        "levels of a tree not squared in its cost",
        "planner/trees.py",
        "return axis.levels**2 * float",
        "return axis.levels * float",
        (f"{HIERARCHICAL}::test_no_tree_has_a_smaller_mean_variance_than_the_best",),
    ),
]

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

_REPLAYED = 'if sequence != event["sequence"] or self.append(event) != (body, stored):'

LEDGERS = [
    Mutant(
        "no write lock before the history is read",
        "privacy/ledger.py",
        'db.execute("BEGIN IMMEDIATE")\n            history = _history(db)',
        'db.execute("BEGIN")\n            history = _history(db)',
        (f"{DURABLE}::test_the_history_is_judged_under_the_write_lock",),
    ),
    Mutant(
        "commits that do not wait for the disk",
        "privacy/ledger.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = OFF",
        (f"{DURABLE}::test_every_commit_waits_for_the_disk",),
    ),
    Mutant(
        "older copies not noticed",
        "privacy/ledger.py",
        "if seen is not None and not history.has(seen):",
        "if False:",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "the note never moved forward",
        "privacy/anchor.py",
        "if seen is None or seen.sequence < mark.sequence:",
        "if seen is None:",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "the note not locked",
        "privacy/anchor.py",
        "_lock(handle, seconds)\n                held.callback",
        "held.callback",
        (f"{LEDGER}::TestFiles",),
    ),
    Mutant(
        "the chain not verified",
        "privacy/history.py",
        _REPLAYED,
        'self.append(event)\n        if sequence != event["sequence"]:',
        (f"{LEDGER}::TestTampering",),
        quick=True,
    ),
    Mutant(
        "published releases can be voided",
        "privacy/history.py",
        "if entry.status != _BEFORE[step]:",
        'if step != "void" and entry.status != _BEFORE[step]:',
        (f"{LEDGER}::TestVoiding",),
    ),
    Mutant(
        "more than the budget",
        "privacy/history.py",
        "if epsilon > left:",
        "if epsilon > self.budgets[-1]:",
        (f"{LEDGER}::TestSpending",),
    ),
    Mutant(
        "pins not compared",
        "privacy/ledger.py",
        "wrong = [name for name in pins if history.pins[name] != pins[name]]",
        "wrong: list[str] = []",
        (f"{LEDGER}::TestPins",),
    ),
    Mutant(
        "a lost ledger begun again",
        "privacy/ledger.py",
        "if notes_of(path):\n            raise LedgerError(_LOST)",
        "if notes_of(path):\n            pass",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "a release that exists is voided",
        "privacy/ledger.py",
        "_refuse_if_released(entry)\n                _remove",
        "_remove",
        (f"{LEDGER}::TestVoiding",),
    ),
]

_PAY = """    reservation = books.reserve(amount, mechanism=recipe.name, out=str(target))
    try:
        step("draw")
        curator = Curator(holding, exposure=schema.exposure, account=Account(amount), noise=noise)
        content = recipe.measure(curator, schema, epsilon=amount, settings=chosen)
"""
_PAY_LATE = """    curator = Curator(
        holding, exposure=schema.exposure, account=Account(amount), noise=noise
    )
    content = recipe.measure(curator, schema, epsilon=amount, settings=chosen)
    reservation = books.reserve(amount, mechanism=recipe.name, out=str(target))
    try:
        step("draw")
"""
_ANNOUNCE = """        books.publishing(reservation.id)
        checksum = write_manifest(partial, manifest)
        partial.chmod(0o755)
        partial.rename(target)
"""
_ANNOUNCE_LATE = """        checksum = write_manifest(partial, manifest)
        partial.chmod(0o755)
        partial.rename(target)
        books.publishing(reservation.id)
"""
_MADE = "manifest = _manifest(schema, recipe, content, reservation, mechanism, noise.private)"

PUBLISHED = [
    Mutant(
        "paid after drawing",
        "publishing.py",
        _PAY,
        _PAY_LATE,
        (f"{PUBLISHING}::TestOrder",),
    ),
    Mutant(
        "announced after the rename",
        "publishing.py",
        _ANNOUNCE,
        _ANNOUNCE_LATE,
        (f"{DURABLE}::test_a_release_is_durable_before_it_is_visible",),
    ),
    Mutant(
        "the manifest not on the disk before the rename",
        "release/store.py",
        "file.write(text)\n        file.flush()\n        os.fsync(file.fileno())",
        "file.write(text)\n        file.flush()",
        (f"{DURABLE}::test_a_release_is_durable_before_it_is_visible",),
    ),
    Mutant(
        "the new name not on the disk",
        "publishing.py",
        "        sync_folder(target.parent)\n",
        "",
        (f"{DURABLE}::test_a_release_is_durable_before_it_is_visible",),
    ),
    Mutant(
        "always called private",
        "publishing.py",
        _MADE,
        _MADE.replace("noise.private", "True"),
        (f"{PUBLISHING}::TestInjectedRandomness",),
    ),
    Mutant(
        "the number of rows in the manifest",
        "publishing.py",
        _MADE,
        f'{_MADE}\n        manifest["rows"] = int(holding.counts.sum())',
        (NEIGHBOURS,),
    ),
    Mutant(
        "the number of occupied cells in the manifest",
        "publishing.py",
        _MADE,
        f'{_MADE}\n        manifest["occupied"] = len(holding.counts)',
        (NEIGHBOURS,),
    ),
    Mutant(
        "a noisy total in the manifest",
        "publishing.py",
        _MADE,
        f'{_MADE}\n        manifest["total"] = int(sum(a.sum() for a in content.arrays.values()))',
        (NEIGHBOURS,),
    ),
    Mutant(
        "drafts published without review",
        "publishing.py",
        "if not schema.reviewed:",
        "if False:",
        (f"{PUBLISHING}::TestRefusals",),
    ),
]

COUNTING = [
    Mutant(
        "rows without an id pooled as one person",
        "counting/bound.py",
        'column.cast("string").strip()',
        'column.cast("string").strip().fill_null("nobody")',
        (BOUND,),
    ),
    Mutant(
        "one row more than max_rows",
        "counting/bound.py",
        '["rank"] < schema.unit.max_rows',
        '["rank"] <= schema.unit.max_rows',
        (BOUND,),
    ),
    Mutant(
        "max_rows ignored",
        "counting/bound.py",
        'rows.filter(rows["rank"] < schema.unit.max_rows)',
        "rows",
        (BOUND,),
    ),
    Mutant(
        "the same salt every time",
        "counting/bound.py",
        "secrets.token_hex(16)",
        '"salt"',
        (BOUND,),
    ),
    Mutant(
        "what is no number clipped",
        "counting/encode.py",
        '(None, 0, last) if attribute.outside == "clip"',
        '(0, 0, last) if attribute.outside == "clip"',
        (ENCODE,),
    ),
    Mutant(
        "the engine's text passed on",
        "counting/source.py",
        "    except Exception:\n        raise EngineError(problem) from None",
        "    except Exception as error:\n"
        '        raise EngineError(f"{problem}: {error}") from None',
        (CANARY,),
    ),
    Mutant(
        "the engine's error as the cause of ours",
        "counting/source.py",
        "    except Exception:\n        raise EngineError(problem) from None",
        "    except Exception as error:\n        raise EngineError(problem) from error",
        (CANARY,),
    ),
    Mutant(
        "the columns that are there named in a refusal",
        "counting/columns.py",
        "the table has no column {name!r}; the schema needs",
        "the table has no column {name!r} but {present}; the schema needs",
        (CANARY,),
    ),
    Mutant(
        "rows of a cell numbered across people",
        "counting/bound.py",
        'ibis.window(group_by=["person", *codes])',
        "ibis.window(group_by=codes)",
        (f"{BOUND}::test_nobody_is_displaced_by_people_with_rows_like_theirs",),
        quick=True,
    ),
    Mutant(
        "the first number beyond a range inside it",
        "counting/encode.py",
        "else number >= high",
        "else number > high",
        (f"{ENCODE}::test_the_engine_agrees_with_the_documented_meaning",),
    ),
    Mutant(
        "text that is no number stops the counting",
        "counting/encode.py",
        'else_=text.try_cast("float64")',
        'else_=text.cast("float64")',
        (f"{ENCODE}::test_text_that_cannot_be_written_is_odd_as_well",),
    ),
    Mutant(
        "unknown labels as the first one",
        "counting/encode.py",
        "fill_null(attribute.other)",
        "fill_null(0)",
        (f"{READABLE}::test_categories_may_be_no_text_either",),
    ),
    Mutant(
        "quotes in a file taken for plain",
        "counting/records.py",
        "if byte in (_QUOTE, _RETURN) or position - line > MAX_LINE:",
        "if byte == _RETURN or position - line > MAX_LINE:",
        (f"{CSV}::test_an_odd_line_moves_one_cell_by_one_at_most",),
    ),
    Mutant(
        "line breaks inside quotes without the owner's word",
        "counting/records.py",
        "while not good and multiline and end",
        "while not good and end",
        (f"{CSV}::test_line_breaks_inside_quotes_need_the_owner_s_word",),
    ),
    Mutant(
        "lines of any length",
        "counting/records.py",
        "    if stop - position > MAX_LINE:\n        return False\n",
        "",
        (f"{CSV}::test_a_line_is_kept_up_to_its_largest_length",),
    ),
    Mutant(
        "surrogates as text",
        "counting/records.py",
        "byte == 0xED and second > 0x9F",
        "byte == 0xED and second > 0xBF",
        (f"{CSV}::test_a_line_is_text_exactly_where_python_reads_it_so",),
    ),
    Mutant(
        "broken categories left to the engine",
        "counting/readable.py",
        "return _readable(column.dictionary).take(column.indices)",
        "return column",
        (f"{READABLE}::test_categories_may_be_no_text_either",),
    ),
    Mutant(
        "times beyond any calendar left to the engine",
        "counting/readable.py",
        "ticks = pc.if_else(inside, ticks,",
        "ticks = pc.if_else(True, ticks,",
        (f"{READABLE}::test_times_beyond_any_calendar_are_odd_values",),
    ),
    Mutant(
        "a first line that swallows rows",
        "counting/csvfile.py",
        "if not is_record(header, delimiter):",
        "if False:",
        (f"{CSV}::test_a_first_line_that_could_swallow_rows_is_refused",),
    ),
    Mutant(
        "encodings in which a line can change the next",
        "counting/csvfile.py",
        "if not _ENCODINGS.fullmatch(name):",
        "if False:",
        (f"{CSV}::test_an_impossible_format_is_refused",),
    ),
    Mutant(
        "a byte that an encoding does not have stops the counting",
        "counting/csvfile.py",
        '(encoding)("replace")',
        '(encoding)("strict")',
        (f"{CSV}::test_what_an_encoding_does_not_have_is_one_odd_value",),
    ),
    Mutant(
        "types guessed from values",
        "counting/csvfile.py",
        "auto_detect = false, header = true, columns = {{{types}}}",
        "auto_detect = true, header = true",
        ("tests/trust/test_odd_rows.py",),
    ),
    Mutant(
        "spilled data left behind",
        "scratch.py",
        "shutil.rmtree(folder, ignore_errors=True)\n        os.close(lock)\n\n\ndef partial",
        "os.close(lock)\n\n\ndef partial",
        ("tests/test_scratch.py", CANARY),
    ),
    Mutant(
        "an internal error's own text shown",
        "cli/main.py",
        "{type(problem).__name__} at {place}",
        "{problem} at {place}",
        (CANARY,),
    ),
]

READING = [
    Mutant(
        "checksums not compared",
        "release/store.py",
        "if hashlib.sha256(piece.data).hexdigest() != self._hashes[chunk]:",
        "if False:",
        (STORE,),
    ),
    Mutant(
        "sizes not compared",
        "release/store.py",
        "if os.fstat(opened.fileno()).st_size != size:",
        "if False:",
        (STORE, HOSTILE),
    ),
    Mutant(
        "links followed",
        "release/store.py",
        "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDONLY | os.O_NONBLOCK",
        (FOLDERS,),
    ),
    Mutant(
        "newer formats read",
        "release/manifest.py",
        "if version > FORMAT:",
        "if False:",
        (FOLDERS,),
    ),
    Mutant(
        "manifests of any size parsed",
        "release/manifest.py",
        "if count_items(raw) > MAX_ITEMS:",
        "if False:",
        (f"{HOSTILE}::test_millions_of_values_are_refused_unparsed", FOLDERS),
    ),
    Mutant(
        "numbers that are not finite",
        "release/manifest.py",
        "if not math.isfinite(number):",
        "if False:",
        (FOLDERS,),
    ),
]

ANSWERS = [
    Mutant(
        "the variance of the continuous Laplace law",
        "query/law.py",
        "return 2 * math.exp(-rate) / math.expm1(-rate) ** 2",
        "return 2 / rate**2",
        (LAW,),
    ),
    Mutant(
        "nulls in the complement of a range",
        "query/condition.py",
        "return Atom(axis, codes, CodeSet.single(attribute.other))",
        "return Atom(axis, codes)",
        (MEANING, FUZZ),
    ),
    Mutant(
        "boxes that overlap",
        "query/predicate.py",
        "yield Box(sets)",
        "yield Box(sets)\n            yield Box((*sets[:-1], CodeSet(sets[-1].intervals[:1])))",
        (MEANING, FUZZ),
    ),
    Mutant(
        "NOT over AND without De Morgan",
        "query/predicate.py",
        "conjunction=isinstance(formula, All) == wanted",
        "conjunction=isinstance(formula, All)",
        (MEANING, FUZZ),
    ),
    Mutant(
        "mirrored comparisons not mirrored",
        "query/condition.py",
        "left, right, sign = right, left, _MIRRORED[sign]",
        "left, right = right, left",
        (MEANING, FUZZ),
    ),
    Mutant(
        "parts of a statement ignored",
        "query/syntax.py",
        'if value and key.rstrip("_") not in allowed:',
        "if False:",
        ("tests/query/test_sql_refusals.py", FUZZ),
    ),
    Mutant(
        "groups ordered as they first appear",
        "query/answer.py",
        "places = self.places.get(name)",
        "places = None",
        (FUZZ,),
    ),
    Mutant(
        "grouped by an alias that hides an attribute",
        "query/sql.py",
        'clause == "GROUP BY" and self._hides_another',
        'clause == "nothing" and self._hides_another',
        (FUZZ,),
    ),
    Mutant(
        "BETWEEN without its AND",
        "query/syntax.py",
        "if empty or (kinds[0] in _ENDS_VALUE and kinds[1] in _BEGINS_VALUE):",
        "if empty:",
        (FUZZ,),
    ),
]

_OF_MATRICES = (f"{COEFFICIENTS}::test_a_count_and_its_variance_are_those_of_the_matrices",)
_SHRUNKEN_BOXES = (
    f"{COEFFICIENTS}::test_every_box_of_shrunken_coefficients_has_its_noise_and_its_shift",
)
_MANY_BOXES = (f"{RANGES}::test_many_boxes_are_answered_as_one_by_one",)

ERROR_BARS = [
    Mutant(
        "weights not squared in a variance",
        "query/linear.py",
        "math.fsum(count * weight**2 * v for",
        "math.fsum(count * weight * v for",
        (f"{LINEAR}::test_the_variance_and_kurtosis_are_those_of_the_convolved_law",),
    ),
    Mutant(
        "the factor left out of a sum of one kind",
        "query/linear.py",
        "DiscreteLaplaceSum(law.scale * factor, count)",
        "DiscreteLaplaceSum(law.scale, count)",
        (f"{LINEAR}::test_one_kind_of_term_is_the_plain_sum_stretched",),
    ),
    Mutant(
        "a half width not widened by its jitter",
        "query/linear.py",
        "covering * reach / n + jitter)",
        "covering * reach / n)",
        (f"{LINEAR}::test_half_widths_cover_and_are_hardly_wider_than_the_smallest_that_do",),
    ),
    Mutant(
        "the normal limit without half a step",
        "query/linear.py",
        "* quantile + max(weight for weight, _, _ in spread) / 2",
        "* quantile",
        (f"{LINEAR}::test_where_the_normal_limit_takes_over_it_misses_as_often_as_asked",),
    ),
    Mutant(
        "small weights taken for cancelled ones",
        "query/linear.py",
        "residue = 1e-14 * max",
        "residue = 1e-5 * max",
        (f"{LINEAR}::test_a_crowd_of_small_weights_counts_and_cancelled_ones_do_not",),
    ),
    Mutant(
        "the first coefficient of a class in the one before",
        "query/coefficients.py",
        'which = np.searchsorted([c.stop for c in classes], row.positions, side="right")',
        "which = np.searchsorted([c.stop for c in classes], row.positions)",
        (f"{COEFFICIENTS}::test_every_interval_of_every_transform",),
    ),
    Mutant(
        "factors of several axes not multiplied",
        "query/coefficients.py",
        "factor * another] += count * more",
        "factor] += count * more",
        _OF_MATRICES,
    ),
    Mutant(
        "the error of the first of several boxes",
        "query/coefficients.py",
        "return linear_noise(self.scale, self._touched(rows, read=False)[1])",
        "return linear_noise(self.scale, self._touched(rows[:1], read=False)[1])",
        _OF_MATRICES,
    ),
    Mutant(
        "cells' errors without their factors",
        "query/coefficients.py",
        "DiscreteLaplaceSum(self.scale * factor, 1).variance",
        "DiscreteLaplaceSum(self.scale, 1).variance",
        (f"{COEFFICIENTS}::test_cells_and_their_variances_are_counts_of_single_cells",),
    ),
    Mutant(
        "thresholds without the factor of a coefficient",
        "query/shrunken.py",
        "theta = theta * factors.reshape(",
        "factors.reshape(",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an interval",
        "query/shrunken.py",
        "self.noise.half_width(confidence) + abs(self.shift)",
        "self.noise.half_width(confidence)",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "what shrinking took off left out of an error",
        "query/shrunken.py",
        "return self.noise.variance + self.shift**2",
        "return self.noise.variance",
        _SHRUNKEN_BOXES,
    ),
    Mutant(
        "one side of the normal law for both",
        "query/law.py",
        "normal_half_width(self.variance, 0.0, 1 - checked_confidence(confidence))",
        "normal_half_width(self.variance, 0.0, 2 * (1 - checked_confidence(confidence)))",
        (f"{LAW}::test_an_estimated_error_is_that_of_a_normal_law",),
    ),
    Mutant(
        "corners of a box added with the wrong sign",
        "query/batch.py",
        "sign = (-1) ** (table.ndim - sum(corner))",
        "sign = (-1) ** sum(corner)",
        _MANY_BOXES,
    ),
]

MUTANTS: tuple[Mutant, ...] = (
    *SCALES,
    *PAYING,
    *TRANSFORMS,
    *READING_WEIGHTS,
    *MECHANISMS,
    *RANDOMNESS,
    *SAMPLERS,
    *LEDGERS,
    *PUBLISHED,
    *COUNTING,
    *READING,
    *ANSWERS,
    *ERROR_BARS,
)

SHORTCUT = "tests/sparse/test_sparse_shortcut.py"
PLACES = "tests/sparse/test_sparse_structure.py"
SKETCHES = "tests/sparse/test_sparse_sketch.py"
KEPT = "tests/sparse/test_sparse_answers.py"
SUMMARIES = "tests/sparse/test_sparse_release.py"
SPARSE_EXACT = "tests/mechanisms/test_sparse_mechanisms.py"

SPARSE = [
    Mutant(
        "the root of a dyadic axis not paid for",
        "summaries/structure.py",
        "return math.prod(1 + splits(size) for size in self.shape)",
        "return math.prod(max(splits(size), 1) for size in self.shape)",
        (PLACES, SPARSE_EXACT),
    ),
    Mutant(
        "a moved row changes a summary once",
        "summaries/structure.py",
        "return 2 * self.entering - (0",
        "return self.entering - (0",
        (PLACES, SPARSE_EXACT),
    ),
    Mutant(
        "half the scale for a summary",
        "curator/curator.py",
        "summarise(data, structure, rule, scale, self._noise, rooted=rooted)",
        "summarise(data, structure, rule, scale / 2, self._noise, rooted=rooted)",
        (SPARSE_EXACT,),
        quick=True,
    ),
    Mutant(
        "one row of a sketch paid for",
        "summaries/sketch.py",
        "        return self.rows\n",
        "        return 1\n",
        (SKETCHES, SPARSE_EXACT),
    ),
    Mutant(
        "a row moved within a sketch changes one bucket",
        "summaries/sketch.py",
        "return 2 * self.rows",
        "return self.rows",
        (SKETCHES,),
    ),
    Mutant(
        "the share of a noisy total spent twice",
        "mechanisms/sparse.py",
        "rest = epsilon * (1 - share)",
        "rest = epsilon",
        (SPARSE_EXACT,),
    ),
    Mutant(
        "no noise on empty places",
        "noise/gaps.py",
        "if chance < laws.NEVER or empty == 0:",
        "if True:",
        (SHORTCUT,),
        quick=True,
    ),
    Mutant(
        "neighbouring gaps overlap",
        "noise/gaps.py",
        "last += gaps[i] + 1",
        "last += gaps[i]",
        (f"{SHORTCUT}::test_gaps_reach_every_subset_of_the_empty_places_once",),
    ),
    Mutant(
        "an empty place taken for the occupied one beside it",
        "noise/gaps.py",
        "occupied[passed] <= ranks[i] + passed",
        "occupied[passed] < ranks[i] + passed",
        (f"{SHORTCUT}::test_gaps_reach_every_subset_of_the_empty_places_once",),
    ),
    Mutant(
        "occupied places before all others",
        "noise/gaps.py",
        "(i < len(left) and left[i] < right[j])",
        "(i < len(left))",
        (SHORTCUT,),
    ),
    Mutant(
        "one side of a two-sided filter",
        "summaries/laws.py",
        "Decimal(2 if two_sided else 1)",
        "Decimal(1)",
        (SHORTCUT,),
    ),
    Mutant(
        "gaps by a chance of 28 digits",
        "summaries/laws.py",
        "c.minus(c.ln(c.subtract(_ONE, chance)))",
        "-c.ln(c.subtract(_ONE, chance))",
        (f"{SHORTCUT}::test_gap_scales_give_the_chance_back",),
    ),
    Mutant(
        "added candidates without what is known of them",
        "summaries/laws.py",
        "return c.divide(gained, c.subtract(_ONE, before))",
        "return gained",
        (SHORTCUT,),
    ),
    Mutant(
        "upgraded places of a filter all positive",
        "noise/sparse.py",
        "    if rule.two_sided:\n        values = with_signs(values, draw.entropy)\n",
        "",
        (SHORTCUT,),
    ),
    Mutant(
        "sampled noise as if it were filtered",
        "noise/sparse.py",
        "values += sample_geometric(scale, size, entropy) % tau",
        "values += sample_geometric(scale, size, entropy) // tau",
        (SHORTCUT,),
    ),
    Mutant(
        "filtered and sampled noise without its head",
        "noise/sparse.py",
        "values += np.where(head, 0, more)",
        "values += more",
        (SHORTCUT,),
    ),
    Mutant(
        "a priority sample that stops short",
        "noise/sparse.py",
        "if len(taken.places) > rule.size:",
        "if True:",
        (SHORTCUT,),
    ),
    Mutant(
        "added candidates of any size",
        "noise/sparse.py",
        "some = drawn[stays][: size - done]",
        "some = drawn[: size - done]",
        (SHORTCUT,),
    ),
    Mutant(
        "priorities of added candidates too high",
        "noise/sparse.py",
        "    if above is None:\n        return np.asarray(floor / uniform)\n",
        "    if True:\n        return np.asarray(floor / uniform)\n",
        (SHORTCUT,),
    ),
    Mutant(
        "occupied places sampled whatever their size",
        "noise/sparse.py",
        "return _uniform_below(tau, len(sizes), entropy) < sizes",
        "return _uniform_below(tau, len(sizes), entropy) < sizes + 1",
        (SHORTCUT,),
    ),
    Mutant(
        "draws of a summary not counted in its distance",
        "noise/sparse.py",
        "return Kept(places, values, found.tau), self.eta + found.eta",
        "return Kept(places, values, found.tau), self.eta",
        (SHORTCUT,),
    ),
    Mutant(
        "nodes kept without their ancestors",
        "summaries/structure.py",
        "stays[here] &= (",
        "stays[here] |= (",
        (PLACES,),
    ),
    Mutant(
        "sampled counts not adjusted",
        "query/kept.py",
        "np.sign(values) * np.maximum(np.abs(values), tau)",
        "np.sign(values) * np.maximum(np.abs(values), 0 * tau)",
        (KEPT,),
    ),
    Mutant(
        "the error of sampling forgotten",
        "query/kept.py",
        "return np.asarray(noise + np.maximum(spread, places * sampling))",
        "return np.asarray(noise)",
        (KEPT,),
    ),
    Mutant(
        "a filter's bias not told",
        "query/kept.py",
        "missing * (self.theta - 1.0) + places * mean",
        "0 * missing + places * mean",
        (KEPT,),
    ),
    Mutant(
        "places out of order believed",
        "release/summary.py",
        "or (np.diff(places) <= 0).any())",
        "or False)",
        (SUMMARIES,),
    ),
    Mutant(
        "a table for everyone not verified",
        "release/store.py",
        "if hashlib.sha256(file.read(CHUNK)).hexdigest() != expected:",
        "if False:",
        (SUMMARIES,),
    ),
]

MUTANTS = (*MUTANTS, *SPARSE)


PRIVBAYES_SCORES = "tests/privbayes/test_family_scores.py"
PRIVBAYES_RECIPE = "tests/privbayes/test_privbayes.py"
PRIVBAYES_PRIVACY = "tests/privbayes/test_privbayes_privacy.py"
PRIVBAYES_INFERENCE = "tests/privbayes/test_network_inference.py"
PRIVBAYES_FIT = "tests/privbayes/test_network_fit.py"
_BOUNDS = (f"{PRIVBAYES_SCORES}::test_no_row_changes_a_score_by_more_than_its_bound",)
_SPENDING = (f"{PRIVBAYES_RECIPE}::test_all_of_epsilon_is_spent_and_no_more",)
_DELTA = (f"{PRIVBAYES_INFERENCE}::test_the_error_is_that_of_the_delta_method",)

PRIVBAYES = [
    Mutant(
        "half the distance that an arriving row changes",
        "curator/families.py",
        "return 2 * UNIT",
        "return UNIT",
        _BOUNDS,
        quick=True,
    ),
    Mutant(
        "a move that changes no more distance than an arrival",
        "curator/families.py",
        "return 3 * UNIT",
        "return 2 * UNIT",
        (f"{PRIVBAYES_SCORES}::test_a_move_can_cost_nearly_three_rows_of_distance",),
    ),
    Mutant(
        "half the information that a move changes",
        "curator/families.py",
        "return math.ceil(UNIT * (one if self.binary else both)) + 3",
        "return math.ceil(UNIT * (one if self.binary else both) / 2) + 3",
        _BOUNDS,
    ),
    Mutant(
        "information by the binary bound for every table",
        "curator/families.py",
        "(one if self.binary else both)",
        "(one)",
        _BOUNDS,
    ),
    Mutant(
        "information of rows beyond the limit",
        "curator/families.py",
        "np.minimum(np.cumsum(table), self.limit)",
        "np.cumsum(table)",
        _BOUNDS,
    ),
    Mutant(
        "half of what an arriving row changes in an assignment",
        "curator/families.py",
        "def entering(self) -> int:\n        return UNIT",
        "def entering(self) -> int:\n        return UNIT // 2",
        _BOUNDS,
    ),
    Mutant(
        "half of what a moving row changes in an assignment",
        "curator/families.py",
        "def moving(self) -> int:\n        return UNIT",
        "def moving(self) -> int:\n        return UNIT // 2",
        _BOUNDS,
    ),
    Mutant(
        "measures of anyone's own",
        "curator/families.py",
        "if not any(type(measure) is known for known in MEASURES):",
        "if not isinstance(measure, MEASURES):",
        (f"{PRIVBAYES_SCORES}::TestRefusals::test_measures_of_ones_own",),
    ),
    Mutant(
        "a handicap that helps",
        "curator/select.py",
        "known[key] - less for",
        "known[key] + less for",
        (f"{PRIVBAYES_SCORES}::test_a_handicap_is_taken_off_the_score",),
    ),
    Mutant(
        "rows counted twice in a joint table",
        "counting/joint.py",
        "counts[codes[i], column[i]] += 1",
        "counts[codes[i], column[i]] += 2",
        (f"{PRIVBAYES_SCORES}::test_exponents_are_the_scores_over_twice_the_sensitivity",),
    ),
    Mutant(
        "the whole share of the network in every round",
        "mechanisms/privbayes.py",
        "share = epsilon / (attributes - 1)",
        "share = epsilon",
        _SPENDING,
    ),
    Mutant(
        "what the network cost spent on the marginals as well",
        "mechanisms/privbayes.py",
        "marginals=epsilon - shares.rows - spent)",
        "marginals=epsilon - shares.rows)",
        _SPENDING,
    ),
    Mutant(
        "what the number of rows cost spent on the network as well",
        "mechanisms/privbayes.py",
        "marginals=epsilon - shares.rows - spent)",
        "marginals=epsilon - spent)",
        _SPENDING,
    ),
    Mutant(
        "a number of rows for nothing",
        "mechanisms/privbayes.py",
        "epsilon * _ROWS_SHARE",
        "epsilon * _ROWS_SHARE / 2",
        (f"{PRIVBAYES_RECIPE}::test_nothing_is_spent_on_a_network_where_nobody_can_have_a_parent",),
    ),
    Mutant(
        "all of the marginals' share for the largest of them",
        "mechanisms/privbayes.py",
        "epsilon * root / sum(roots)",
        "epsilon * root / max(roots)",
        _SPENDING,
    ),
    Mutant(
        "usefulness by half of the noise",
        "mechanisms/privbayes.py",
        "2 ** (k + 1) * theta * one",
        "2 ** k * theta * one",
        (f"{PRIVBAYES_RECIPE}::test_k_is_the_largest_useful_one",),
    ),
    Mutant(
        "usefulness of general tables by the noise of one of them",
        "mechanisms/privbayes.py",
        "scale = one * attributes",
        "scale = one",
        (f"{PRIVBAYES_RECIPE}::test_general_domains_bound_the_joint_table",),
    ),
    Mutant(
        "cells of a marginal mixed up",
        "curator/partition.py",
        "            part *= view.size\n            part += view.groups",
        "            part += view.groups",
        (f"{PRIVBAYES_RECIPE}::test_levels_and_joins_are_recovered_at_a_large_epsilon",),
    ),
    Mutant(
        "a network's error without what its other cells take away",
        "query/network_reader.py",
        "given = given - (conditional * given).sum(axis=-1, keepdims=True)",
        "given = given * 1.0",
        _DELTA,
    ),
    Mutant(
        "a network's error without that of the total",
        "query/network_reader.py",
        "variances = shares**2 * self.fitted.total_variance",
        "variances = 0 * shares",
        _DELTA,
    ),
    Mutant(
        "a slope that takes in its own factor",
        "query/inference.py",
        "others = step.inputs[:i] + step.inputs[i + 1 :]",
        "others = step.inputs",
        _DELTA,
    ),
    Mutant(
        "negative counts left in a network's tables",
        "query/network_fit.py",
        "np.maximum(table - thresholds[last], 0.0)",
        "table - thresholds[last]",
        (f"{PRIVBAYES_FIT}::test_distributions_are_distributions",),
    ),
    Mutant(
        "tables that agree by the noisiest of them",
        "query/network_fit.py",
        "1 / max(variance * math.prod(network.shape(table)), _TINY)",
        "max(variance * math.prod(network.shape(table)), _TINY)",
        (f"{PRIVBAYES_FIT}::test_agreement_weighs_by_precision",),
    ),
    Mutant(
        "rows drawn by the wrong side of an alias",
        "release/sample.py",
        "own = scaled < self.keep",
        "own = scaled >= self.keep",
        (f"{PRIVBAYES_INFERENCE}::test_sampled_rows_match_the_network",),
    ),
    Mutant(
        "the network of anyone's folder believed",
        "query/network.py",
        "        network._check()\n",
        "",
        ("tests/privbayes/test_network_release.py::test_a_family_larger_than_memory_is_refused",),
    ),
]

MUTANTS = (*MUTANTS, *PRIVBAYES)


NOISE_SUMS = "tests/ispe/test_noise_sums.py"
POSTERIORS = "tests/ispe/test_posteriors.py"
GROWING = "tests/ispe/test_growing.py"
EXAMPLE = "tests/ispe/test_running_example.py"
REGIONS = "tests/ispe/test_region_release.py"
PAID = f"{REGIONS}::test_both_histograms_cost_epsilon_together"

ISPE = [
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

MUTANTS = (*MUTANTS, *ISPE)

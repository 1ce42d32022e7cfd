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
STORE = "tests/release/test_store.py"
HOSTILE = "tests/release/test_hostile_releases.py"
LAW = "tests/query/test_answer_law.py"
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
        values = score.scores(part_counts(self.__held.data, score.partition))"""


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
WAVELETS = "tests/mechanisms/test_wavelets.py"

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
        "transform = _own_copy(transform)",
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
        "counting/source.py",
        "the table has no column {name!r}; the schema needs",
        "the table has no column {name!r} but {present}; the schema needs",
        (CANARY,),
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

MUTANTS: tuple[Mutant, ...] = (
    *SCALES,
    *PAYING,
    *TRANSFORMS,
    *RANDOMNESS,
    *SAMPLERS,
    *LEDGERS,
    *PUBLISHED,
    *COUNTING,
    *READING,
    *ANSWERS,
)

"""The ledger, and the order in which a release is paid, drawn and published."""

from __future__ import annotations

from .mutant import Mutant
from .suites import (
    DURABLE,
    LEDGER,
    NEIGHBOURS,
    PUBLISHING,
)

_REPLAYED = 'if sequence != event["sequence"] or self.append(event) != (body, stored):'

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

_MADE = "manifest = _manifest(schema, recipe, content, reservation, mechanism, curator)"

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
        '"private": curator.private,',
        '"private": True,',
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

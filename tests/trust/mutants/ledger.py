"""The ledger, and the order in which a release is paid, drawn and published."""

from __future__ import annotations

import textwrap

from .mutant import Mutant
from .suites import (
    DATASETS,
    DURABLE,
    FORMAT_1,
    LEDGER,
    NEIGHBOURS,
    ONE_BUDGET,
    PUBLISHING,
)

_REPLAYED = 'if sequence != event["sequence"] or self.append(event) != (body, stored):'

_RESERVE = """        reservation = books.reserve(amount, mechanism=recipe.name, out=str(target))
        try:
            step("draw")
            books.drawing(reservation.id)
"""

_DRAW = """            noise, account = make_noise(), Account(amount)
            curator = Curator(holding, exposure=schema.exposure, account=account, noise=noise)
            content = recipe.measure(curator, schema, epsilon=amount, settings=chosen)
"""

_RECORD = "            books.drawing(reservation.id)\n"

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
        "kernel/privacy/ledger.py",
        'db.execute("BEGIN IMMEDIATE")\n            history = history_of(db)',
        'db.execute("BEGIN")\n            history = history_of(db)',
        (f"{DURABLE}::test_the_history_is_judged_under_the_write_lock",),
    ),
    Mutant(
        "commits that do not wait for the disk",
        "kernel/privacy/storage.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = OFF",
        (f"{DURABLE}::test_every_commit_waits_for_the_disk",),
    ),
    Mutant(
        "older copies not noticed",
        "kernel/privacy/ledger.py",
        "if seen is not None and not history.has(seen):",
        "if False:",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "the note never moved forward",
        "kernel/privacy/anchor.py",
        "if seen is None or seen.sequence <= mark.sequence:",
        "if seen is None:",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "the note not locked",
        "kernel/privacy/anchor.py",
        "_lock(handle, seconds)\n            held.callback",
        "held.callback",
        (f"{LEDGER}::TestFiles",),
    ),
    Mutant(
        "the chain not verified",
        "kernel/privacy/history.py",
        _REPLAYED,
        'self.append(event)\n        if sequence != event["sequence"]:',
        (f"{LEDGER}::TestTampering",),
    ),
    Mutant(
        "published releases can be voided",
        "kernel/privacy/history.py",
        "if entry.status != _BEFORE[self.format][step]:",
        'if step != "void" and entry.status != _BEFORE[self.format][step]:',
        (f"{LEDGER}::TestVoiding",),
    ),
    Mutant(
        "noise looked at and given back",
        "kernel/privacy/history.py",
        "entry.status != _BEFORE[self.format][step]:",
        'entry.status not in (_BEFORE[self.format][step], *["drawing"] * (step == "void")):',
        (f"{LEDGER}::TestVoiding", f"{PUBLISHING}::TestFailuresOnTheWay"),
        quick=True,
    ),
    Mutant(
        "noise of an older ledger's reservation given back",
        "kernel/privacy/history.py",
        'if entry.status == "reserved":',
        "if False:",
        (FORMAT_1,),
    ),
    Mutant(
        "an older ledger not marked as upgraded",
        "kernel/privacy/ledger.py",
        'db.execute(f"PRAGMA user_version = {FORMAT}")\n                db.execute("COMMIT")',
        'db.execute("COMMIT")',
        (FORMAT_1,),
    ),
    Mutant(
        "releases that tell how often was tried",
        "kernel/privacy/ledger.py",
        'anchor = {"ledger": self._ledger, "hash": mark.hash}',
        'anchor = {"ledger": self._ledger, "hash": mark.hash, "sequence": mark.sequence}',
        (f"{PUBLISHING}::TestOrder",),
    ),
    Mutant(
        "entries that can be guessed from their hashes",
        "kernel/privacy/ledger.py",
        '"salt": secrets.token_hex(16)',
        '"salt": ""',
        (f"{LEDGER}::TestSpending",),
    ),
    Mutant(
        "more than the budget",
        "kernel/privacy/history.py",
        "if epsilon > left:",
        "if epsilon > self.budgets[-1]:",
        (f"{LEDGER}::TestSpending",),
    ),
    Mutant(
        "pins not compared",
        "kernel/privacy/ledger.py",
        "wrong = [name for name in pins if pinned[name] != pins[name]]",
        "wrong: list[str] = []",
        (f"{LEDGER}::TestPins",),
    ),
    Mutant(
        "a lost ledger begun again",
        "kernel/privacy/datasets.py",
        "if note.seen is not None:  # otherwise it was never made",
        "if False:",
        (f"{LEDGER}::TestTampering", f"{DURABLE}::TestTamperedLedgers"),
    ),
    Mutant(
        "a second budget for a dataset",
        "kernel/privacy/datasets.py",
        "        if there:\n",
        "        if False:\n",
        (f"{DATASETS}::TestSecondLedgers", ONE_BUDGET),
    ),
    Mutant(
        "only the path tells which ledgers are known",
        "kernel/privacy/datasets.py",
        "if note.path == str(path) or _same(_dataset_of(note), dataset)",
        "if note.path == str(path)",
        (f"{DATASETS}::TestSecondLedgers", f"{DATASETS}::TestLostLedgers"),
    ),
    Mutant(
        "ledgers that older software noted not looked into",
        "kernel/privacy/datasets.py",
        "_same(_dataset_of(note), dataset)",
        "_same(note.dataset, dataset)",
        (f"{DATASETS}::TestMovedLedgers",),
    ),
    Mutant(
        "a ledger made before it is known",
        "kernel/privacy/ledger.py",
        'Anchor(event["ledger"], path, pins["dataset"], warnings, spender).announce()',
        "pass",
        (f"{DURABLE}::test_a_kill_at_any_line_of_the_ledger",),
    ),
    Mutant(
        "two ledgers of a dataset made at once",
        "kernel/privacy/ledger.py",
        "with making_locked(warnings) as held:",
        "held = True\n    if held:",
        (f"{DATASETS}::TestSecondLedgers::test_no_other_is_made_meanwhile",),
    ),
    Mutant(
        "a moved ledger still looked for where it was",
        "kernel/privacy/ledger.py",
        "known = holds(note)",
        "known = True",
        (f"{DATASETS}::TestMovedLedgers",),
    ),
    Mutant(
        "a fresh budget by another spelling of the dataset",
        "kernel/privacy/datasets.py",
        "return one is not None and _folded(one) == _folded(other)",
        "return one == other",
        (f"{ONE_BUDGET}::TestEditedNames::test_another_spelling_is_the_same_name",),
    ),
    Mutant(
        "a fresh budget by an edited dataset",
        "kernel/privacy/datasets.py",
        'if file in files or note.path == f"{file}.ledger":',
        "if False:",
        (f"{ONE_BUDGET}::TestEditedNames",),
    ),
    Mutant(
        "a fresh budget where a ledger was moved and a name edited",
        "kernel/privacy/datasets.py",
        "if path is None or holds(note):",
        "if True:",
        (f"{ONE_BUDGET}::TestMovedAndEdited",),
    ),
    Mutant(
        "a fresh budget for a schema that was moved alone",
        "kernel/privacy/datasets.py",
        "if is_namesake and",
        "if False and is_namesake and",
        (f"{ONE_BUDGET}::TestMovedAndEdited",),
    ),
    Mutant(
        "ledgers noted before schemas were not known by their names",
        "kernel/privacy/datasets.py",
        'if file in files or note.path == f"{file}.ledger":',
        "if file in files:",
        (f"{ONE_BUDGET}::TestEditedNames",),
    ),
    Mutant(
        "a fresh budget for a copy without its dataset",
        "kernel/privacy/datasets.py",
        "if one.names_dataset > spender.names_dataset and",
        "if False and",
        (f"{ONE_BUDGET}::TestEditedNames::test_a_copy_without_its_dataset_begins_no_budget",),
    ),
    Mutant(
        "a dataset that is named not believed",
        "kernel/privacy/datasets.py",
        "if one.names_dataset > spender.names_dataset and",
        "if",
        (f"{ONE_BUDGET}::TestOtherPeople",),
    ),
    Mutant(
        "a fresh budget by another name in another file",
        "kernel/privacy/datasets.py",
        "and not any(map(os.path.exists, files)):",
        "and False:",
        (f"{ONE_BUDGET}::TestEditedNames",),
    ),
    Mutant(
        "a lost ledger of another name stands in the way",
        "kernel/privacy/datasets.py",
        "if tie is not None and holds(note):",
        "if tie is not None:",
        (f"{ONE_BUDGET}::TestOtherPeople",),
    ),
    Mutant(
        "a note that cannot be read hides its ledger",
        "kernel/privacy/datasets.py",
        "    _check_readable()\n",
        "",
        (f"{DATASETS}::TestUnreadableNotes",),
    ),
    Mutant(
        "lost ledgers that older software noted are nobody's",
        "kernel/privacy/datasets.py",
        "return _dataset_of(note) is None and noted in map(_folded, names)",
        "return False",
        (f"{DATASETS}::TestMovedLedgers",),
    ),
    Mutant(
        "lost ledgers that older software noted are everyone's",
        "kernel/privacy/datasets.py",
        "return _dataset_of(note) is None and noted in map(_folded, names)",
        "return _dataset_of(note) is None",
        (f"{DATASETS}::TestMovedLedgers",),
    ),
    Mutant(
        "only the first schema that spent remembered",
        "kernel/privacy/anchor.py",
        "dict.fromkeys((*before, *self._spenders))",
        "before or self._spenders",
        (f"{ONE_BUDGET}::TestEditedNames::test_every_schema_that_ever_spent_is_remembered",),
    ),
    Mutant(
        "only the last schema that spent remembered",
        "kernel/privacy/anchor.py",
        "dict.fromkeys((*before, *self._spenders))",
        "self._spenders",
        (f"{ONE_BUDGET}::TestEditedNames::test_every_schema_that_ever_spent_is_remembered",),
    ),
    Mutant(
        "rows and people added up",
        "kernel/privacy/ledger.py",
        'if pins["unit"] == ONE_PERSON and pinned["unit"] is not None:',
        'if pins["unit"] == ONE_PERSON:',
        (f"{DATASETS}::TestUnits", ONE_BUDGET),
    ),
    Mutant(
        "a link to a schema has a ledger of its own",
        "kernel/privacy/dataset_ledger.py",
        "real = Path(os.path.realpath(schema.source))",
        "real = schema.source",
        (ONE_BUDGET,),
    ),
    Mutant(
        "a table joins people without saying whose its rows are",
        "schema/formats.py",
        "if dataset is not None and content is None:",
        "if False:",
        (f"{ONE_BUDGET}::TestSchemas",),
    ),
]

PUBLISHED = [
    Mutant(
        "paid after drawing",
        "publishing.py",
        _RESERVE + _DRAW,
        textwrap.indent(textwrap.dedent(_DRAW), "        ") + _RESERVE,
        (f"{PUBLISHING}::TestOrder",),
    ),
    Mutant(
        "drawing recorded after the noise was drawn",
        "publishing.py",
        _RECORD + _DRAW,
        _DRAW + _RECORD,
        (f"{PUBLISHING}::TestOrder",),
    ),
    Mutant(
        "the key of the noise drawn before paying",
        "publishing.py",
        "    return lambda: EntropyNoise(entropy)",
        "    made = EntropyNoise(entropy)\n    return lambda: made",
        (f"{PUBLISHING}::TestOrder",),
    ),
    Mutant(
        "what was voided said to be spent",
        "publishing.py",
        'case "void":',
        'case "never":',
        (f"{PUBLISHING}::TestFailuresOnTheWay",),
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
        "private=curator.private,",
        "private=True,",
        (f"{PUBLISHING}::TestInjectedRandomness",),
    ),
    Mutant(
        "the number of rows in the manifest",
        "publishing.py",
        _MADE,
        f'{_MADE}\n            manifest["rows"] = int(holding.counts.sum())',
        (NEIGHBOURS,),
    ),
    Mutant(
        "the number of occupied cells in the manifest",
        "publishing.py",
        _MADE,
        f'{_MADE}\n            manifest["occupied"] = len(holding.counts)',
        (NEIGHBOURS,),
    ),
    Mutant(
        "a noisy total in the manifest",
        "publishing.py",
        _MADE,
        f"{_MADE}\n            arrays = content.arrays.values()"
        '\n            manifest["total"] = int(sum(array.sum() for array in arrays))',
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

"""Which ledgers a dataset is known to have: its budget belongs to it, not to the name of a file.

Wherever a ledger is made, the user's state folder hears of it first. A dataset that has a ledger
gets a second one only when its owner says why: a renamed, copied or moved schema, or a mistyped
path, would otherwise begin a fresh budget. A ledger is known by its identity, so it may be moved.

The name of a dataset may be edited too. A ledger that is still there therefore also counts for
whatever would spend on the same people under another name:

* the schema file that spent from it, whatever dataset it names now;
* a table without a dataset of its own, beside one of that name that spent from it as a dataset's;
* any schema in the ledger's folder, when the schema of a single table that spent from it has
  vanished from there;
* a schema file of the same name and table, when the one that spent from it is gone.

A ledger that was moved, with its schemas, and not opened since counts where it is now.

Otherwise a schema that names its dataset is believed: the same table may be in many datasets.
"""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.kernel.privacy import storage
from hushtable.kernel.privacy.anchor import Note, Spender, locked, notes

_ANEW = 'start again at zero with `hush budget SCHEMA --new-ledger "why"`'
_SECOND = 'A second budget begins with `hush budget SCHEMA --new-ledger "why"`'


def check_first(
    dataset: str, path: Path, spender: Spender | None = None, *, gone: bool = True
) -> None:
    """Refuse to begin a ledger for a dataset that has one, or where one was kept and is gone.

    The `spender` is the schema that asks. Without `gone`, what is gone is no obstacle.
    """
    known = [(note, holds(note)) for note in known_ledgers(dataset, path)]
    if any(there and note.path == str(path) for note, there in known):
        return  # made by another process, just now
    for note, there in known:
        if there:
            raise LedgerError(
                f"the dataset {dataset!r} has a ledger already{_known_as(note, dataset)},"
                f" {note.path!r}: use it (--ledger) or move it here; for other people, name the"
                f" dataset otherwise. {_SECOND}"
            )
    _check_other_names(path, spender)
    _check_readable()
    if gone:
        _check_gone(dataset, path, [note for note, _ in known])
    _check_nameless(dataset, path, spender, gone=gone)


def _known_as(note: Note, dataset: str) -> str:
    name = _dataset_of(note)
    return "" if name in (dataset, None) else f" under the name {name!r}"


def _check_gone(dataset: str, path: Path, known: list[Note]) -> None:
    """Refuse to begin again where a ledger was made and is gone."""
    for note in known:
        if note.seen is not None:  # otherwise it was never made
            was = "a ledger was kept here before and is gone: put it back."
            if note.path != str(path):
                was = f"the dataset {dataset!r} had its ledger at {note.path!r}, which is gone:"
                was += " put it back."
            raise LedgerError(f"{was} If its data and releases are gone too, {_ANEW}")


def _check_nameless(dataset: str, path: Path, spender: Spender | None, *, gone: bool) -> None:
    """Refuse to begin a ledger while one may be ours that was noted without its dataset."""
    for note in notes():
        if _could_be(note, dataset, path, spender):
            there = holds(note)
            if there or gone:
                state = "cannot be read" if there else "is gone"
                raise LedgerError(
                    f"older software kept a ledger at {note.path!r}, which {state}, and did not"
                    f" note whose it was: if it was this dataset's, put it back, otherwise {_ANEW}"
                )


def _could_be(note: Note, dataset: str, path: Path, spender: Spender | None) -> bool:
    """Whether a ledger that was noted without its dataset may have been this one, by its name.

    The name must be that of the new one, or what the schema's file or the dataset would give it. To
    ask no more would refuse every new dataset to whoever once deleted an experiment.
    """
    names = {path.name, f"{dataset}.ledger"}
    if spender is not None and spender.file is not None:
        names.add(f"{os.path.basename(spender.file)}.ledger")
    noted = _folded(os.path.basename(note.path))
    return _dataset_of(note) is None and noted in map(_folded, names)


def _check_readable() -> None:
    """Refuse to begin a ledger while there is a note of which nobody knows whose it is."""
    unreadable: list[Path] = []
    notes(unreadable)
    for file in unreadable:
        raise LedgerError(
            f"the note {str(file)!r} is damaged or cannot be read, and may be about a ledger of"
            " this dataset: restore it or make it readable; if you are sure that the dataset has no"
            " ledger yet, remove the note"
        )


def _check_other_names(path: Path, spender: Spender | None) -> None:
    """Refuse a schema whose people have a ledger under another name of the dataset."""
    if spender is None or spender.file is None:
        return
    here = _ledgers_in({path.parent, Path(spender.file).parent})
    for note in (_where_it_is(note, here) for note in notes()):
        tie = _tie(note, spender, spender.file)
        if tie is not None and holds(note):
            name = _dataset_of(note)
            whose = "" if name is None else f" of the dataset {name!r}"
            raise LedgerError(
                f"{tie} spent from the ledger {note.path!r}{whose}: to go on with it, name the"
                f" dataset as before and use that ledger (--ledger). {_SECOND}"
            )


def _ledgers_in(folders: Iterable[Path]) -> dict[str, str]:
    """The ledgers in some folders, by identity, that are named as such."""
    found = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.ledger"))):
        with suppress(LedgerError, sqlite3.Error, OSError, ValueError):
            found[str(storage.load(path).pins.get("ledger"))] = str(path)
    return found


def _where_it_is(note: Note, here: Mapping[str, str]) -> Note:
    """A note about a ledger that was moved and not opened since, as if it had been noted there.

    The schemas that were beside it are taken to have been moved with it.
    """
    path = here.get(note.ledger)
    if path is None or holds(note):
        return note
    old, new = os.path.dirname(note.path), os.path.dirname(path)
    moved = tuple(
        replace(one, file=os.path.join(new, os.path.basename(one.file)))
        if one.file is not None and os.path.dirname(one.file) == old
        else one
        for one in note.spenders
    )
    return replace(note, path=path, spenders=moved)


def _tie(note: Note, spender: Spender, file: str) -> str | None:
    """What a schema has in common with one that spent from a ledger."""
    files = {one.file: one for one in note.spenders if one.file is not None}
    if file in files or note.path == f"{file}.ledger":
        return "this schema file"
    for other, one in files.items():
        is_namesake = os.path.basename(other) == os.path.basename(file)
        if is_namesake and _same(one.table, spender.table) and not os.path.exists(other):
            return f"the schema {other!r} of this name and table, which is gone,"
    folder = os.path.dirname(file)
    beside = {other: one for other, one in files.items() if os.path.dirname(other) == folder}
    for other, one in beside.items():
        if one.names_dataset > spender.names_dataset and _same(one.table, spender.table):
            return f"the table {one.table!r} of {os.path.basename(other)!r}, in this folder,"
    alone = [other for other, one in beside.items() if not one.names_dataset]
    if alone and os.path.dirname(note.path) == folder and not any(map(os.path.exists, files)):
        return f"a schema that is no longer in this folder, {os.path.basename(alone[-1])!r},"
    return None


def known_ledgers(dataset: str, path: Path) -> list[Note]:
    """The ledgers that were noted for a dataset, and those that were kept at a path."""
    return [note for note in notes() if note.path == str(path) or _same(_dataset_of(note), dataset)]


def _same(one: str | None, other: str) -> bool:
    return one is not None and _folded(one) == _folded(other)


def _folded(name: str) -> str:
    """A name without regard to case, and to the ways in which Unicode writes an accent."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def holds(note: Note) -> bool:
    """Whether a ledger is still where it was noted, as far as can be seen."""
    try:
        return storage.load(Path(note.path)).pins.get("ledger") == note.ledger
    except (LedgerError, sqlite3.Error, OSError, ValueError):
        return True  # something is there


def _dataset_of(note: Note) -> str | None:
    """The dataset of a ledger; of one that older software noted, from the ledger itself."""
    if note.dataset is not None:
        return note.dataset
    try:
        pins = storage.load(Path(note.path)).pins
    except (LedgerError, sqlite3.Error, OSError, ValueError):
        return None
    return pins["dataset"] if pins.get("ledger") == note.ledger else None


def making_locked(warnings: list[str]) -> AbstractContextManager[bool]:
    """Keep others from making a ledger meanwhile: one of any name may be the same dataset's."""
    return locked("making", warnings, seconds=storage.BUSY_SECONDS)

"""Stand-ins: public rows in place of a private table, for trying mechanisms on.

A stand-in is a public table, by its owner's word, or rows that are drawn from a release, which is
public anyway. The private table is never looked at: neither the files that are about to be
published nor any that a private table was published from before are taken.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hushtable.errors import DataError, NoisyRowsWarning, OptionError
from hushtable.kernel.counting import CodedColumns, Counts, CsvFormat, code_table
from hushtable.kernel.counting.count import MAX_CELLS
from hushtable.kernel.counting.readers.elsewhere.remote import opened
from hushtable.kernel.counting.readers.paths import File, files_of, names_files, settled
from hushtable.kernel.counting.readers.server import identities_of, noting_read
from hushtable.kernel.counting.tally import Tally
from hushtable.kernel.privacy.sources import Source, dataset_from
from hushtable.release import Release
from hushtable.release import open as open_release
from hushtable.release.combining import planned_from
from hushtable.release.store import MANIFEST
from hushtable.schema import Schema
from hushtable.text import plain

MOST_DRAWN = 10**6
"""The most rows that are drawn from a release."""

_PUBLIC = "--public (in Python, public=True)"


@dataclass(frozen=True, repr=False)
class StandIn:
    """Public rows, coded by the schema of the table that they stand for."""

    columns: CodedColumns
    title: str
    """What it is, in words."""
    told: dict[str, Any]
    """What a manifest says of it: nothing of where it is."""
    favours: str | None = None
    """The mechanism that made the rows; like ones do better on them than on real ones."""
    warning: str | None = None
    """What was said when the rows were drawn."""

    @property
    def rows(self) -> int:
        """How many rows there are; of a table of counts, how many people."""
        return self.columns.number

    def held(self, needs: Literal["counts", "columns"]) -> Counts | CodedColumns:
        """The rows as a mechanism needs them."""
        return self.columns if needs == "columns" else self._counts

    @cached_property
    def _counts(self) -> Counts:
        shape = self.columns.shape
        if float(np.prod(np.array(shape, np.float64))) > MAX_CELLS:
            raise OptionError("the domain has more than 2^62 cells, too many to number them")
        codes = np.ravel_multi_index(
            [column.astype(np.int64) for column in self.columns.columns], shape
        )
        tally = Tally()
        tally.add(codes, self.columns.people)
        return Counts(shape, *tally.result())


def read_stand_in(
    proxy: Any,
    schema: Schema,
    *,
    public: bool = False,
    people: int | None = None,
    csv: CsvFormat | None = None,
    private: Any = None,
) -> StandIn:
    """Read the rows of a public table, or draw some from a release.

    A release gives as many rows as there are `people`, by default as it counts itself. `private` is
    the table that is about to be published.
    """
    proxy = settled(proxy)
    if isinstance(proxy, Release) or (isinstance(proxy, str | Path) and Path(proxy).is_dir()):
        found = _drawn(proxy, schema, public, people)
    else:
        found = _read(proxy, schema, public, csv, private)
    if not found.rows:
        raise DataError("no row of the proxy fits the schema")
    return found


# ── public tables ────────────────────────────────────────────────────────────────────────────────


def _read(proxy: Any, schema: Schema, public: bool, csv: CsvFormat | None, private: Any) -> StandIn:
    paths = files_of(proxy)
    _check_apart(proxy, private, _sources(proxy))
    if not public:
        raise OptionError(f"a proxy must be public: say so with {_PUBLIC}, or give a release")
    with noting_read() as read:
        columns = code_table(proxy, schema, csv)
    _check_apart(proxy, private, [*map(Source.of_table, read)])
    if not paths:
        told = {"kind": "table", "rows": columns.number}
        return StandIn(columns, "a public table", told)
    name = plain(Path(str(paths[0])).name)
    told = {
        "kind": "file",
        "name": name,
        "files": len(paths),
        "sha256": _checksum(paths),
        "rows": columns.number,
    }
    more = f" and {len(paths) - 1} more" if paths[1:] else ""
    return StandIn(columns, f"{name}{more}, public", told)


def _sources(data: Any) -> list[Source]:
    return [*map(Source.of, files_of(data)), *map(Source.of_table, identities_of(data))]


def _check_apart(proxy: Any, private: Any, files: Sequence[Source]) -> None:
    """Refuse the private table itself, whatever paths lead to it."""
    secret = _sources(private)
    if _is_same_table(proxy, private) or any(a.is_same(b) for a in files for b in secret):
        raise OptionError(
            "the proxy is the table that is about to be published: trying mechanisms on it would be"
            " paid by nobody; give a public table, or an earlier release"
        )
    for file in files:
        dataset = dataset_from(file)
        if dataset is not None:
            raise OptionError(
                f"the proxy is, or stands where there was, what the private table"
                f" {dataset!r} was published from: give a public table, or an earlier release"
            )


def _is_same_table(proxy: Any, private: Any) -> bool:
    """Whether two tables in memory are one object, or two in an engine one expression or name."""
    if private is None or names_files(proxy) or names_files(private):
        return False
    asked = {"ibis": "equals", "pyspark": "sameSemantics", "hushtable": "__eq__"}
    same = getattr(proxy, asked.get(type(proxy).__module__.partition(".")[0], ""), None)
    alike = same is not None and type(proxy) is type(private) and same(private)
    return proxy is private or bool(alike)


def _checksum(paths: Sequence[File]) -> str:
    """Of all that the files hold, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with opened(path) as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()


# ── releases ─────────────────────────────────────────────────────────────────────────────────────


def _drawn(
    proxy: Release | str | Path, schema: Schema, public: bool, people: int | None
) -> StandIn:
    release = proxy if isinstance(proxy, Release) else open_release(proxy)
    if not release.private and not public:
        raise OptionError(
            "the proxy is a release that was made with injected randomness, which keeps nothing"
            f" private: if its table is public, say so with {_PUBLIC}"
        )
    rows = min(release.number_of_rows() if people is None else people, MOST_DRAWN)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NoisyRowsWarning)
        table = release.synthesize(rows, seed=1)
    columns = code_table(table, replace(schema.own_columns, unit=None))  # rows of nobody
    dataset, name = plain(release.schema.dataset_name), plain(release.folder.resolve().name)
    told = {
        "kind": "release",
        "name": name,
        "dataset": dataset,
        "mechanism": plain(release.mechanism),
        "reservation": plain(str(release.manifest["reservation"])),
        "manifest": _checksum([str(release.folder / MANIFEST)]),
        "before": _before(release),
        "rows": columns.number,
    }
    made = f"{name}, a release of {dataset} by {plain(release.mechanism)}"
    warning = str(said[0].message) if said else None
    return StandIn(columns, made, told, favours=plain(release.mechanism), warning=warning)


def _before(release: Release) -> list[str] | None:
    """The releases that this one's own plan goes back to, by their reservations, if it is known."""
    history = planned_from(release.manifest)
    return None if history is None else [plain(one) for one in history]

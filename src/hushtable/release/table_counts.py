"""The counts of some tables of a release, one table at a time, so that memory holds one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.query.box import Box
from hushtable.release.export import Progress, count_batches
from hushtable.release.release import Release
from hushtable.release.rounding import whole_counts
from hushtable.release.row_counts import lots, row_counts
from hushtable.release.table_form import TableForm

_NOISY = "noisy counts, which may be negative, with their standard errors"
_WHOLE = "whole numbers near the noisy counts, none negative, without error bars"
_COUNTED = "counts of one set of synthetic rows: whole numbers that agree, without error bars"


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A table with its counts, and what is known of each."""

    form: TableForm
    batches: Iterator[pa.RecordBatch]
    known: dict[str, NDArray[Any]]
    """The standard errors, and which are estimates if some are; nothing of whole counts."""

    def facts(self) -> dict[str, Any]:
        """What an index says of it; where cells differ, the root of their mean square error."""
        errors = self.known.get("stderr")
        return {
            "attributes": self.form.columns,
            "cells": self.form.cells,
            "stderr": None if errors is None else float(np.sqrt(np.mean(errors**2))),
            "estimate": "estimate" in self.known,
        }


class TableSet:
    """Tables of a release that are written together; the progress of all is one.

    Whole counts of one table are the nearest ones. Several are counted off the same synthetic
    rows, those of a seed, so that they agree (`row_counts.py`).
    """

    def __init__(
        self,
        release: Release,
        forms: Sequence[TableForm],
        *,
        whole: bool,
        seed: int | None,
        progress: Progress | None,
    ) -> None:
        self.forms = forms
        self._release, self._whole, self._seed = release, whole, seed or 0
        self._drawn = whole and len(forms) > 1
        self._progress, self._done = progress, 0
        self._total = sum(form.cells for form in forms)
        if self._drawn:
            self._total += release.number_of_rows() * len(lots(forms))

    def facts(self) -> dict[str, Any]:
        """What the release is, and what the counts are."""
        release, privacy = self._release, self._release.manifest["privacy"]
        return {
            "dataset": release.schema.name,
            "mechanism": release.mechanism,
            **{key: privacy[key] for key in ("epsilon", "neighbours", "unit", "guarantee")},
            "private": release.private,
            "created": release.manifest["created"],
            "counts": _COUNTED if self._drawn else _WHOLE if self._whole else _NOISY,
            **({"seed": self._seed} if self._drawn else {}),
        }

    def tables(self) -> Iterator[CountedTable]:
        """The tables in order; each must be written before the next is asked for."""
        if not self._drawn:
            yield from map(self._answered, self.forms)
            return
        counted = row_counts(self._release, self.forms, self._seed, self._advance)
        for form, counts in zip(self.forms, counted, strict=True):
            yield self._table(form, counts, {})

    def _answered(self, form: TableForm) -> CountedTable:
        """A table as the release answers it."""
        full = Box.full(self._release.schema.shape)
        answers = self._release.reader.group((full,), form.cuts())
        if self._whole:
            return self._table(form, whole_counts(answers.values), {})
        errors = np.sqrt([law.variance for law in answers.laws])
        estimates = np.array([law.estimate for law in answers.laws], bool)
        known = {"stderr": errors} | ({"estimate": estimates} if estimates.any() else {})
        by_cell = {name: by_law[answers.law_of_row] for name, by_law in known.items()}
        return self._table(form, answers.values, by_cell)

    def _table(
        self, form: TableForm, counts: NDArray[Any], known: dict[str, NDArray[Any]]
    ) -> CountedTable:
        columns = list(zip(form.columns, form.decoders(), strict=True))
        batches = count_batches(
            columns,
            form.shape,
            counts,
            lambda part, _: {name: values[part] for name, values in known.items()},
        )
        return CountedTable(form, self._watched(batches), known)

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            self._advance(batch.num_rows)

    def _advance(self, rows: int) -> None:
        self._done += rows
        if self._progress is not None:
            self._progress(self._done, self._total)

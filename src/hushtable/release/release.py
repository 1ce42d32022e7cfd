"""A release, opened: counts with error bars, for anyone, without the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import QueryError
from hushtable.query.aggregate import Count
from hushtable.query.answer import Answer, unrounded
from hushtable.query.batch import (
    WORTH_A_TABLE,
    accumulate,
    box_sums,
    checked_ranges,
    range_boxes,
)
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts, all_codes, held_by_group
from hushtable.query.grouping import Group, Query, check_row_cap, group_nodes, projection
from hushtable.query.law import NoiseLaw, margins_of
from hushtable.query.reader import (
    Answering,
    IntervalReader,
    ModelReader,
    OptionalReader,
    RangeReader,
    Reader,
    RowReader,
    TablesReader,
)
from hushtable.query.result import Measure, ResultTable
from hushtable.release.manifest import Manifest, read_manifest
from hushtable.release.opening import Arrays, Opened, open_reader
from hushtable.schema import Attribute, IntegerRange, Schema

if TYPE_CHECKING:
    import pyarrow


ROW_CAP = 100_000
MOST_STREAMED = 10**12


def open(path: str | Path) -> Release:
    """Open a release folder; nothing in it is run, and little of it is read."""
    folder = Path(path)
    manifest = read_manifest(folder)
    return Release(folder, manifest, open_reader(folder, manifest))


class Release:
    """Published measurements of a table, and the answers they give.

    Its files are opened when it is first asked, unless they are given opened.
    """

    def __init__(self, folder: Path, manifest: Manifest, opened: Opened | None = None) -> None:
        self.folder = folder
        self._manifest = manifest
        self._opened = opened
        self._sums: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"<Release of {self.schema.name!r} by {self.mechanism}, ε = {self.epsilon}>"

    @property
    def manifest(self) -> dict[str, Any]:
        """What its manifest.json says, every field of the type it should have."""
        return self._manifest.content

    @property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self._manifest.schema

    @property
    def mechanism(self) -> str:
        """The mechanism that made it."""
        return self._manifest.stated.mechanism

    @property
    def epsilon(self) -> Fraction:
        """The ε it cost."""
        return self._manifest.epsilon

    @property
    def private(self) -> bool:
        """Whether its noise came from the operating system's randomness."""
        return self._manifest.stated.private

    @property
    def arrays(self) -> Arrays:
        """Its files, by the names they have in the manifest."""
        return self._open()[0]

    @property
    def reader(self) -> Reader:
        """What answers from its files."""
        return self._open()[1]

    def _open(self) -> Opened:
        if self._opened is None:
            self._opened = open_reader(self.folder, self._manifest)
        return self._opened

    @property
    def estimate(self) -> bool:
        """Whether some of its intervals are estimates, which may hold less often than they say.

        Each answer says for itself whether its own interval is one.
        """
        return self.reader.estimate

    def verify(self) -> None:
        """Check every byte against the manifest's checksums."""
        for array in self.arrays.values():
            array.verify()

    def _answering(self, estimate: bool) -> Answering:
        """What answers: with `estimate`, also what only a model of the measurements tells."""
        if estimate and isinstance(self.reader, ModelReader):
            return self.reader.estimating()
        return self.reader

    def count(self, where: str | None = None, *, estimate: bool = False) -> Answer:
        """The number of rows that satisfy a condition, as in SQL's WHERE; all rows without one.

        With `estimate`, a question that the measurements of a release of small tables do not
        answer is answered by a model of them, and says that it is an estimate.
        """
        from hushtable.query.sql import parse_where

        boxes = parse_where(where or "", self.schema)
        reader = self._answering(estimate)
        value, law = reader.count(boxes)
        return Answer(value, law, _note((law,), self.reader), (reader, boxes))

    def sql(
        self,
        query: str,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        row_cap: int = ROW_CAP,
        estimate: bool = False,
    ) -> ResultTable:
        """Answer SELECT … COUNT(*) … [WHERE …] [GROUP BY …], each count with its error bar.

        With `simultaneous`, all the intervals of the table hold at once at that confidence; with
        `estimate`, what small tables do not tell is answered by a model of them, as by `count`.
        """
        from hushtable.query.sql import parse_query

        return self.answer(
            parse_query(query, self.schema),
            confidence=confidence,
            simultaneous=simultaneous,
            row_cap=row_cap,
            estimate=estimate,
        )

    def table(
        self,
        *attributes: str,
        where: str | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        row_cap: int = ROW_CAP,
        estimate: bool = False,
    ) -> ResultTable:
        """The counts of every combination of these attributes' values: a marginal table."""
        from hushtable.query.sql import parse_where

        groups = tuple(Group(self.schema.index(name), None, name) for name in attributes)
        if len({group.axis for group in groups}) < len(groups):
            raise QueryError("an attribute is named twice")
        query = Query(
            parse_where(where or "", self.schema),
            groups,
            columns=(*range(len(groups)), "count"),
        )
        return self.answer(
            query,
            confidence=confidence,
            simultaneous=simultaneous,
            row_cap=row_cap,
            estimate=estimate,
        )

    def answer(
        self,
        query: Query,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        row_cap: int = ROW_CAP,
        estimate: bool = False,
    ) -> ResultTable:
        """Answer a parsed question."""
        check_row_cap(query, self.schema, row_cap)
        groups = [group for group in query.groups if isinstance(group, Group)]
        counts = [named.aggregate for named in query.aggregates] == [Count()]
        special = query.having is not None or query.grouping_sets is not None
        if not counts or special or len(groups) < len(query.groups):
            raise QueryError("of releases, only COUNT(*) by attributes is answered")
        labels, cuts = [], []
        for group in groups:
            within = projection(query.boxes, group.axis)
            names, ranges = _groups_along(self.schema.attributes[group.axis], group.level, within)
            labels.append(names)
            cuts.append((group.axis, ranges))
        estimates = self._answering(estimate).group(query.boxes, cuts)
        shown = _shown_rows(query.boxes, cuts)
        places = np.unravel_index(shown, [len(names) for names in labels]) if labels else ()
        table = ResultTable(
            groups={
                group.column: names[place]
                for group, names, place in zip(groups, labels, places, strict=True)
            },
            measures={
                query.count_name: Measure(
                    estimates.values, estimates.laws, estimates.law_of_row
                ).taken(shown)
            },
            confidence=confidence,
            simultaneous=simultaneous,
            note=_note(estimates.laws, self.reader),
            places={g.column: place for g, place in zip(groups, places, strict=True)},
        )
        return table.ordered(query.order, query.limit, query.offset).select(query.selected)

    def count_ranges(
        self, starts: ArrayLike, stops: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The counts of many boxes and their standard errors, quickly.

        A box is a row of codes start ≤ code < stop, one column per attribute of the schema. Many
        boxes are answered from a table of sums over the whole domain, which is made once.
        """
        low, high = checked_ranges(starts, stops, self.schema.shape)
        if isinstance(self.reader, RangeReader):
            values, variances = self.reader.ranges(low, high)
            return values, np.sqrt(variances)
        errors = np.sqrt(self.reader.range_variances(low, high))
        if len(low) >= WORTH_A_TABLE or self._sums is not None:
            if self._sums is None:
                self._sums = accumulate(self.reader.fresh_cells())
            return box_sums(self._sums, low, high), errors
        boxes = range_boxes(low, high)
        return np.array([self.reader.count((box,))[0] for box in boxes]), errors

    def range_intervals(
        self, starts: ArrayLike, stops: ArrayLike, *, confidence: float = 0.95
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """The counts of many boxes, and the lower and upper ends of their intervals."""
        low, high = checked_ranges(starts, stops, self.schema.shape)
        if isinstance(self.reader, IntervalReader):
            return self.reader.range_intervals(low, high, confidence)
        values, _ = self.count_ranges(low, high)
        laws = (self.reader.law((box,)) for box in range_boxes(low, high))
        sides = np.array([margins_of(law, confidence) for law in laws], np.float64).reshape(-1, 2)
        return values, *unrounded(values, sides[:, 0], sides[:, 1])

    def reading(self, **options: Any) -> Release:
        """The same release read in another way, where its reader knows several.

        Nothing is spent: `prior`, `likelihood`, `reference` and `intervals` of `ispe` and `kdtree`
        are choices of the analyst.
        """
        if not isinstance(self.reader, OptionalReader):
            raise QueryError(f"there is only one way to read a release of {self.mechanism}")
        return Release(self.folder, self._manifest, (self.arrays, self.reader.reading(**options)))

    def cells(self) -> NDArray[Any]:
        """The noisy count of every cell, as an array of the schema's shape; may be negative."""
        return self.reader.cells()

    @property
    def tables(self) -> tuple[str, ...]:
        """The small tables that it consists of, such as `age+sex`; empty where it is one table.

        Conditions on attributes that are in none of them together have estimates alone.
        """
        return self.reader.table_names if isinstance(self.reader, TablesReader) else ()

    @property
    def cell_stderr(self) -> float:
        """The standard error of a single cell: of the first, where they differ.

        Of several small tables it is a cell of the first.
        """
        if isinstance(self.reader, TablesReader):
            return math.sqrt(self.reader.law(self.reader.first_cell).variance)
        cell = Box(tuple(CodeSet.single(0) for _ in self.schema.shape))
        return math.sqrt(self.reader.law((cell,)).variance)

    def cell_stderrs(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The standard error of each of many cells, given by their codes along each axis."""
        return np.sqrt(self.reader.cell_variances(codes))

    @property
    def network(self) -> Any:
        """The Bayesian network that this release is, or None where it is something else."""
        return getattr(self.reader, "network", None)

    def synthesize(self, rows: int | None = None, *, seed: int | None = None) -> pyarrow.Table:
        """Draw rows that look like the table; by default as many as the noisy total.

        This is post-processing of what is already public, so ordinary randomness will do.
        """
        from hushtable.release.synthesize import MAX_ROWS, checked_rows, synthesize

        if not isinstance(self.reader, RowReader):
            return synthesize(self.schema, self.cells(), rows=rows, seed=seed)
        import pyarrow as pa

        rows = checked_rows(self.number_of_rows() if rows is None else rows, MAX_ROWS)
        return pa.Table.from_batches(list(self.synthetic_batches(rows, seed=seed)))

    def synthetic_batches(
        self, rows: int | None = None, *, seed: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Draw rows as `synthesize` does, a batch at a time; there is at least one batch.

        A network, and a model of small tables, draw any number of rows in flat memory.
        """
        from hushtable.release.synthesize import checked_rows, checked_seed

        if not isinstance(self.reader, RowReader):
            table = self.synthesize(rows, seed=seed)
            batches = table.to_batches(max_chunksize=2**17)
            return iter(batches or [_empty_batch(table)])
        rows = checked_rows(self.number_of_rows() if rows is None else rows, MOST_STREAMED)
        return self.reader.batches(rows, checked_seed(seed))

    def export(
        self,
        out: str | Path,
        tables: Sequence[str] = (),
        *,
        format: str | None = None,
        whole: bool = False,
        seed: int | None = None,
    ) -> None:
        """Write a new `.parquet`, `.csv` or `.xlsx` file, or a folder with a file for each table.

        These are its tables, or all its cells where it is one; `tables` names others, such as
        `age+sex` or `occupation@1`. A folder has no ending; its files have this `format`, "parquet"
        or "csv". With `whole`, counts are whole numbers, none negative, without error bars; several
        tables are then counted off the synthetic rows of the `seed`, so that they agree.
        """
        from hushtable.release.export_tables import export

        export(self, out, tables, format=format, whole=whole, seed=seed)

    def number_of_rows(self) -> int:
        """How many rows there are, by the noisy answers; zero or more."""
        if isinstance(self.reader, RowReader):
            return round(self.reader.total)
        return max(round(self.count().value), 0)


def _note(laws: Sequence[NoiseLaw], reader: Reader) -> str:
    """Where answers come from; where one of them rests on more than the others, that too."""
    notes = (getattr(law, "note", None) for law in laws)
    return next((note for note in notes if note), reader.note)


def _empty_batch(table: pyarrow.Table) -> pyarrow.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=table.schema)


def _groups_along(
    attribute: Attribute, level: int | None, within: CodeSet
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """The labels of the groups that meet a set of codes, and their ranges of codes."""
    if level is None:
        codes = all_codes(within)
        return _labels(attribute, codes), np.stack([codes, codes + 1], axis=1)
    nodes = group_nodes(attribute, level, within)
    ranges = np.array([(node.start, node.stop) for node in nodes], np.int64)
    return np.array([node.label for node in nodes], object), ranges


def _labels(attribute: Attribute, codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """What each code stands for, None for nulls and undeclared values."""
    if isinstance(attribute.values, IntegerRange):
        labels = (codes + attribute.values.low).astype(object)
    else:
        last = attribute.declared - 1
        label = attribute.values.label
        labels = np.array([label(min(code, last)) for code in codes.tolist()], object)
    if attribute.other is not None:
        labels[codes == attribute.other] = None
    return labels


def _shown_rows(boxes: Boxes, cuts: Cuts) -> NDArray[np.intp]:
    """The groups that hold a cell of the boxes: SQL shows no others, but one row without any."""
    if not cuts:
        return np.zeros(1, np.intp)
    return np.flatnonzero(held_by_group(boxes, cuts))

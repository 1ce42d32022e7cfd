"""Questions to whatever has a schema and a reader: a release, or several that are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hushtable.errors import QueryError
from hushtable.query.aggregate import Aggregate, Arithmetic, Count, Mean, Quantile, Sum
from hushtable.query.answer import Answer, Draws, Source
from hushtable.query.answering import answer_query
from hushtable.query.extent import clipping_of
from hushtable.query.grouping import Group, Query, check_row_cap
from hushtable.query.law import NoiseLaw
from hushtable.query.reader import Answering, ModelReader, NotingReader
from hushtable.query.result import ResultTable
from hushtable.query.statistics import statistic

if TYPE_CHECKING:
    from hushtable.schema import Schema

ROW_CAP = 100_000


class Asking:
    """Counts, sums, means, quantiles, shares and tables, each with its error bar."""

    if TYPE_CHECKING:

        @property
        def schema(self) -> Schema:
            """The public description of the table."""

        @property
        def reader(self) -> NotingReader:
            """What answers."""

        @property
        def draws(self) -> Draws:
            """What tells its noise from that of others, where it is known."""

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
        return Answer(value, law, _note(law, self.reader), Source(reader, boxes, self.draws))

    def sum(self, attribute: str, where: str | None = None, *, estimate: bool = False) -> Answer:
        """The sum of an attribute's values, as the schema clips them, over rows that have one."""
        return self._statistic(Sum(self._axis(attribute)), where, estimate)

    def mean(self, attribute: str, where: str | None = None, *, estimate: bool = False) -> Answer:
        """The mean of an attribute's values, as the schema clips them."""
        return self._statistic(Mean(self._axis(attribute)), where, estimate)

    def quantile(
        self,
        attribute: str,
        share: float = 0.5,
        where: str | None = None,
        *,
        estimate: bool = False,
    ) -> Answer:
        """The value that a share of the rows is below: the median, unless another is asked for."""
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise QueryError("a quantile needs a share between 0 and 1, such as 0.5 or 0.9")
        return self._statistic(Quantile(self._axis(attribute), float(share)), where, estimate)

    def share(self, of: str, where: str | None = None, *, estimate: bool = False) -> Answer:
        """The share of the rows that satisfy a condition, among all or those of another one."""
        if not isinstance(of, str) or not of.strip():
            raise QueryError("a share is of a condition, such as \"sex = 'F'\"")
        from hushtable.query.sql import parse_where

        some = Count(parse_where(of, self.schema))
        return self._statistic(Arithmetic("/", some, Count()), where, estimate)

    def _statistic(self, aggregate: Aggregate, where: str | None, estimate: bool) -> Answer:
        from hushtable.query.sql import parse_where

        rows = parse_where(where or "", self.schema)
        answer = statistic(self._answering(estimate), self.schema, aggregate, rows)
        source = answer.source and answer.source.drawn_as(self.draws)
        said = _note(answer.law, self.reader), clipping_of([aggregate], self.schema)
        return replace(answer, note="; ".join(filter(None, said)), source=source)

    def _axis(self, attribute: str) -> int:
        if not isinstance(attribute, str):
            raise QueryError(f"name an attribute, such as {self.schema.attributes[0].name!r}")
        return self.schema.index(attribute)

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
        *attributes: str | Sequence[str],
        where: str | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        row_cap: int = ROW_CAP,
        estimate: bool = False,
    ) -> ResultTable:
        """The counts of every combination of these attributes' values: a marginal table.

        Attributes are named one by one, or in a list.
        """
        from hushtable.query.sql import parse_where

        names = [name for some in attributes for name in _names(some)]
        groups = tuple(Group(self._axis(name), None, name) for name in names)
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
        if isinstance(row_cap, bool) or not isinstance(row_cap, int) or row_cap < 1:
            raise QueryError("row_cap is a whole number of rows, such as 100_000")
        check_row_cap(query, self.schema, row_cap)
        table = answer_query(
            self._answering(estimate),
            self.schema,
            query,
            confidence=confidence,
            simultaneous=simultaneous,
        )
        return replace(table, note=table.only.note or self.reader.note)


def _names(some: str | Sequence[str]) -> Sequence[str]:
    """One name, or several in a list or a tuple."""
    if isinstance(some, str):
        return [some]
    if not isinstance(some, list | tuple):
        raise QueryError("a table is of attributes by name: table('age', 'sex')")
    return some


def _note(law: NoiseLaw, reader: NotingReader) -> str:
    """Where an answer comes from; where it rests on more than others do, that."""
    return getattr(law, "note", None) or reader.note

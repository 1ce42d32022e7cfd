"""What the columns of a table hold: one pass over the rows, for all columns at once.

Of each column, its different values are kept with how many rows have each; of very many values, a
sample. That is enough to propose an attribute, and needs little time and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.drafting.names import is_id
from hushtable.kernel.counting.encoding.statement import SqlStatement

Kind = Literal["truth", "number", "day", "moment", "clock", "text"]
"""What the type of a column says; of a column of text, nothing."""

MOST_KEPT = 2**17
MOST_IDS = 2**20  # of columns that are called ids, whose rows are to be counted
MOST_LISTED = 10_000  # values that are looked at one by one

_BATCH = 2**17
_BLANKS = " \t\n\r\v\f"  # as the engine strips them
# As tools write a value that is missing.
_MISSING = ("na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "-", "--", ".", "?", "missing")
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$"


@dataclass(frozen=True, repr=False)
class Look:
    """The different values of a column, as text, and how many rows have each."""

    name: str
    kind: Kind
    rows: int
    """Of the table."""
    blank: int
    """How many of them have no value."""
    texts: Any
    """An Arrow array, without blanks around values and without missing ones."""
    counts: NDArray[np.int64]
    most: int
    """How many rows one value has at most."""
    complete: bool = True
    """Whether these are all of the values."""
    zoned: bool = False
    """Whether its type is one of moments with a time zone."""

    @cached_property
    def present(self) -> int:
        """How many rows have a value, or about as many."""
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        return len(self.texts)

    @property
    def different(self) -> str:
        """How many different values there are, in words."""
        return f"{self.distinct} different" if self.complete else "very many different"

    @property
    def unique(self) -> bool:
        """Whether every value occurs once."""
        return self.most == 1

    @cached_property
    def listed(self) -> list[str]:
        """The values, or of many, some from everywhere in the table."""
        step = -(-len(self.texts) // MOST_LISTED) or 1
        texts: list[str] = self.texts.take(np.arange(0, len(self.texts), step)).to_pylist()
        return texts

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Of each value, whether it is written as a number."""
        import pyarrow.compute as pc

        if self.kind not in ("number", "text"):
            return np.zeros(len(self.texts), bool)
        return np.asarray(pc.match_substring_regex(self.texts, _NUMBER), dtype=bool)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values that are numbers, in the order of `number_counts`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        written = self.texts.filter(pa.array(self.is_number))
        plain = pc.replace_substring_regex(written, r"^\+", "")
        return np.asarray(plain.cast(pa.float64()))

    @property
    def number_counts(self) -> NDArray[np.int64]:
        return self.counts[self.is_number]

    @cached_property
    def words(self) -> list[str]:
        """The values that are no numbers; of many, some."""
        import pyarrow as pa

        others = self.texts.filter(pa.array(~self.is_number))
        return sorted(others[:MOST_LISTED].to_pylist())


def look_at(table: Any, names: Sequence[str], keys: dict[str, list[int]]) -> list[Look]:
    """Look at the columns c0, c1, … of a table, and at rows of other columns taken together.

    A key has a name and the columns whose values it joins: how often they occur together.
    """
    hashed = [
        f", hash({', '.join(f'c{i}' for i in joined)}) AS key{k}"
        for k, joined in enumerate(keys.values())
    ]
    query = SqlStatement(f"SELECT *{''.join(hashed)} FROM hush_rows", {}, salted=False)
    with query.result(table, "") as rows:
        return _tallied([*names, *keys], rows.to_arrow_reader(_BATCH))


def _tallied(names: Sequence[str], batches: Any) -> list[Look]:
    kept = [MOST_IDS if is_id(name) else MOST_KEPT for name in names]
    tallies = [_Tally(*each) for each in zip(batches.schema.types, kept, strict=True)]
    rows = 0
    for batch in batches:
        rows += len(batch)
        for tally, column in zip(tallies, batch.columns, strict=True):
            tally.add(column)
    return [tally.look(name, rows) for tally, name in zip(tallies, names, strict=True)]


class _Tally:
    """Counts the different values of a column as its batches come.

    Of more values than it may keep, those that are frequent are kept, and of the others one in two,
    four, …, which then counts for as many.
    """

    def __init__(self, kind: Any, most_kept: int) -> None:
        import pyarrow as pa

        self._type = kind.value_type if pa.types.is_dictionary(kind) else kind
        self._kept = _counted(pa.nulls(0, self._type), pa.nulls(0, pa.int64()))
        self._pending: list[Any] = []
        self._waiting = 0
        self._most_kept = most_kept
        self._every = 1
        self._most = 0
        self._blank = 0

    def add(self, column: Any) -> None:
        import pyarrow.compute as pc

        self._blank += column.null_count
        counted = pc.value_counts(column.cast(self._type).drop_null())
        table = _thinned(_counted(counted.field("values"), counted.field("counts")), self._every)
        self._pending.append(table)
        self._waiting += len(table)
        if self._waiting > max(self._most_kept // 2, len(self._kept)):
            self._merge()

    def _merge(self) -> None:
        import pyarrow as pa

        self._kept = _merged(pa.concat_tables([self._kept, *self._pending]))
        self._pending, self._waiting = [], 0
        if self._every == 1:
            self._most = _largest(self._kept)
        if len(self._kept) > self._most_kept:
            self._kept = _thinned(self._kept, 2)
            self._every *= 2

    def look(self, name: str, rows: int) -> Look:
        import pyarrow as pa

        self._merge()
        kept = _counted(_texts(self._kept["value"].combine_chunks()), self._kept["n"])
        total, kept = _total(kept), _stripped(kept)
        return Look(
            name,
            _kind(self._type),
            rows,
            self._blank + total - _total(kept),
            kept["value"].combine_chunks(),
            np.asarray(kept["n"], dtype=np.int64),
            _largest(kept) if self._every == 1 else self._most,
            complete=self._every == 1,
            zoned=pa.types.is_timestamp(self._type) and self._type.tz is not None,
        )


def _counted(values: Any, counts: Any) -> Any:
    import pyarrow as pa

    return pa.table({"value": values, "n": counts})


def _merged(table: Any) -> Any:
    """One row for each value, in the order in which they came."""
    merged = table.group_by("value", use_threads=False).aggregate([("n", "sum")])
    return _counted(merged["value"].combine_chunks(), merged["n_sum"].combine_chunks())


def _thinned(table: Any, every: int) -> Any:
    """Frequent values, and one of so many others, which counts for them."""
    import pyarrow as pa

    if every == 1 or not len(table):
        return table
    counts = np.asarray(table["n"])
    frequent = counts > 8 * counts.mean()
    kept = frequent | (np.arange(len(counts)) % every == 0)
    weighted = np.where(frequent, counts, every * counts)[kept]
    return _counted(table["value"].filter(pa.array(kept)), pa.array(weighted))


def _largest(table: Any) -> int:
    return int(np.asarray(table["n"]).max(initial=0))


def _total(table: Any) -> int:
    return int(np.asarray(table["n"]).sum())


def _stripped(table: Any) -> Any:
    """Values without blanks around them, missing ones left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim(table["value"], _BLANKS)
    missing = pa.array(["", *_MISSING], pa.large_string())
    present = pc.invert(pc.is_in(pc.utf8_lower(texts), missing))
    changed = not pc.all(pc.equal(texts, table["value"])).as_py()
    table = _counted(texts, table["n"]).filter(present)
    return _merged(table) if changed else table


def _kind(kind: Any) -> Kind:
    import pyarrow as pa

    is_number = any(
        test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    )
    if is_number or pa.types.is_boolean(kind):
        return "number" if is_number else "truth"
    if pa.types.is_timestamp(kind):
        return "moment"
    if pa.types.is_time(kind):
        return "clock"
    return "day" if pa.types.is_date(kind) else "text"


def _texts(values: Any) -> Any:
    """Values of a type as text, whole numbers as integers are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    if pa.types.is_floating(values.type):
        written = values.cast(pa.float64()).cast(text)
        return pc.replace_substring_regex(written, r"^(-?[0-9]+)\.0$", r"\1")
    return values.cast(text)

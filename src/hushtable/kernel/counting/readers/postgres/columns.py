"""How columns of Postgres are read: by their declared types alone, so that no value makes it fail.

The driver makes Arrow of what it knows, as it is; it fails on moments beyond those of Arrow, among
them `infinity`, and gives bytes of types that it does not know. So dates come as numbers of days,
moments only within the calendar, and what Arrow has no type for as the text that Postgres writes,
one text for equal numbers. Of databases in another encoding than UTF-8, text comes as the bytes
that are stored: the server fails to convert some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import ColumnError, sql_name
from hushtable.kernel.counting.readers.readable import decoded, readable_batch
from hushtable.kernel.counting.readers.sqlite import COMPUTED

_INFINITE = 2**31 - 1  # days, as the engine stores it
_DAYS = (
    "CASE {0}"
    f" WHEN date 'infinity' THEN {_INFINITE}"
    f" WHEN date '-infinity' THEN {-_INFINITE}"
    " ELSE {0} - date '1970-01-01' END"
)
_WITHIN = "CASE WHEN {{0}} >= {0} '0001-01-01 00:00{1}' AND {{0}} < {0} '10000-01-01 00:00{1}'"
_NUMBER = "CAST(trim_scale(CAST({0} AS numeric)) AS text)"
_UUID = "CAST({0} AS text)"
_TEXT = "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END"  # some types have casts of their own

# The SQL of a column, and the Arrow type of what then comes, where it is not text.
_TYPED: dict[str, tuple[str, str]] = {
    "bool": ("{0}", "bool"),
    "int2": ("{0}", "int16"),
    "int4": ("{0}", "int32"),
    "int8": ("{0}", "int64"),
    "oid": ("CAST({0} AS int8)", "int64"),
    "float4": ("{0}", "float"),
    "float8": ("{0}", "double"),
    "bytea": ("{0}", "binary"),
    "date": (_DAYS, "date32"),
    "time": ("{0}", "time64[us]"),
    "timestamp": (_WITHIN.format("timestamp", "") + " THEN {0} END", "timestamp[us]"),
    "timestamptz": (_WITHIN.format("timestamptz", "+00") + " THEN {0} END", "instant"),
}
_IN_ASCII = {"numeric": _NUMBER, "money": _NUMBER, "uuid": _UUID}
_PLAIN_TEXT = ("text", "varchar")
# Of these, nobody here knows which texts would be equal, or what they would be good for.
_REFUSED = {
    *("json", "jsonb", "jsonpath", "xml", "tsvector", "tsquery", "gtsvector", "timetz"),
    *("refcursor", "pg_snapshot", "txid_snapshot", "pg_node_tree", "aclitem"),
}
_NO_PLAIN_VALUES = set("ACGPRT")  # arrays, rows, shapes, pseudo-types, ranges, spans

# What Python calls the encodings of databases.
_ISO = {1: 1, 2: 2, 3: 3, 4: 4, 5: 9, 6: 10, 7: 13, 8: 14, 9: 15, 10: 16}
_CODECS = {
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "EUC_JP": "euc_jp",
    "EUC_KR": "euc_kr",
    "EUC_CN": "gb2312",
    "EUC_JIS_2004": "euc_jis_2004",
    **{f"LATIN{number}": f"iso8859-{part}" for number, part in _ISO.items()},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in (5, 6, 7, 8)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
}


@dataclass(frozen=True)
class Column:
    """A column as the server describes it."""

    name: str
    kind: str
    """Its type, or that of which its domain is a part."""
    own: bool
    """Whether the type is the server's own, and nobody else's of that name."""
    category: str
    domain_of: str | None
    """The type of which its domain is a part, as SQL writes it."""
    computed: bool
    """Whether it is computed whenever it is read."""


@dataclass(frozen=True)
class Way:
    """How a column is read: its SQL, the Arrow type of what comes, and how text is encoded."""

    sql: str
    arrow: str
    codec: str | None = None


def way_of(column: Column, called: str, encoding: str) -> Way:
    """How a column is read, which the schema calls so; refused by its type, if it is."""
    if column.computed:
        raise ColumnError(called, line=f"column {called!r} {COMPUTED}")
    if column.category in _NO_PLAIN_VALUES or (column.own and column.kind in _REFUSED):
        shown = "array" if column.category == "A" else column.kind
        raise ColumnError(called, line=_refusal(called, shown))
    place = sql_name(column.name)
    if column.domain_of is not None:
        place = f"CAST({place} AS {column.domain_of})"
    if column.own and column.kind in _TYPED:
        sql, arrow = _TYPED[column.kind]
        return Way(sql.format(place), arrow)
    if column.own and column.kind in _IN_ASCII:
        return Way(_IN_ASCII[column.kind].format(place), "string")
    return _text(
        place if column.own and column.kind in _PLAIN_TEXT else _TEXT.format(place), encoding
    )


def _refusal(called: str, shown: str) -> str:
    return (
        f"column {called!r} is of the Postgres type {shown}; the schema needs plain values: make a"
        " column of text, numbers or dates of it"
    )


def _text(sql: str, encoding: str) -> Way:
    if encoding == "UTF8":  # then what is stored is sent, unchecked
        return Way(sql, "string")
    stored = f"convert_to({sql}, 'SQL_ASCII')"
    if encoding == "SQL_ASCII":  # nothing is known of it; most programs write UTF-8
        return Way(stored, "string")
    if encoding not in _CODECS:
        raise DataError(
            f"the database is encoded as {encoding}, which is not read here: copy the table to one"
            " that is UTF8"
        )
    return Way(stored, "string", _CODECS[encoding])


def schema_of(ways: Sequence[Way], marks: Sequence[str]) -> Any:
    """The Arrow schema of readable batches."""
    import pyarrow as pa

    columns = [pa.nulls(0, _arrow_type(way.arrow)) for way in ways]
    batch = pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(ways))])
    return readable_batch(batch, marks).schema


def readable_rows(batch: Any, ways: Sequence[Way], marks: Sequence[str]) -> Any:
    """A batch as it came, as columns every value of which can be read."""
    import pyarrow as pa

    columns = [_came(*each) for each in zip(batch.columns, ways, marks, strict=True)]
    return readable_batch(pa.RecordBatch.from_arrays(columns, names=batch.schema.names), marks)


def _came(column: Any, way: Way, mark: str) -> Any:
    kind = _arrow_type(way.arrow)
    if way.codec is not None:
        return _recoded(column, way.codec, mark)
    return column if column.type == kind else column.view(kind)


def _recoded(column: Any, codec: str, mark: str) -> Any:
    """Text of bytes in another encoding, each different one decoded once."""
    import pyarrow as pa

    distinct = column.dictionary_encode()
    texts = [decoded(value, mark, codec) for value in distinct.dictionary.to_pylist()]
    return pa.array(texts, pa.large_string()).take(distinct.indices)


def _arrow_type(name: str) -> Any:
    import pyarrow as pa

    return pa.timestamp("us", "UTC") if name == "instant" else pa.type_for_alias(name)

"""Files of SAS, SPSS and Stata, read by pyreadstat in parts.

Numbers come as numbers and text as text, by what the file declares of each column. One text whose
bytes are none would make the reader fail, so that it is told to take bytes for characters, and they
are decoded here; times that no calendar has would too, so that it gives plain numbers. Labels of
values are not applied: a range needs the numbers, and several may have one label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.encoding.columns import ColumnError
from hushtable.kernel.counting.readers.filetable import FileTable, open_stream
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.silence import raise_alone, silent_engine

_READERS = {
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
}
ENDINGS = tuple(_READERS)

_ROWS = 2**18
_BYTES = "LATIN1"  # in which every byte is a character
_CODECS = {"EUC-CN": "gb18030", "SHIFT-JIS": "cp932", "SHIFT_JIS": "cp932", "EUC-KR": "cp949"}
_STATA = re.compile(rb"<stata_dta><header><release>([0-9]{3})<")
_UNICODE_STATA = 118
_STATA_TYPES, _STRL = b"</map><variable_types>", 32768

# Formats that show a number as a time, by what it counts. Those that begin with DT, and two more,
# show the day of a time.
_SAS = {
    "day": r"(DATE|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(WEEK|WORD)DAT[EX]|JULIAN|(E|B|IS)8601DA|MONYY"
    r"|MMYY[CDNPS]?|YYMM[CDNPS]?|YYMON|YYQ[CDNPS]?)[0-9.]*",
    "time": r"(DATETIME|DT[A-Z]+|(E|B|IS)8601D[NTZ]|DATEAMPM|MDYAMPM)[0-9.]*",
    "clock": r"(TIME|TIMEAMPM|TOD|HHMM|(E|B|IS)8601TM)[0-9.]*",
}
_SPSS = {
    "day": r"([AEJS]?DATE|MOYR|QYR|WKYR)[0-9.]*",
    "time": r"(DATETIME|YMDHMS)[0-9.]*",
    "clock": r"TIME[0-9.]*",
}
_STATA_TIMES = {"day": r"%-?t?d.*", "time": r"%-?t[cC].*"}
_SECONDS_A_DAY = 86_400
_DAYS = tuple((end - date(1970, 1, 1)).days for end in (date.min, date.max))


@dataclass(frozen=True)
class _Way:
    """How the times of a kind of file are counted, and which formats are times."""

    formats: dict[str, str]
    since: int
    """The day they are counted from, in days since 1970."""
    days: int = 1
    """What a day is to them, in days."""
    seconds: int = 1
    """What a second is to them, in times."""


_1960, _1582 = ((day - date(1970, 1, 1)).days for day in (date(1960, 1, 1), date(1582, 10, 14)))
_WAYS = {
    "read_sas7bdat": _Way(_SAS, _1960),
    "read_xport": _Way(_SAS, _1960),
    "read_sav": _Way(_SPSS, _1582, days=_SECONDS_A_DAY),
    "read_por": _Way(_SPSS, _1582, days=_SECONDS_A_DAY),
    "read_dta": _Way(_STATA_TIMES, _1960, seconds=1000),
}


@dataclass(frozen=True)
class _Column:
    """A column as its file declares it."""

    key: str
    """Its name, bytes for characters."""
    kind: str
    """text, strL, number, day, time or clock"""


def open_statfile(path: str) -> FileTable:
    """The table of a file."""
    name = _READERS[Path(path).suffix.lower()]
    read, way = _reader(name), _WAYS[name]
    problem = f"{path} could not be opened; check that it is complete and of the kind it is named"
    with silent_engine(problem):
        _, declared = read(path, metadataonly=True)
        codec = _codec(path, name, declared.file_encoding)
        options = {} if name == "read_por" else {"encoding": _BYTES}
        _, raw = read(path, metadataonly=True, **options)
        long = _long_texts(path, len(raw.column_names)) if name == "read_dta" else set()
        columns = [
            _Column(key, "strL" if i in long else _kind(raw, key, way))
            for i, key in enumerate(raw.column_names)
        ]
        decode = _decoder(codec) if options else str
        names = tuple(decode(column.key) for column in columns)
        # A row of text that is all blank may be what fills the end of such a file. Its reader takes
        # it for a row if another one follows, so that one row more would make it count.
        endless = name == "read_xport" and all(column.kind == "text" for column in columns)

    def open_columns(
        engine: Any, positions: Sequence[int], wanted: Sequence[str], ids: Collection[str]
    ) -> Any:
        needed = [columns[position] for position in positions]
        read_ones = columns if endless else needed
        for column, own in zip(wanted, needed, strict=True):
            if own.kind == "strL":
                raise ColumnError(column, "strL")

        def batches() -> Iterator[Any]:
            import pyarrow as pa

            for values in _parts(read, path, [column.key for column in read_ones], options):
                if endless:
                    values = _without_blank_rows(values)
                arrays = [_array(values[c.key], c.kind, way, decode) for c in needed]
                yield pa.record_batch(arrays, schema)

        import pyarrow as pa

        kinds = [_array([], column.kind, way, decode).type for column in needed]
        schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])
        return open_stream(engine, Stream(schema, batches))

    return FileTable(names, open_columns)


def _reader(name: str) -> Callable[..., Any]:
    try:
        import pyreadstat
    except ImportError:
        raise_alone(
            OptionError("SAS, SPSS and Stata files need an extra: pip install 'hushtable[stats]'")
        )
    reader: Callable[..., Any] = getattr(pyreadstat, name)
    return reader


def _parts(
    read: Callable[..., Any], path: str, keys: Sequence[str], options: dict[str, str]
) -> Iterator[dict[str, list[Any]]]:
    """Columns of values, some rows at a time."""
    offset, rows = 0, _ROWS
    while rows == _ROWS:
        values, _ = read(
            path,
            usecols=list(dict.fromkeys(keys)),
            output_format="dict",
            disable_datetime_conversion=True,
            row_offset=offset,
            row_limit=_ROWS,
            **options,
        )
        rows = len(values[keys[0]])
        offset += rows
        yield values


def _without_blank_rows(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    kept = [i for i, row in enumerate(zip(*values.values(), strict=True)) if any(row)]
    return {key: [column[i] for i in kept] for key, column in values.items()}


# ── what a file declares ─────────────────────────────────────────────────────────────────────────


def _kind(declared: Any, key: str, way: _Way) -> str:
    if str(declared.readstat_variable_types[key]).startswith("string"):
        return "text"
    shown = str(declared.original_variable_types[key] or "")
    found = (kind for kind, forms in way.formats.items() if re.fullmatch(forms, shown))
    return next(found, "number")


def _codec(path: str, reader: str, declared: str | None) -> str:
    """How the file's text is encoded: what it says, or what its kind does."""
    if reader == "read_dta":
        with open(path, "rb") as file:
            release = _STATA.match(file.read(64))
        return "utf-8" if release and int(release[1]) >= _UNICODE_STATA else "cp1252"
    name = declared or "utf-8"
    name = _CODECS.get(name.upper(), name)
    try:
        b"".decode(name)
    except LookupError:
        raise_alone(DataError(f"{path} is in an encoding that is not read; save it as UTF-8"))
    return name


def _long_texts(path: str, columns: int) -> set[int]:
    """Which columns of a Stata file are of the type strL.

    The reader does not say, and decodes them by itself: it fails on bytes that are no text.
    """
    with open(path, "rb") as file:
        start = file.read(2**12 + 2 * columns)
    _, found, types = start.partition(_STATA_TYPES)
    order = "<u2" if b"<byteorder>LSF<" in start else ">u2"
    kinds = np.frombuffer(types[: 2 * columns], order) if found else np.zeros(0)
    return {int(position) for position in np.flatnonzero(kinds == _STRL)}


def _decoder(codec: str) -> Callable[[str], str]:
    def decode(text: str) -> str:
        return text if text.isascii() else text.encode("latin-1").decode(codec, "replace")

    return decode


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def _array(values: Sequence[Any], kind: str, way: _Way, decode: Callable[[str], str]) -> Any:
    """An Arrow column of the type that the file declares; what that cannot hold is a null."""
    import pyarrow as pa

    if kind == "text":
        texts = [decode(value) if isinstance(value, str) else None for value in values]
        return pa.array(texts, pa.large_string())
    numbers = np.array(values, dtype=np.float64)  # missing ones are NaN
    with np.errstate(all="ignore"):  # nobody is warned by what a value is
        return _numbers(numbers, kind, way)


def _numbers(numbers: Any, kind: str, way: _Way) -> Any:
    import pyarrow as pa

    if kind == "day":
        days = np.floor(numbers / way.days) + way.since
        return _integers(days, *_DAYS).cast(pa.int32()).view(pa.date32())
    if kind == "time":
        seconds = numbers / way.seconds + way.since * _SECONDS_A_DAY
        ends = (day * _SECONDS_A_DAY * 10**6 for day in _DAYS)
        return _integers(np.round(seconds * 1e6), *ends).view(pa.timestamp("us"))
    if kind == "clock":
        micros = np.round(numbers / way.seconds * 1e6)
        return _integers(micros, 0, _SECONDS_A_DAY * 10**6 - 1).view(pa.time64("us"))
    return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))


def _integers(numbers: Any, low: int, high: int) -> Any:
    """Whole numbers between the ends; others become nulls."""
    import pyarrow as pa

    inside = (numbers >= low) & (numbers <= high)
    return pa.array(np.where(inside, numbers, 0).astype(np.int64), mask=~inside)

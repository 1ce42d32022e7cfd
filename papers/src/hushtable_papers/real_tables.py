"""Public tables that experiments may read where they are; nothing of them is part of the package.

`adult` is the folder of the Adult census sample as ARX ships it: `adult.csv`, separated by
semicolons, and for each of its nine columns but the age a file of generalisations,
`adult_hierarchy_COLUMN.csv`.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc

from hushtable.errors import DataError
from hushtable.schema import Attribute, Hierarchy, IntegerRange, Schema, nominal, ordinal

# An experiment spends as often as it likes.
_BUDGET = Fraction(10**6)


def adult(folder: str | Path) -> tuple[Schema, pa.Table]:
    """The Adult table with its hierarchies: nine columns, all text."""
    place = Path(folder)
    try:
        table = read_text(place / "adult.csv", ";")
        attributes = tuple(_adult_attribute(place, name) for name in table.column_names)
    except OSError as problem:
        file = Path(problem.filename or "adult.csv").name
        raise DataError(f"the Adult table is not in {place}: {file}: {problem.strerror}") from None
    except (pa.ArrowInvalid, UnicodeDecodeError):  # their texts may quote a value
        raise DataError(f"the Adult table in {place} cannot be read as CSV") from None
    return Schema("adult", _BUDGET, attributes), table


def _adult_attribute(folder: Path, name: str) -> Attribute:
    if name == "age":
        return ordinal(name, IntegerRange(1, 100))
    lines = (folder / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8").splitlines()
    return nominal(name, Hierarchy.from_paths(line.split(";") for line in lines))


def read_text(path: Path, delimiter: str) -> pa.Table:
    """A CSV file with every column as text: the schema says what the text means."""
    with open(path, encoding="utf-8") as file:
        names = file.readline().strip().split(delimiter)
    return pc.read_csv(
        path,
        parse_options=pc.ParseOptions(delimiter=delimiter),
        convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )

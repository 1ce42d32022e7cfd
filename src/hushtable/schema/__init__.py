"""The public description of a table: attributes, hierarchies, privacy unit and budget."""

from hushtable.schema.attribute import (
    Attribute,
    Edges,
    IntegerRange,
    Labels,
    Values,
    nominal,
    ordinal,
)
from hushtable.schema.dates import Dates
from hushtable.schema.hierarchy import Hierarchy, Node
from hushtable.schema.origin import Origin
from hushtable.schema.schema import CountColumn, Schema, Unit, checked_people

__all__ = [
    "Attribute",
    "CountColumn",
    "Dates",
    "Edges",
    "Hierarchy",
    "IntegerRange",
    "Labels",
    "Node",
    "Origin",
    "Schema",
    "Unit",
    "Values",
    "checked_people",
    "nominal",
    "ordinal",
]

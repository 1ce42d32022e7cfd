"""Small schemas that the query tests share, with every kind of attribute in them."""

import pytest
import sqlglot

from hushtable.schema import Schema

NEWER_PARSER = pytest.mark.skipif(
    int(sqlglot.__version__.split(".")[0]) < 28, reason="older parsers do not read this"
)

CENSUS = Schema.from_dict(
    {
        "name": "census",
        "budget": "3",
        "attribute": [
            {
                "name": "age",
                "kind": "ordinal",
                "range": [-1, 4],
                "outside": "other",
                "tree": {"young": ["-1", "0", "1"], "old": ["2", "3", "4"]},
            },
            {"name": "income", "kind": "ordinal", "edges": [0, 10, 20.5, 40], "outside": "other"},
            {"name": "grade", "kind": "ordinal", "labels": ["low", "mid", "high"]},
            {
                "name": "marital-status",
                "kind": "nominal",
                "tree": {"alone": ["single", "widowed"], "together": ["married"], "*": ["other"]},
                "outside": "other",
            },
        ],
    }
)

HUGE = Schema.from_dict(
    {
        "name": "huge",
        "budget": "1",
        "attribute": [
            {"name": "id", "kind": "ordinal", "range": [1, 10**12], "outside": "other"},
            {"name": "x", "kind": "ordinal", "range": [0, 10**15]},
            {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
        ],
    }
)

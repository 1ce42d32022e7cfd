"""Releases made directly through the store: no data, no ledger, no database."""

import copy
from pathlib import Path

import numpy as np

import hushtable
from hushtable.release.store import write_arrays, write_manifest
from hushtable.schema import Schema

CENSUS = {
    "name": "census",
    "budget": "3",
    "neighbours": "add-remove",
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
            "name": "occupation",
            "kind": "nominal",
            "tree": {"desk": ["clerk", "boss"], "field": ["farmer", "=cmd", "#N/A"]},
        },
    ],
}


def manifest_of(schema: Schema, scale: str = "2") -> dict:
    return {
        "hushtable": "release",
        "format": 1,
        "software": "0.1.0",
        "created": "2024-01-01",
        "private": False,
        "mechanism": "basic",
        "asked": "auto",
        "parameters": {},
        "privacy": {
            "epsilon": "0.5",
            "delta": 2.3e-18,
            "neighbours": schema.neighbours,
            "unit": "one row",
            "guarantee": "none: made for a test",
        },
        "reader": "cells",
        "noise": {"law": "discrete-laplace", "scale": scale, "on": "every cell"},
        "schema": schema.to_dict(),
        "reservation": "r1",
        "ledger": {"head": "0" * 64},
    }


def make_release(folder: Path, schema, cells, scale: str = "2") -> hushtable.Release:
    """Write cells as a release and open it."""
    schema = schema if isinstance(schema, Schema) else Schema.from_dict(copy.deepcopy(schema))
    folder.mkdir()
    manifest = manifest_of(schema, scale)
    manifest["arrays"] = write_arrays(folder, {"cells": np.asarray(cells).reshape(schema.shape)})
    write_manifest(folder, manifest)
    return hushtable.open(folder)


def ranges(*sizes: int) -> Schema:
    """A schema of plain integer attributes a, b, c, …, each from 0."""
    return Schema.from_dict(
        {
            "name": "t",
            "budget": "1",
            "attribute": [
                {"name": chr(97 + i), "kind": "ordinal", "range": [0, size - 1]}
                for i, size in enumerate(sizes)
            ],
        }
    )

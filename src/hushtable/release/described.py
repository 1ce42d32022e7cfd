"""Releases and answers as plain values: what `--json` prints and a server sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.release.accuracy import Accuracy, accuracy_of

if TYPE_CHECKING:
    from hushtable.query.result import ResultTable
    from hushtable.release.release import Release


def is_scalar(result: ResultTable) -> bool:
    """Whether the answer is one number, and not a table."""
    return not result.groups and len(result) == 1 and len(result.measures) == 1


def answer_dict(result: ResultTable) -> dict[str, Any]:
    """An answer: one number with its error bar, or the rows of a table."""
    if not is_scalar(result):
        return result.to_dict()
    said = {"confidence": result.confidence, "simultaneous": result.simultaneous}
    return {**result.rows()[0], **said, "note": result.whole_note}


def release_dict(release: Release, accuracy: Accuracy | None = None) -> dict[str, Any]:
    """What a release is, how it was made and what it guarantees."""
    manifest = release.manifest
    return {
        "dataset": release.schema.name,
        "mechanism": release.mechanism,
        "parameters": manifest["parameters"],
        **{key: manifest["privacy"][key] for key in ("epsilon", "delta", "neighbours", "unit")},
        "guarantee": manifest["privacy"]["guarantee"],
        "private": release.private,
        "noise": manifest["noise"],
        "cells": release.schema.cells,
        **(accuracy or accuracy_of(release)).facts(),
        **({"tables": list(release.tables)} if release.tables else {}),
        "estimate": release.estimate,
        "snapshot": release.snapshot,
        "created": manifest["created"],
        "reservation": manifest["reservation"],
        "ledger": manifest["ledger"],
        "schema": manifest["schema"],
        **({"kept": _kept(manifest)} if manifest["reader"] == "summary" else {}),
    }


def _kept(manifest: dict[str, Any]) -> str:
    """What a sparse summary holds, and what it left out."""
    told = manifest["parameters"]
    number = manifest["arrays"]["values"]["shape"][0]
    theta, tau = told.get("theta", 1), told.get("tau", 0)
    side = "" if told.get("sides") == "one-sided" else "±"
    text = f"{number:,} noisy values on {told['on']}: none below {side}{theta}"
    return text + (f", some below {side}{tau:.4g}" if tau > theta else "")

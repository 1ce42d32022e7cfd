"""What a release says of itself when it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hushtable import __version__
from hushtable.kernel.privacy.loss import Loss, format_epsilon
from hushtable.release.release import Release, open
from hushtable.release.store import FORMAT, Content, write_content, write_manifest
from hushtable.schema import Schema


def describe(
    schema: Schema,
    content: Content,
    loss: Loss,
    *,
    private: bool,
    guarantee: str,
    mechanism: str,
    asked: str,
    created: str,
    reservation: str,
    ledger: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest of a release, but for its files."""
    return {
        "hushtable": "release",
        "format": FORMAT,
        "software": __version__,
        "created": created,
        "private": private,
        "mechanism": mechanism,
        "asked": asked,
        "parameters": content.parameters,
        "privacy": {
            "epsilon": format_epsilon(loss.epsilon),
            "delta": loss.delta,
            "eta": float(loss.eta),
            "neighbours": schema.neighbours,
            "unit": schema.protects,
            "guarantee": guarantee,
        },
        "reader": content.reader,
        "noise": content.noise,
        "schema": schema.to_dict(),
        "reservation": reservation,
        "ledger": dict(ledger),
    }


def write_experiment(
    folder: Path, schema: Schema, content: Content, loss: Loss, *, mechanism: str
) -> Release:
    """Write a release that nobody paid for, the same bytes every time, and open it as anyone."""
    manifest = describe(
        schema,
        content,
        loss,
        private=False,
        guarantee="none: made for an experiment, with noise that can be replayed",
        mechanism=mechanism,
        asked=mechanism,
        created="1970-01-01",
        reservation="none",
        ledger={},
    )
    folder.mkdir()
    manifest |= write_content(folder, schema, content)
    write_manifest(folder, manifest)
    return open(folder)

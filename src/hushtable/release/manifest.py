"""The manifest: what a release says of itself, checked once, before anything believes it.

A release may come from anyone, so its size is bounded before it is parsed, and every field has
its form (`form.py`) when `read_manifest` returns.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import HushError, ReleaseError
from hushtable.forms import MAX_TEXT, Form, fill
from hushtable.kernel.privacy.loss import parse_stored_epsilon
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.form import Stated, StatedNoise, TablesNoise
from hushtable.release.store import (
    FORMAT,
    MANIFEST,
    MAX_ITEMS,
    MAX_MANIFEST,
    count_items,
    read_plain_file,
    read_table,
)
from hushtable.schema import Schema

MAX_ATTRIBUTES = 10_000
MAX_DIGITS = 40
_SHOWN = 300


@dataclass(frozen=True)
class Manifest:
    """What a release says of itself."""

    content: dict[str, Any]
    """All of it, as the file has it."""
    stated: Stated
    schema: Schema
    epsilon: Fraction

    @classmethod
    def of(cls, content: dict[str, Any], schema: Schema, epsilon: Fraction) -> Manifest:
        """What a manifest says whose schema and ε are known."""
        return cls(content, fill(Stated, content, "the manifest", _Invalid), schema, epsilon)


class _Invalid(Exception):
    """What is wrong with a manifest, in a few words."""


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder; a newer format is refused."""
    raw = read_plain_file(folder, MANIFEST, MAX_MANIFEST)
    try:
        return _manifest(_parsed(raw), folder)
    except _Invalid as problem:
        raise ReleaseError(f"{folder}: {problem}") from None


def _parsed(raw: bytes) -> Any:
    """The JSON in a file, without duplicate keys, infinities and half characters."""
    if count_items(raw) > MAX_ITEMS:
        raise _Invalid(f"manifest.json holds more than {MAX_ITEMS:,} values")
    try:
        content = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_int=_bounded,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if b"\\u" in raw:  # an escape may stand for half a character, which no file can hold
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise _Invalid("manifest.json is not valid JSON") from None
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _Invalid("manifest.json has a key twice")
    return table


def _bounded(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _Invalid("manifest.json has a number with too many digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Invalid("manifest.json has a number that is not finite")
    return number


def _manifest(content: Any, folder: Path) -> Manifest:
    if not isinstance(content, dict) or content.get("hushtable") != "release":
        raise ReleaseError(f"{folder} is not a hushtable release")
    _check_format(content.get("format"))
    stated = fill(Stated, content, "the manifest", _Invalid)
    return Manifest(content, stated, _schema(stated), _epsilon(stated.privacy.epsilon))


def _check_format(version: Any) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Invalid("the manifest has no format version")
    if version > FORMAT:
        raise _Invalid(f"its format is {version}, this hushtable reads up to {FORMAT}: upgrade it")


def _schema(stated: Stated) -> Schema:
    _check_schema_size(stated.schema)
    try:
        schema = Schema.from_dict(stated.schema)
    except HushError as problem:
        raise _Invalid(f"the manifest's schema is not valid: {str(problem)[:_SHOWN]}") from None
    if schema.neighbours != stated.privacy.neighbours:
        raise _Invalid("the manifest names two neighbour relations")
    return schema


def _check_schema_size(schema: dict[str, Any]) -> None:
    """Refuse what only costs time: endless lists of attributes, and endless keys.

    (The hint to an unknown key compares it with those we know.)
    """
    entries = schema.get("attribute")
    attributes = entries if isinstance(entries, list) else []
    if len(attributes) > MAX_ATTRIBUTES:
        raise _Invalid(f"the manifest's schema has more than {MAX_ATTRIBUTES:,} attributes")
    for table in (schema, schema.get("unit"), schema.get("counts"), *attributes):
        if isinstance(table, dict) and any(len(key) > MAX_TEXT for key in table):
            raise _Invalid("the manifest's schema is not valid: a key is too long")
    if any(isinstance(table, dict) and "bins" in table for table in attributes):
        # A few words that stand for a million edges.
        raise _Invalid("the manifest's schema is not valid: bins are written as edges")


def _epsilon(text: str) -> Fraction:
    try:
        return parse_stored_epsilon(text)
    except HushError:
        raise _Invalid("the manifest's 'epsilon' is not a positive number") from None


# ── what readers ask of it ───────────────────────────────────────────────────────────────────────


def checked_noise(folder: Path, manifest: Manifest, names: set[str]) -> DiscreteLaplace:
    """The noise of a release that has these arrays and no others."""
    check_arrays(folder, manifest, names)
    return read_noise(folder, manifest, StatedNoise).known


def check_arrays(folder: Path, manifest: Manifest, names: set[str]) -> None:
    """Refuse a release that does not have these arrays and no others."""
    if set(manifest.stated.arrays) != names:
        listed = ", ".join(sorted(names))
        raise ReleaseError(f"{folder}: the manifest must list the arrays {listed}")


def read_parameters(folder: Path, manifest: Manifest, form: type[Form]) -> Form:
    """The parameters that a reader needs, in their form."""
    return read_table(folder, form, manifest.stated.parameters, "the manifest's 'parameters'")


def read_noise(folder: Path, manifest: Manifest, form: type[Form]) -> Form:
    """What the manifest says of the noise, in the form of the reader's noise."""
    what = f"{folder}: the manifest does not describe the noise"
    return fill(form, manifest.stated.noise, "it", lambda line: ReleaseError(f"{what}: {line}"))


def noise_of_tables(folder: Path, manifest: Manifest, tables: int) -> list[DiscreteLaplace]:
    """The noise of each of several tables."""
    noise = read_noise(folder, manifest, TablesNoise)
    if len(noise.scales) != tables:
        raise ReleaseError(f"{folder}: the manifest must describe the noise of every table")
    return [noise.of(scale) for scale in noise.scales]

"""The manifest: what a release says of itself, checked once, before anything believes it.

A release may come from anyone, so its size and form are bounded before it is parsed, and every
field has its type when `read_manifest` returns.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import HushError, ReleaseError
from hushtable.kernel.privacy.loss import LARGEST_SCALE, NEIGHBOURS, parse_stored_epsilon
from hushtable.kernel.privacy.noises import DiscreteLaplace, KnownNoise
from hushtable.release.store import (
    FORMAT,
    MANIFEST,
    MAX_ITEMS,
    MAX_MANIFEST,
    count_items,
    read_plain_file,
)
from hushtable.schema import Schema

MAX_TEXT = 2000
MAX_ATTRIBUTES = 10_000
MAX_DIGITS = 40
_SHOWN = 300

_TEXTS = ("software", "created", "mechanism", "asked", "reader", "reservation")
_TABLES = ("parameters", "privacy", "noise", "schema", "ledger", "arrays")
_PRIVACY_TEXTS = ("epsilon", "neighbours", "unit", "guarantee")

# Scales are written as fractions; this many digits are far beyond any noise.
_FRACTION = re.compile(r"[0-9]{1,250}(/[0-9]{1,250})?")
# An ε of more digits is refused before anything is drawn; floats still hold its inverse.
SMALLEST_SCALE = Fraction(1, 10**200)


@dataclass(frozen=True)
class Manifest:
    """The fields of a manifest that answers rest on."""

    content: dict[str, Any]
    """All of it, as the file has it."""
    schema: Schema
    mechanism: str
    epsilon: Fraction
    private: bool
    reader: str
    noise: dict[str, Any]
    arrays: dict[str, Any]

    @classmethod
    def of(cls, content: dict[str, Any], schema: Schema, epsilon: Fraction) -> Manifest:
        """What a manifest says whose fields are as they should be."""
        return cls(
            content=content,
            schema=schema,
            mechanism=content["mechanism"],
            epsilon=epsilon,
            private=content["private"],
            reader=content["reader"],
            noise=content["noise"],
            arrays=content["arrays"],
        )


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
    _check_fields(content)
    return Manifest.of(content, _schema(content), _epsilon(content["privacy"]["epsilon"]))


def _check_format(version: Any) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Invalid("the manifest has no format version")
    if version > FORMAT:
        raise _Invalid(f"its format is {version}, this hushtable reads up to {FORMAT}: upgrade it")


def _check_fields(content: dict[str, Any]) -> None:
    for key in _TEXTS:
        _check_text(content.get(key), key)
    for key in _TABLES:
        if not isinstance(content.get(key), dict):
            raise _Invalid(f"the manifest's {key!r} is missing or not a table")
    if not isinstance(content.get("private"), bool):
        raise _Invalid("the manifest does not say whether the release is private")
    privacy = content["privacy"]
    for key in _PRIVACY_TEXTS:
        _check_text(privacy.get(key), key)
    if privacy["neighbours"] not in NEIGHBOURS:
        raise _Invalid("the manifest's 'neighbours' is not a relation we know")
    _check_date(content["created"])
    _check_anchor(content["ledger"])
    for key in ("delta", "eta"):
        bound = privacy.get(key, 0 if key == "eta" else None)  # older ones do not state η
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound <= 1:
            raise _Invalid(f"the manifest's {key!r} is not a number from 0 to 1")


def _check_text(value: Any, key: str) -> None:
    # Readers print these: no line breaks, no commands to a terminal, no endless lines.
    if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_TEXT:
        raise _Invalid(f"the manifest's {key!r} is missing or not a line of text")


def _check_date(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise _Invalid("the manifest's 'created' is not a day such as 2024-12-31") from None


def _check_anchor(anchor: dict[str, Any]) -> None:
    """What it says of the ledger is for the owner, but shown to everyone."""
    for key, value in anchor.items():
        if type(value) is not int or value < 0:
            _check_text(value, "ledger")
        _check_text(key, "ledger")


def _schema(content: dict[str, Any]) -> Schema:
    _check_schema_size(content["schema"])
    try:
        schema = Schema.from_dict(content["schema"])
    except HushError as problem:
        raise _Invalid(f"the manifest's schema is not valid: {str(problem)[:_SHOWN]}") from None
    if schema.neighbours != content["privacy"]["neighbours"]:
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
    for table in (schema, schema.get("unit"), *attributes):
        if isinstance(table, dict) and any(len(key) > MAX_TEXT for key in table):
            raise _Invalid("the manifest's schema is not valid: a key is too long")


def _epsilon(text: str) -> Fraction:
    try:
        return parse_stored_epsilon(text)
    except HushError:
        raise _Invalid("the manifest's 'epsilon' is not a positive number") from None


def checked_noise(folder: Path, manifest: Manifest, names: set[str]) -> KnownNoise:
    """The noise of a release that has these arrays and no others."""
    check_arrays(folder, manifest, names)
    noise = read_noise(manifest.noise)
    if noise is None:
        raise ReleaseError(f"{folder}: the manifest does not describe the noise")
    return noise


def check_arrays(folder: Path, manifest: Manifest, names: set[str]) -> None:
    """Refuse a release that does not have these arrays and no others."""
    if set(manifest.arrays) != names:
        listed = ", ".join(sorted(names))
        raise ReleaseError(f"{folder}: the manifest must list the arrays {listed}")


def read_noise(described: dict[str, Any]) -> KnownNoise | None:
    """The noise that a table describes; None where it describes none that we draw."""
    scale = described.get("scale")
    if described.get("law") != DiscreteLaplace.law or not isinstance(scale, str):
        return None
    if not _FRACTION.fullmatch(scale) or set(scale.partition("/")[2]) == {"0"}:
        return None
    found = Fraction(scale)
    return DiscreteLaplace(found) if SMALLEST_SCALE <= found <= LARGEST_SCALE else None

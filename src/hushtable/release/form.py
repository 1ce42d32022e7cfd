"""The form of a manifest: a struct for each of its tables, which anybody may have written.

Other versions may say more, so more keys are welcome. What `parameters` holds is up to the family
that reads the release, and so is what `noise` holds besides; their forms are in its `store.py`.
"""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct

from hushtable.forms import Line, Ratio, told
from hushtable.kernel.privacy.loss import LARGEST_SCALE, Neighbours
from hushtable.kernel.privacy.noises import DiscreteLaplace

# An ε of more digits is refused before anything is drawn; floats still hold its inverse.
SMALLEST_SCALE = Fraction(1, 10**200)

# No more than 30 characters, and not 16 hexadecimal digits or more and nothing else.
_SNAPSHOT = re.compile(r"(?![0-9a-fA-F]{16,}$)[^\W_][\w.+-]{0,29}")

PlainTable = dict[str, Any]
Probability = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Natural = Annotated[int, Meta(ge=0, description="a whole number from 0")]
StoredType = Literal["|i1", "<i2", "<i4", "<i8"]
"""What NumPy calls integers of 8, 16, 32 and 64 bits, their lowest byte first."""


class LedgerPlace(dict[str, Any]):
    """Where the release stands in its ledger: for the owner, but shown to everyone."""

    words = "a table of lines of text and whole numbers"

    @classmethod
    def read(cls, table: Any) -> Self:
        if not isinstance(table, dict):
            raise ValueError
        for key, value in table.items():
            Line.read(key)
            if type(value) is not int or value < 0:
                Line.read(value)
        return cls(table)


class Privacy(Struct, frozen=True):
    """What is promised to the people of the table."""

    epsilon: Line
    delta: Probability
    neighbours: Neighbours
    unit: Line
    guarantee: Line
    eta: Probability = 0.0  # older ones do not state it


class Snapshot(str):
    """A word for a state of the table, chosen by its owner; a checksum would tell of its rows."""

    words = (
        "a short word, such as 2026-10: letters, digits, dots and dashes, never a checksum of the"
        " table"
    )

    @classmethod
    def read(cls, value: Any) -> Self:
        if not isinstance(value, str) or not _SNAPSHOT.fullmatch(value):
            raise ValueError
        return cls(value)


class Stated(Struct, frozen=True):
    """All of a manifest but `hushtable` and `format`, which are looked at first."""

    software: Line
    created: Annotated[date, told("a day such as 2024-12-31")]
    private: bool
    mechanism: Line
    asked: Line
    parameters: PlainTable
    privacy: Privacy
    reader: Line
    noise: PlainTable
    schema: PlainTable
    reservation: Line
    ledger: LedgerPlace
    arrays: PlainTable
    snapshot: Annotated[Snapshot | None, told(Snapshot.words)] = None  # not all name one


class Scale(Ratio):
    """The scale of noise that we draw."""

    words = "the scale of noise that is drawn, as a fraction"

    @classmethod
    def read(cls, value: Any) -> Self:
        scale = super().read(value)
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            raise ValueError
        return scale


class StatedNoise(Struct, frozen=True):
    """The law of the noise, and its scale."""

    law: Literal["discrete-laplace"]
    scale: Scale

    def of(self, scale: Scale) -> DiscreteLaplace:
        """Noise of this law."""
        return DiscreteLaplace(Fraction(scale))

    @property
    def known(self) -> DiscreteLaplace:
        """The noise of this law and scale."""
        return self.of(self.scale)


class TablesNoise(StatedNoise, frozen=True):
    """The largest scale, and that of each of several tables."""

    scales: Annotated[list[Scale], told("a list of the scales of noise, one for each table")]


class FileEntry(Struct, frozen=True):
    """A file of the release, in chunks that each have a checksum."""

    file: Annotated[str, told("the name of its file")]
    chunk: Annotated[int, told("a number of bytes")]
    sha256: Annotated[
        list[Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]],
        told("a list of SHA-256 checksums in hexadecimal digits"),
    ]


class ArrayEntry(FileEntry, frozen=True):
    """What `arrays` says of each: a .npy file of integers."""

    dtype: StoredType
    shape: Annotated[list[Natural], told("a list of sizes")]


class TableEntry(FileEntry, frozen=True):
    """What `table` says of a file for everyone, which is never parsed here."""

    bytes: Natural

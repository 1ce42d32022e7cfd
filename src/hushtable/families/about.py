"""What there is to know of a mechanism before it is chosen: what for, settings, limits, its page.

A declaration is read twice: `hush mechanisms` lists it, and the mechanism reads what the owner set
by it. So what is listed is what is accepted. It needs nothing of the kernel but plain values, so
that whoever only looks loads neither counting nor noise.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import parse_epsilon
from hushtable.schema import Schema

Settings = Mapping[str, str]
"""What an owner set, as text."""

ATTRIBUTE = "ATTRIBUTE"
"""The name of a setting that every attribute of the schema has, under its own name."""

PAGES = "docs/mechanisms"

T = TypeVar("T")


class _Told(TypedDict, total=False):
    default: str
    otherwise: str
    example: str
    beside: Mapping[str, str]


@dataclass(frozen=True)
class Setting(Generic[T]):
    """What an owner may choose about a mechanism."""

    name: str
    meaning: str
    takes: str
    """What it must be, in words."""
    read: Callable[[str], T]
    """Its value; a ValueError or an OptionError refuses the text."""
    default: str | None = None
    """What it is if it is not given, as one would write it."""
    otherwise: str = ""
    """The same in words, where that is not one value."""
    example: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Settings that the example needs beside it."""

    def of(self, settings: Settings) -> T:
        """Its value: as given, or else the default."""
        assert self.default is not None
        return self.value(settings.get(self.name, self.default))

    def given(self, settings: Settings) -> T | None:
        """Its value, if it is given."""
        return self.value(settings[self.name]) if self.name in settings else None

    def value(self, text: str) -> T:
        """The value of a text."""
        try:
            return self.read(text)
        except (ValueError, OptionError):
            raise self.refusal() from None

    def named(self, name: str) -> Setting[T]:
        """The same setting under another name."""
        return replace(self, name=name)

    def refusal(self) -> OptionError:
        """What to raise of a text that is no value of it."""
        return OptionError(f"{self.name} must be {self.takes}")

    @property
    def example_settings(self) -> dict[str, str]:
        """The example and what it needs beside it, about the attributes of a generated census."""
        name = "occupation" if self.name == ATTRIBUTE else self.name
        return {**self.beside, name: self.example}

    def to_dict(self) -> dict[str, Any]:
        """It as JSON: `default` is null where it follows from other things, as `otherwise` says."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "takes": self.takes,
            "default": self.default,
            "otherwise": self.otherwise,
            "example": self.example_settings,
        }


@dataclass(frozen=True)
class About:
    """What a mechanism is, and what may be set about it."""

    name: str
    releases: str
    good_for: str
    intervals: str
    """Promises or estimates (docs/error-bars.md)."""
    page: str
    """The name of its page in the docs."""
    paper: str = ""
    settings: tuple[Setting[Any], ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def page_path(self) -> str:
        """Where its page is in the source of hushtable."""
        return f"{PAGES}/{self.page}.md"

    def check(self, settings: Settings, schema: Schema) -> None:
        """Refuse settings that it does not have, and texts that they cannot be."""
        known = self._by_name(schema)
        for key, text in settings.items():
            if key not in known:
                listed = f"it has {', '.join(known)}" if known else "it has none"
                raise OptionError(f"{self.name} has no setting {key!r}; {listed}; {self._see}")
            try:
                known[key].value(text)
            except OptionError as problem:
                raise OptionError(f"{problem}; {self._see}") from None

    def _by_name(self, schema: Schema) -> dict[str, Setting[Any]]:
        of_attributes = [attribute.name for attribute in schema.attributes]
        return {
            name: setting.named(name)
            for setting in self.settings
            for name in (of_attributes if setting.name == ATTRIBUTE else (setting.name,))
        }

    @property
    def _see(self) -> str:
        return f"see hush mechanisms {shlex.quote(self.name)}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "mechanism": self.name,
            "releases": self.releases,
            "good_for": self.good_for,
            "intervals": self.intervals,
            "settings": [setting.to_dict() for setting in self.settings],
            "limits": list(self.limits),
            "page": self.page_path,
            "paper": self.paper,
        }


# ── kinds of settings ────────────────────────────────────────────────────────────────────────────


def text(name: str, meaning: str, takes: str, **told: Unpack[_Told]) -> Setting[str]:
    """A setting that the mechanism itself reads, by the schema."""
    return Setting(name, meaning, takes, str.strip, **told)


def choice(name: str, meaning: str, *values: str, **told: Unpack[_Told]) -> Setting[str]:
    """One of a few words."""

    def read(text: str) -> str:
        return values[values.index(text.strip())]

    return Setting(name, meaning, f"{', '.join(values[:-1])} or {values[-1]}", read, **told)


def whole(
    name: str, meaning: str, *, least: int = 1, most: int | None = None, **told: Unpack[_Told]
) -> Setting[int]:
    """A whole number."""

    def read(text: str) -> int:
        digits = text.strip()
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
            raise ValueError
        return _between(int(digits), least, most)

    takes = f"a whole number from {least}" + ("" if most is None else f" to {most:,}")
    return Setting(name, meaning, takes, read, **told)


def number(
    name: str, meaning: str, *, least: float, most: float, **told: Unpack[_Told]
) -> Setting[float]:
    """A number, which may be rounded."""
    takes = f"a number from {least:g} to {most:g}"
    return Setting(name, meaning, takes, lambda text: _between(float(text), least, most), **told)


def exact(
    name: str, meaning: str, *, zero: bool = False, below: int | None = None, **told: Unpack[_Told]
) -> Setting[Fraction]:
    """A decimal number that is not rounded, above zero unless it may be zero."""

    def read(text: str) -> Fraction:
        value = Fraction(0) if zero and text.strip() == "0" else parse_epsilon(text)
        if below is not None and value >= below:
            raise ValueError
        return value

    takes = "a decimal from 0" if zero else "a decimal above 0"
    return Setting(
        name, meaning, takes + ("" if below is None else f" and below {below}"), read, **told
    )


_Real = TypeVar("_Real", int, float)


def _between(value: _Real, least: _Real, most: _Real | None) -> _Real:
    if not (value >= least and (most is None or value <= most)):  # nan is nowhere
        raise ValueError
    return value

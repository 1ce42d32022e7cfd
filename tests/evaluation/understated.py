"""A mechanism that lies about its noise, for those who must notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hushtable.families.mechanism import Mechanism
from hushtable.kernel.curator import Curator
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class Understated:
    """A mechanism that says it has less noise than it has."""

    inner: Mechanism
    by: Fraction

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def needs(self) -> Any:
        return self.inner.needs

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Mapping[str, str]) -> None:
        self.inner.check(schema, epsilon=epsilon, settings=settings)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Mapping[str, str]
    ) -> Content:
        made = self.inner.measure(curator, schema, epsilon=epsilon, settings=settings)
        said: dict[str, Any] = {"scale": self._said(made.noise["scale"])}
        if "scales" in made.noise:  # of several tables
            said["scales"] = [self._said(scale) for scale in made.noise["scales"]]
        return replace(made, noise=made.noise | said)

    def _said(self, scale: str) -> str:
        return str(Fraction(scale) * self.by)

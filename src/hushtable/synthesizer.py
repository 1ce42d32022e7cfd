"""For those who expect a synthesizer: fit a table, then sample rows.

    model = hushtable.Synthesizer("census.toml", epsilon="1")
    model.fit("census.parquet")
    rows = model.sample(10_000)

Fitting publishes: it spends ε in the dataset's ledger, like `publish`. Sampling is free.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import EpsilonLike, parse_epsilon
from hushtable.publishing import publish
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow

    from hushtable.kernel.noise.entropy import Entropy
    from hushtable.release import Release


class Synthesizer:
    """A private model of a table, from which rows can be drawn.

    `out` is the release folder it makes; without one the release lives as long as this object. Each
    fit pays its own ε.
    """

    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        epsilon: EpsilonLike,
        mechanism: str = "privbayes",
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        ledger: str | Path | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.schema = schema if isinstance(schema, Schema) else Schema.load(schema)
        self.epsilon = parse_epsilon(epsilon)
        self._options: dict[str, Any] = {
            "mechanism": mechanism,
            "settings": settings,
            "ledger": ledger,
            "entropy": entropy,
        }
        self._out = out
        self._release: Release | None = None

    @property
    def release(self) -> Release:
        """The release that the last fit made: it can be opened, queried and handed on."""
        if self._release is None:
            raise OptionError("there is nothing to sample from yet: fit a table first")
        return self._release

    def fit(self, data: Any) -> Synthesizer:
        """Learn a table, in any form that `publish` takes; spends ε."""
        out = self._temporary() if self._out is None else Path(self._out)
        self._release = publish(data, self.schema, epsilon=self.epsilon, out=out, **self._options)
        return self

    def _temporary(self) -> Path:
        """A folder that goes when this object does."""
        folder = tempfile.mkdtemp(prefix="hushtable-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder) / "model.release"

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> pyarrow.Table:
        """Draw rows, by default as many as the noisy total."""
        return self.release.synthesize(rows, seed=seed)

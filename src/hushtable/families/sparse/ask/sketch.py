"""A count sketch with noise: every bucket holds a signed sum of many cells.

G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012, section on sketches; M. Charikar, K. Chen, M. Farach-Colton, ICALP 2002.

| paper                         | here                                                      |
|-------------------------------|-----------------------------------------------------------|
| d rows of w buckets           | `--set rows=…`, `--set width=…`                           |
| hash functions h, g           | `Sketch.hashed`: public, the same for everyone            |
| sensitivity d                 | `Sketch.entering`; 2d under replace-one                   |
| mean or median of d estimates | `--set estimate=mean` or `median`                         |

Deviations. Where all cells fit into the buckets of a row, none are shared. By default there is one
row: the noise of d rows grows with d, and buckets are cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.errors import OptionError
from hushtable.families.mechanism import Settings, check_memory, check_settings
from hushtable.families.sparse.ask.summary import whole_number
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.hashing import Sketch
from hushtable.release.store import Content
from hushtable.schema import Schema

DEFAULT_ROWS = 1
DEFAULT_WIDTH = 2**18


@dataclass(frozen=True)
class CountSketch:
    """A noisy count sketch."""

    name: str = "sketch"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, ("rows", "width", "estimate"))
        _estimate(settings)
        sketch = _sketch(schema, settings)
        check_memory(self.name, len(schema.shape), sketch.rows * sketch.width)
        schema.exposure.scale(epsilon, entering=sketch.entering, moving=sketch.moving)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        noisy = curator.noisy_sketch(_sketch(schema, settings), epsilon=epsilon)
        return Content(
            reader="sketch",
            arrays={"buckets": noisy.values},
            noise={**noisy.noise.to_dict(), "on": "every bucket"},
            parameters={"sketch": noisy.what, "estimate": _estimate(settings)},
        )


def _sketch(schema: Schema, settings: Settings) -> Sketch:
    """As asked; no wider than the domain, beyond which buckets would be empty."""
    width = min(whole_number(settings, "width", DEFAULT_WIDTH), schema.cells)
    return Sketch(whole_number(settings, "rows", DEFAULT_ROWS), width, schema.shape)


def _estimate(settings: Settings) -> str:
    estimate = settings.get("estimate", "median")
    if estimate not in ("mean", "median"):
        raise OptionError("estimate must be mean or median")
    return estimate


MECHANISMS = (CountSketch(),)

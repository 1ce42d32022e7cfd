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

from hushtable.families.about import Settings
from hushtable.families.mechanism import check_memory
from hushtable.families.sparse.about import ESTIMATE, ROWS, SKETCH, WIDTH
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.hashing import Sketch
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class CountSketch:
    """A noisy count sketch."""

    name: str = SKETCH.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        SKETCH.check(settings, schema)
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
            parameters={"sketch": noisy.what, "estimate": ESTIMATE.of(settings)},
        )


def _sketch(schema: Schema, settings: Settings) -> Sketch:
    """As asked; no wider than the domain, beyond which buckets would be empty."""
    return Sketch(ROWS.of(settings), min(WIDTH.of(settings), schema.cells), schema.shape)


MECHANISMS = (CountSketch(),)

"""Basic: independent noise on every cell.

C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating noise to sensitivity in private data
analysis. TCC 2006.

| paper                        | here                                                        |
|------------------------------|-------------------------------------------------------------|
| histogram query f            | `Identity` along every axis: the count of every cell        |
| S(f), 1 or 2 by the relation | `Product.entering` / `moving`, through the curator          |
| Lap(S(f) / ε)                | discrete Laplace of the same scale: exact, and on integers  |

A count over k cells carries k independent noises: exact variance 2kα/(1−α)², α = exp(−ε/S). Cells
and small ranges are answered well, large ranges badly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushtable.families.about import Settings
from hushtable.families.linear.about import BASIC
from hushtable.families.mechanism import check_memory
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Identity, Product
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class Basic:
    """Noise on every cell of the domain, empty ones included."""

    name: str = BASIC.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        BASIC.check(settings, schema)
        check_memory(self.name, len(schema.shape), schema.cells)
        cells = _cells(schema)
        schema.exposure.scale(epsilon, entering=cells.entering, moving=cells.moving)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        noisy = curator.noisy_coefficients(_cells(schema), epsilon=epsilon)
        return Content(
            reader="cells",
            arrays={"cells": noisy.values},
            noise={**noisy.noise.to_dict(), "on": "every cell"},
            parameters={},
        )


def _cells(schema: Schema) -> Product:
    return Product(tuple(Identity(size) for size in schema.shape))


MECHANISMS = (Basic(),)

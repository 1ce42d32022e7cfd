"""The identity transform: the counts themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Identity:
    """Leave the counts along an axis as they are: a row is one count, so it changes one by one."""

    size: int

    kind = "identity"
    levels = 1

    @property
    def coefficients(self) -> int:
        return self.size

    def forward(self, counts: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        return counts

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}

"""Draw the four stages of ISPE on a table of two attributes: I, S, P, and what E makes of them.

python examples/ispe_picture.py docs/images/ispe.png
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.regions.adjacency import Neighbourhood
from hushtable.families.regions.ask.ispe import Ispe, IspeParameters, smoothed
from hushtable.families.regions.posterior import Estimator
from hushtable.families.regions.read import RegionReader
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.schema import IntegerRange, Schema, ordinal

INK, SIDE, EPSILON = "#22313f", 48, Fraction(1, 5)


def counts() -> np.ndarray:
    """A plateau and a block of people in an empty land: neighbours are alike but at the edges."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    table = np.full((SIDE, SIDE), 3)
    table[(x - 14) ** 2 + (y - 16) ** 2 < 110] = 90
    table[28:40, 26:44] = 60
    table[30:36, 34:40] = 140
    return table


def panel(axes: Axes, values: np.ndarray, name: str, text: str, **colours: Any) -> None:
    """One matrix, and what it is."""
    axes.imshow(values, interpolation="nearest", **colours)
    axes.set_title(name, fontsize=15, color=INK, pad=8)
    axes.set_xlabel(text, fontsize=9.5, color=INK, labelpad=8, linespacing=1.5)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def main(path: str) -> None:
    table = counts()
    schema = Schema(
        "land",
        Fraction(1),
        attributes=tuple(ordinal(name, IntegerRange(0, SIDE - 1)) for name in "xy"),
    )
    held = Counts(schema.shape, np.arange(table.size), table.reshape(-1))
    noise, account = EntropyNoise(SeededEntropy(2)), Account(EPSILON)
    curator = Curator(held, exposure=schema.exposure, account=account, noise=noise)
    content = Ispe().measure(curator, schema, epsilon=EPSILON, settings={})
    cells, regions = content.arrays["cells"], content.arrays["regions"]
    scales = [Fraction(content.noise[name]) for name in ("scale", "region_scale")]
    near = Neighbourhood.of(schema, 1.0)
    reader = RegionReader(
        near,
        lambda: cells,
        lambda: regions,
        lambda: content.arrays["counts"],
        Estimator(scales[0], scales[1]),
    )
    smooth = smoothed(cells, near, IspeParameters.of(schema, {}, scales[0]))
    shuffled = np.random.default_rng(3).permutation(int(regions.max()) + 1)[regions]
    figure, axes = plt.subplots(1, 5, figsize=(15.5, 3.9), dpi=120)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.88, bottom=0.14, wspace=0.06)
    plain = {"cmap": "YlGnBu", "norm": PowerNorm(0.7, 0, 150, clip=True)}
    number = int(regions.max()) + 1
    panel(axes[0], table, "x", "counts\nno analyst sees these", **plain)
    panel(axes[1], cells, "I", f"noisy cells\nfor α₁ = {content.parameters['alpha1']}", **plain)
    panel(axes[2], smooth, "S", "smoothed\nonly to find regions", **plain)
    text = f"{number} regions, their noisy\ncounts for {content.parameters['alpha2']}"
    panel(axes[3], shuffled, "P", text, cmap="tab20b")
    panel(axes[4], reader.cells(), "E", "posterior means\nof every cell", **plain)
    figure.savefig(path, facecolor="white")
    errors = [np.sqrt(np.mean((grid - table) ** 2)) for grid in (cells, reader.cells())]
    print(f"root mean square error of a cell: {errors[0]:.2f} noisy, {errors[1]:.2f} estimated")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/ispe.png")

"""Draw what Privelet does to a small table: counts, coefficients, noisy coefficients, estimates.

python examples/wavelet_picture.py docs/images/privelet.png
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
from matplotlib.colors import PowerNorm, SymLogNorm

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.maps import Haar, Product
from hushtable.kernel.noise.bulk import EntropyNoise

INK, QUIET = "#22313f", "#7b8a97"


def counts() -> np.ndarray:
    """A table of 8 × 8 counts: two overlapping groups of people."""
    y, x = np.mgrid[0:8, 0:8]
    young = 95 * np.exp(-((x - 1.8) ** 2 / 3 + (y - 5.2) ** 2 / 4))
    old = 70 * np.exp(-((x - 5.5) ** 2 / 4 + (y - 2.0) ** 2 / 3))
    return np.asarray(young + old).round().astype(np.int64)


def panel(axes: Axes, values: np.ndarray, name: str, text: str, **colours: Any) -> None:
    """One matrix: colours, numbers, and what it is."""
    image = axes.imshow(values, **colours)
    for (row, column), value in np.ndenumerate(values):
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
        axes.text(
            column,
            row,
            f"{value:.0f}".replace("-", "−"),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if dark else INK,
        )
    axes.set_title(name, fontsize=17, color=INK, pad=9, style="italic", family="serif")
    axes.set_xlabel(text, fontsize=9.5, color=INK, labelpad=9, linespacing=1.5)
    axes.set_xticks(np.arange(-0.5, 8), labels=[])
    axes.set_yticks(np.arange(-0.5, 8), labels=[])
    axes.tick_params(length=0)
    axes.grid(color="white", linewidth=1.2)
    for side in axes.spines.values():
        side.set_visible(False)


def arrow(figure: Any, left: Axes, right: Axes, text: str) -> None:
    """From one panel to the next."""
    start, end = left.get_position().x1, right.get_position().x0
    height = (left.get_position().y0 + left.get_position().y1) / 2
    figure.add_artist(
        matplotlib.patches.FancyArrowPatch(
            (start + 0.006, height),
            (end - 0.006, height),
            transform=figure.transFigure,
            arrowstyle="-|>",
            mutation_scale=14,
            linewidth=1.4,
            color=QUIET,
        )
    )
    figure.text(
        (start + end) / 2, height + 0.03, text, ha="center", va="bottom", fontsize=9.5, color=INK
    )


def main(path: str) -> None:
    transform = Product((Haar(8), Haar(8)))
    table = counts()
    coefficients = transform.forward(table.copy())
    noisy = coefficients.copy()
    EntropyNoise(SeededEntropy(4)).add_laplace(noisy, Fraction(transform.entering))
    estimates = transform.inverse(noisy)

    figure, axes = plt.subplots(1, 4, figsize=(14.5, 4.3), dpi=130)
    figure.subplots_adjust(left=0.012, right=0.988, top=0.87, bottom=0.16, wspace=0.26)
    plain = {"cmap": "YlGnBu", "norm": PowerNorm(0.7, 0, 110)}
    largest = float(np.abs(coefficients).max())
    wave = {"cmap": "RdBu_r", "norm": SymLogNorm(25, vmin=-largest, vmax=largest)}
    panel(axes[0], table, "M", "counts\n8 × 8 cells, one row is in one cell", **plain)
    panel(
        axes[1],
        coefficients,
        "C",
        "coefficients: sums and differences of halves\none row is in 4 × 4 of them, by 1 each",
        **wave,
    )
    panel(axes[2], noisy, "C*", "noisy coefficients\nthis is what a release holds", **wave)
    panel(axes[3], estimates, "M*", "estimated counts\nlarge ranges have little noise", **plain)
    arrow(figure, axes[0], axes[1], "transform")
    arrow(figure, axes[1], axes[2], "noise\nscale 16")
    arrow(figure, axes[2], axes[3], "invert")
    figure.savefig(path, facecolor="white")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/privelet.png")

"""How fast exact noise is drawn, beside numpy's inexact noise and OpenDP's exact one.

Every row is measured in one run, contestants in turn, and the best of several rounds counts: on a
shared machine the ratio of two bests is steadier than either speed. One core is timed by the
processor's clock, all cores by the one on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.noise import bulk
from hushtable.noise.entropy import SystemEntropy

SCALES = (1, 20, 64, 1000, 100_000)
SIZE = 1 << 20
OPENDP_SIZE = 1 << 12
ROUNDS = 25


@dataclass(frozen=True)
class Row:
    """Draws per second at one scale; `opendp` is None where OpenDP is not installed."""

    scale: int
    numpy: float
    one_core: float
    all_cores: float
    opendp: float | None


def run(rounds: int = ROUNDS) -> list[Row]:
    """Measure every scale."""
    return [_measure(scale, rounds) for scale in SCALES]


def _measure(scale: int, rounds: int) -> Row:
    entropy, generator = SystemEntropy(), np.random.Generator(np.random.PCG64())
    # One chunk is drawn by one thread; eight keep every core busy.
    one, many = np.zeros(SIZE, dtype=np.int64), np.zeros(8 * SIZE, dtype=np.int64)
    seconds = _best_of(
        rounds,
        [
            lambda: generator.laplace(0.0, float(scale), SIZE),
            lambda: bulk.add_laplace(one, Fraction(scale), entropy),
        ],
        time.thread_time,
    )
    # Apart from the others: it sweeps their arrays out of the cache.
    together = [lambda: bulk.add_laplace(many, Fraction(scale), entropy)]
    seconds += _best_of(rounds, together, time.perf_counter)
    opendp = _opendp(scale)
    opendp_speed = OPENDP_SIZE / _best_of(3, [opendp], time.thread_time)[0] if opendp else None
    return Row(scale, SIZE / seconds[0], SIZE / seconds[1], many.size / seconds[2], opendp_speed)


def _best_of(
    rounds: int, contestants: Sequence[Callable[[], object]], clock: Callable[[], float]
) -> list[float]:
    best = [float("inf")] * len(contestants)
    for draw in contestants:
        draw()
    for _ in range(rounds):
        for i, draw in enumerate(contestants):
            start = clock()
            draw()
            best[i] = min(best[i], clock() - start)
    return best


def _opendp(scale: int) -> Callable[[], object] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=float(scale))
    zeros = [0] * OPENDP_SIZE
    return lambda: measurement(zeros)


def main() -> None:
    """Print the table."""
    print("Discrete Laplace noise, millions of draws a second (× numpy's laplace on one core)")
    print(f"{'scale':>8} {'numpy':>8} {'one core':>16} {'all cores':>16} {'OpenDP':>16}")
    for row in run():
        cells = [_cell(speed, row.numpy) for speed in (row.one_core, row.all_cores, row.opendp)]
        print(
            f"{row.scale:>8} {row.numpy / 1e6:>8.1f} {cells[0]:>16} {cells[1]:>16} {cells[2]:>16}"
        )


def _cell(speed: float | None, numpy_speed: float) -> str:
    if speed is None:
        return "not installed"
    ratio = speed / numpy_speed
    return (
        f"{speed / 1e6:.3g} ({ratio:.1f}×)"
        if ratio > 1
        else f"{speed / 1e6:.2g} (1/{1 / ratio:.0f})"
    )


if __name__ == "__main__":
    main()

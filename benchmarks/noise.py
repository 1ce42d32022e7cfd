"""How fast exact noise is drawn, beside numpy's inexact noise and other packages' mechanisms.

One core is timed by the processor's clock, all cores by the one on the wall. Other packages draw on
one core, in a process of their own that runs in turn with ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks.options import Options, alone
from benchmarks.peer_scripts import DIFFPRIVLIB_NOISE, OPENDP_NOISE, ask
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn
from hushtable.kernel.noise import bulk
from hushtable.kernel.noise.entropy import SystemEntropy

SIZE = 1 << 20
PEER_SIZE = 1 << 12
PEER_SCALES = (1, 1000)
ROUNDS = 25
TURNS = 3
# σ of Gaussian noise, beside Laplace noise of that scale and numpy's normal, rounded.
SIGMAS = (1, 10, 1000, 100_000)
TARGETS = {1: 6.0, 20: 6.0, 64: 6.0, 1000: 4.0, 100_000: 2.5}
SPEED = "values/s"


def section(options: Options) -> Section:
    """Every scale beside numpy; two of them beside other packages."""
    rounds, turns = (3, 1) if options.quick else (ROUNDS, TURNS)
    rows = [_beside_numpy(scale, least, rounds) for scale, least in TARGETS.items()]
    rows.append(_all_cores(20, rounds))
    for sigma in SIGMAS:
        rows += _gaussian(sigma, rounds)
    rows += _beside_peers(turns, rounds, options)
    return Section("Noise: discrete Laplace and Gaussian, exact", rows)


def _beside_numpy(scale: int, least: float, rounds: int) -> Row:
    generator = np.random.Generator(np.random.PCG64())
    works = {
        "numpy": lambda: generator.laplace(0.0, float(scale), SIZE),
        "ours": _drawing(scale, SIZE),
    }
    best = in_turn(rounds, works, time.thread_time)
    return Row(
        f"scale {scale:,}, one core", SIZE / best["ours"],
        "numpy's laplace, inexact", SIZE / best["numpy"], SPEED, Target(least, "≥"),
    )  # fmt: skip


def _gaussian(sigma: int, rounds: int) -> list[Row]:
    generator = np.random.Generator(np.random.PCG64())
    works = {
        "numpy's normal, rounded, inexact": lambda: np.rint(
            generator.normal(0.0, float(sigma), SIZE)
        ).astype(np.int64),
        "our Laplace": _drawing(sigma, SIZE),
        "ours": _drawing(sigma**2, SIZE, bulk.add_gaussian),
    }
    best = in_turn(rounds, works, time.thread_time)
    return [
        Row(f"Gaussian, σ {sigma:,}, one core", SIZE / best["ours"], name, SIZE / best[name],
            SPEED, Target(0.5, "≥") if name == "our Laplace" else None)
        for name in list(works)[:2]
    ]  # fmt: skip


def _all_cores(scale: int, rounds: int) -> Row:
    """One chunk is drawn by one thread; eight keep every core busy."""
    one, many = _drawing(scale, SIZE), _drawing(scale, 8 * SIZE)
    best = in_turn(rounds, {"one": one, "many": many})
    speeds = 8 * SIZE / best["many"], SIZE / best["one"]
    return Row(f"scale {scale:,}, all cores", speeds[0], "ours on one core", speeds[1], SPEED)


def _drawing(
    scale: int, size: int, add: Callable[..., None] = bulk.add_laplace
) -> Callable[[], None]:
    values, entropy = np.zeros(size, np.int64), SystemEntropy()
    return lambda: add(values, Fraction(scale), entropy)


def _beside_peers(turns: int, rounds: int, options: Options) -> list[Row]:
    """Our draws and the peers' in turn; the best of each counts."""
    scales = ",".join(map(str, PEER_SCALES))
    scripts = {"opendp": OPENDP_NOISE, "diffprivlib": DIFFPRIVLIB_NOISE}
    ours, theirs, failed = dict.fromkeys(PEER_SCALES, 0.0), {}, {}
    gaussian = dict(ours)
    for _ in range(turns):
        for scale in PEER_SCALES:
            works = {
                "Laplace": _drawing(scale, SIZE),
                "Gaussian": _drawing(scale**2, SIZE, bulk.add_gaussian),
            }
            best = in_turn(rounds, works, time.thread_time)
            ours[scale] = max(ours[scale], SIZE / best["Laplace"])
            gaussian[scale] = max(gaussian[scale], SIZE / best["Gaussian"])
        for peer, script in scripts.items():
            found = ask(peer, script, PEER_SIZE, scales, options=options)
            if isinstance(found, str):
                failed[peer] = found
                continue
            for name, speed in found.items():
                theirs[name] = max(theirs.get(name, 0.0), speed)
    return [
        Row(f"{what} {scale:,}, one core", speeds[scale], name,
            theirs.get(f"{name} {scale:g}", failed.get(name.split()[0].lower(), "")), SPEED)
        for what, speeds, name in (
            ("scale", ours, "OpenDP make_laplace"), ("scale", ours, "OpenDP make_geometric"),
            ("Gaussian, σ", gaussian, "OpenDP make_gaussian"),
            ("scale", ours, "diffprivlib Geometric"), ("scale", ours, "diffprivlib Laplace"),
        )
        for scale in PEER_SCALES
    ]  # fmt: skip


if __name__ == "__main__":
    alone(section)

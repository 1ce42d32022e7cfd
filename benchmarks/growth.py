"""Time against the number of people and of cells: Figures 13 and 14 of the Privelet paper.

`hush reproduce privelet-time` makes plots and a verdict of the same measurements.
"""

from __future__ import annotations

from hushtable.generators import timing
from hushtable_papers.privelet_time import MECHANISMS, publish_times

PEOPLE = (1, 2, 3, 4, 5)
BITS = (22, 23, 24, 25, 26)


def run() -> None:
    """Print both figures as tables."""
    header = "".join(f"{mechanism:>12}" for mechanism in MECHANISMS)
    print(f"seconds to publish 2^24 cells\n{'million people':>16}{header}")
    for millions in PEOPLE:
        _print(f"{millions}", millions, 24)
    print(f"seconds to publish 5 million people\n{'cells':>16}{header}")
    for bits in BITS:
        _print(f"2^{bits}", 5, bits)


def _print(label: str, millions: int, bits: int) -> None:
    rows = publish_times(timing(millions * 10**6, cells=2**bits), repetitions=1)
    print(f"{label:>16}" + "".join(f"{row['seconds']:>12.2f}" for row in rows), flush=True)


if __name__ == "__main__":
    run()

"""How often intervals of shares, sums, means, medians and differences hold.

    python -m benchmarks.statistics_coverage [--releases 20] [--only basic,sketch]

The coverage attack of `hush audit` with the statistics alone: every mechanism, a table of clusters
of each of two schemas, at a large and a small ε, seeded noise. A row tells of
one mechanism and one kind of question how many intervals were tried, and the share of them that
held the truth; estimates stand apart from promises. Exits with 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from hushtable.auditing.coverage import (
    CONFIDENCE_LEVELS,
    VARIANTS,
    Coverage,
    CoverageAttack,
    short,
)
from hushtable.auditing.coverage_cases import Case, cases_of, middling
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS, find_mechanism
from hushtable.kernel.noise.bulk import EntropyNoise

SCHEMAS = ("line", "census")
SHAPES = ("clusters",)
LEFT_OUT = "deviations"  # these take as long as all others together
EPSILONS = ("1", "0.1")
# Mechanisms with other settings than their first.
OTHERS: Mapping[str, tuple[str, dict[str, str]]] = {
    "mixed with tents": ("mixed", {"age": "tents:3x2"}),
}
NAMES = (*MECHANISMS, *OTHERS)


def cases() -> list[Case]:
    """The tables of the attack, with their slow questions alone."""
    found = [case for name in SCHEMAS for case in cases_of(middling(name), SHAPES)]
    slow = (
        tuple(one for one in case.questions if one.slow and one.kind != LEFT_OUT) for case in found
    )
    return [replace(case, questions=some) for case, some in zip(found, slow, strict=True)]


def covered(name: str, epsilon: str, releases: int) -> list[Coverage]:
    """What the attack finds about one mechanism with its first settings, or those of its name."""
    entropy = SeededEntropy(NAMES.index(name))
    mechanism, settings = OTHERS.get(name, (name, VARIANTS.get(name, ({},))[0]))
    attack = CoverageAttack(
        find_mechanism(mechanism), Fraction(epsilon), releases,
        lambda: EntropyNoise(entropy), statistics=releases,
    )  # fmt: skip
    return attack.run(cases(), (settings,))


def line(name: str, kind: str, found: Sequence[Coverage]) -> str:
    """One row: promises, then estimates if there are any."""
    cells = []
    for level in CONFIDENCE_LEVELS:
        ones = [one for one in found if one.kind == kind and one.level == level]
        promised, estimated = (sum(o.promised for o in ones), sum(o.estimated for o in ones))
        kept, held = sum(one.kept for one in ones), sum(one.held for one in ones)
        told = [f"{100 * kept / promised:.1f}"] if promised else []
        told += [f"*{100 * held / estimated:.1f}*"] if estimated else []
        cells.append(" ".join(told))
    first = [one for one in found if one.kind == kind and one.level == CONFIDENCE_LEVELS[0]]
    tried = sum(one.promised for one in first), sum(one.estimated for one in first)
    number = f"{tried[0]:,}" + (f" + *{tried[1]:,}*" if tried[1] else "")
    return f"| {name} | {kind} | {number} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=int, default=20, help="of every table, at every ε")
    parser.add_argument("--only", default=",".join(NAMES), help="rows")
    given = parser.parse_args(arguments)
    levels = " | ".join(level.words for level in CONFIDENCE_LEVELS)
    print(f"| mechanism | questions | tried (*estimates*) | {levels} |")
    print("|---" * (3 + len(CONFIDENCE_LEVELS)) + "|")
    broken = []
    for mechanism in given.only.split(","):
        found = [one for e in EPSILONS for one in covered(mechanism, e, given.releases)]
        broken += [f"{mechanism}: {problem}" for problem in short(found)]
        for kind in dict.fromkeys(one.kind for one in found):
            print(line(mechanism, kind, found), flush=True)
    print("\n".join(broken) or "\nNo promise is broken.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

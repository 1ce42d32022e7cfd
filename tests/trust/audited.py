"""Which mutants `hush audit` must see, how it is asked, and which it cannot see, and why.

A mutant that is in neither list concerns the ledger, files, releases or answers: an audit asks
mechanisms for noisy numbers, and looks at how often intervals hold, but at nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants import SOURCE, Mutant
from mutants.mutant import SECONDS, _apply

EXACT, RUNS, LAW, COVERAGE = "exact check", "lower bound", "law of the noise", "coverage"

_PRIVBAYES = "--set rows=100 --set beta=0.5"
_CROWD = "--set rows=100 --set beta=0.9 --set theta=0.001 --set degree=1 --runs 100 --set score="
_SHORT = "basic --schema range --runs 100"
_SHARES = "--set age=tree:2x2x2@1/4,1/4,1/2"


@dataclass(frozen=True)
class Expected:
    """How a mutant is asked for, and which attacks must see it, at least."""

    question: str
    by: tuple[str, ...] = (EXACT,)
    quick: bool = False
    """Whether an ordinary run tries it too."""
    seeded: bool = True
    """Whether noise can be repeated, so that an audit ends in the same way every time."""


BOTH = (EXACT, RUNS)

SEEN: dict[str, Expected] = {
    # scales
    "half the scale on counts": Expected("privbayes --schema range", BOTH),
    "half the scale on coefficients": Expected("basic --schema range", BOTH),
    "half the scale for a summary": Expected("filter --schema range", BOTH),
    "one scale for coefficients of every factor": Expected("privelet --schema tree"),
    "half the factors of the nominal transform": Expected("privelet --schema tree"),
    "a block's largest factor for the product of them": Expected("privelet --schema trees"),
    # what a person can change
    "a row that moves changes one count": Expected("privbayes --schema range", BOTH),
    "moving rows priced as entering ones": Expected("basic --schema range", BOTH),
    "max_rows not in the scale": Expected("basic --schema several-rows", BOTH),
    "neighbours swapped in the scale": Expected("basic --schema range", BOTH),
    "the total left out of Haar's sensitivity": Expected("privelet --schema ladder"),
    "the total left out of the nominal sensitivity": Expected("privelet --schema tree"),
    "every level of a tree twice its share": Expected(f"mixed --schema ladder {_SHARES}"),
    "levels of unlike shares as one class": Expected(f"mixed --schema ladder {_SHARES}"),
    "half the columns of tents paid for": Expected("mixed --schema ladder --set age=tents:2x2@16"),
    "what tents hold left out of the sensitivity": Expected(
        "mixed --schema ladder --set age=tents:2x2@16"
    ),
    "a product as its most sensitive axis": Expected("privelet --schema grid"),
    "the root of a dyadic axis not paid for": Expected("filter --schema ladder --set on=dyadic"),
    "a moved row changes a summary once": Expected("filter --schema range", BOTH),
    "one row of a sketch paid for": Expected("sketch --schema ladder --set rows=2"),
    "a row moved within a sketch changes one bucket": Expected("sketch --schema ladder", BOTH),
    "one row more than max_rows": Expected("basic --schema several-rows"),
    "max_rows ignored": Expected("basic --schema several-rows"),
    "half the scale of a selection": Expected(f"privbayes --schema bits {_CROWD}F"),
    "no factor 2 in a selection": Expected(f"privbayes --schema bits {_CROWD}F"),
    "half the distance that an arriving row changes": Expected(
        f"privbayes --schema bits {_CROWD}R"
    ),
    "half the information that a move changes": Expected(f"privbayes --schema bits {_CROWD}I"),
    "half of what an arriving row changes in an assignment": Expected(
        f"privbayes --schema bits {_CROWD}F"
    ),
    "rows counted twice in a joint table": Expected(f"privbayes --schema bits {_CROWD}F"),
    # splits and payment
    "counts charged after drawing": Expected("privbayes --schema range"),
    "coefficients charged after drawing": Expected("basic --schema range"),
    "a selection never charged": Expected(f"privbayes --schema bits {_PRIVBAYES}"),
    "accounts never charged": Expected("basic --schema range"),
    "the share of a noisy total spent twice": Expected("threshold --schema range"),
    "the whole share of the network in every round": Expected(
        "privbayes --schema bits --set rows=100 --set beta=0.9 --set theta=0.001 --set degree=1"
    ),
    "what the network cost spent on the marginals as well": Expected(
        f"privbayes --schema bits {_PRIVBAYES}"
    ),
    "what the number of rows cost spent on the network as well": Expected(
        "privbayes --schema bits"
    ),
    "all of the marginals' share for the largest of them": Expected(
        f"privbayes --schema bits {_PRIVBAYES}"
    ),
    "regions paid for with all of epsilon again": Expected("ispe --schema range"),
    # values without noise
    "the last coefficient of each block without noise": Expected("privelet --schema ladder", BOTH),
    "the first block without noise": Expected("privelet --schema ladder", BOTH),
    # noise that is not what it says
    "the same key every time": Expected(
        "basic --schema other --runs 200", (RUNS,), quick=True, seeded=False
    ),
    "noise in steps of two": Expected("basic --schema range", (RUNS,)),
    "no noise on empty places": Expected("geometric --schema range", (RUNS, LAW)),
    "an empty place taken for the occupied one beside it": Expected(
        "geometric --schema ladder", (RUNS,)
    ),
    "one side of a two-sided filter": Expected("geometric --schema range", (RUNS, LAW)),
    "upgraded places of a filter all positive": Expected("geometric --schema range", (RUNS, LAW)),
    "adjacent gaps overlap": Expected("geometric --schema range", (RUNS, LAW)),
    "the keystream from its start at every fill": Expected(_SHORT, (LAW,), seeded=False),
    "the table of another digit": Expected(_SHORT, (LAW,)),
    "the negative side as heavy as the positive": Expected(_SHORT, (LAW,)),
    "digits of negative draws not complemented": Expected(_SHORT, (LAW,)),
    "digits of open negative draws not complemented": Expected(_SHORT, (LAW,)),
    "open draws never settled": Expected(_SHORT, (LAW,)),
    "exp(-gamma) wrong above 1": Expected(f"privbayes --schema bits {_CROWD}F", (LAW,)),
    "uniform by remainder": Expected(f"privbayes --schema bits {_CROWD}F", (LAW,)),
    "sampled noise as if it were filtered": Expected(
        "threshold --schema ladder --set tau=4 --runs 100", (LAW,)
    ),
    "filtered and sampled noise without its head": Expected(
        "filter-threshold --schema ladder --set theta=2 --set tau=5 --runs 100", (LAW,)
    ),
    "occupied places sampled whatever their size": Expected(
        "threshold --schema range --set tau=3 --runs 100", (LAW,)
    ),
    "a priority sample that stops short": Expected(
        "priority --schema ladder --set size=2 --runs 100", (LAW,)
    ),
    # intervals
    "what a filter hides left out of an interval": Expected(
        "filter --schema grid --set theta=100 --runs 100 --releases 25", (COVERAGE,)
    ),
}

_NO_SPLIT = "no mechanism splits its table"
_LARGE = "sensitivities of small domains are written out; only the bound for large ones is wrong"
_TINY = "in the tables of an audit scores change by less than what is left of their bounds"
_OWN = "an audit brings no types of its own"
_SUBTLE = "thousands of runs at these scales do not show it; the noise has tests of its own"
_UTILITY = "it changes what is measured, or how it is read, and not what that may cost"
_STOPS = "the curator stops with an error: nothing would be published"
_SALT = "with the salt of an audit nobody displaces another of its few people"
_SHARED_STREAM = "threads then share one stream, of which no part is used twice"

UNSEEN: dict[str, str] = {
    "a move that changes no more distance than an arrival": _TINY,
    "information by the binary bound for every table": _TINY,
    "information of rows beyond the limit": _TINY,
    "half of what a moving row changes in an assignment": "moving is priced as entering at least",
    "delta without its e^epsilon": "an audit is about ε",
    "epsilon by binary fractions": "what is claimed and what is charged are wrong alike",
    "an account beyond its allotment": "no mechanism asks for more than it has",
    "twice the allotment for a mechanism": "no mechanism asks for more than it has",
    "twice the allotment for a curator": "an audit has curators of its own",
    "a forked copy of an account": "an audit is one process",
    "a forked copy of an account under the same pid": "an audit is one process",
    "parts that the whole does not pay for": _NO_SPLIT,
    "the second largest part for nothing": _NO_SPLIT,
    "neighbours swapped in a split": _NO_SPLIT,
    "the allotment again for every part": _NO_SPLIT,
    "a foreign partition let in": _OWN,
    "axes that change after they were checked": _OWN,
    "shares that change after they were checked": _OWN,
    "measures of anyone's own": _OWN,
    "rows that move in a product priced as entering": _LARGE,
    "all that two rows share taken for agreement": _LARGE,
    "a root that is not measured taken for shared": _LARGE,
    "a sensitivity rounded down": _LARGE,
    "three coefficients shared by any two codes": _LARGE,
    "siblings that part taken to agree": _LARGE,
    "a leaf that is its own root without a level": "built-in attributes have more than one code",
    "noise of a large factor that does not fit": "no audit has scales near 2^62",
    "the last count of a tree without noise": _STOPS,
    "the last coefficient of a hierarchy without noise": _STOPS,
    "differences of halves not twice the right half": _UTILITY,
    "compiled siblings compared without their number": _UTILITY,
    "the last slab left as it is": _UTILITY,
    "cells measured at the price of the regions": _UTILITY,
    "a number of rows for nothing": _UTILITY,
    "a handicap that helps": _UTILITY,
    "cells of a marginal mixed up": _UTILITY,
    "rows without an id pooled as one person": _SALT,
    "rows of a cell numbered across people": _SALT,
    "the same salt every time": "an audit counts all its tables by one salt",
    "a spawned source is the same source": _SHARED_STREAM,
    "one keystream for all chunks": _SHARED_STREAM,
    "a forked child keeps the key": "an audit is one process",
    "spare bits used again": "a choice is then never made: an audit does not end",
    "thresholds off by one in 2^128": _SUBTLE,
    "ties with a threshold on the wrong side": _SUBTLE,
    "zero drawn twice as often": "audits have no scale that the slow sampler draws for",
    "occupied places before all others": "the order in which places are kept is not looked at",
    "gaps by a chance of 28 digits": _SUBTLE,
    "added candidates of any size": _SUBTLE,
    "added candidates without what is known of them": _SUBTLE,
    "priorities of added candidates too high": _SUBTLE,
}

_COPY = """
import os, sys
import hushtable
if not os.path.realpath(hushtable.__file__).startswith(os.path.realpath(sys.argv[1]) + os.sep):
    sys.exit(97)
sys.argv[:2] = ["hush"]
from hushtable.cli.main import run
run()
"""


@dataclass(frozen=True)
class Audited:
    """How an audit of a source ended."""

    code: int
    found: Any
    errors: str

    @property
    def caught_by(self) -> tuple[str, ...]:
        return tuple(self.found.get("caught_by", ())) if self.code == 1 and self.found else ()


def run_audit(
    question: str, folder: Path, mutant: Mutant | None = None, *, seeded: bool = True
) -> Audited:
    """`hush audit` by a copy of the source, with a mutant in it or as it is."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy)
    if mutant is not None:
        _apply(mutant, copy)
    asked = ["audit", *question.split(), *(["--seed", "1"] if seeded else []), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _COPY, str(copy), *asked],
        env=environment,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    found = json.loads(done.stdout) if done.stdout.startswith("{") else None
    return Audited(done.returncode, found, done.stdout[-500:] + done.stderr[-1500:])

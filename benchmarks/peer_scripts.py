"""What OpenDP and diffprivlib are asked to do, in environments of their own.

Each script prints one line of JSON. Speeds are by the processor's clock of the child, the best of
three; arrays travel as .npy files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.options import Options
from benchmarks.peers import peer_python, run_peer

REQUIREMENTS = {
    "opendp": ("opendp>=0.11", "numpy"),
    "diffprivlib": ("diffprivlib", "scikit-learn<1.9"),  # it imports what newer ones dropped
}
_SECONDS = 600


def ask(peer: str, script: str, *args: object, options: Options) -> dict[str, Any] | str:
    """What a peer's script found, or why it found nothing."""
    if not options.peers:
        return "not asked"
    python = peer_python(peer, REQUIREMENTS[peer])
    return run_peer(python, script, args, _SECONDS) if isinstance(python, Path) else python


_SPEED = """
import json, sys, time

def speed(draw, size):
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        draw()
        best = min(best, time.process_time() - start)
    return size / best

size, scales = int(sys.argv[1]), [float(scale) for scale in sys.argv[2].split(",")]
found = {}
"""

# Values a second on vectors of integers, by mechanism and scale.
OPENDP_NOISE = (
    _SPEED
    + """
import opendp.prelude as dp
dp.enable_features("contrib")
vector = dp.vector_domain(dp.atom_domain(T="i64"))
zeros = [0] * size
for name, distance in (
    ("make_laplace", dp.l1_distance),
    ("make_geometric", dp.l1_distance),
    ("make_gaussian", dp.l2_distance),
):
    for scale in scales:
        draw = getattr(dp.m, name)(vector, distance(T="i64"), scale=scale)
        found[f"OpenDP {name} {scale:g}"] = speed(lambda: draw(zeros), size)
print(json.dumps(found))
"""
)

# diffprivlib's mechanisms take one value at a time.
DIFFPRIVLIB_NOISE = (
    _SPEED
    + """
from diffprivlib.mechanisms import Geometric, Laplace
for kind in (Geometric, Laplace):
    for scale in scales:
        draw = kind(epsilon=1 / scale, sensitivity=1).randomise
        found[f"diffprivlib {kind.__name__} {scale:g}"] = speed(
            lambda: [draw(0) for _ in range(size)], size
        )
print(json.dumps(found))
"""
)

# A private projection of a sparse table; then the estimates of the cells that are asked.
OPENDP_ALP = """
import json, sys, time
import numpy as np
import opendp.prelude as dp
from opendp.metrics import absolute_distance, l01inf_distance
dp.enable_features("contrib")
codes, counts, asked = (np.load(path, allow_pickle=False).tolist() for path in sys.argv[1:4])
epsilon, limit = float(sys.argv[5]), int(sys.argv[6])
space = (
    dp.map_domain(dp.atom_domain(T="u64"), dp.atom_domain(T="u32")),
    l01inf_distance(absolute_distance(T="u32")),
)
project = dp.m.make_alp_queryable(
    *space, scale=epsilon, total_limit=sum(counts), value_limit=limit
)
table = dict(zip(codes, counts))
start = time.perf_counter()
found = project(table)
seconds = time.perf_counter() - start
np.save(sys.argv[4], np.array([found(cell) for cell in asked]))
print(json.dumps({"seconds": seconds, "epsilon": project.map((1, 1, 1))}))
"""

# Cells of a histogram from a tree of noisy counts, made consistent; several releases.
OPENDP_TREE = """
import json, sys
import numpy as np
import opendp.prelude as dp
dp.enable_features("contrib")
counts = np.load(sys.argv[1], allow_pickle=False).tolist()
epsilon, releases = float(sys.argv[3]), int(sys.argv[4])
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
branching = dp.t.choose_branching_factor(size_guess=len(counts))
tree = dp.t.make_b_ary_tree(*space, leaf_count=len(counts), branching_factor=branching)
noisy = dp.binary_search_chain(lambda s: tree >> dp.m.then_laplace(scale=s), 1, epsilon, T=float)
cells = dp.t.make_consistent_b_ary_tree(branching_factor=branching)
np.save(sys.argv[2], np.array([cells(noisy(counts)) for _ in range(releases)]))
print(json.dumps({"branching": branching}))
"""

# Cells of a histogram with noise on each, as the package publishes them: never below zero.
DIFFPRIVLIB_HISTOGRAM = """
import json, sys
import numpy as np
from diffprivlib.tools import histogramdd
counts = np.load(sys.argv[1], allow_pickle=False)
epsilon, releases = float(sys.argv[3]), int(sys.argv[4])
where = np.argwhere(np.ones(counts.shape, bool))
ends = [(-0.5, size - 0.5) for size in counts.shape]
found = [
    histogramdd(where, epsilon=epsilon, bins=counts.shape, range=ends, weights=counts.ravel())[0]
    for _ in range(releases)
]
np.save(sys.argv[2], np.array(found))
print(json.dumps({"releases": releases}))
"""

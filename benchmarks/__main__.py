"""`make bench`: every benchmark, one after the other, each as ratios measured in one run."""

from __future__ import annotations

from benchmarks import counting, kernel_lines, noise, query, sparse, transforms

for benchmark in (kernel_lines, noise, counting, transforms, query, sparse):
    benchmark.run()
    print()

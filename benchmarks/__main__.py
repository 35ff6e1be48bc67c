"""All the speed benchmarks, one after the other: `python -m benchmarks`."""

from __future__ import annotations

from benchmarks import dataset_writing, grading, iteration, overhead

for module in (overhead, grading, dataset_writing, iteration):
    print(f"\n== {module.__name__}: {(module.__doc__ or '').strip().splitlines()[0]}")
    module.main([])

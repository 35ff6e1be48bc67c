"""All the speed benchmarks, one after the other: `python -m benchmarks`."""

from __future__ import annotations

from benchmarks import (
    accumulation,
    dataset_writing,
    grading,
    growth,
    overhead,
    sandbox,
    simulation,
    tools,
)

for module in (
    overhead,
    grading,
    dataset_writing,
    growth,
    accumulation,
    simulation,
    sandbox,
    tools,
):
    print(f"\n== {module.__name__}: {(module.__doc__ or '').strip().splitlines()[0]}")
    module.main([])

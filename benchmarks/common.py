"""Shared by the benchmark scripts: print a table, and write the figures to a file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.storage import write_json

RESULTS = Path(__file__).parent / "results"


def write_results(name: str, results: Mapping[str, Any]) -> Path:
    """Write the figures and a description of the machine to `benchmarks/results/<name>.json`."""
    path = RESULTS / f"{name}.json"
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }
    write_json(path, {"machine": machine, **results})
    return path


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows with the same keys as a table, the keys on top; numbers are right-aligned."""
    columns = [[name, *(_shown(row.get(name, "")) for row in rows)] for name in rows[0]]
    widths = [max(map(len, column)) for column in columns]
    numeric = [isinstance(value, int | float) for value in rows[0].values()]
    for line in zip(*columns, strict=True):
        cells = zip(line, widths, numeric, strict=True)
        print("  ".join(text.rjust(w) if right else text.ljust(w) for text, w, right in cells))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        digits = 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

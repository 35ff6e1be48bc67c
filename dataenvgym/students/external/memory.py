"""Free memory, also in a container with a limit of its own."""

from __future__ import annotations

from pathlib import Path

import psutil

_GROUP = Path("/sys/fs/cgroup")


def free_memory(group: Path = _GROUP) -> int:
    """Bytes that this process may still use, as far as the system says.

    Args:
        group: the folder of the control group (version 2) whose limit counts.
    """
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = ((group / f"memory.{name}").read_text() for name in ("max", "current"))
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except OSError:  # no control group, no limit
        return free
    if limit.strip() == "max":
        return free
    cached = int(counts.get("inactive_file", 0))  # is given back when it is needed
    return min(free, int(limit) - int(used) + cached)

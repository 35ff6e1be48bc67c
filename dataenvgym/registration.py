"""The environments that gymnasium knows by id once dataenvgym is imported.

Entry points are strings: nothing is imported before `gymnasium.make`.
"""

from __future__ import annotations

import gymnasium

ENTRY_POINTS = {
    "dataenvgym/Math-v0": "dataenvgym.tasks.math.environment:make_default",
}


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for name, entry_point in ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)

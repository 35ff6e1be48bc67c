"""Registers the environments with gymnasium when dataenvgym is imported.

A domain, ours or that of an installed package, names its task environments as entry points of the
group `dataenvgym.task_environments`: `"me/Echo-v0" = "my_package.echo:make_default"`. They are
strings, so their modules are imported only by `gymnasium.make`.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import gymnasium

TEACHING_ENVIRONMENTS = {
    "dataenvgym/OpenEnded-v0": ("dataenvgym.config:make_open_ended", "OpenEnded"),
    "dataenvgym/SkillList-v0": ("dataenvgym.config:make_skill_list", "SkillList"),
    "dataenvgym/SkillTree-v0": ("dataenvgym.config:make_skill_tree", "SkillTree"),
}
"""By id: the function that fills in defaults, and the class in `dataenvgym.environments`."""
MAX_ITERATIONS = 5
"""Steps of a teaching episode, the same as the default of `episode.iterations`."""


def task_environments() -> dict[str, str]:
    """The task environments of all installed domains: ids, and the functions that make them."""
    found = entry_points(group="dataenvgym.task_environments")
    return {point.name: point.value for point in sorted(found, key=lambda point: point.name)}


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for name, entry_point in task_environments().items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
    for name, (entry_point, _) in TEACHING_ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point, max_episode_steps=MAX_ITERATIONS)

"""Registers the environments with gymnasium when dataenvgym is imported.

Entry points are strings, so their modules are imported only by `gymnasium.make`.
"""

from __future__ import annotations

import gymnasium

TASK_ENVIRONMENTS = {
    "dataenvgym/Math-v0": "dataenvgym.tasks.math.environment:make_default",
    "dataenvgym/Code-v0": "dataenvgym.tasks.code.environment:make_default",
    "dataenvgym/ToolUse-v0": "dataenvgym.tasks.tool_use.environment:make_default",
    "dataenvgym/Social-v0": "dataenvgym.tasks.social.environment:make_default",
}
TEACHING_ENVIRONMENTS = {
    "dataenvgym/OpenEnded-v0": "dataenvgym.config:make_open_ended",
    "dataenvgym/SkillList-v0": "dataenvgym.config:make_skill_list",
    "dataenvgym/SkillTree-v0": "dataenvgym.config:make_skill_tree",
}
MAX_ITERATIONS = 5
"""Steps of a teaching episode, the same as the default of `episode.iterations`."""


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for name, entry_point in TASK_ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
    for name, entry_point in TEACHING_ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point, max_episode_steps=MAX_ITERATIONS)

"""Whether an agent can work on a task at all: asked before minutes are spent on finding out."""

from __future__ import annotations

from dataenvgym.agents import Agent, PocketMathEngine, RandomPolicy, SkillListPolicy
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import DataGenerationAgentInterface, TaskInterface
from dataenvgym.records import TaskInstance


def check_fit(
    task: TaskInterface, agent: DataGenerationAgentInterface, *, shows_skills: bool
) -> None:
    """Refuse an agent whose policy or engine could do nothing with the task.

    Only the agents of this package, on tasks that offer their instances, can be judged; any
    other combination passes.

    Args:
        shows_skills: whether the environment lets the agent see gold skills.

    Raises:
        ConfigurationError: saying what does not fit, and the way out.
    """
    instances: tuple[TaskInstance, ...] = tuple(getattr(task, "instances", ()))
    if not isinstance(agent, Agent) or not instances:
        return
    name = str(getattr(task, "name", type(task).__name__))
    if isinstance(agent.policy, SkillListPolicy):
        _needs_skills(name, instances, shows_skills)
    if isinstance(agent.policy, RandomPolicy) and not agent.engine.skills:
        raise ConfigurationError(
            f"the random policy draws from the engine's skills, and "
            f"{type(agent.engine).__name__} names none: use agent=open_ended, or another engine"
        )
    if isinstance(agent.engine, PocketMathEngine):
        _can_write(name, instances)


def _needs_skills(task: str, instances: tuple[TaskInstance, ...], shows_skills: bool) -> None:
    if not shows_skills:
        raise ConfigurationError(
            "the skill_list policy needs to see gold skills, which this environment hides: use "
            "environment=skill_list, or agent=open_ended"
        )
    if not any(instance.skill for instance in instances):
        raise ConfigurationError(
            f"the skill_list policy needs gold skills, and no instance of task {task!r} has one: "
            "use agent=open_ended"
        )


def _can_write(task: str, instances: tuple[TaskInstance, ...]) -> None:
    from dataenvgym.tasks.math.pocket_skills import recognize

    strange = next((i for i in instances if recognize(i.instruction) is None), None)
    if strange is not None:
        raise ConfigurationError(
            f"agent/engine=pocket writes records for pocket math, and task {task!r} has other "
            f"problems, such as {strange.id!r}: {strange.instruction[:80]!r}. Choose another "
            "engine (`dataenvgym list` shows them), your own agent (agent=custom), or "
            "task=pocket_math"
        )

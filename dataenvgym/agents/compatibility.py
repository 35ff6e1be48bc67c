"""Checks that an agent can work on a task, before the run spends time on it.

Policies and engines declare their needs (see `dataenvgym.records.plans`); nothing else is checked.
"""

from __future__ import annotations

from dataenvgym.agents.agent import Agent, TreeAgent
from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.interfaces import PredictorInterface, can
from dataenvgym.records import TaskInstance
from dataenvgym.records.plans import engine_fit, policy_fit
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task


def check_fit(
    task: Task,
    agent: object,
    *,
    shows_skills: bool,
    labels_skills: bool = False,
    student: PredictorInterface | None = None,
) -> None:
    """Refuse an agent whose policy or engine could do nothing with the task.

    Only agents made of a policy and an engine are checked. The checks of problems need a task that
    offers its instances.

    Args:
        shows_skills: True if the environment lets the agent see skills.
        labels_skills: True if the environment labels instances with skills itself.
        student: the one to teach; None does not check whether it can measure records.

    Raises:
        ConfigurationError: says what does not fit, and what to do.
    """
    instances: tuple[TaskInstance, ...] = known_instances(task)
    if not isinstance(agent, Agent | TreeAgent):
        return
    policy, engine = agent.policy, agent.engine
    asks, needs = policy_fit(policy), engine_fit(engine)
    method = "act" if isinstance(agent, TreeAgent) else "plan"
    if not callable(getattr(policy, method, None)):
        raise ConfigurationError(
            f"{_title(policy)} has no method `{method}`, which {type(agent).__name__} asks for: "
            "policies for trees (agent/policy=tree_...) need agent=skill_tree, and it needs them"
        )
    if engine is not None:
        if needs.writes and not needs.is_satisfied_by(asks) and asks.tells == "nothing":
            raise ConfigurationError(
                f"{_title(policy)} plans nothing, and {_title(engine)} writes only what is "
                "planned: use another policy, such as agent/policy=open_ended, or agent=none to "
                "train on nothing"
            )
        if not needs.writes and asks.tells != "nothing":  # both: agent=none
            raise ConfigurationError(
                f"{_title(engine)} writes nothing, whatever {_title(policy)} plans: use "
                "another engine, or agent=none to train on nothing"
            )
        if needs.measures and student is not None and not can(student, "losses", "influences"):
            raise ConfigurationError(
                f"{_title(engine)} selects by losses or gradients, and {type(student).__name__} "
                "gives none: use predictor=in_process, or agent=pool_random, pool_uncertainty, "
                "pool_influence or pool_diverse"
            )
        if (prepare := getattr(engine, "prepare", None)) is not None:
            prepare()
    if not instances:
        return
    name = task.name
    if asks.needs_skills:
        if not shows_skills:
            raise ConfigurationError(
                f"{_title(policy)} needs to see skills, which this environment hides: use "
                "environment=skill_list, or agent=open_ended"
            )
        if not labels_skills and not any(instance.skill for instance in instances):
            raise ConfigurationError(
                f"{_title(policy)} needs skills, and no instance of task {name!r} has one: use "
                "skills=clusters, which finds some, or agent=open_ended"
            )
    if engine is None:
        return
    if asks.needs_engine_skills and not engine.skills:
        raise ConfigurationError(
            f"{_title(policy)} draws from the engine's skills, and {type(engine).__name__} names "
            "none: use agent/policy=open_ended, or another engine"
        )
    if asks.tells != "nothing" and not needs.is_satisfied_by(asks):
        raise ConfigurationError(
            f"{_title(policy)} gives {asks.tells}, and {_title(engine)} needs {needs.needs}: use "
            "agent/policy=open_ended or skill_list, or another engine"
        )
    reader: object = engine
    while (inner := getattr(reader, "engine", None)) is not None:
        reader = inner
    if (reads := getattr(reader, "reads", None)) is None:
        return
    strange = next((i for i in instances if not reads(i.instruction)), None)
    if strange is not None:
        raise ConfigurationError(
            f"{type(engine).__name__} writes records for problems that it can read, and task "
            f"{name!r} has other problems, such as {strange.id!r}: "
            f"{shorten(strange.instruction)!r}. "
            "Choose another engine (`dataenvgym list` shows them), your own agent "
            "(agent=my_module.MyAgent), or task=pocket_math or another pocket task for "
            "agent/engine=pocket"
        )


def _title(part: object) -> str:
    """The class of a policy or an engine, and the one it wraps: `RetentionPolicy(EdgePolicy)`."""
    inner = getattr(part, "policy", None) or getattr(part, "engine", None)
    name = type(part).__name__
    return name if inner is None else f"{name}({_title(inner)})"

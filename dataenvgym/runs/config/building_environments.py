"""Builds teaching environments from a configuration, or for gymnasium's ids.

`build_environment` makes the environment of `environment.id` with a task and a predictor, limited
to `episode.iterations` steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from omegaconf import DictConfig, OmegaConf

from dataenvgym.agents.skills.embeddings import EmbedderInterface
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    EnvironmentInterface,
    PredictorInterface,
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TeacherInterface,
    TrainablePredictorInterface,
    expect,
)
from dataenvgym.records.plans import Engine
from dataenvgym.registration import TEACHING_ENVIRONMENTS
from dataenvgym.runs.config.building import build_predictor, build_task, build_teacher
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.config.instantiation import (
    build_section,
    build_value,
    check_arguments,
    making,
    section_target,
)
from dataenvgym.tasks.adapted_task import task_of


def build_environment(
    config: DictConfig,
    directory: str | Path | None = None,
    *,
    task: TaskInterface | None = None,
    predictor: PredictorInterface | None = None,
    teacher: TeacherInterface | None = None,
) -> gymnasium.Env[Any, Any]:
    """Build the teaching environment of `config.environment`, wrapped in a `TimeLimit`.

    Args:
        directory: its run directory; None makes a temporary folder.
        task, predictor, teacher: None builds them from the configuration.
    """
    task = build_task(config, directory) if task is None else task_of(task)
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    if teacher is None:
        teacher = build_teacher(config, predictor, directory)
    options = _environment_options(
        config, task=task, predictor=predictor, teacher=teacher, directory=directory
    )
    iterations = int(config.episode.iterations)
    section = {name: options[name] for name in options if name in config.environment}
    if "_target_" in config.environment:
        own = section_target(config, "environment")
        check_arguments(own, section, "environment")
        with making("environment", own):
            environment = own(task, predictor, directory=directory, **options)
        expect(environment, EnvironmentInterface, "environment")
        return gymnasium.wrappers.TimeLimit(environment, iterations)
    spec: str | EnvSpec = str(config.environment.id)
    if spec in TEACHING_ENVIRONMENTS:  # ours fill in defaults; a configuration has them all
        its_class = f"dataenvgym.environments:{TEACHING_ENVIRONMENTS[spec][1]}"
        check_arguments(load_env_creator(its_class), section, "environment")
        spec = replace(gymnasium.spec(spec), entry_point=its_class)
    try:
        with making("environment", gymnasium.make):
            return gymnasium.make(
                spec,
                max_episode_steps=iterations,
                disable_env_checker=True,
                directory=directory,
                task=task,
                predictor=predictor,
                **options,
            )
    except gymnasium.error.Error as error:  # an unknown or malformed id
        raise ConfigurationError(f"environment.id: {error}") from error


def _make(
    overrides: Sequence[str],
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Any,
) -> Any:
    """Make a teaching environment; other options are those of the configuration."""
    config = compose(overrides)
    task = build_task(config) if task is None else task_of(task)
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    made = _environment_options(config, task=task, predictor=predictor)
    its_class = TEACHING_ENVIRONMENTS[config.environment.id][1]
    make = load_env_creator(f"dataenvgym.environments:{its_class}")
    return make(task=task, predictor=predictor, **{**made, **options})


make_open_ended = partial(_make, ["environment=open_ended"])
"""Make `dataenvgym/OpenEnded-v0` from a task, a predictor and other options."""
make_skill_list = partial(_make, ["environment=skill_list"])
"""Make `dataenvgym/SkillList-v0` from a task, a predictor and other options."""
make_skill_tree = partial(
    _make,
    ["environment=skill_tree", "agent=skill_tree"],
    agent_name=None,  # the caller is not one of our agents
)
"""Make `dataenvgym/SkillTree-v0` from a task, a predictor and other options."""


def _environment_options(config: DictConfig, **given: Any) -> dict[str, Any]:
    """The arguments of the environment's class: its section, skill labels and quality checks."""
    given = {name: thing for name, thing in given.items() if thing is not None}
    section = cast(dict[str, Any], OmegaConf.to_container(config.environment, resolve=True))
    for name in ("id", "_target_"):
        section.pop(name, None)
    seeded = {**given, "seed": config.seed}  # for an engine of the user's own
    options = cast(dict[str, Any], build_value(section, "environment", seeded))
    if config.skills.get("_target_") is not None:
        options["labeler"] = labeler = build_section(config, "skills", **given)
        expect(labeler, SkillLabelerInterface, "skills")
        if (embedder := getattr(labeler, "embedder", None)) is not None:
            expect(embedder, EmbedderInterface, "skills.embedder")
    if checks := build_section(config, "quality", **given).get("checks"):
        if not isinstance(checks, Mapping):
            raise ConfigurationError(
                f"quality.checks is {checks!r}, expected checks by name; for one check choose it: "
                "quality=wrong_answer, or your own class (quality=my_module.MyCheck)"
            )
        options["quality"] = tuple(checks.values())
        for check in checks.values():
            expect(check, RecordCheckInterface, "quality")
    if options.get("engine") is not None:
        expect(options["engine"], Engine, "agent.engine")
    return options

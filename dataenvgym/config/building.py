"""Objects from a configuration: task, predictor, teacher, agent, environment.

`build_task`, `build_predictor`, `build_teacher` and `build_agent` make one section each;
`build_environment` puts a task and a predictor into the teaching environment that `environment.id`
names, the number of steps limited by `episode.iterations`. Nothing is loaded or downloaded yet:
students and problems are loaded when they are first needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from dataenvgym.config.arguments import check_arguments
from dataenvgym.config.composition import compose
from dataenvgym.config.overrides import speaker_override
from dataenvgym.config.shapes import (
    check_agent_parts,
    check_environment_options,
    check_trainer,
    make_own_environment,
)
from dataenvgym.config.storing import record_in_store
from dataenvgym.config.targets import (
    build_section,
    build_value,
    check_protocol,
    section_target,
)
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    PredictorInterface,
    TaskInterface,
    TeacherInterface,
    TeachingAgent,
    TrainablePredictorInterface,
)

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from dataenvgym.environments import OpenEnded, SkillList, SkillTree
    from dataenvgym.environments.options import EnvironmentOptions
    from dataenvgym.environments.skill_tree.environment import SkillTreeOptions
    from dataenvgym.judging import RubricJudge


def build_task(config: DictConfig, directory: str | Path | None = None) -> TaskInterface:
    """The task of `config.task`, with the speakers of `config.task.others`, and `config.store`.

    Args:
        directory: the run directory; those speakers that are teachers keep their transcript and
            their usage in its `others/NAME`. None keeps none.
    """
    from omegaconf import OmegaConf

    section = cast(dict[str, Any], OmegaConf.to_container(config.task, resolve=True))
    if others := section.get("others"):
        section["others"] = _speakers(others, directory)
    task = build_value(section, "task", {})
    made = cast(TaskInterface, check_protocol(task, TaskInterface, "task"))
    record_in_store(config, made)
    return made


def _speakers(others: Any, directory: str | Path | None) -> dict[str, Any]:
    if not isinstance(others, dict):
        raise ConfigurationError(
            f"task.others is {others!r}, expected predictors or teachers by name, such as "
            "{user: {_target_: dataenvgym.llm.Teacher, model: NAME}}"
        )
    from dataenvgym.rollouts import speakers_of

    for who, value in others.items():
        if isinstance(value, str):
            raise ConfigurationError(
                f"task.others.{who} is {value!r}, expected a predictor or a teacher, such as "
                f"{speaker_override(f'task.others.{who}', value)}"
            )
    kept = {who: None if directory is None else Path(directory) / "others" / who for who in others}
    made = {
        who: build_value(value, f"task.others.{who}", {"directory": kept[who]})
        for who, value in others.items()
    }
    return dict(speakers_of(made))


@overload
def build_predictor(
    config: DictConfig, *, task: TaskInterface | None = None
) -> TrainablePredictorInterface: ...
@overload
def build_predictor(
    config: DictConfig, *, trainable: bool, task: TaskInterface | None = None
) -> PredictorInterface: ...
def build_predictor(
    config: DictConfig, *, trainable: bool = True, task: TaskInterface | None = None
) -> PredictorInterface:
    """The student of `config.predictor`.

    If its class has an argument `trainer`, it gets the trainer of `config.trainer`; if it has an
    argument `task`, it gets the task.

    Args:
        trainable: whether it must be able to learn; False takes one that only answers, too.
        task: built from the configuration if None and if it is needed.
    """
    given: dict[str, Any] = {}
    parameters = inspect.signature(section_target(config, "predictor")).parameters
    if "trainer" in parameters and "trainer" not in config.predictor:
        given["trainer"] = check_trainer(build_section(config, "trainer"))
    if "task" in parameters and "task" not in config.predictor:
        given["task"] = build_task(config) if task is None else task
    predictor = build_section(config, "predictor", **given)
    expected = TrainablePredictorInterface if trainable else PredictorInterface
    return cast(PredictorInterface, check_protocol(predictor, expected, "predictor"))


def build_teacher(
    config: DictConfig, predictor: PredictorInterface, directory: str | Path | None = None
) -> TeacherInterface | None:
    """The teacher of `config.teacher`, or None with `teacher=none`.

    Args:
        predictor: the student, for `teacher=student`.
        directory: the run directory, for its transcript and its usage; None keeps none.
    """
    if config.teacher.get("_target_") is None:
        return None
    teacher = build_section(config, "teacher", predictor=predictor, directory=directory)
    return cast(TeacherInterface, check_protocol(teacher, TeacherInterface, "teacher"))


def build_judge(config: DictConfig, directory: str | Path) -> RubricJudge:
    """The judge that a section `judge` describes: a `RubricJudge`, or its own `_target_`.

    Args:
        directory: the folder of the evaluation; the judges keep transcript and usage in its
            `judges/NAME`.

    Raises:
        ConfigurationError: for options that cannot be, and for the student as a judge.
    """
    from omegaconf import OmegaConf

    from dataenvgym.judging import RubricJudge

    section = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    for name in section["teachers"]:
        if "predictor" in inspect.signature(section_target(config.teachers, name)).parameters:
            raise ConfigurationError(
                f"judge.teachers.{name} is the student itself, which does not judge its own "
                "evaluation: choose a server (teacher=openai, teacher=vllm) or a class of your own"
            )
    teachers = {
        name: build_value(
            teacher, f"judge.teachers.{name}", {"directory": Path(directory) / "judges" / str(name)}
        )
        for name, teacher in section["teachers"].items()
    }
    for name, teacher in teachers.items():
        check_protocol(teacher, TeacherInterface, f"judge.teachers.{name}")
    made = {"_target_": "dataenvgym.judging.RubricJudge", **section, "teachers": teachers}
    judge = build_value(made, "judge", {})
    return cast(RubricJudge, check_protocol(judge, RubricJudge, "judge"))


def build_agent(
    config: DictConfig,
    *,
    task: TaskInterface | None = None,
    teacher: TeacherInterface | None = None,
) -> TeachingAgent:
    """The agent of `config.agent`.

    It gets the run's seed if it, its policy or its engine has a parameter `seed` that the section
    does not set.

    Args:
        task, teacher: for those that have parameters of these names. The task is built from the
            configuration if None.
    """
    task = build_task(config) if task is None else task
    given: dict[str, Any] = {"task": task, "seed": config.seed}
    if teacher is not None:
        given["teacher"] = teacher
    agent = build_section(config, "agent", **given)
    check_agent_parts(agent)
    if isinstance(agent, ActingAgentInterface):
        return agent
    expected = DataGenerationAgentInterface
    return cast(DataGenerationAgentInterface, check_protocol(agent, expected, "agent"))


def build_environment(
    config: DictConfig,
    directory: str | Path | None = None,
    *,
    task: TaskInterface | None = None,
    predictor: PredictorInterface | None = None,
    teacher: TeacherInterface | None = None,
) -> gymnasium.Env[Any, Any]:
    """The teaching environment of `config.environment`, wrapped in a `TimeLimit`.

    Args:
        directory: its run directory; None is a temporary folder.
        task, predictor, teacher: built from the configuration if None.
    """
    _at_least(0, config, "seed")
    task = build_task(config, directory) if task is None else task
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    if teacher is None:
        teacher = build_teacher(config, predictor, directory)
    options = _environment_options(
        config, task=task, predictor=predictor, teacher=teacher, directory=directory
    )
    iterations = _at_least(1, config, "episode.iterations")
    section = {name: options[name] for name in options if name in config.environment}
    if "_target_" in config.environment:
        own = section_target(config, "environment")
        check_arguments(own, section, "environment")
        return make_own_environment(own, iterations, task, predictor, directory, options)
    spec = _spec(str(config.environment.id))
    if isinstance(spec, EnvSpec):
        check_arguments(load_env_creator(str(spec.entry_point)), section, "environment")
    try:
        return gymnasium.make(
            spec,
            max_episode_steps=iterations,
            disable_env_checker=True,
            directory=directory,
            task=task,
            predictor=predictor,
            **options,
        )
    except gymnasium.error.UnregisteredEnv as error:
        raise ConfigurationError(f"environment.id: {error}") from error
    except TypeError as error:
        raise ConfigurationError(f"environment: {error}") from error


_CLASSES = {
    "dataenvgym.config:make_open_ended": "dataenvgym.environments:OpenEnded",
    "dataenvgym.config:make_skill_list": "dataenvgym.environments:SkillList",
    "dataenvgym.config:make_skill_tree": "dataenvgym.environments:SkillTree",
}
"""Our entry points fill in defaults; a configuration gives everything to the class."""


def _spec(name: str) -> str | EnvSpec:
    """The gymnasium spec of the environment with that id."""
    spec = gymnasium.registry.get(name)
    if spec is None or (its_class := _CLASSES.get(str(spec.entry_point))) is None:
        return name
    return replace(spec, entry_point=its_class)


def make_open_ended(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Unpack[EnvironmentOptions],
) -> OpenEnded:
    """`dataenvgym/OpenEnded-v0`; other options are as in the default configuration."""
    from dataenvgym.environments import OpenEnded

    return OpenEnded(**_defaults("open_ended", task, predictor, {**options}))


def make_skill_list(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Unpack[EnvironmentOptions],
) -> SkillList:
    """`dataenvgym/SkillList-v0`; other options are as in the default configuration."""
    from dataenvgym.environments import SkillList

    return SkillList(**_defaults("skill_list", task, predictor, {**options}))


def make_skill_tree(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Unpack[SkillTreeOptions],
) -> SkillTree:
    """`dataenvgym/SkillTree-v0`; other options are as with `agent=skill_tree`."""
    from dataenvgym.environments import SkillTree

    given = {"agent_name": None, **options}  # the caller that acts is not an agent of ours
    return SkillTree(**_defaults("skill_tree", task, predictor, given, "agent=skill_tree"))


def _defaults(
    environment: str,
    task: TaskInterface | None,
    predictor: TrainablePredictorInterface | None,
    options: dict[str, Any],
    *overrides: str,
) -> dict[str, Any]:
    config = compose([f"environment={environment}", *overrides])
    task = build_task(config) if task is None else task
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    made = _environment_options(config, task=task, predictor=predictor)
    return {"task": task, "predictor": predictor, **made, **options}


def _environment_options(config: DictConfig, **given: Any) -> dict[str, Any]:
    """The arguments of the environment's class: its section, skill labels and quality checks."""
    from omegaconf import OmegaConf

    for name in ("target_score", "max_records"):
        value = config.environment.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ConfigurationError(f"environment.{name} is {value!r}, expected a number or null")
    given = {name: thing for name, thing in given.items() if thing is not None}
    section = cast(dict[str, Any], OmegaConf.to_container(config.environment, resolve=True))
    for name in ("id", "_target_"):
        section.pop(name, None)
    seeded = {**given, "seed": config.seed}  # for an engine of the user's own
    options = cast(dict[str, Any], build_value(section, "environment", seeded))
    if config.skills.get("_target_") is not None:
        options["labeler"] = build_section(config, "skills", **given)
    if checks := build_section(config, "quality", **given)["checks"]:
        if not isinstance(checks, Mapping):
            raise ConfigurationError(
                f"quality.checks is {checks!r}, expected checks by name; for one check choose it: "
                "quality=wrong_answer, or a class of yours (quality=my_module.MyCheck)"
            )
        options["quality"] = tuple(checks.values())
    check_environment_options(options)
    return options


def _at_least(minimum: int, config: DictConfig, key: str) -> int:
    from omegaconf import OmegaConf

    value = OmegaConf.select(config, key)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigurationError(f"{key} is {value!r}, expected {minimum} or more")
    return value

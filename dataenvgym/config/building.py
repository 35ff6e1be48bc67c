"""Objects from a configuration: whatever its `_target_` entries name.

`build_task`, `build_predictor`, `build_teacher` and `build_agent` make one section each;
`build_environment` puts a task and a predictor into the teaching environment that `environment.id`
names, the number of steps limited by `episode.iterations`. Nothing is loaded or downloaded yet:
students and problems are loaded when they are first needed.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import gymnasium
from pydantic import ValidationError

from dataenvgym.config.composition import compose
from dataenvgym.errors import ConfigurationError, DataEnvGymError, did_you_mean
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


def build_task(config: DictConfig) -> TaskInterface:
    """The task of `config.task`."""
    task = build_section(config, "task")
    return cast(TaskInterface, check_protocol(task, TaskInterface, "task"))


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
    parameters = inspect.signature(_target(config, "predictor")).parameters
    if "trainer" in parameters and "trainer" not in config.predictor:
        given["trainer"] = build_section(config, "trainer")
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


def build_agent(
    config: DictConfig,
    *,
    task: TaskInterface | None = None,
    teacher: TeacherInterface | None = None,
) -> TeachingAgent:
    """The agent of `config.agent`.

    Args:
        task, teacher: for the policies and engines that have parameters of these names. The task
            is built from the configuration if None.
    """
    given: dict[str, Any] = {"task": build_task(config) if task is None else task}
    if teacher is not None:
        given["teacher"] = teacher
    agent = build_section(config, "agent", **given)
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
    task = build_task(config) if task is None else task
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    if teacher is None:
        teacher = build_teacher(config, predictor, directory)
    options = _environment_options(
        config, task=task, predictor=predictor, teacher=teacher, directory=directory
    )
    try:
        return gymnasium.make(
            str(config.environment.id),
            max_episode_steps=_at_least(1, config, "episode.iterations"),
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


def make_open_ended(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Any,
) -> OpenEnded:
    """`dataenvgym/OpenEnded-v0`; what is not given is as in the default configuration."""
    from dataenvgym.environments import OpenEnded

    return OpenEnded(**_defaults("open_ended", task, predictor, options))


def make_skill_list(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Any,
) -> SkillList:
    """`dataenvgym/SkillList-v0`; what is not given is as in the default configuration."""
    from dataenvgym.environments import SkillList

    return SkillList(**_defaults("skill_list", task, predictor, options))


def make_skill_tree(
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Any,
) -> SkillTree:
    """`dataenvgym/SkillTree-v0`; what is not given is as with `agent=skill_tree`."""
    from dataenvgym.environments import SkillTree

    options = {"agent_name": None, **options}  # whoever acts is no agent of ours
    return SkillTree(**_defaults("skill_tree", task, predictor, options, "agent=skill_tree"))


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
    section.pop("id")
    options = cast(dict[str, Any], _build(section, "environment", given))
    if config.skills.get("_target_") is not None:
        options["labeler"] = build_section(config, "skills", **given)
    if checks := build_section(config, "quality", **given)["checks"]:
        options["quality"] = tuple(checks.values())
    return options


def _at_least(minimum: int, config: DictConfig, key: str) -> int:
    from omegaconf import OmegaConf

    value = OmegaConf.select(config, key)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigurationError(f"{key} is {value!r}, expected {minimum} or more")
    return value


# --- _target_ -----------------------------------------------------------------------------------


def build_section(config: DictConfig, section: str, **given: Any) -> Any:
    """What `config[section]` describes: its `_target_` called with what stands beside it.

    Sections within it that have a `_target_` are made first. Every class gets those of the `given`
    objects that it has a parameter for and that its section does not set.
    """
    from omegaconf import OmegaConf

    return _build(OmegaConf.to_container(config[section], resolve=True), section, given)


def _build(value: Any, key: str, given: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_build(item, f"{key}.{i}", given) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    arguments = {n: _build(v, f"{key}.{n}", given) for n, v in value.items() if n != "_target_"}
    if "_target_" not in value:
        return arguments
    target = _imported(value["_target_"], f"{key}._target_")
    parameters = inspect.signature(target).parameters
    arguments = {**{n: given[n] for n in given if n in parameters}, **arguments}
    if _needs_teacher(parameters) and "teacher" not in arguments:
        raise ConfigurationError(
            f"{key}: {target.__qualname__} asks a teacher, and there is none: choose one, such as "
            "teacher=openai teacher.model=NAME (`dataenvgym list teacher` shows them)"
        )
    try:
        return target(**arguments)
    except DataEnvGymError:
        raise
    except (TypeError, ValidationError) as error:
        raise ConfigurationError(
            f"{key}: {target.__module__}.{target.__qualname__} cannot be made: {_first_line(error)}"
        ) from error


def _needs_teacher(parameters: Mapping[str, inspect.Parameter]) -> bool:
    parameter = parameters.get("teacher")
    return parameter is not None and parameter.default is parameter.empty


def _target(config: DictConfig, section: str) -> Callable[..., Any]:
    """The class (or function) that `config[section]._target_` names."""
    return _imported(config[section].get("_target_"), f"{section}._target_")


def _imported(path: Any, key: str) -> Callable[..., Any]:
    if not isinstance(path, str) or "." not in path:
        raise ConfigurationError(f"{key} is {path!r}, expected a class such as my_module.MyClass")
    module_name, _, name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not module_name.startswith(error.name or "?"):
            raise
        raise ConfigurationError(
            f"{key} is {path!r}, but there is no module {error.name!r} in the current folder or "
            "among the installed packages"
        ) from error
    if not callable(target := getattr(module, name, None)):
        raise ConfigurationError(
            f"{key} is {path!r}, but {module_name} has no class {name!r}."
            f"{did_you_mean(name, vars(module))}"
        )
    return cast(Callable[..., Any], target)


def check_protocol(thing: Any, protocol: type, section: str) -> Any:
    """`thing`, if it has the methods of `protocol`; a ConfigurationError if not."""
    if not isinstance(thing, protocol):
        names = [n for n in dir(protocol) if n == "__call__" or not n.startswith("_")]
        missing = [n for n in names if not callable(getattr(thing, n, None))]
        raise ConfigurationError(
            f"{section} is a {type(thing).__name__}, which has no {', '.join(missing)}: expected "
            f"what {protocol.__name__} asks for"
        )
    return thing


def _first_line(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False)[0]
        name = ".".join(map(str, problem["loc"]))
        return f"{name}: {problem['msg']}; found {problem['input']!r}"
    return str(error).partition("\n")[0]

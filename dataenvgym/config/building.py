"""Objects from a configuration: whatever its `_target_` entries name.

`build_task`, `build_predictor` and `build_agent` make one section each; `build_environment` puts
a task and a predictor into the teaching environment that `environment.id` names, the number of
steps limited by `episode.iterations`. Nothing is loaded or downloaded yet: students and problems
are loaded when they are first needed.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import gymnasium
from pydantic import ValidationError

from dataenvgym.config.composition import compose
from dataenvgym.errors import ConfigurationError, DataEnvGymError, did_you_mean
from dataenvgym.interfaces import (
    DataGenerationAgentInterface,
    PredictorInterface,
    TaskInterface,
    TrainablePredictorInterface,
)

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from dataenvgym.environments import OpenEnded, SkillList


def build_task(config: DictConfig) -> TaskInterface:
    """The task of `config.task`."""
    task = build_section(config, "task")
    return cast(TaskInterface, check_protocol(task, TaskInterface, "task"))


@overload
def build_predictor(config: DictConfig) -> TrainablePredictorInterface: ...
@overload
def build_predictor(config: DictConfig, *, trainable: bool) -> PredictorInterface: ...
def build_predictor(config: DictConfig, *, trainable: bool = True) -> PredictorInterface:
    """The student of `config.predictor`.

    If its class has an argument `trainer`, it gets the trainer of `config.trainer`.

    Args:
        trainable: whether it must be able to learn; False takes one that only answers, too.
    """
    given: dict[str, Any] = {}
    parameters = inspect.signature(_target(config, "predictor")).parameters
    if "trainer" in parameters and "trainer" not in config.predictor:
        given["trainer"] = build_section(config, "trainer")
    predictor = build_section(config, "predictor", **given)
    expected = TrainablePredictorInterface if trainable else PredictorInterface
    return cast(PredictorInterface, check_protocol(predictor, expected, "predictor"))


def build_agent(config: DictConfig) -> DataGenerationAgentInterface:
    """The agent of `config.agent`."""
    agent = build_section(config, "agent")
    expected = DataGenerationAgentInterface
    return cast(DataGenerationAgentInterface, check_protocol(agent, expected, "agent"))


def build_environment(
    config: DictConfig,
    directory: str | Path | None = None,
    *,
    task: TaskInterface | None = None,
    predictor: PredictorInterface | None = None,
) -> gymnasium.Env[Any, Any]:
    """The teaching environment of `config.environment`, wrapped in a `TimeLimit`.

    Args:
        directory: its run directory; None is a temporary folder.
        task, predictor: built from the configuration if None.
    """
    options = _environment_options(config)
    _at_least(0, config, "seed")
    try:
        return gymnasium.make(
            str(config.environment.id),
            max_episode_steps=_at_least(1, config, "episode.iterations"),
            disable_env_checker=True,
            directory=directory,
            task=build_task(config) if task is None else task,
            predictor=build_predictor(config) if predictor is None else predictor,
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


def _defaults(
    environment: str,
    task: TaskInterface | None,
    predictor: TrainablePredictorInterface | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    config = compose([f"environment={environment}"])
    return {
        "task": build_task(config) if task is None else task,
        "predictor": build_predictor(config) if predictor is None else predictor,
        **_environment_options(config),
        **options,
    }


def _environment_options(config: DictConfig) -> dict[str, Any]:
    from omegaconf import OmegaConf

    options = cast(dict[str, Any], OmegaConf.to_container(config.environment, resolve=True))
    options.pop("id")
    for name in ("target_score", "max_records"):
        value = options.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ConfigurationError(f"environment.{name} is {value!r}, expected a number or null")
    return options


def _at_least(minimum: int, config: DictConfig, key: str) -> int:
    from omegaconf import OmegaConf

    value = OmegaConf.select(config, key)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigurationError(f"{key} is {value!r}, expected {minimum} or more")
    return value


# --- _target_ -----------------------------------------------------------------------------------


def build_section(config: DictConfig, section: str, **given: Any) -> Any:
    """What `config[section]` describes, made with the arguments there and the `given` ones."""
    import hydra
    from hydra.errors import InstantiationException

    target = _target(config, section)
    try:
        make = hydra.utils.instantiate(config[section], _partial_=True, _convert_="all")
        return make(**given)
    except (InstantiationException, TypeError, ValidationError) as error:
        cause = error.__cause__ if isinstance(error, InstantiationException) else error
        if isinstance(cause, DataEnvGymError):
            raise cause from None
        raise ConfigurationError(
            f"{section}: {target.__module__}.{target.__qualname__} cannot be made: "
            f"{_first_line(cause or error)}"
        ) from error


def _target(config: DictConfig, section: str) -> Callable[..., Any]:
    """The class (or function) that `config[section]._target_` names."""
    path = config[section].get("_target_")
    key = f"{section}._target_"
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

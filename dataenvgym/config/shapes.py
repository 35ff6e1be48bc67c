"""Whether what a configuration's classes made can be used: a class of the wrong shape is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
from pydantic import ValidationError

from dataenvgym.config.targets import check_protocol
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    EnvironmentInterface,
    PredictorInterface,
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
)
from dataenvgym.plans import Engine
from dataenvgym.skills.embeddings import EmbedderInterface


def check_trainer(trainer: Any) -> Any:
    """The trainer, if it can train."""
    if not callable(getattr(trainer, "train", None)):
        raise ConfigurationError(
            f"trainer is a {type(trainer).__name__}, which has no method train(config_path): "
            "expected the methods of TrainerInterface"
        )
    return trainer


def check_agent_parts(agent: object) -> None:
    """Refuse an agent of ours whose policy or engine is not one."""
    parts = getattr(agent, "parts", None)
    for name, protocol in parts.items() if isinstance(parts, Mapping) else ():
        check_protocol(getattr(agent, name), protocol, f"agent.{name}")


def check_environment_options(options: dict[str, Any]) -> None:
    """Refuse skills, quality checks or an engine of the wrong shape."""
    if (labeler := options.get("labeler")) is not None:
        check_protocol(labeler, SkillLabelerInterface, "skills")
        if (embedder := getattr(labeler, "embedder", None)) is not None:
            check_protocol(embedder, EmbedderInterface, "skills.embedder")
    for check in options.get("quality", ()):
        check_protocol(check, RecordCheckInterface, "quality")
    if options.get("engine") is not None:
        check_protocol(options["engine"], Engine, "agent.engine")


def make_own_environment(
    make: Callable[..., Any],
    iterations: int,
    task: TaskInterface,
    predictor: PredictorInterface,
    directory: str | Path | None,
    options: dict[str, Any],
) -> gymnasium.Env[Any, Any]:
    """An environment of a user's own class, limited to so many steps."""
    try:
        environment = make(task, predictor, directory=directory, **options)
    except (TypeError, ValidationError) as error:
        raise ConfigurationError(
            f"environment: {make.__qualname__} cannot be made: {error}"
        ) from error
    check_protocol(environment, EnvironmentInterface, "environment")
    return gymnasium.wrappers.TimeLimit(environment, iterations)

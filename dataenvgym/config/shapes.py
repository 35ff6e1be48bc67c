"""Checks that the objects of a configuration have the right methods; errors name the class."""

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
    """Return the trainer if it can train."""
    if not callable(getattr(trainer, "train", None)):
        raise ConfigurationError(
            f"trainer is a {type(trainer).__name__}, which has no method train(config_path): "
            "expected the methods of TrainerInterface"
        )
    return trainer


def check_agent_parts(agent: object) -> None:
    """Refuse one of our agents if its policy or engine lacks the right methods."""
    parts = getattr(agent, "parts", None)
    for name, protocol in parts.items() if isinstance(parts, Mapping) else ():
        check_protocol(getattr(agent, name), protocol, f"agent.{name}")


def check_environment_options(options: dict[str, Any]) -> None:
    """Refuse a labeler, quality checks or an engine without the right methods."""
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
    """Make an environment of a user's own class, limited to `iterations` steps."""
    try:
        environment = make(task, predictor, directory=directory, **options)
    except (TypeError, ValidationError) as error:
        raise ConfigurationError(
            f"environment: {make.__qualname__} cannot be made: {error}"
        ) from error
    check_protocol(environment, EnvironmentInterface, "environment")
    return gymnasium.wrappers.TimeLimit(environment, iterations)

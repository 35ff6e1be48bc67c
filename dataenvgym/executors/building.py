"""The executor that a configuration asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dataenvgym.config.targets import build_section, check_protocol
from dataenvgym.executors.interface import ExecutorInterface

if TYPE_CHECKING:
    from omegaconf import DictConfig


def build_executor(config: DictConfig) -> ExecutorInterface:
    """The executor of `config.executor`."""
    executor = build_section(config, "executor")
    return cast(ExecutorInterface, check_protocol(executor, ExecutorInterface, "executor"))

"""What an experiment was written for: the task whose options it sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.config.overrides import Override
from dataenvgym.errors import ConfigurationError


def check_experiment(
    overrides: Sequence[Override], groups: Mapping[str, Mapping[str, Path]]
) -> None:
    """Refuse a task beside an experiment that chooses another one and sets its options.

    Args:
        groups: for each group the YAML file of each of its options.

    Raises:
        ConfigurationError: naming the task that the experiment is written for.
    """
    chosen = {o.key: o.value for o in overrides if o.key in ("experiment", "task")}
    experiment, task = chosen.get("experiment"), chosen.get("task")
    if experiment is None or task is None:
        return
    content = _read(groups["experiment"][experiment])
    own = next((c["override /task"] for c in content["defaults"] if "override /task" in c), None)
    options = content.get("task")
    if own in (None, task) or not options:
        return
    raise ConfigurationError(
        f"experiment={experiment} is written for task={own}, whose options it sets "
        f"({', '.join(options)}), and not for task={task}: leave out task=..., or leave out the "
        "experiment and choose what you want of it"
    )


def _read(path: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf

    content: Any = OmegaConf.to_container(OmegaConf.load(path))
    content = content if isinstance(content, dict) else {}
    chosen = [entry for entry in content.get("defaults", ()) if isinstance(entry, dict)]
    return {**content, "defaults": chosen}

"""A configuration made of what a run directory says of itself.

A run made in Python has no `config.yaml`. What it was and did is in `environment.json` and
`summary.json`, in every run; runs are comparable by that, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.config.resolved import literal
from dataenvgym.environments.identity import read_identity
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.episodes.summary import read_summary

if TYPE_CHECKING:
    from omegaconf import DictConfig


def described_config(directory: Path) -> DictConfig:
    """Task, student, agent and environment of a finished run, as far as its folder knows them.

    `agent.records_per_iteration` is the most records that the agent wrote in one iteration.

    Raises:
        RunDirectoryError: if there is no summary, or a file is damaged.
    """
    from omegaconf import OmegaConf

    summary = read_summary(directory)
    identity = read_identity(directory) or {}
    options = TeachingOptions().described()
    written = [one.n_records + sum(one.dropped.values()) for one in summary.iterations[1:]]
    content: dict[str, Any] = {
        "task": {"name": summary.task, "instances": identity.get("instances")},
        "student": {},
        "predictor": identity.get("predictor", {}),
        "trainer": {},
        "agent": {"name": summary.agent, "records_per_iteration": max(written, default=0)},
        "environment": {
            "id": identity.get("environment"),
            **{name: identity.get(name, default) for name, default in options.items()},
        },
        "episode": {"iterations": len(summary.iterations) - 1},
        "seed": summary.seed,
    }
    config: DictConfig = OmegaConf.create(literal(content))
    return config

"""Forgetting: the reward that validation problems have lost since an earlier student.

The forgetting of an iteration is the mean over problems of max(0, best earlier reward - reward): if
problems are right or wrong, it is the share that some earlier student of the episode, the base
student included, solved and this one does not. A problem counts if it was scored now and at least
once before; answers that were not scored because of an error are left out. A student that the gate
refused is not an earlier student.

It is computed from the answers in a run directory, so older runs have it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dataenvgym.environments.iterations import finished_iterations
from dataenvgym.storage import read_jsonl
from dataenvgym.workspace import naming_damage

Losses = Mapping[str, float]
"""The loss in reward of each problem, by id; 0.0 without one."""


def losses(rewards: Sequence[Mapping[str, float]]) -> list[Losses]:
    """The loss in reward of each problem at each iteration.

    Args:
        rewards: for each iteration, the rewards of the scored problems by id, the base student's
            first.
    """
    best: dict[str, float] = {}
    found: list[Losses] = []
    for now in rewards:
        found.append({i: max(0.0, best[i] - reward) for i, reward in now.items() if i in best})
        best |= {i: max(reward, best.get(i, reward)) for i, reward in now.items()}
    return found


def losses_in(run_directory: str | Path) -> list[Losses]:
    """The loss in reward of each validation problem at each finished iteration of a run."""
    rewards = []
    for files in finished_iterations(Path(run_directory) / "iterations"):
        path = files.directory / "completed.jsonl"
        with naming_damage(path):
            rewards.append(
                {
                    str(one["instance"]["id"]): float(one["reward"])
                    for one in (read_jsonl(path) if path.exists() else ())
                    if one.get("error") is None
                }
            )
    return losses(rewards)


def mean_loss(lost: Losses) -> float:
    """The forgetting of an iteration; 0.0 for the base student."""
    return sum(lost.values()) / len(lost) if lost else 0.0

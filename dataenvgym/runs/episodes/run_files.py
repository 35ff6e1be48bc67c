"""Reads a run directory, without running anything.

Forgetting is the reward that validation problems have lost since an earlier student.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from dataenvgym.agents.skills.catalog import labeled_as_in_run
from dataenvgym.environments.iterations import IterationFiles, IterationResult, finished_iterations
from dataenvgym.environments.skill_tree import Forest
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.runs.episodes.summary import Summary, read_summary
from dataenvgym.storage import naming_damage, read_jsonl
from dataenvgym.workspace import read_identity

Losses = Mapping[str, float]
"""The loss in reward of each problem, by id; 0.0 without one."""


def losses(rewards: Sequence[Mapping[str, float]]) -> list[Losses]:
    """The loss in reward of each problem at each iteration: max(0, best earlier reward - reward).

    The mean over problems is the forgetting of the iteration. A problem counts if it was scored now
    and at least once before. A student that the gate refused is not an earlier student.

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


class RunFiles:
    """The finished iterations and the summary of the run in `directory`.

    Raises:
        RunDirectoryError: if there is no run with at least the base student's evaluation.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.summary: Summary = read_summary(self.directory)
        self.iterations = finished_iterations(self.directory / "iterations")
        self._checked: set[int] = set()
        if not self.iterations or not self.summary.iterations:
            raise RunDirectoryError(
                f"{self.directory} has no finished iteration, expected at least the base student's"
            )

    @property
    def best(self) -> int:
        return self.summary.best_iteration

    @cached_property
    def results(self) -> list[IterationResult]:
        """One for each finished iteration, the base student's first."""
        return [files.read_result() for files in self.iterations]

    @cached_property
    def losses(self) -> list[Losses]:
        """The loss of each validation problem at each finished iteration."""
        return losses_in(self.directory)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The student, task and agent in `environment.json`; empty without the file."""
        return read_identity(self.directory)

    @property
    def student(self) -> str:
        """The student's name, as the predictor describes it."""
        described = self.environment.get("predictor", {})
        return str(described.get("student", described.get("name", "unknown")))

    def iteration(self, number: int) -> IterationFiles:
        """The files of a finished iteration; RunDirectoryError if it is missing or damaged."""
        if not 0 <= number < len(self.iterations):
            raise RunDirectoryError(
                f"{self.directory} has no finished iteration {number}; "
                f"it has 0 (the base student) to {len(self.iterations) - 1}"
            )
        if number not in self._checked:
            self.iterations[number].check()
            self._checked.add(number)
        return self.iterations[number]

    def completed(self, number: int) -> list[CompletedTaskInstance]:
        """The validation instances with the answers of this iteration's student.

        They have the run's skills, which may not be gold skills.
        """
        completed = self.iteration(number).read_completed()
        if completed is None:
            raise RunDirectoryError(f"{self.iteration(number).directory} has no completed.jsonl")
        return labeled_as_in_run(completed, self.directory)

    def test_gains(self) -> list[float]:
        """The change in reward from the base student to the best one, on each test problem.

        Problems with an error are left out. Empty without a finished test split.
        """
        before, after = (
            {one["instance"]["id"]: float(one["reward"]) for one in found if not one.get("error")}
            for found in (self._tested(0), self._tested(self.best))
        )
        return [after[i] - before[i] for i in before if i in after]

    def _tested(self, number: int) -> list[dict[str, Any]]:
        path = self.directory / "test" / f"{number:03d}.jsonl"
        return list(read_jsonl(path)) if path.exists() else []

    def forest(self, number: int) -> Forest | None:
        """The forest of skills after this iteration; None if the environment has none."""
        forest: Forest | None = self.iteration(number).load("forest.json", Forest)
        return forest

    def records(self) -> Iterator[TrainingDatum]:
        """All accepted records, in the order in which they were made.

        Without those of iterations that the gate refused.
        """
        for number, result in enumerate(self.results):
            if result.refused is None:
                yield from self.iteration(number).read_records()

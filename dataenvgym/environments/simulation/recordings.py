"""Recorded runs as trajectories: the records taught, and the accuracies reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dataenvgym.environments.iterations import finished_iterations
from dataenvgym.environments.simulation.curves import Array, repeated
from dataenvgym.environments.simulation.predictor import skill_of
from dataenvgym.errors import RunDirectoryError
from dataenvgym.workspace import check_format, read_identity


@dataclass(frozen=True)
class Trajectory:
    """One run of T iterations.

    Attributes:
        name: of the run.
        task: the task of the run.
        skills, categories: in the order of the report.
        counts: (T, n_skills) new records of each iteration.
        accuracies: (T + 1, n_skills), the base student first; NaN if nothing was scored.
        instances: a hash of the evaluated instances.
        replay: the number of earlier records that each training repeated.
    """

    name: str
    task: str
    skills: tuple[str, ...]
    categories: tuple[str | None, ...]
    counts: Array
    accuracies: Array
    instances: str
    replay: int

    @cached_property
    def trained(self) -> Array:
        """The records that each iteration trained on, new and repeated ones (T, n_skills).

        Repeated records were chosen at random; these are their expected numbers.
        """
        before = np.cumsum(self.counts, axis=0) - self.counts
        again = np.stack([repeated(b, self.replay) for b in before])
        # an iteration without new records trains on nothing
        return np.where(self.counts.sum(1, keepdims=True) > 0, self.counts + again, 0.0)


def read_trajectory(run: Path) -> Trajectory:
    """Read the trajectory of a run directory.

    Raises:
        RunDirectoryError: if the run has no finished iteration, no gold skills, records of unknown
            skills, or trained from the base student in each iteration.
    """
    check_format(run)
    finished = finished_iterations(run / "iterations")
    if len(finished) < 2:
        raise RunDirectoryError(f"{run} has no finished iteration, expected one or more")
    identity = read_identity(run)
    if identity.get("mode") != "incremental":
        raise RunDirectoryError(
            f"{run} was run with environment.mode={identity.get('mode')}, expected incremental"
        )
    reports = [files.read_result().report for files in finished]
    skills = tuple(s.skill for s in reports[0].skills)
    if "" in skills or any(tuple(s.skill for s in r.skills) != skills for r in reports):
        raise RunDirectoryError(f"{run}: expected the same skills in each report, all with names")
    accuracies = [[s.accuracy for s in r.skills] for r in reports]
    counts: list[list[int]] = []
    for files in finished[1:]:
        records = files.read_records()
        counted = Counter(skill_of(record) for record in records)
        unknown = sum(n for skill, n in counted.items() if skill not in skills)
        if unknown > len(records) / 10:
            raise RunDirectoryError(
                f"{run}: {unknown} of {len(records)} records name none of the report's skills, "
                "expected provenance.skill in at least 9 of 10"
            )
        counts.append([counted[skill] for skill in skills])
    return Trajectory(
        name=run.name,
        task=reports[0].task,
        skills=skills,
        categories=tuple(s.category for s in reports[0].skills),
        counts=np.array(counts, dtype=float),
        accuracies=np.array(accuracies, dtype=float),
        instances=str(identity.get("instances")),
        replay=int(identity.get("replay", 0)),
    )


def read_trajectories(runs: Sequence[Path]) -> list[Trajectory]:
    """Read the trajectories of runs on the same problems, in the order of their names.

    Raises:
        RunDirectoryError: if a run cannot be read, or two differ in skills or problems.
    """
    trajectories = sorted((read_trajectory(run) for run in runs), key=lambda t: t.name)
    for other in trajectories[1:]:
        if other.skills != trajectories[0].skills:
            raise RunDirectoryError(
                f"{trajectories[0].name} and {other.name} have different skills, "
                "expected runs on one task"
            )
        if other.instances != trajectories[0].instances:
            raise RunDirectoryError(
                f"{trajectories[0].name} and {other.name} were evaluated on different instances, "
                "expected the same ones"
            )
    return trajectories

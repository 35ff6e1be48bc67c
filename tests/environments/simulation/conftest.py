"""Made-up learning curves, and runs recorded from them."""

from typing import Protocol

import numpy as np
import pytest

from dataenvgym.environments.simulation import LearningCurves, SimulatedStudent
from dataenvgym.environments.simulation.recordings import Trajectory


@pytest.fixture
def curves():
    """Four skills of two categories, learned at different rates and forgotten slowly."""
    return LearningCurves(
        task="made_up",
        skills=("a", "b", "c", "d"),
        categories=("x", "x", "y", "y"),
        base=(0.1, 0.2, 0.5, 0.9),
        asymptote=(0.9, 0.8, 0.7, 0.6),
        rate=(3.0, 1.0, 2.0, 1.0),
        forgetting=(0.02, 0.05, 0.0, 0.1),
        retained=0.5,
        within=0.3,
        across=0.05,
    )


class Record(Protocol):
    """The data of `n_runs` runs of a student with these curves."""

    def __call__(self, curves: LearningCurves, n_runs: int) -> list[Trajectory]: ...


@pytest.fixture
def record():
    """Records runs of five iterations, taught unevenly at random."""
    return _record


def _record(curves: LearningCurves, n_runs: int) -> list[Trajectory]:
    trajectories = []
    for number in range(n_runs):
        rng = np.random.default_rng(number)
        student = SimulatedStudent(curves, replay=50)
        accuracies, counts = [student.reset(rng)], []
        for _ in range(5):
            counts.append(rng.multinomial(100, rng.dirichlet(np.ones(len(curves.skills)))))
            accuracies.append(student.teach(counts[-1]))
        trajectories.append(
            Trajectory(
                name=f"run{number}",
                task=curves.task,
                skills=curves.skills,
                categories=curves.categories,
                counts=np.array(counts, dtype=float),
                accuracies=np.array(accuracies),
                instances="same",
                replay=50,
            )
        )
    return trajectories

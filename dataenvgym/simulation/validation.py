"""The errors of learning curves on runs that they were not fitted on.

Errors are root mean squares of a skill's accuracy over runs, iterations and skills:

- one step: each iteration predicted from the recorded one before it;
- trajectory: all iterations predicted from the base student.

The curves are compared with two naive predictions: no change, and the skill's mean accuracy after
trainings in the fitted runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.seeding import derive_rng
from dataenvgym.simulation.curves import Array, LearningCurves
from dataenvgym.simulation.fitting import Recordings, one_step, whole_trajectory
from dataenvgym.simulation.recordings import Trajectory


class HeldOutError(NamedTuple):
    """The root mean square errors of one way to predict, overall and by skill."""

    prediction: str
    one_step: float
    trajectory: float
    trajectory_by_skill: tuple[float, ...]


def halves(
    trajectories: Sequence[Trajectory], seed: int = 0
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Divide the trajectories into two halves at random, the larger one first.

    Raises:
        ConfigurationError: if there are fewer than two.
    """
    if len(trajectories) < 2:
        raise ConfigurationError(
            f"there are {len(trajectories)} runs, expected 2 or more: one half to fit, the other "
            "to test"
        )
    order = derive_rng(seed, "halves").permutation(len(trajectories)).tolist()
    half = (len(order) + 1) // 2
    return [trajectories[i] for i in order[:half]], [trajectories[i] for i in order[half:]]


def held_out_errors(
    curves: LearningCurves, fitted_on: Sequence[Trajectory], held_out: Sequence[Trajectory]
) -> list[HeldOutError]:
    """The errors on `held_out` of the curves, of "no change", and of "mean of the skill"."""
    known, new = Recordings.of(fitted_on), Recordings.of(held_out)
    shape = new.outcomes.shape
    mean = np.broadcast_to(np.nanmean(known.outcomes, axis=(0, 1)), shape)
    still = np.broadcast_to(new.accuracies[:, :1], shape)
    transition = curves.transition
    return [
        _error(
            "learning curves", one_step(transition, new), whole_trajectory(transition, new), new
        ),
        _error("no change", new.accuracies[:, :-1], still, new),
        _error("mean of the skill", mean, mean, new),
    ]


def _error(name: str, step: Array, trajectory: Array, recordings: Recordings) -> HeldOutError:
    squares = [(p - recordings.outcomes) ** 2 for p in (step, trajectory)]
    overall = [float(np.sqrt(np.nanmean(s))) for s in squares]
    by_skill = np.sqrt(np.nanmean(squares[1], axis=(0, 1))).tolist()
    return HeldOutError(name, overall[0], overall[1], tuple(by_skill))

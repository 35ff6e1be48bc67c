"""Fits learning curves to recorded runs, by least squares.

The loss sums, over all runs, iterations and skills, the squared errors of two predictions: each
iteration from the one before, and the whole trajectory from the base student. A skill's asymptote,
rate and forgetting are also pulled towards the mean of all skills, because instances and runs are
few; `STIFFNESS` is the strength, in observations.

The training noise is chosen so that simulated trajectories deviate from the curves as much as the
recorded ones. All runs were evaluated on the same instances, so the effects of these instances are
in the fitted values, not in the noise.

`held_out_errors` compares the curves, on runs that they were not fitted on, with two naive
predictions: no change, and the skill's mean accuracy after trainings in the fitted runs. Errors are
root mean squares of a skill's accuracy over runs, iterations and skills; "one step" predicts each
iteration from the recorded one before it, "trajectory" all iterations from the base student.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dataenvgym.environments.simulation.curves import (
    Array,
    LearningCurves,
    Transition,
    transfer_matrix,
    with_noise,
)
from dataenvgym.environments.simulation.recordings import Trajectory
from dataenvgym.errors import ConfigurationError
from dataenvgym.seeding import derive_rng

STIFFNESS = 2.0
_NOISES = np.linspace(0.0, 0.3, 61)
_REPEATS = 20
_USUAL_SPREADS = np.array([[0.2], [1.0], [1.0]])
"""Between skills: of the asymptotes, and e-fold of the rates and of forgetting."""
_OBSERVATION_NOISE = 0.1
"""The standard deviation of an observation, with about 25 instances per skill."""


@dataclass(frozen=True)
class Recordings:
    """Trajectories as arrays; shorter runs are padded with NaN.

    Attributes:
        counts: (n_runs, T, n_skills) records trained on, including repeated ones.
        accuracies: (n_runs, T + 1, n_skills).
    """

    counts: Array
    accuracies: Array

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> Recordings:
        """Stack one or more trajectories of the same skills."""
        steps = max(len(t.counts) for t in trajectories)
        shape = (len(trajectories), steps, len(trajectories[0].skills))
        counts = np.zeros(shape)
        accuracies = np.full((shape[0], steps + 1, shape[2]), np.nan)
        for i, t in enumerate(trajectories):
            counts[i, : len(t.trained)] = t.trained
            accuracies[i, : len(t.accuracies)] = t.accuracies
        return cls(counts, accuracies)

    @property
    def base(self) -> Array:
        """The mean accuracy of the base student (n_skills,)."""
        base: Array = np.nanmean(self.accuracies[:, 0], axis=0)
        return base

    @property
    def outcomes(self) -> Array:
        """The accuracies after each training (n_runs, T, n_skills)."""
        return self.accuracies[:, 1:]


def one_step(transition: Transition, recordings: Recordings) -> Array:
    """Predict each iteration's accuracies from the one before (n_runs, T, n_skills)."""
    return transition(recordings.accuracies[:, :-1], recordings.counts)


def whole_trajectory(
    transition: Transition,
    recordings: Recordings,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Array:
    """Predict all iterations' accuracies from the base student's (n_runs, T, n_skills).

    With `rng`, students have this training noise.
    """
    state, states = recordings.accuracies[:, 0], []
    for step in range(recordings.counts.shape[1]):
        state = transition(state, recordings.counts[:, step])
        if rng is not None:
            state = with_noise(state, noise, rng)
        states.append(state)
    return np.stack(states, axis=1)


def fit_curves(trajectories: Sequence[Trajectory]) -> LearningCurves:
    """Fit learning curves to one or more trajectories of one task."""
    from scipy.optimize import least_squares

    recordings, first = Recordings.of(trajectories), trajectories[0]
    base, n = recordings.base, len(first.skills)

    # A vector has (within, across, retained), then the asymptotes of the skills, the logarithms of
    # their rates, and those of their forgetting.
    def transition_at(x: Array) -> Transition:
        asymptote, rate, forgetting = x[3:].reshape(3, n)
        return Transition(
            asymptote=asymptote,
            rate=np.exp(rate),
            forgetting=np.exp(forgetting),
            floor=x[2] * base,
            transfer=transfer_matrix(first.categories, x[0], x[1]),
        )

    def loss(x: Array) -> Array:
        transition = transition_at(x)
        predicted = (one_step(transition, recordings), whole_trajectory(transition, recordings))
        errors = np.concatenate([(p - recordings.outcomes).ravel() for p in predicted])
        each = x[3:].reshape(3, n)
        apart = (each - each.mean(axis=1, keepdims=True)) / _USUAL_SPREADS
        strain = np.sqrt(STIFFNESS) * _OBSERVATION_NOISE * apart.ravel()
        return np.concatenate([errors[np.isfinite(errors)] / np.sqrt(2), strain])

    def vector(shared: tuple[float, ...], each: tuple[float, ...]) -> Array:
        return np.concatenate([shared, np.repeat(each, n)])

    found = least_squares(
        loss,
        vector((0.2, 0.05, 0.5), (0.7, np.log(2.0), np.log(0.05))),
        bounds=(
            vector((0.0, 0.0, 0.0), (0.02, np.log(0.05), np.log(1e-4))),
            vector((1.0, 1.0, 1.0), (0.99, np.log(50.0), np.log(1.0))),
        ),
        x_scale="jac",
        max_nfev=60,
    )
    transition = transition_at(found.x)
    within, across, retained = found.x[:3]
    return LearningCurves(
        task=first.task,
        skills=first.skills,
        categories=first.categories,
        base=_rounded(base),
        asymptote=_rounded(transition.asymptote),
        rate=_rounded(transition.rate),
        forgetting=_rounded(transition.forgetting),
        retained=round(float(retained), 4),
        within=round(float(within), 4),
        across=round(float(across), 4),
        training_noise=_training_noise(transition, recordings),
        n_runs=len(trajectories),
    )


def _training_noise(transition: Transition, recordings: Recordings) -> float:
    """The noise with which simulated runs deviate as much as the recorded ones."""
    scored = np.isfinite(recordings.outcomes)
    exact = whole_trajectory(transition, recordings)
    seen = np.mean((exact - recordings.outcomes)[scored] ** 2)
    strays = []
    for noise in _NOISES:
        rng = derive_rng(0, "training noise")  # the same draws for each noise level
        noisy = np.stack(
            [whole_trajectory(transition, recordings, noise, rng) for _ in range(_REPEATS)]
        )
        strays.append(np.mean((noisy - exact)[:, scored] ** 2))
    return round(float(_NOISES[np.abs(np.array(strays) - seen).argmin()]), 4)


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(v), 4) for v in values)


# --- errors on runs that the curves were not fitted on --------------------------------------------


class HeldOutError(NamedTuple):
    """The root mean square errors of one way to predict."""

    prediction: str
    one_step: float
    trajectory: float


def halves(
    trajectories: Sequence[Trajectory], seed: int = 0
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Divide two or more trajectories into two halves at random, the larger one first."""
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
    squares = ((p - recordings.outcomes) ** 2 for p in (step, trajectory))
    return HeldOutError(name, *(float(np.sqrt(np.nanmean(s))) for s in squares))

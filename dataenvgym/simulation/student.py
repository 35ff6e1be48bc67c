"""A student that is nothing but its learning curves: counts of records in, accuracies out."""

from __future__ import annotations

import numpy as np

from dataenvgym.errors import ConfigurationError, InvalidActionError
from dataenvgym.simulation.curves import Array, LearningCurves, with_noise


class SimulatedStudent:
    """Learns as its curves say; thousands of times a second, and without a file.

    Args:
        curves: how it learns.
        replay: how many earlier records each training repeats, as the environment's `replay`;
            in the shares in which they were taught.
        n_instances: with how many instances each skill is evaluated, which adds their sampling
            noise to the observed accuracies; None shows the accuracies themselves.

    Attributes:
        accuracies: (n_skills,), as they are, without evaluation noise.
        taught: (n_skills,) records taught since the base, repeated ones not counted again.
    """

    def __init__(
        self, curves: LearningCurves, *, replay: int = 0, n_instances: int | None = None
    ) -> None:
        if replay < 0:
            raise ConfigurationError(f"replay is {replay}, expected 0 or more records")
        if n_instances is not None and n_instances < 1:
            raise ConfigurationError(f"n_instances is {n_instances}, expected 1 or more, or None")
        self.curves = curves
        self.replay = replay
        self.n_instances = n_instances
        self._transition = curves.transition
        self._base = np.array(curves.base)
        self._rng = np.random.default_rng(0)
        self.accuracies: Array = self._base.copy()
        self.taught: Array = np.zeros(len(self._base))

    def reset(self, rng: np.random.Generator) -> Array:
        """Be the untouched student; the accuracies (n_skills,) that an evaluation sees.

        Args:
            rng: where all noise comes from until the next reset.
        """
        self._rng = rng
        self.accuracies = self._base.copy()
        self.taught = np.zeros(len(self._base))
        return self.evaluate()

    def teach(self, counts: Array) -> Array:
        """Train on `counts` (n_skills,) records; the accuracies (n_skills,) seen afterwards.

        Raises:
            InvalidActionError: if there is not one count of 0 or more for each skill.
        """
        counts = np.asarray(counts, dtype=float)
        if counts.shape != self._base.shape or not counts.min() >= 0:
            raise InvalidActionError(
                f"counts are {counts.tolist()}, expected {len(self._base)} numbers of 0 or more"
            )
        trained = counts + repeated(self.taught, self.replay)
        self.taught = self.taught + counts
        if trained.any():
            after = self._transition(self.accuracies, trained)
            self.accuracies = with_noise(after, self.curves.training_noise, self._rng)
        return self.evaluate()

    def evaluate(self) -> Array:
        """The accuracies (n_skills,) that an evaluation sees now."""
        if self.n_instances is None:
            return self.accuracies.copy()
        # one draw an instance: for some tens of them several times faster than binomial draws
        draws = self._rng.random((self.n_instances, len(self.accuracies)))
        seen: Array = (draws < self.accuracies).sum(0) / self.n_instances
        return seen


def repeated(taught: Array, replay: int) -> Array:
    """The records (n_skills,) that a training on few new ones repeats of those taught before."""
    total = taught.sum()
    return taught * (min(replay, total) / total) if total else np.zeros(len(taught))

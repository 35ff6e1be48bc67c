"""A student simulated by learning curves: counts of records in, accuracies out."""

from __future__ import annotations

import numpy as np

from dataenvgym.errors import InvalidActionError, check_at_least
from dataenvgym.simulation.curves import Array, LearningCurves, with_noise


class SimulatedStudent:
    """Learns by its curves, thousands of times per second, without files.

    Args:
        curves: its learning curves.
        replay: the number of earlier records that each training repeats, as the environment's
            `replay`, in proportion to the records taught so far.
        n_instances: the number of evaluated instances of each skill, whose sampling noise is added
            to the observed accuracies; None shows the exact accuracies.

    Attributes:
        accuracies: (n_skills,), exact, without evaluation noise.
        taught: (n_skills,) records taught since the base, without repetitions.
    """

    def __init__(
        self, curves: LearningCurves, *, replay: int = 0, n_instances: int | None = None
    ) -> None:
        check_at_least(0, replay=replay)
        check_at_least(1, n_instances=1 if n_instances is None else n_instances)
        self.curves = curves
        self.replay = replay
        self.n_instances = n_instances
        self._transition = curves.transition
        self._base = np.array(curves.base)
        self._rng = np.random.default_rng(0)
        self.accuracies: Array = self._base.copy()
        self.taught: Array = np.zeros(len(self._base))

    def reset(self, rng: np.random.Generator) -> Array:
        """Become the base student; return the observed accuracies (n_skills,).

        `rng` is the source of all noise until the next reset.
        """
        self._rng = rng
        self.accuracies = self._base.copy()
        self.taught = np.zeros(len(self._base))
        return self.evaluate()

    def teach(self, counts: Array) -> Array:
        """Train on `counts` (n_skills,) records; return the observed accuracies (n_skills,).

        Raises:
            InvalidActionError: unless there is one count of 0 or more for each skill.
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
        """Return the observed accuracies (n_skills,)."""
        if self.n_instances is None:
            return self.accuracies.copy()
        # one draw per instance: for some tens of them several times faster than binomial draws
        draws = self._rng.random((self.n_instances, len(self.accuracies)))
        seen: Array = (draws < self.accuracies).sum(0) / self.n_instances
        return seen


def repeated(taught: Array, replay: int) -> Array:
    """The expected numbers of earlier records (n_skills,) that a training repeats."""
    total = taught.sum()
    return taught * (min(replay, total) / total) if total else np.zeros(len(taught))

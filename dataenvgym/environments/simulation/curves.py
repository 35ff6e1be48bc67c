"""Learning curves: how a training changes the accuracy of each skill.

One training on `counts` records (n_skills,) changes the accuracies `a` (n_skills,) to

    x = counts @ transfer / 100                  what each skill gets, in hundreds of records
    o = (counts.sum() - counts) / 100            what the others get
    a + (asymptote - a) * (1 - exp(-rate * x))   learning: towards an asymptote, ever slower
    - max(a - floor, 0) * (1 - exp(-forgetting * o))   forgetting: towards a floor

`transfer` is 1 on its diagonal, `within` between skills of one category and `across` between all
others; `floor` is the share `retained` of the base student's accuracy. Every skill has its own
asymptote, rate and forgetting. An asymptote below the base accuracy means that training overwrites
knowledge. `dataenvgym.environments.simulation.fitting` fits the values to recorded runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import Model
from dataenvgym.storage import read_json, write_json

Array = np.ndarray
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
SHIPPED = Path(__file__).parent / "fitted"


class LearningCurves(Model):
    """The parameters of a simulated student of one task.

    Attributes:
        task: the task with the skills.
        skills, categories: in the order of the task's report.
        base: accuracy of the base student, for each skill.
        asymptote: the limit of the accuracy under training, for each skill.
        rate: of learning, for each skill, per hundred records.
        forgetting: for each skill, per hundred records of other skills.
        retained: the share of `base` that is never forgotten.
        within, across: the worth of a record of another skill in the same category, or in another.
        training_noise: standard deviation that one training adds to an accuracy of one half; it
            shrinks towards 0 and 1 as the square root of a * (1 - a).
        n_runs: the number of recorded runs that they were fitted on; 0 if they are invented.
    """

    task: str
    skills: tuple[str, ...] = Field(min_length=1)
    categories: tuple[str | None, ...]
    base: tuple[Share, ...]
    asymptote: tuple[Share, ...]
    rate: tuple[Amount, ...]
    forgetting: tuple[Amount, ...]
    retained: Share = 1.0
    within: Share = 0.0
    across: Share = 0.0
    training_noise: Amount = 0.0
    n_runs: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _one_value_a_skill(self) -> LearningCurves:
        for name in ("categories", "base", "asymptote", "rate", "forgetting"):
            if (n := len(getattr(self, name))) != len(self.skills):
                raise ValueError(f"{name} has {n} values for {len(self.skills)} skills")
        if len(set(self.skills)) < len(self.skills):
            raise ValueError("two skills have the same name")
        return self

    @cached_property
    def transition(self) -> Transition:
        """The same parameters as arrays."""
        return Transition(
            asymptote=np.array(self.asymptote),
            rate=np.array(self.rate),
            forgetting=np.array(self.forgetting),
            floor=self.retained * np.array(self.base),
            transfer=transfer_matrix(self.categories, self.within, self.across),
        )


@dataclass(frozen=True)
class Transition:
    """The effect of one training, as arrays.

    Attributes:
        asymptote, rate, forgetting, floor: (n_skills,).
        transfer: (n_skills, n_skills), from the skill taught (row) to the skill that gains.
    """

    asymptote: Array
    rate: Array
    forgetting: Array
    floor: Array
    transfer: Array

    @cached_property
    def exponents(self) -> Array:
        """The factors of counts in the exponents of learning and forgetting.

        Their shape is (n_skills, 2 * n_skills).
        """
        others = 1.0 - np.eye(len(self.rate))
        both = np.hstack([self.transfer * self.rate, others * self.forgetting])
        exponents: Array = both / -100.0
        return exponents

    def __call__(self, accuracies: Array, counts: Array) -> Array:
        """The accuracies (..., n_skills) after a training on `counts` (..., n_skills) records."""
        n = len(self.rate)
        factors = np.exp(counts @ self.exponents)
        learned = self.asymptote + (accuracies - self.asymptote) * factors[..., :n]
        forgettable = np.maximum(learned - self.floor, 0.0)
        result: Array = learned - forgettable * (1.0 - factors[..., n:])
        return result


def with_noise(accuracies: Array, noise: float, rng: np.random.Generator) -> Array:
    """Add the noise of training (`LearningCurves.training_noise`) to accuracies (..., n_skills)."""
    if noise:
        spread = 2 * noise * np.sqrt(np.maximum(accuracies * (1 - accuracies), 0.0))
        accuracies = accuracies + spread * rng.standard_normal(accuracies.shape)
    result: Array = np.minimum(np.maximum(accuracies, 0.0), 1.0)
    return result


def transfer_matrix(categories: tuple[str | None, ...], within: float, across: float) -> Array:
    """The worth of a record of one skill (row) for another; (n_skills, n_skills)."""
    names = np.array([f"#{i}" if c is None else f" {c}" for i, c in enumerate(categories)])
    matrix = np.where(names[:, None] == names[None, :], within, across)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def read_curves(source: LearningCurves | str | Path) -> LearningCurves:
    """Read learning curves that ship with the package, by the name of their task, or from a file.

    Raises:
        ConfigurationError: if there are none with this name, or the file has other contents.
    """
    if isinstance(source, LearningCurves):
        return source
    path = SHIPPED / f"{source}.json"
    if not path.exists():
        path = Path(source).expanduser()
    if not path.is_file():
        names = sorted(p.stem for p in SHIPPED.glob("*.json"))
        raise ConfigurationError(
            f"there are no learning curves {str(source)!r}, expected {', '.join(names)} or a file "
            "that `python -m dataenvgym.environments.simulation` wrote."
            f"{did_you_mean(str(source), names)}"
        )
    try:
        return LearningCurves.model_validate(read_json(path))
    except ValueError as error:
        raise ConfigurationError(f"{path} has no learning curves: {error}") from error


def write_curves(path: Path, curves: LearningCurves) -> None:
    """Write the curves as JSON, for `read_curves`."""
    write_json(path, curves)


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
        """Train on `counts` (n_skills,) records; return the observed accuracies (n_skills,)."""
        counts = np.asarray(counts, dtype=float)
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

"""Noise models: how much differences between strategies vary on a task, and what an episode takes.

The difference between two strategies at a seed, on one problem, is taken as

    effect + a(seed) + b(problem) + e(seed, problem)

so its mean over n seeds and N problems has the variance var a / n + var b / N + var e / (n N). The
tests of a study are over seeds on the same problems: they see var a + var e / N, and b only matters
for other problems (`inst.` in the tables). A model is fitted from a finished study, and kept as
JSON in a folder: the user's, or `noise_models` of this package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from dataenvgym.errors import BrokenFileError, ConfigurationError, first_fault
from dataenvgym.records import Model
from dataenvgym.storage import read_json, write_json
from dataenvgym.studies.checks import record_budget
from dataenvgym.studies.measures import RunMeasures, difference, mean_validation_rewards

if TYPE_CHECKING:
    from omegaconf import DictConfig

Measure = Literal["test_gain", "area"]
SHIPPED = Path(__file__).parent / "noise_models"


class Variances(Model):
    """Variance components of the paired difference between two strategies, in one measure.

    Attributes:
        seed, problem, residual: of a, b and e; means over all pairs of strategies.
        problems: the number of problems in the study that they are from.
        seed_correlation, problem_correlation: of two strategies' gains, by seed and by problem. The
            higher, the more a paired comparison gains.
    """

    seed: float
    problem: float
    residual: float
    problems: int
    seed_correlation: float | None
    problem_correlation: float | None

    def sd(self, problems: int) -> float:
        """Standard deviation over seeds of a difference on this number of problems."""
        return math.sqrt(self.seed + self.residual / problems)


class NoiseModel(Model):
    """The noise of a task.

    Attributes:
        conditions: student, iterations and record budget of the study that it is from.
        strategies, seeds: of that study.
        variances: by measure.
        seconds: of an episode, by strategy.
    """

    task: str
    conditions: dict[str, str | int | float]
    strategies: tuple[str, ...]
    seeds: int
    variances: dict[Measure, Variances]
    seconds: dict[str, float]

    def factor(self, tail: float) -> float:
        """A bound of the true standard deviation, relative to the fitted one (chi-squared)."""
        from scipy import stats

        return math.sqrt((self.seeds - 1) / float(stats.chi2.ppf(tail, self.seeds - 1)))


def conditions(config: DictConfig) -> dict[str, str | int | float]:
    """What noise depends on, apart from the task and the numbers of seeds and problems."""
    return {
        "student": str(config.student.get("path", "")),
        "iterations": int(config.episode.iterations),
        "records": min(record_budget(config), 1e9),
    }


def fit_noise(
    task: str,
    runs: Mapping[str, Mapping[int, RunMeasures]],
    *,
    under: Mapping[str, str | int | float],
    seconds: Mapping[str, float],
) -> NoiseModel:
    """Fit the noise model of a task.

    Args:
        runs: by strategy and seed.
        under: see `conditions`.
        seconds: of an episode, by strategy.

    Raises:
        ConfigurationError: for fewer than two strategies, three seeds or two problems in common.
    """
    seeds = sorted(set.intersection(*(set(of) for of in runs.values()))) if runs else []
    if len(runs) < 2 or len(seeds) < 3:
        raise ConfigurationError(
            f"the noise of {task!r} cannot be fitted from {len(runs)} strategies with {len(seeds)} "
            "finished seeds in common; 2 strategies and 3 seeds are the least, and 10 seeds better"
        )
    of_measures: dict[Measure, Callable[[RunMeasures], dict[str, float]]] = {
        "test_gain": lambda run: difference(run.test_after_rewards, run.test_before_rewards),
        "area": lambda run: difference(
            mean_validation_rewards(run.directory, iterations=len(run.result.val_scores) - 1),
            run.val_before_rewards,
        ),
    }
    variances: dict[Measure, Variances] = {}
    for measure, gains_of in of_measures.items():
        gains = [[gains_of(of[seed]) for seed in seeds] for of in runs.values()]
        shared = sorted(set.intersection(*(set(one) for of in gains for one in of)))
        if len(shared) > 1:
            variances[measure] = _variances(
                [np.array([[one[i] for i in shared] for one in of]) for of in gains]
            )
    if not variances:
        raise ConfigurationError(
            f"the noise of {task!r} cannot be fitted: its seeds have no two problems in common"
        )
    return NoiseModel(
        task=task,
        conditions=dict(under),
        strategies=tuple(runs),
        seeds=len(seeds),
        variances=variances,
        seconds=dict(seconds),
    )


def _variances(strategies: Sequence[NDArray[np.float64]]) -> Variances:
    """Variance components from matrices of gains, seeds x problems: a two-way analysis of variance.

    A component that is estimated below 0 is 0.
    """
    n, problems = strategies[0].shape
    found = []
    for one, other in combinations(strategies, 2):
        d = one - other
        by_seed, by_problem = d.mean(axis=1), d.mean(axis=0)
        rest = d - by_seed[:, None] - by_problem + d.mean()
        residual = float(np.sum(rest**2)) / ((n - 1) * (problems - 1))
        seed = by_seed.var(ddof=1) - residual / problems
        found.append((seed, by_problem.var(ddof=1) - residual / n, residual))
    seed, problem, residual = (max(0.0, float(v)) for v in np.mean(found, axis=0))
    return Variances(
        seed=seed,
        problem=problem,
        residual=residual,
        problems=problems,
        seed_correlation=_correlation([one.mean(axis=1) for one in strategies]),
        problem_correlation=_correlation([one.mean(axis=0) for one in strategies]),
    )


def _correlation(strategies: Sequence[NDArray[np.float64]]) -> float | None:
    """The mean correlation of two of them; None if one does not vary."""
    if any(np.ptp(one) == 0 for one in strategies):
        return None
    found = [np.corrcoef(one, other)[0, 1] for one, other in combinations(strategies, 2)]
    return float(np.mean(found))


def _path(folder: str | Path, task: str) -> Path:
    return Path(folder).expanduser() / (re.sub(r"[^\w.-]+", "_", task) + ".json")


def write_noise(model: NoiseModel, folder: str | Path) -> Path:
    """Write a noise model; return its path."""
    path = _path(folder, model.task)
    write_json(path, model.model_dump(mode="json"))
    return path


def read_noise(task: str, folder: str | Path) -> NoiseModel | None:
    """The noise model of a task, in `folder` or else in the package; None without one.

    Raises:
        BrokenFileError: if its file is damaged.
    """
    for path in (_path(folder, task), _path(SHIPPED, task)):
        if path.exists():
            try:
                return NoiseModel.model_validate(read_json(path))
            except ValidationError as error:
                raise BrokenFileError(
                    f"{path} is damaged: {first_fault(error)}; --fit-noise writes a new one"
                ) from error
    return None

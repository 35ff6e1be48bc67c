"""Noise models: how much differences between strategies vary on a task, and what an episode takes.

The difference between two strategies at a seed, on one problem, is taken as

    effect + a(seed) + b(problem) + e(seed, problem)

so its mean over n seeds and N problems has the variance var a / n + var b / N + var e / (n N). The
tests of a study are over seeds on the same problems: they see var a + var e / N, and b only matters
for other problems, as noise floors do. A model is fitted from a finished study, and kept as JSON in
a folder: the user's, or `noise_models` of this package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

from omegaconf import DictConfig

from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model
from dataenvgym.runs.config.run_directory import read_config
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.storage import read_model, write_json
from dataenvgym.workspace import is_hand_made

ModelT = TypeVar("ModelT", bound=Model)
Measure = Literal["test_gain", "area"]
SPLITS: dict[Measure, str] = {"test_gain": "n_test", "area": "n_validation"}
Conditions = dict[str, str | int | float]
SHIPPED = Path(__file__).parent / "noise_models"


class Variances(Model):
    """Variance components of the paired difference between two strategies, in one measure.

    Attributes:
        seed, problem, residual: of a, b and e; means over all pairs of strategies.
        problems: the number of problems in the study that they are from.
        asked: its `task.n_test` or `task.n_validation`; a pressure may evaluate fewer problems.
        gain_seed: the variance between seeds of a gain, not of a difference.
        seed_correlation, problem_correlation: of two strategies' gains, by seed and by problem. The
            higher, the more a paired comparison gains.
    """

    seed: float
    problem: float
    residual: float
    problems: int
    asked: int | None = None
    gain_seed: float | None = None
    seed_correlation: float | None
    problem_correlation: float | None

    def problems_of(self, config: DictConfig, measure: Measure) -> int:
        """The number of problems that are evaluated with this configuration."""
        if not (asked := config.task.get(SPLITS[measure])):
            return self.problems
        return max(1, round(int(asked) * (self.problems / self.asked if self.asked else 1)))

    def sd(self, problems: int) -> float:
        """Standard deviation over seeds of a difference on this number of problems."""
        return math.sqrt(self.seed + self.residual / problems)


class NoiseModel(Model):
    """The noise of a task.

    Attributes:
        conditions: of the study that it is from: student, iterations, record budget, pressure.
        strategies, seeds: of that study.
        variances: by measure.
        seconds: of an episode, by strategy.
        ceiling: the mean area of the ceiling; None if the study had no bounds.
    """

    task: str
    conditions: Conditions
    strategies: tuple[str, ...]
    seeds: int
    variances: dict[Measure, Variances]
    seconds: dict[str, float]
    ceiling: float | None = None

    def differs(self, config: DictConfig) -> str:
        """In what a run with this configuration differs from the study; "" if in nothing."""
        here, there = conditions(config), self.conditions
        return ", ".join(
            f"{k} {there.get(k, 'none')} there and {here.get(k, 'none')} here"
            for k in dict.fromkeys((*here, *there))
            if there.get(k) != here.get(k)
        )

    def factor(self, tail: float) -> float:
        """A bound of the true standard deviation, relative to the fitted one (chi-squared)."""
        from scipy import stats

        return math.sqrt((self.seeds - 1) / float(stats.chi2.ppf(tail, self.seeds - 1)))


def record_budget(config: DictConfig) -> float:
    """The most records that an episode trains on; infinite if there is no limit."""
    each = config.agent.get("records_per_iteration")
    most = config.environment.get("max_records")
    planned = math.inf if each is None else float(each) * int(config.episode.iterations)
    return min(planned, math.inf if most is None else float(most))


def conditions(config: DictConfig) -> Conditions:
    """What noise depends on, apart from the task and the numbers of seeds and problems."""
    pressure = config.task.get("pressure")
    records = record_budget(config)
    return {
        "student": str(config.student.get("path", "unknown")),
        "iterations": int(config.episode.iterations),
        "records": "unlimited" if math.isinf(records) else int(records),
        **({} if pressure is None else {"pressure": str(pressure)}),
    }


def _path(folder: str | Path, task: str) -> Path:
    return Path(folder).expanduser() / (re.sub(r"[^\w.-]+", "_", task) + ".json")


def write_noise(model: NoiseModel, folder: str | Path) -> Path:
    """Write a noise model; return its path."""
    path = _path(folder, model.task)
    write_json(path, model)
    return path


def read_noise(task: str, folder: str | Path) -> NoiseModel | None:
    """The noise model of a task, in `folder` or else in the package; None without one."""
    for path in (_path(folder, task), _path(SHIPPED, task)):
        if path.exists():
            return read_model(path, NoiseModel, "--fit-noise writes a new one")
    return None


def spread_of_seeds(directory: Path, folder: str | Path = "noise") -> tuple[float | None, str]:
    """The variance of a run's test gain between seeds, if it is known, and where that is from."""
    if is_hand_made(directory):
        return None, "without the spread of seeds: the run has no configuration"
    task = read_summary(directory).task  # a name from the configuration may need its class
    try:
        model = read_noise(task, folder)
    except RunDirectoryError as error:
        return None, f"without the spread of seeds: {error}"
    known = None if model is None else model.variances.get("test_gain")
    if model is None or known is None or known.gain_seed is None:
        return None, f"without the spread of seeds: no noise model of {task}"
    differs = model.differs(read_config(directory))
    of = f" of another setting: {differs}" if differs else ""
    return known.gain_seed, f"with the spread of seeds, by a noise model{of}"


def suite_sd(models: Sequence[NoiseModel], problems: Sequence[int]) -> float | None:
    """Standard deviation over seeds of the difference between two strategies' mean suite scores.

    The noise of different tasks is taken as independent.

    Args:
        problems: the number of validation problems of each task.

    Returns:
        None if a model has no area or no ceiling above 0.
    """
    total = 0.0
    for model, n in zip(models, problems, strict=True):
        if "area" not in model.variances or not model.ceiling or model.ceiling < 0:
            return None
        total += (model.variances["area"].sd(n) / model.ceiling) ** 2
    return math.sqrt(total) / len(models)

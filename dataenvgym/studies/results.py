"""The results of a study: `results.json`.

Runs by task, strategy and seed become estimates over seeds, paired comparisons with the baseline
(on the seeds that both have), and bounds. All numbers are computed here; tables and plots only show
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dataenvgym.metrics.estimators import Estimate, estimate, noise_floor
from dataenvgym.records import Model
from dataenvgym.records.reports import Faults
from dataenvgym.studies.aggregate import SuiteScores
from dataenvgym.studies.measures import Rewards, RunMeasures, SeedResult, difference
from dataenvgym.studies.noise import Variances
from dataenvgym.studies.racing import Race
from dataenvgym.studies.statistics import (
    Test,
    choose_test,
    holm,
    instance_error,
    p_value,
    paired_t,
    sign_flip,
)

MEASURES = ("test_gain", "val_gain", "area", "records", "requests", "cost", "seconds",
            "forgetting", "n_refused")  # fmt: skip
COMPARED = ("test_gain", "val_gain", "area")
"""The measures in which strategies are compared with the baseline."""


class MissingRun(Model):
    """A seed without a result, and why."""

    seed: int
    reason: str


class Comparison(Model):
    """A strategy compared with the baseline in one measure, on the seeds that both have.

    Attributes:
        difference: strategy minus baseline, over seeds.
        p_t, p_sign_flip: two-sided; None if there are too few pairs (or too many to count all sign
            flips).
        p: of the study's test.
        p_holm: p adjusted for all strategies compared in this measure on this task.
        instance_error: standard error of the mean difference due to the choice of instances, with
            fixed seeds; None for the area.
        noise_floor: of the difference in test gain (see `estimators.noise_floor`).
    """

    measure: str
    seeds: tuple[int, ...]
    difference: Estimate
    p_t: float | None
    p_sign_flip: float | None
    p: float | None
    p_holm: float | None = None
    instance_error: float | None = None
    noise_floor: float | None = None


class StrategyResult(Model):
    """A strategy on a task.

    Attributes:
        role: "ceiling" has no record budget, and is not compared.
        seeds: the finished runs.
        missing: the seeds without a finished run.
        measures: over seeds, by name.
        score_gains: of named scores on the validation split, over seeds.
        instance_errors: standard error of the mean gain due to the choice of instances: rewards
            after minus before, averaged over seeds for each instance, then sd / sqrt(instances).
        noise_floor: of the mean test gain (see `estimators.noise_floor`).
        curve: validation score by iteration, over seeds.
        comparisons: with the baseline, by measure; empty for the baseline.
        errors: of the best iteration by fault, mean over seeds (see `SeedResult`).
    """

    name: str
    role: Literal["strategy", "ceiling"] = "strategy"
    seeds: tuple[SeedResult, ...]
    missing: tuple[MissingRun, ...] = ()
    measures: dict[str, Estimate]
    instance_errors: dict[str, float | None]
    noise_floor: float | None = None
    curve: tuple[Estimate, ...]
    score_gains: dict[str, Estimate] = {}
    comparisons: dict[str, Comparison] = {}
    errors: dict[str, float] = {}


class Floor(Model):
    """The base student: the result without teaching.

    Attributes:
        n_runs: the number of runs that scored it.
        deterministic: True if it scored the same in all of them.
        errors: by fault, mean over these runs.
    """

    val_score: float
    test_score: float | None
    n_runs: int
    deterministic: bool
    errors: dict[str, float] = {}


class TaskResult(Model):
    """All strategies on one task; `floor` is None if nothing is finished yet."""

    task: str
    floor: Floor | None
    strategies: tuple[StrategyResult, ...]


class StudyResults(Model):
    """The results of a study.

    Attributes:
        command: the command that reproduces it.
        baseline, test: of the comparisons.
        suite: scores over several tasks with a ceiling; None for fewer than two, and for a race.
        race: who was stopped when and why; the other figures are means without intervals then.
        unequal: differences between strategies that were allowed, in words.
        notes: for readers of the tables.
        warnings: reasons to doubt the numbers (see `notes`).
    """

    name: str
    command: str
    baseline: str
    test: Test
    tasks: tuple[TaskResult, ...]
    suite: SuiteScores | None = None
    race: Race | None = None
    unequal: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StrategyRuns:
    """The runs of one strategy on one task, before aggregation."""

    name: str
    role: Literal["strategy", "ceiling"]
    runs: Mapping[int, RunMeasures]
    missing: Sequence[MissingRun] = field(default=())


def task_result(
    task: str,
    strategies: Sequence[StrategyRuns],
    *,
    baseline: str,
    test: Test,
    floor_runs: Sequence[RunMeasures] = (),
    noise: Variances | None = None,
) -> TaskResult:
    """Aggregate the runs on one task.

    Args:
        floor_runs: runs without teaching; the other runs have scored the base student, too.
        noise: of the test gain; without it, noise floors have the variance over these seeds.
    """
    everything = [*floor_runs, *(run for one in strategies for run in one.runs.values())]
    base = next((one for one in strategies if one.name == baseline), None)
    compared = [one for one in strategies if one.role == "strategy" and one is not base]
    comparisons: dict[str, dict[str, Comparison]] = {one.name: {} for one in strategies}
    if base is not None:
        for measure in COMPARED:
            found = [_compare(one.runs, base.runs, measure, test, noise) for one in compared]
            adjusted = holm([one.p for one in found])
            for strategy, comparison, p in zip(compared, found, adjusted, strict=True):
                comparisons[strategy.name][measure] = comparison.model_copy(update={"p_holm": p})
    return TaskResult(
        task=task,
        floor=_floor(everything),
        strategies=tuple(_strategy(one, comparisons[one.name], noise) for one in strategies),
    )


def without_inference(task: TaskResult) -> TaskResult:
    """The means alone: p-values and t intervals are wrong if results decide on the runs."""

    def bare(found: Estimate) -> Estimate:
        return Estimate(n=found.n, mean=found.mean)

    strategies = tuple(
        one.model_copy(update={
            "measures": {name: bare(of) for name, of in one.measures.items()},
            "score_gains": {name: bare(of) for name, of in one.score_gains.items()},
            "curve": tuple(map(bare, one.curve)),
            "comparisons": {},
        })
        for one in task.strategies
    )  # fmt: skip
    return task.model_copy(update={"strategies": strategies})


def _strategy(
    one: StrategyRuns, comparisons: dict[str, Comparison], noise: Variances | None
) -> StrategyResult:
    runs = [one.runs[seed] for seed in sorted(one.runs)]
    results = [run.result for run in runs]
    length = max((len(one.val_scores) for one in results), default=0)
    full = [one.val_scores for one in results if len(one.val_scores) == length]
    measures = {name: _estimate([getattr(r, name) for r in results]) for name in MEASURES}
    error = _gain_error([(r.test_after_rewards, r.test_before_rewards) for r in runs])
    of_seeds = _seed_variance(measures["test_gain"], noise.gain_seed if noise else None)
    return StrategyResult(
        name=one.name,
        role=one.role,
        seeds=tuple(results),
        missing=tuple(one.missing),
        measures=measures,
        score_gains={name: _estimate([one.score_gains.get(name) for one in results])
                     for name in sorted({n for one in results for n in one.score_gains})},
        instance_errors={
            "test_gain": error,
            "val_gain": _gain_error([(r.val_best_rewards, r.val_before_rewards) for r in runs]),
        },
        noise_floor=noise_floor(error, of_seeds, max(1, len(runs))),
        curve=tuple(map(estimate, zip(*full, strict=True))),
        comparisons=comparisons,
        errors=_mean_errors([run.errors for run in results]),
    )  # fmt: skip


def _estimate(values: Sequence[float | None]) -> Estimate:
    """Estimate over all runs; empty if a run has no value, such as the cost without a price."""
    known = [value for value in values if value is not None]
    return estimate(known) if len(known) == len(values) else Estimate(n=len(values))


def _seed_variance(found: Estimate, of_model: float | None) -> float | None:
    """The variance over seeds: of the noise model, or else that of these seeds."""
    if of_model is not None or found.sd is None:
        return of_model
    return found.sd**2


def _compare(
    runs: Mapping[int, RunMeasures],
    base: Mapping[int, RunMeasures],
    measure: str,
    test: Test,
    noise: Variances | None,
) -> Comparison:
    pairs = {
        s: (getattr(runs[s].result, measure), getattr(base[s].result, measure))
        for s in sorted({*runs} & {*base})
    }
    seeds = [s for s, pair in pairs.items() if None not in pair]
    differences = [pairs[s][0] - pairs[s][1] for s in seeds]
    after = {"test_gain": "test_after_rewards", "val_gain": "val_best_rewards"}.get(measure)
    pairs_after = [(getattr(runs[s], after), getattr(base[s], after)) for s in seeds if after]
    exact = sign_flip(differences) if choose_test(len(differences)) == "sign_flip" else None
    error, found = _gain_error(pairs_after), estimate(differences)
    seed_variance = _seed_variance(found, noise.seed if noise else None)
    floor = noise_floor(error, seed_variance, len(seeds)) if measure == "test_gain" else None
    return Comparison(
        measure=measure,
        seeds=tuple(seeds),
        difference=found,
        p_t=paired_t(differences),
        p_sign_flip=exact,
        p=p_value(differences, test),
        instance_error=error,
        noise_floor=floor,
    )


def _gain_error(pairs: Sequence[tuple[Rewards, Rewards]]) -> float | None:
    """The standard error of a mean difference over instances, averaged over seeds first."""
    gains = [difference(after, before) for after, before in pairs]
    if not gains:
        return None
    shared = [i for i in gains[0] if all(i in one for one in gains)]
    return instance_error([sum(one[i] for one in gains) / len(gains) for i in shared])


def _floor(runs: Sequence[RunMeasures]) -> Floor | None:
    if not runs:
        return None
    val = [run.result.val_scores[0] for run in runs]
    test = [run.result.test_before for run in runs if run.result.test_before is not None]
    return Floor(
        val_score=sum(val) / len(val) if len(set(val)) > 1 else val[0],
        test_score=(sum(test) / len(test) if len(set(test)) > 1 else test[0]) if test else None,
        n_runs=len(runs),
        deterministic=len(set(val)) == 1 and len(set(test)) <= 1,
        errors=_mean_errors([run.result.errors_before for run in runs]),
    )


def _mean_errors(runs: Sequence[Faults]) -> dict[str, float]:
    names = sorted({name for one in runs for name in one})
    return {name: sum(one.get(name, 0) for one in runs) / len(runs) for name in names}

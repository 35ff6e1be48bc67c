"""The results of a study: `results.json`.

Finished runs become measures; these, by task, strategy and seed, become estimates over seeds,
paired comparisons with the baseline (on the seeds that both have), and bounds. All numbers are
computed here; tables and plots only show them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from omegaconf import DictConfig

from dataenvgym import exact_json
from dataenvgym.environments.iterations import finished_iterations, refuse_damaged_run
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import CompletedTaskInstance, Model, Scores, TaskInstance, hashed_json
from dataenvgym.records.instances import count_faults
from dataenvgym.records.reports import Faults
from dataenvgym.runs.episodes.run_files import losses_in, mean_loss
from dataenvgym.runs.episodes.summary import Summary, read_summary, warning_lines
from dataenvgym.storage import read_jsonl
from dataenvgym.studies.aggregate import SuiteScores
from dataenvgym.studies.noise import SPLITS, Measure, NoiseModel, Variances, conditions
from dataenvgym.studies.plan import Role
from dataenvgym.studies.racing import Race
from dataenvgym.studies.statistics import (
    EXACT,
    Test,
    holm,
    instance_error,
    p_value,
    paired_t,
    sign_flip,
)
from dataenvgym.tasks.metrics.estimators import Estimate, estimate, noise_floor
from dataenvgym.workspace import read_identity

MEASURES = ("test_gain", "val_gain", "area", "records", "requests", "cost", "seconds",
            "forgetting", "n_refused")  # fmt: skip
COMPARED = ("test_gain", "val_gain", "area")
"""The measures in which strategies are compared with the baseline."""
Rewards = Mapping[str, float]
"""Rewards by instance id, without instances whose call failed."""


class SeedResult(Model):
    """The numbers of one run. Gains are those of the iteration that validation chose.

    Attributes:
        val_scores: by iteration, the base student's first; a run that ended early repeats its
            last score.
        best_iteration: the earliest one with the best validation score.
        test_before, test_after: of the base student and of the best iteration; None without a test
            split.
        area: the mean over iterations 1 to N of the gain in validation score over the base
            student: the area under the curve of gains, divided by N.
        cost: of the teacher in US dollars; None if the price is unknown.
        seconds: of all iterations together, without the test split's evaluation.
        score_gains: gain of each named score, such as `tests_passed`, on the validation split.
        errors_before, errors: instances of both splits that were not scored because of an error, by
            fault: of the base student and of the best iteration.
        forgetting: of the last iteration (see `episodes.run_files`).
    """

    seed: int
    run: str
    val_scores: tuple[float, ...]
    best_iteration: int
    val_gain: float
    test_before: float | None
    test_after: float | None
    test_gain: float | None
    area: float
    records: int
    requests: int
    cost: float | None
    seconds: float
    ended: str | None = None
    score_gains: Scores = {}
    errors_before: Faults = {}
    errors: Faults = {}
    forgetting: float = 0.0
    n_refused: int = 0


class Comparison(Model):
    """A strategy compared with the baseline in one measure, on the seeds that both have.

    Attributes:
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
        missing: the seeds without a result, and why.
        score_gains: of named scores on the validation split, over seeds.
        instance_errors: standard error of the mean gain due to the choice of instances: rewards
            after minus before, averaged over seeds for each instance, then sd / sqrt(instances).
        noise_floor: of the mean test gain (see `estimators.noise_floor`).
        curve: validation score by iteration.
        errors: of the best iteration by fault.
    """

    name: str
    role: Literal["strategy", "ceiling"] = "strategy"
    seeds: tuple[SeedResult, ...]
    missing: dict[int, str] = {}
    measures: dict[str, Estimate]
    instance_errors: dict[str, float | None]
    noise_floor: float | None = None
    curve: tuple[Estimate, ...]
    score_gains: dict[str, Estimate] = {}
    comparisons: dict[str, Comparison] = {}
    errors: dict[str, float] = {}


class Floor(Model):
    """The base student: the result without teaching; if deterministic, the same in all runs."""

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
        suite: scores over several tasks with a ceiling; None for fewer than two, and for a race.
        race: who was stopped when and why; the other figures are means without intervals then.
        unequal: differences between strategies that were allowed, in words.
        notes, warnings: for readers of the tables (see `notes`).
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


# --- one run ---


@dataclass(frozen=True)
class RunMeasures:
    """One run: its numbers, and the properties that comparisons need.

    Attributes:
        identity: student and instances in `environment.json`, and the test instances.
        records_hash: of its training records, without provenance; None without any.
        warnings: of the run, one line each.
    """

    result: SeedResult
    directory: Path
    val_before_rewards: Rewards
    val_best_rewards: Rewards
    test_before_rewards: Rewards
    test_after_rewards: Rewards
    identity: Mapping[str, Any]
    records_hash: str | None = None
    warnings: tuple[str, ...] = ()


def measure_run(directory: Path, *, iterations: int) -> RunMeasures:
    """Compute the measures of a finished run of this planned number of iterations.

    Raises:
        RunDirectoryError: if the run is not finished, or its files are damaged or missing.
    """
    summary = read_summary(directory)
    refuse_damaged_run(directory)
    if summary.status != "finished":
        raise RunDirectoryError(f"the run {directory.name!r} is {summary.status}, not finished")
    best = f"{summary.best_iteration:03d}"
    before, after = Counter[str](), Counter[str]()
    test_before, before_hash = _rewards(directory / "test" / "000.jsonl", before)
    test_after, after_hash = _rewards(directory / "test" / f"{best}.jsonl", after)
    val_before, _ = _rewards(directory / "iterations" / "000" / "completed.jsonl", before)
    val_best, _ = _rewards(directory / "iterations" / best / "completed.jsonl", after)
    if before_hash != after_hash:
        raise RunDirectoryError(
            f"{directory.name!r} was tested on other instances before than after: run it again"
        )
    environment = read_identity(directory)
    predictor = dict(environment.get("predictor", {}))
    curve = _curve(summary, iterations)
    first, last, usage = summary.test_score_before, summary.test_score_after, summary.teacher
    result = SeedResult(
        seed=summary.seed,
        run=directory.name,
        val_scores=tuple(curve),
        best_iteration=summary.best_iteration,
        val_gain=summary.val_score_gain,
        test_before=first,
        test_after=last,
        test_gain=None if first is None or last is None else last - first,
        area=_area(curve),
        records=summary.iterations[-1].n_records_total,
        requests=0 if usage is None else usage.requests,
        cost=0.0 if usage is None else usage.cost,
        seconds=sum(one.seconds.get("total", 0.0) for one in summary.iterations),
        ended=summary.ended,
        score_gains=difference(summary.best.named_scores, summary.iterations[0].named_scores),
        errors_before=dict(before),
        errors=dict(after),
        forgetting=mean_loss(losses_in(directory)[-1]),
        n_refused=summary.n_refused,
    )
    return RunMeasures(
        result=result,
        directory=directory,
        val_before_rewards=val_before,
        val_best_rewards=val_best,
        test_before_rewards=test_before,
        test_after_rewards=test_after,
        identity={
            "trainer": predictor.pop("training", None),
            "student": predictor,
            "instances": environment.get("instances"),
            "test_instances": before_hash,
        },
        records_hash=_records_hash(directory),
        warnings=tuple(warning_lines(summary.warnings)),
    )


def run_area(directory: Path, *, iterations: int) -> float:
    """The area of a finished run (see `SeedResult`), from its summary alone."""
    return _area(_curve(read_summary(directory), iterations))


def _curve(summary: Summary, iterations: int) -> list[float]:
    scores = [one.val_score for one in summary.iterations]
    return scores + [scores[-1]] * (iterations + 1 - len(scores))


def _area(scores: Sequence[float]) -> float:
    return sum(score - scores[0] for score in scores[1:]) / max(1, len(scores) - 1)


def mean_validation_rewards(directory: Path, *, iterations: int) -> Rewards:
    """Rewards of validation problems, averaged over iterations 1 to N as in `SeedResult.area`."""
    paths = sorted((directory / "iterations").glob("*/completed.jsonl"))[1 : iterations + 1]
    rewards = [_rewards(path, Counter())[0] for path in paths]
    return _means(rewards + rewards[-1:] * (iterations - len(rewards)))


def difference(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """`after - before` for each key that both have."""
    return {i: after[i] - before[i] for i in after if i in before}


def _means(rewards: Sequence[Rewards]) -> dict[str, float]:
    """The mean for each instance that all have."""
    shared = [i for i in rewards[0] if all(i in one for one in rewards)] if rewards else []
    return {i: sum(one[i] for one in rewards) / len(rewards) for i in shared}


def _rewards(path: Path, errors: Counter[str]) -> tuple[Rewards, str | None]:
    """The rewards in a file of completed instances, and a hash of these; `errors` are counted."""
    if not path.exists():
        return {}, None
    rewards: dict[str, float] = {}
    digest = hashlib.sha256()
    for completed in read_jsonl(path):
        digest.update(hashed_json(TaskInstance.model_validate(completed["instance"])))
        if completed.get("error") is None:
            rewards[str(completed["instance"]["id"])] = float(completed["reward"])
        else:
            errors.update(count_faults([CompletedTaskInstance.model_validate(completed)]))
    return rewards, digest.hexdigest()[:16]


def _records_hash(directory: Path) -> str | None:
    iterations = finished_iterations(directory / "iterations")
    digest, found = hashlib.sha256(), False
    for record in (record for files in iterations for record in files.read_records()):
        found = True
        content = record.model_dump(mode="json", exclude={"provenance"})
        digest.update(exact_json.dumps(content, option=exact_json.SORT_KEYS))
    return digest.hexdigest()[:16] if found else None


# --- all runs on a task ---


@dataclass(frozen=True)
class StrategyRuns:
    """The runs of one strategy, or of a bound, on one task.

    Attributes:
        missing: the seeds without a result, and why.
        budget: the most records that they may train on.
    """

    name: str
    role: Role
    runs: Mapping[int, RunMeasures]
    missing: Mapping[int, str] = field(default_factory=dict)
    budget: float = float("inf")


def task_result(
    task: str,
    strategies: Sequence[StrategyRuns],
    *,
    baseline: str,
    test: Test,
    gain_variance: float | None = None,
    pair_variance: float | None = None,
) -> TaskResult:
    """Aggregate the runs on one task.

    Args:
        gain_variance, pair_variance: over seeds, of a test gain and of a difference between two
            (see `noise.Variances`); without them, noise floors have those of these seeds.
    """
    taught = [one for one in strategies if one.role != "floor"]
    base = next((one for one in taught if one.name == baseline), None)
    compared = [one for one in taught if one.role == "strategy" and one is not base]
    comparisons: dict[str, dict[str, Comparison]] = {one.name: {} for one in taught}
    for measure in COMPARED:
        if base is None:
            break
        found = [_compare(one.runs, base.runs, measure, test, pair_variance) for one in compared]
        for one, comparison, p in zip(compared, found, holm([c.p for c in found]), strict=True):
            comparisons[one.name][measure] = comparison.model_copy(update={"p_holm": p})
    return TaskResult(
        task=task,
        floor=_floor([run.result for one in strategies for run in one.runs.values()]),
        strategies=tuple(_strategy(one, comparisons[one.name], gain_variance) for one in taught),
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
    one: StrategyRuns, comparisons: dict[str, Comparison], variance: float | None
) -> StrategyResult:
    runs = [one.runs[seed] for seed in sorted(one.runs)]
    results = [run.result for run in runs]
    length = max((len(one.val_scores) for one in results), default=0)
    full = [one.val_scores for one in results if len(one.val_scores) == length]
    measures = {name: _estimate([getattr(r, name) for r in results]) for name in MEASURES}
    error = _gain_error([(r.test_after_rewards, r.test_before_rewards) for r in runs])
    names = sorted({name for one in results for name in one.score_gains})
    return StrategyResult(
        name=one.name,
        role="ceiling" if one.role == "ceiling" else "strategy",
        seeds=tuple(results),
        missing=dict(one.missing),
        measures=measures,
        score_gains={n: _estimate([one.score_gains.get(n) for one in results]) for n in names},
        instance_errors={
            "test_gain": error,
            "val_gain": _gain_error([(r.val_best_rewards, r.val_before_rewards) for r in runs]),
        },
        noise_floor=_noise_floor(error, measures["test_gain"], variance, max(1, len(runs))),
        curve=tuple(map(estimate, zip(*full, strict=True))),
        comparisons=comparisons,
        errors=_mean_errors([run.errors for run in results]),
    )


def _compare(
    runs: Mapping[int, RunMeasures],
    base: Mapping[int, RunMeasures],
    measure: str,
    test: Test,
    variance: float | None,
) -> Comparison:
    pairs = {
        s: (getattr(runs[s].result, measure), getattr(base[s].result, measure))
        for s in sorted({*runs} & {*base})
    }
    seeds = [s for s, pair in pairs.items() if None not in pair]
    differences = [pairs[s][0] - pairs[s][1] for s in seeds]
    after = {"test_gain": "test_after_rewards", "val_gain": "val_best_rewards"}.get(measure)
    error = _gain_error(
        [(getattr(runs[s], after), getattr(base[s], after)) for s in seeds if after]
    )
    found = estimate(differences)
    is_test = measure == "test_gain"
    return Comparison(
        measure=measure,
        seeds=tuple(seeds),
        difference=found,
        p_t=paired_t(differences),
        p_sign_flip=sign_flip(differences) if len(differences) <= EXACT else None,
        p=p_value(differences, test),
        instance_error=error,
        noise_floor=_noise_floor(error, found, variance, len(seeds)) if is_test else None,
    )


def _estimate(values: Sequence[float | None]) -> Estimate:
    """Estimate over all runs; empty if a run has no value, such as the cost without a price."""
    known = [value for value in values if value is not None]
    return estimate(known) if len(known) == len(values) else Estimate(n=len(values))


def _noise_floor(
    error: float | None, found: Estimate, variance: float | None, n: int
) -> float | None:
    """The noise floor, with the variance over seeds of a noise model or else of these seeds."""
    if variance is None and found.sd is not None:
        variance = found.sd**2
    return noise_floor(error, variance, n)


def _gain_error(pairs: Sequence[tuple[Rewards, Rewards]]) -> float | None:
    """The standard error of a mean difference over instances, averaged over seeds first."""
    gains = _means([difference(after, before) for after, before in pairs])
    return instance_error(list(gains.values()))


def _floor(runs: Sequence[SeedResult]) -> Floor | None:
    if not runs:
        return None
    val = [run.val_scores[0] for run in runs]
    test = [run.test_before for run in runs if run.test_before is not None]
    return Floor(
        val_score=_mean(val),
        test_score=_mean(test) if test else None,
        n_runs=len(runs),
        deterministic=len(set(val)) == 1 and len(set(test)) <= 1,
        errors=_mean_errors([run.errors_before for run in runs]),
    )


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(set(values)) == 1 else fmean(values)


def _mean_errors(runs: Sequence[Faults]) -> dict[str, float]:
    names = sorted({name for one in runs for name in one})
    return {name: sum(one.get(name, 0) for one in runs) / len(runs) for name in names}


# --- the noise of a task ---


def fit_noise(
    task: str,
    runs: Mapping[str, Mapping[int, RunMeasures]],
    *,
    config: DictConfig,
    seconds: Mapping[str, float],
    ceiling: float | None = None,
) -> NoiseModel:
    """Fit the noise model of a task from runs by strategy and seed, and the `config` of one.

    Raises:
        ConfigurationError: for fewer than two strategies, three seeds or two problems in common.
    """
    seeds = sorted(set.intersection(*(set(of) for of in runs.values()))) if runs else []

    def gains(run: RunMeasures, measure: Measure) -> dict[str, float]:
        if measure == "test_gain":
            return difference(run.test_after_rewards, run.test_before_rewards)
        iterations = len(run.result.val_scores) - 1
        means = mean_validation_rewards(run.directory, iterations=iterations)
        return difference(means, run.val_before_rewards)

    variances: dict[Measure, Variances] = {}
    if len(runs) > 1 and len(seeds) > 2:
        for measure, split in SPLITS.items():
            of_runs = [[gains(of[seed], measure) for seed in seeds] for of in runs.values()]
            shared = sorted(set.intersection(*(set(one) for of in of_runs for one in of)))
            if len(shared) > 1:
                matrices = [np.array([[one[i] for i in shared] for one in of]) for of in of_runs]
                variances[measure] = _variances(matrices, config.task.get(split))
    if not variances:
        raise ConfigurationError(
            f"the noise of {task!r} cannot be fitted from {len(runs)} strategies with {len(seeds)} "
            "finished seeds in common; 2 strategies, 3 seeds and 2 problems are the least, and 10 "
            "seeds better"
        )
    return NoiseModel(
        task=task,
        conditions=conditions(config),
        strategies=tuple(runs),
        seeds=len(seeds),
        variances=variances,
        seconds=dict(seconds),
        ceiling=ceiling,
    )


def _variances(strategies: Sequence[NDArray[np.float64]], asked: int | None) -> Variances:
    """Variance components from matrices of gains, seeds x problems."""
    pairs = [_components(one - other) for one, other in combinations(strategies, 2)]
    seed, problem, residual = (max(0.0, float(v)) for v in np.mean(pairs, axis=0))
    return Variances(
        seed=seed,
        problem=problem,
        residual=residual,
        problems=strategies[0].shape[1],
        asked=asked,
        gain_seed=max(0.0, float(np.mean([_components(one)[0] for one in strategies]))),
        seed_correlation=_correlation([one.mean(axis=1) for one in strategies]),
        problem_correlation=_correlation([one.mean(axis=0) for one in strategies]),
    )


def _components(d: NDArray[np.float64]) -> tuple[float, float, float]:
    """Variances of seed, problem and residual by a two-way analysis; they may be below 0."""
    n, problems = d.shape
    by_seed, by_problem = d.mean(axis=1), d.mean(axis=0)
    rest = d - by_seed[:, None] - by_problem + d.mean()
    residual = float(np.sum(rest**2)) / ((n - 1) * (problems - 1))
    seed = float(by_seed.var(ddof=1)) - residual / problems
    return seed, float(by_problem.var(ddof=1)) - residual / n, residual


def _correlation(strategies: Sequence[NDArray[np.float64]]) -> float | None:
    """The mean correlation of two of them; None if one does not vary."""
    if any(np.ptp(one) == 0 for one in strategies):
        return None
    found = [np.corrcoef(one, other)[0, 1] for one, other in combinations(strategies, 2)]
    return float(np.mean(found))

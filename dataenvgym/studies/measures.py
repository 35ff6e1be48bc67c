"""The measures of one finished run, which studies compare."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.environments.identity import read_identity
from dataenvgym.environments.iterations import refuse_damaged_run
from dataenvgym.episodes.run_files import losses_in, mean_loss
from dataenvgym.episodes.summary import Summary, read_summary
from dataenvgym.episodes.warning_log import warning_lines
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import CompletedTaskInstance, Model, Scores, TaskInstance, hashed_json
from dataenvgym.records.instances import count_faults
from dataenvgym.records.reports import Faults
from dataenvgym.storage import read_jsonl

Rewards = Mapping[str, float]
"""Rewards by instance id, without instances whose call failed."""


class SeedResult(Model):
    """The numbers of one run. Gains are those of the iteration that validation chose.

    Attributes:
        seed: of the episode.
        run: name of the run directory.
        val_scores: by iteration, the base student's first; a run that ended early repeats its
            last score.
        best_iteration: the earliest one with the best validation score.
        test_before, test_after: of the base student and of the best iteration; None without a test
            split.
        area: the mean over iterations 1 to N of the gain in validation score over the base
            student: the area under the curve of gains, divided by N.
        records: all accepted ones.
        requests, cost: of the teacher; the cost in US dollars, None if the price is unknown.
        seconds: of all iterations together, without the test split's evaluation.
        ended: why the episode ended early, or None.
        score_gains: gain of each named score, such as `tests_passed`, on the validation split.
        errors_before, errors: instances of both splits that were not scored because of an error, by
            fault: of the base student and of the best iteration.
        forgetting: of the last iteration (see `episodes.run_files`).
        n_refused: iterations whose student the gate refused.
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


@dataclass(frozen=True)
class RunMeasures:
    """One run: its numbers, and the properties that comparisons need.

    Attributes:
        result: the numbers.
        directory: the run directory.
        val_before_rewards, val_best_rewards, test_before_rewards, test_after_rewards: by instance.
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
    """Compute the measures of a finished run.

    Args:
        iterations: the planned number, which is the length of the curve.

    Raises:
        RunDirectoryError: if the run is not finished, or its files are damaged or missing.
    """
    summary = read_summary(directory)
    refuse_damaged_run(directory)
    if summary.status != "finished":
        raise RunDirectoryError(f"the run {directory.name!r} is {summary.status}, not finished")
    best = summary.best_iteration
    before, after = Counter[str](), Counter[str]()
    test_before, before_hash = _rewards(directory / "test" / "000.jsonl", before)
    test_after, after_hash = _rewards(directory / "test" / f"{best:03d}.jsonl", after)
    validation = directory / "iterations"
    val_before, _ = _rewards(validation / "000" / "completed.jsonl", before)
    val_best, _ = _rewards(validation / f"{best:03d}" / "completed.jsonl", after)
    if before_hash != after_hash:
        raise RunDirectoryError(
            f"{directory.name!r} was tested on other instances before than after: run it again"
        )
    environment = read_identity(directory) or {}
    predictor = dict(environment.get("predictor", {}))
    training = predictor.pop("training", None)
    scores = _curve(summary, iterations)
    first, last, usage = summary.test_score_before, summary.test_score_after, summary.teacher
    result = SeedResult(
        seed=summary.seed,
        run=directory.name,
        val_scores=tuple(scores),
        best_iteration=best,
        val_gain=summary.val_score_gain,
        test_before=first,
        test_after=last,
        test_gain=None if first is None or last is None else last - first,
        area=_area(scores),
        records=summary.iterations[-1].n_records_total,
        requests=usage.requests if usage is not None else 0,
        cost=usage.cost if usage is not None else 0.0,
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
            "student": predictor,
            "trainer": training,
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
    """Rewards of validation problems, averaged over iterations 1 to N as in `SeedResult.area`.

    Instances whose call failed in some iteration are left out.
    """
    paths = sorted((directory / "iterations").glob("*/completed.jsonl"))[1 : iterations + 1]
    rewards = [_rewards(path, Counter())[0] for path in paths]
    rewards += [rewards[-1]] * (iterations - len(rewards)) if rewards else []
    shared = [i for i in rewards[0] if all(i in one for one in rewards)] if rewards else []
    return {i: sum(one[i] for one in rewards) / len(rewards) for i in shared}


def difference(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """`after - before` for each key that both have."""
    return {i: after[i] - before[i] for i in after if i in before}


def _rewards(path: Path, errors: Counter[str]) -> tuple[Rewards, str | None]:
    """The rewards in a file of completed instances, and a hash of the instances.

    Args:
        errors: the errors in the file are added, by fault.
    """
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
    digest = hashlib.sha256()
    found = False
    for path in sorted(directory.glob("iterations/*/records.jsonl")):
        for record in read_jsonl(path):
            found = True
            content = {key: value for key, value in record.items() if key != "provenance"}
            digest.update(exact_json.dumps(content, option=exact_json.SORT_KEYS))
    return digest.hexdigest()[:16] if found else None

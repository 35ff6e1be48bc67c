"""One finished run, measured: what a study compares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dataenvgym.environments.identity import read_identity
from dataenvgym.environments.iterations import refuse_damaged_run
from dataenvgym.episodes.summary import Summary, read_summary
from dataenvgym.episodes.warning_log import warning_lines
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import TaskInstance, hashed_json
from dataenvgym.storage import read_jsonl

Rewards = Mapping[str, float]
"""The reward of each instance by its id; instances whose call failed are left out."""


@dataclass(frozen=True)
class RunMeasures:
    """The numbers of one run. Gains are those of the iteration that validation chose.

    Attributes:
        directory: the run directory.
        seed: of the episode.
        val_scores: by iteration, the base student's first; one that ended early keeps its last.
        best_iteration: the earliest one with the best validation score.
        test_before, test_after: of the base student and of that iteration; None without a test
            split.
        area: the mean over iterations 1 to N of the gain in validation score over the base
            student: the area under the curve of gains, divided by N.
        records: accepted in all.
        requests, cost: of the teacher; the cost in US dollars, None if it has no known price.
        seconds: of all iterations together, without the test split's evaluation.
        val_before_rewards, val_best_rewards, test_before_rewards, test_after_rewards: by instance.
        identity: what `environment.json` says of student and instances, and the test instances.
        ended: what ended the episode before its time, if anything did.
        records_hash: of what it trained on, without provenance; None if that is nothing.
        warnings: what the user of the run was warned of, a line each.
    """

    directory: Path
    seed: int
    val_scores: tuple[float, ...]
    best_iteration: int
    test_before: float | None
    test_after: float | None
    area: float
    records: int
    requests: int
    cost: float | None
    seconds: float
    val_before_rewards: Rewards
    val_best_rewards: Rewards
    test_before_rewards: Rewards
    test_after_rewards: Rewards
    identity: Mapping[str, Any]
    ended: str | None = None
    records_hash: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def val_gain(self) -> float:
        return self.val_scores[self.best_iteration] - self.val_scores[0]

    @property
    def test_gain(self) -> float | None:
        if self.test_before is None or self.test_after is None:
            return None
        return self.test_after - self.test_before


def measure_run(directory: Path, *, iterations: int) -> RunMeasures:
    """The measures of a finished run.

    Args:
        iterations: how many it was to have; the curve is as long as that.

    Raises:
        RunDirectoryError: if the run is not finished, or its files are damaged or not there.
    """
    summary = read_summary(directory)
    refuse_damaged_run(directory)
    if summary.status != "finished":
        raise RunDirectoryError(f"the run {directory.name!r} is {summary.status}, not finished")
    scores = [one.val_score for one in summary.iterations]
    scores += [scores[-1]] * (iterations + 1 - len(scores))
    best = summary.best_iteration
    test_before, before_hash = _rewards(directory / "test" / "000.jsonl")
    test_after, after_hash = _rewards(directory / "test" / f"{best:03d}.jsonl")
    val_before, _ = _rewards(directory / "iterations" / "000" / "completed.jsonl")
    val_best, _ = _rewards(directory / "iterations" / f"{best:03d}" / "completed.jsonl")
    if before_hash != after_hash:
        raise RunDirectoryError(
            f"{directory.name!r} was tested on other instances before than after: run it afresh"
        )
    usage = summary.teacher
    return RunMeasures(
        directory=directory,
        seed=summary.seed,
        val_scores=tuple(scores),
        best_iteration=best,
        test_before=summary.test_score_before,
        test_after=summary.test_score_after,
        area=sum(score - scores[0] for score in scores[1:]) / max(1, len(scores) - 1),
        records=summary.iterations[-1].n_records_total,
        requests=usage.requests if usage is not None else 0,
        cost=usage.cost if usage is not None else 0.0,
        seconds=_seconds(summary),
        val_before_rewards=val_before,
        val_best_rewards=val_best,
        test_before_rewards=test_before,
        test_after_rewards=test_after,
        identity=_identity(directory, before_hash),
        ended=summary.ended,
        records_hash=_records_hash(directory),
        warnings=tuple(warning_lines(summary.warnings)),
    )


def difference(after: Rewards, before: Rewards) -> dict[str, float]:
    """Reward after less reward before, of every instance that has both."""
    return {i: after[i] - before[i] for i in after if i in before}


def _rewards(path: Path) -> tuple[Rewards, str | None]:
    """The rewards in a file of completed instances, and a hash of the instances."""
    if not path.exists():
        return {}, None
    rewards: dict[str, float] = {}
    digest = hashlib.sha256()
    for completed in read_jsonl(path):
        digest.update(hashed_json(TaskInstance.model_validate(completed["instance"])))
        if completed.get("error") is None:
            rewards[str(completed["instance"]["id"])] = float(completed["reward"])
    return rewards, digest.hexdigest()[:16]


def _records_hash(directory: Path) -> str | None:
    digest = hashlib.sha256()
    found = False
    for path in sorted(directory.glob("iterations/*/records.jsonl")):
        for record in read_jsonl(path):
            found = True
            content = {key: value for key, value in record.items() if key != "provenance"}
            digest.update(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()[:16] if found else None


def _identity(directory: Path, test_instances: str | None) -> dict[str, Any]:
    environment = read_identity(directory) or {}
    predictor = dict(environment.get("predictor", {}))
    training = predictor.pop("training", None)
    return {
        "student": predictor,
        "trainer": training,
        "instances": environment.get("instances"),
        "test_instances": test_instances,
    }


def _seconds(summary: Summary) -> float:
    return sum(one.seconds.get("total", 0.0) for one in summary.iterations)

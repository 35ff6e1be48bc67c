"""Compares evaluations problem by problem: paired differences, and problems that flipped.

Both students answered the same problems, so each problem has a difference, and the interval is that
of the mean difference: it is much narrower than those of the two means. Problems that depend on
each other, such as questions about one passage, are a cluster (`clustered_estimate`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.events import warn_run
from dataenvgym.records import Model, TaskInstance
from dataenvgym.runs.evaluation.directory import EVALUATIONS, evaluation_files
from dataenvgym.runs.evaluation.summary import EvaluationSummary, evaluations_in, summarize
from dataenvgym.tasks.metrics.estimators import Estimate, clustered_estimate


class Flip(Model):
    """A problem that one student solves in most of its tries, and the other does not.

    Attributes:
        before, after: the share of right tries.
    """

    instance_id: str
    skill: str | None
    before: float
    after: float
    instruction: str


class ScoreDifference(Model):
    """A score of both students over the same problems, and the mean of its paired differences."""

    name: str
    before: float
    after: float
    difference: Estimate


class EvaluationComparison(Model):
    """Two evaluations of the same problems.

    Attributes:
        task, split: of the problems.
        before, after: the folders.
        n, n_clusters: problems that both students have a scored try at, and their clusters.
        n_unpaired: problems that only one evaluation has, or has a scored try at.
        scores: the mean reward (`score`), `accuracy`, and named scores that both have.
        flips: in the order of the problems.
    """

    task: str
    split: str
    before: str
    after: str
    n: int
    n_clusters: int
    n_unpaired: int
    scores: tuple[ScoreDifference, ...]
    flips: tuple[Flip, ...]


def compare_evaluations(
    before: Path, after: Path, *, cluster: str | None = None
) -> list[EvaluationComparison]:
    """Compare two evaluations, or two folders of evaluations task by task.

    Args:
        before, after: folders of evaluations, or folders with such folders: of these, the
            evaluations of the same task and split are compared.
        cluster: problems with the same value of this field are a cluster: "skill", "category", or a
            key of their `data`. None takes each problem by itself.

    Raises:
        ConfigurationError: if nothing can be compared, or no problem has the field.
        RunDirectoryError: if one of them is not finished, or is damaged.
    """
    sides = [_by_task(before), _by_task(after)]
    if all(len(side) == 1 for side in sides):  # a task may have been renamed
        pairs = [(next(iter(sides[0].values())), next(iter(sides[1].values())))]
    else:
        pairs = [(sides[0][key], sides[1][key]) for key in sides[0] if key in sides[1]]
    if not pairs:
        has = [", ".join(f"{task} ({split})" for task, split in side) for side in sides]
        raise ConfigurationError(
            f"{before} and {after} have no task in common: the first has {has[0]}, the second "
            f"{has[1]}"
        )
    for side, folder in zip(sides, (after, before), strict=True):
        if alone := [one for one in side.values() if not any(one in pair for pair in pairs)]:
            names = ", ".join(str(one.directory) for one in alone)
            warn_run(f"{folder} has no evaluation of the same task and split as {names}")
    return [_compared(*pair, cluster) for pair in pairs]


def _by_task(folder: Path) -> dict[tuple[str, str], EvaluationSummary]:
    found: dict[tuple[str, str], EvaluationSummary] = {}
    for directory in evaluations_in(folder):
        if (summary := summarize(directory)) is None:
            raise RunDirectoryError(
                f"{directory} is not finished: run its command again, and then compare"
            )
        key = summary.task, summary.split
        if key in found:
            raise ConfigurationError(
                f"{found[key].directory} and {directory} are both evaluations of {key[0]} "
                f"({key[1]}): name one of them, not the folder of both"
            )
        found[key] = summary
    return found


Tries = Mapping[str, Sequence[Mapping[str, float]]]
"""The scores of the scored tries at each problem that has any."""


def _read(summary: EvaluationSummary) -> tuple[dict[str, TaskInstance], Tries]:
    files = evaluation_files(summary.directory, EVALUATIONS.read(summary.directory))
    tries = defaultdict(list)
    for sample in files.read_samples(summary.samples):
        if sample.error is None:
            own = {"score": sample.reward, "accuracy": float(sample.was_correct)}
            tries[sample.instance_id].append({**sample.scores, **own})
    return {instance.id: instance for instance in files.read_instances()}, tries


def _means(tries: Tries, name: str, ids: Sequence[str]) -> list[float] | None:
    """The mean of a score over the tries at each problem; None if a try does not have it."""
    if any(name not in one for id in ids for one in tries[id]):
        return None
    return [fsum(one[name] for one in tries[id]) / len(tries[id]) for id in ids]


def _compared(
    before: EvaluationSummary, after: EvaluationSummary, cluster: str | None
) -> EvaluationComparison:
    (problems, tries), (others, later) = _read(before), _read(after)

    def asked(one: TaskInstance) -> tuple[str, object]:
        return one.instruction, one.answer

    ids = [id for id in tries if id in later and asked(problems[id]) == asked(others[id])]
    if not ids:
        raise ConfigurationError(
            f"{before.directory} and {after.directory} have no scored problem in common, and "
            "only common ones can be compared: evaluate both students on the same task, split and "
            "--limit"
        )
    clusters: defaultdict[object, list[int]] = defaultdict(list)
    for position, id in enumerate(ids):
        clusters[_cluster(problems[id], cluster)].append(position)
    scores = []
    for name in dict.fromkeys(("score", "accuracy", *tries[ids[0]][0])):
        old, new = _means(tries, name, ids), _means(later, name, ids)
        if old is None or new is None:
            continue
        gains = [b - a for a, b in zip(old, new, strict=True)]
        scores.append(
            ScoreDifference(
                name=name,
                before=fsum(old) / len(ids),
                after=fsum(new) / len(ids),
                difference=clustered_estimate([[gains[i] for i in c] for c in clusters.values()]),
            )
        )
    rights = [_means(side, "accuracy", ids) or [] for side in (tries, later)]
    return EvaluationComparison(
        task=after.task,
        split=after.split,
        before=str(before.directory),
        after=str(after.directory),
        n=len(ids),
        n_clusters=len(clusters),
        n_unpaired=len({*problems, *others}) - len(ids),
        scores=tuple(scores),
        flips=tuple(
            Flip(
                instance_id=id,
                skill=problems[id].skill,
                before=was,
                after=now,
                instruction=problems[id].instruction,
            )
            for id, was, now in zip(ids, *rights, strict=True)
            if (was > 0.5) != (now > 0.5)
        ),
    )


def _cluster(instance: TaskInstance, field: str | None) -> object:
    if field is None:
        return instance.id
    value = getattr(instance, field) if field in ("skill", "category") else instance.data.get(field)
    if value is None:
        known = ", ".join(["skill", "category", *instance.data])
        raise ConfigurationError(
            f"--cluster is {field!r}, which the problem {instance.id!r} does not have. Its fields "
            f"are: {known}"
        )
    return str(value)

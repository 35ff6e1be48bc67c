"""The results of an evaluation: samples -> tallies -> metrics, and scores by skill.

The metric `judge` is computed from judges' verdicts (see `judged_samples`), not from tallies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dataenvgym.interfaces import TaskInterface
from dataenvgym.metrics.files import EvaluationFiles
from dataenvgym.metrics.metric import JudgeResult, Metric, MetricResult
from dataenvgym.metrics.tallies import Tally, tally_all
from dataenvgym.records import CompletedTaskInstance, Model, PerformanceReport
from dataenvgym.storage import read_json, write_json
from dataenvgym.tasks.adapted_task import report_of
from dataenvgym.workspace import naming_damage


class EvaluationResults(Model):
    """The results of an evaluation.

    Attributes:
        samples: the number of samples of each instance.
        metrics: in the requested order.
        report: scores by skill, with every sample counted as an instance; None if no sample could
            be scored.
    """

    samples: int
    metrics: tuple[JudgeResult | MetricResult, ...]
    report: PerformanceReport | None


class JudgesSamples(Protocol):
    """The judges' verdicts on an evaluation's samples."""

    def result(self, name: str, /) -> JudgeResult | MetricResult:
        """The metric of this name."""
        ...

    def added_to(
        self, completed: Sequence[CompletedTaskInstance], /
    ) -> Sequence[CompletedTaskInstance]:
        """Add the judges' scores, as a named score, to the samples that have one."""
        ...


def sum_up(
    files: EvaluationFiles,
    task: TaskInterface,
    metrics: Sequence[Metric],
    samples: int,
    judged: JudgesSamples | None = None,
) -> EvaluationResults:
    """Write `tallies.jsonl` and `results.json` for the first `samples` samples of each instance.

    Args:
        judged: the judges' verdicts on these samples; None if no metric needs them.

    Raises:
        RunDirectoryError: if samples are missing.
    """
    instances = files.read_instances()
    by_id = {instance.id: instance for instance in instances}
    drawn = list(files.read_samples(samples))
    tallies = tally_all(task, instances, ((s.instance_id, s) for s in drawn))
    completed = [s.completed(by_id[s.instance_id]) for s in drawn]
    results = results_of(task, tallies, completed, metrics, samples, judged)
    files.write_tallies(tallies)
    write_json(files.directory / "results.json", results.model_dump(mode="json"))
    return results


def results_of(
    task: TaskInterface,
    tallies: Sequence[Tally],
    completed: Sequence[CompletedTaskInstance],
    metrics: Sequence[Metric],
    samples: int,
    judged: JudgesSamples | None = None,
) -> EvaluationResults:
    """Compute the results of these tallies, samples and verdicts."""
    if judged is not None:
        completed = judged.added_to(completed)
    any_scored = any(c.error is None for c in completed)
    return EvaluationResults(
        samples=samples,
        metrics=tuple(
            metric.of(tallies)
            if judged is None or not metric.needs_judge
            else judged.result(metric.name)
            for metric in metrics
        ),
        report=report_of(task, completed) if any_scored else None,
    )


class _Written:
    """The metrics of judges in `results.json`."""

    def __init__(self, metrics: Sequence[MetricResult]) -> None:
        self._by_name = {metric.name: metric for metric in metrics}

    def result(self, name: str, /) -> MetricResult:
        return self._by_name.get(name, MetricResult(name=name, value=None, n=0))

    def added_to(
        self, completed: Sequence[CompletedTaskInstance], /
    ) -> Sequence[CompletedTaskInstance]:
        return completed


def results_before(files: EvaluationFiles) -> JudgesSamples:
    """The judges' metrics from `results.json`; empty without a metric of judges.

    Raises:
        RunDirectoryError: if the file is damaged.
    """
    if not (path := files.directory / "results.json").exists():
        return _Written(())
    with naming_damage(path, "remove it, and `dataenvgym eval` writes it again"):
        return _Written(EvaluationResults.model_validate(read_json(path)).metrics)


def completed_of(files: EvaluationFiles, samples: int) -> list[CompletedTaskInstance]:
    """The first `samples` samples of every instance, as completed instances."""
    by_id = {instance.id: instance for instance in files.read_instances()}
    return [s.completed(by_id[s.instance_id]) for s in files.read_samples(samples)]

"""What an evaluation came to: samples -> tallies -> metrics, and scores by skill."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.evaluation.metrics import Metric, MetricResult
from dataenvgym.evaluation.tallies import Tally, tally_all
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import CompletedTaskInstance, Model, PerformanceReport
from dataenvgym.storage import write_json
from dataenvgym.tasks.adapted import report_of


class EvaluationResults(Model):
    """What an evaluation came to.

    Attributes:
        samples: how many of each instance.
        metrics: in the order that they were asked for.
        report: scores by skill, every sample counted as an instance of its own; None if no
            sample could be scored.
    """

    samples: int
    metrics: tuple[MetricResult, ...]
    report: PerformanceReport | None


def sum_up(
    files: EvaluationFiles, task: TaskInterface, metrics: Sequence[Metric], samples: int
) -> EvaluationResults:
    """Write `tallies.jsonl` and `results.json`, over the first so many samples of each instance.

    Raises:
        RunDirectoryError: if samples are missing.
    """
    instances = files.read_instances()
    by_id = {instance.id: instance for instance in instances}
    drawn = list(files.read_samples(samples))
    tallies = tally_all(task, instances, ((s.instance_id, s) for s in drawn))
    completed = [s.completed(by_id[s.instance_id]) for s in drawn]
    results = results_of(task, tallies, completed, metrics, samples)
    files.write_tallies(tallies)
    write_json(files.directory / "results.json", results.model_dump(mode="json"))
    return results


def results_of(
    task: TaskInterface,
    tallies: Sequence[Tally],
    completed: Sequence[CompletedTaskInstance],
    metrics: Sequence[Metric],
    samples: int,
) -> EvaluationResults:
    """The results of these tallies and samples."""
    judged = any(c.error is None for c in completed)
    return EvaluationResults(
        samples=samples,
        metrics=tuple(metric.of(tallies) for metric in metrics),
        report=report_of(task, completed) if judged else None,
    )


def completed_of(files: EvaluationFiles, samples: int) -> list[CompletedTaskInstance]:
    """The first so many samples of every instance, as completed instances."""
    by_id = {instance.id: instance for instance in files.read_instances()}
    return [s.completed(by_id[s.instance_id]) for s in files.read_samples(samples)]

"""The results of an evaluation: samples -> tallies -> metrics, and scores by skill.

The metric `judge` is computed from judges' verdicts (see `judged_samples`), not from tallies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dataenvgym.records import CompletedTaskInstance, Model, PerformanceReport
from dataenvgym.storage import read_model, write_json, write_jsonl
from dataenvgym.tasks.adapted_task import report_of
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.judged_samples import JudgedSamples
from dataenvgym.tasks.metrics.metric import BEST, JudgeResult, Metric, MetricResult
from dataenvgym.tasks.metrics.samples import Tally, tally_all


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


def sum_up(
    files: EvaluationFiles,
    task: Task,
    metrics: Sequence[Metric],
    samples: int,
    judged: JudgedSamples | None = None,
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
    write_jsonl(files.directory / "tallies.jsonl", tallies)
    write_json(files.directory / "results.json", results)
    return results


def results_of(
    task: Task,
    tallies: Sequence[Tally],
    completed: Sequence[CompletedTaskInstance],
    metrics: Sequence[Metric],
    samples: int,
    judged: JudgedSamples | Mapping[str, MetricResult] | None = None,
) -> EvaluationResults:
    """Compute the results of these tallies, samples and verdicts.

    Args:
        judged: the verdicts, or the metrics of earlier verdicts (`results_before`).
    """
    if isinstance(judged, JudgedSamples):
        completed = judged.added_to(completed)
        verdicts, rights = judged, [c.was_correct for c in completed if c.error is None]
        judged = {
            m.name: verdicts.best_of(m, rights) if m.form == BEST else verdicts.result(m.name)
            for m in metrics
            if m.needs_judge
        }
    any_scored = any(c.error is None for c in completed)
    return EvaluationResults(
        samples=samples,
        metrics=tuple(
            metric.of(tallies)
            if judged is None or not metric.needs_judge
            else judged.get(metric.name, MetricResult(name=metric.name, value=None, n=0))
            for metric in metrics
        ),
        report=report_of(task, completed) if any_scored else None,
    )


def results_before(files: EvaluationFiles) -> dict[str, MetricResult]:
    """The metrics in `results.json` by name; RunDirectoryError if the file is damaged."""
    if not (path := files.directory / "results.json").exists():
        return {}
    way_out = "remove it, and `dataenvgym eval` writes it again"
    written = read_model(path, EvaluationResults, way_out)
    return {metric.name: metric for metric in written.metrics}


def completed_of(files: EvaluationFiles, samples: int) -> list[CompletedTaskInstance]:
    """The first `samples` samples of every instance, as completed instances."""
    by_id = {instance.id: instance for instance in files.read_instances()}
    return [s.completed(by_id[s.instance_id]) for s in files.read_samples(samples)]

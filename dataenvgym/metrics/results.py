"""The results of an evaluation: samples -> tallies -> metrics, and scores by skill.

The metric `judge` is computed from judges' verdicts (see `judged_samples`), not from tallies.

Usage is what the student's replies took: tokens and seconds, for each file of samples.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dataenvgym.interfaces import PredictorInterface, Reply, TaskInterface
from dataenvgym.interfaces.forwarding import HearingPredictor
from dataenvgym.metrics.files import EvaluationFiles, write_models
from dataenvgym.metrics.judged_samples import JudgedSamples
from dataenvgym.metrics.metric import BEST, JudgeResult, Metric, MetricResult
from dataenvgym.metrics.samples import Tally, tally_all
from dataenvgym.records import CompletedTaskInstance, Conversation, Model, PerformanceReport
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


def sum_up(
    files: EvaluationFiles,
    task: TaskInterface,
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
    write_models(files.directory / "tallies.jsonl", tallies)
    write_json(files.directory / "results.json", results.model_dump(mode="json"))
    return results


def results_of(
    task: TaskInterface,
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
    with naming_damage(path, "remove it, and `dataenvgym eval` writes it again"):
        written = EvaluationResults.model_validate(read_json(path))
    return {metric.name: metric for metric in written.metrics}


def completed_of(files: EvaluationFiles, samples: int) -> list[CompletedTaskInstance]:
    """The first `samples` samples of every instance, as completed instances."""
    by_id = {instance.id: instance for instance in files.read_instances()}
    return [s.completed(by_id[s.instance_id]) for s in files.read_samples(samples)]


class Usage(Model):
    """Tokens and seconds of the student.

    Attributes:
        replies: the number of replies.
        counted: those whose tokens the predictor counted.
        prompt_tokens, completion_tokens: of the counted replies.
        seconds: from the first question to the last reply, for each file of samples.
    """

    replies: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        names = Usage.model_fields
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens_each(self) -> float | None:
        """The mean number of tokens of a reply; None if none was counted."""
        return self.completion_tokens / self.counted if self.counted else None


class MeteredStudent(HearingPredictor):
    """Answers with a predictor, and adds up the usage of its replies."""

    def __init__(self, predictor: PredictorInterface) -> None:
        super().__init__(predictor)
        self.usage = Usage()
        self._lock = threading.Lock()

    def hear(self, conversation: Conversation, reply: Reply) -> None:
        counts = (reply.prompt_tokens, reply.completion_tokens)
        known = Usage(replies=1)
        if counts[0] is not None and counts[1] is not None:
            known = Usage(
                replies=1, counted=1, prompt_tokens=counts[0], completion_tokens=counts[1]
            )
        with self._lock:
            self.usage += known


@contextmanager
def metered(
    predictor: PredictorInterface, files: EvaluationFiles, part: Path
) -> Iterator[PredictorInterface]:
    """The predictor, whose usage is written at the end of the block, before the file `part`.

    If the part is there already, its failed samples are asked again: their usage is added.
    """
    path = _path(files, part)
    before = _read(path) if part.exists() and path.exists() else Usage()
    student = MeteredStudent(predictor)
    begun = time.perf_counter()
    yield student
    seconds = Usage(seconds=round(time.perf_counter() - begun, 3))
    write_json(path, (before + student.usage + seconds).model_dump())


def usage_of(files: EvaluationFiles, samples: int) -> Usage | None:
    """The usage of the first samples; None for an evaluation without it, of an earlier version."""
    folder = files.directory / "usage"
    paths = [path for n in range(samples) for path in sorted(folder.glob(f"{n:03d}-*.json"))]
    return sum(map(_read, paths), Usage()) if paths else None


def _path(files: EvaluationFiles, part: Path) -> Path:
    return files.directory / "usage" / f"{part.stem}.json"


def _read(path: Path) -> Usage:
    with naming_damage(path, "remove it: only tokens and seconds are lost"):
        return Usage.model_validate(read_json(path))

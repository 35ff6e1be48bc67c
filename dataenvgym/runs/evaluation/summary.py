"""A row of results for each evaluation in a folder.

A row is read from the evaluation's files; no code that its configuration names is run. Its columns
are the same for all evaluations, so that tasks with different metrics fit into one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model
from dataenvgym.records.usage import Costs
from dataenvgym.runs.config.identity import short_name
from dataenvgym.runs.evaluation.directory import EVALUATIONS, evaluation_files
from dataenvgym.storage import read_model, read_models
from dataenvgym.tasks.metrics.metric import MetricResult, parse_metric
from dataenvgym.tasks.metrics.results import EvaluationResults
from dataenvgym.tasks.metrics.samples import Tally
from dataenvgym.tasks.metrics.usage import StudentUsage, read_costs, usage_of
from dataenvgym.workspace import check_format, refuse_links

_AGAIN = "remove it, and `dataenvgym eval` writes it again"


class EvaluationSummary(Model):
    """The results of an evaluation in short.

    Attributes:
        directory: its folder.
        task, split, student: what was evaluated.
        problems, samples: how many, and how many samples of each.
        score: the mean reward.
        metrics: by column: accuracy, pass@k, majority@k (k is the number of samples), no answer,
            errors, and the requested metrics that are none of these, such as judge.
        usage: tokens and seconds of the student, if they are known.
        costs: of each speaker, if they are known.
    """

    directory: Path
    task: str
    split: str
    student: str
    problems: int
    samples: int
    score: float | None
    metrics: dict[str, MetricResult]
    usage: StudentUsage | None
    costs: Costs | None


def evaluations_in(folder: Path) -> list[Path]:
    """The folders of evaluations in this folder, itself included, at any depth.

    Raises:
        RunDirectoryError: if there are none.
    """
    files = sorted(folder.rglob("instances.jsonl"))
    found = [path.parent for path in files if (path.parent / "config.yaml").exists()]
    if not found:
        raise RunDirectoryError(
            f"there are no evaluations in {folder}: expected a folder of `dataenvgym eval`, or one "
            "with such folders in it"
        )
    return found


def summarize(directory: Path) -> EvaluationSummary | None:
    """The results of the evaluation in this folder; None if it is not finished.

    Raises:
        RunDirectoryError: if a file is damaged.
    """
    path = directory / "results.json"
    if not path.exists():
        return None
    refuse_links(directory)
    check_format(directory)
    settings = EVALUATIONS.read(directory)
    results = read_model(path, EvaluationResults, _AGAIN)
    tallies = read_models(directory / "tallies.jsonl", Tally, _AGAIN)
    if results.report is not None and not tallies:
        raise RunDirectoryError(f"{directory / 'tallies.jsonl'} is empty; {_AGAIN}")
    return EvaluationSummary(
        directory=directory,
        task=short_name(settings.task) if results.report is None else results.report.task,
        split=str(settings.split),
        student=student_of_settings(settings),
        problems=len(tallies),
        samples=results.samples,
        score=None if results.report is None else results.report.score,
        metrics=_columns(results, tallies),
        usage=usage_of(evaluation_files(directory, settings), results.samples),
        costs=None if (costs := read_costs(directory)) is None else costs.speakers,
    )


def _columns(results: EvaluationResults, tallies: Sequence[Tally]) -> dict[str, MetricResult]:
    k = results.samples
    names = {"accuracy": "accuracy", "no answer": "no_answer_rate", "errors": "error_rate"}
    if k > 1:
        names |= {"pass@k": f"pass@{k}", "majority@k": f"majority@{k}"}
    order = ("accuracy", "pass@k", "majority@k", "no answer", "errors")
    found = {c: parse_metric(names[c]).of(tallies) for c in order if c in names}
    shown = {*names.values(), "pass@1", f"pass@1[avg-of-{k}]", f"pass^{k}"}
    return found | {m.name: m for m in results.metrics if m.name not in shown}


def student_of_settings(settings: DictConfig) -> str:
    """The student in an evaluation's settings: its model, and the hash of its adapter."""
    section = settings.predictor
    name = str(section.get("model") or section.get("student") or short_name(section))
    adapter = settings.get("adapter") or section.get("adapter")
    return f"{name}:{Path(str(adapter)).name}" if adapter else name

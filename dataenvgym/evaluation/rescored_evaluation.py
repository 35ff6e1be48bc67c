"""`rescore_evaluation`: judges the samples of an evaluation again, without the student."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from dataenvgym.config import build_judge, build_task
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.config.resolved import resolved_yaml
from dataenvgym.errors import RunDirectoryError
from dataenvgym.evaluation.directory import (
    EVALUATIONS,
    addition_kind,
    evaluation_files,
    settings_to_rescore,
)
from dataenvgym.evaluation.evaluated_run import on_split
from dataenvgym.metrics.metric import parse_metric, parse_metrics, quoted_metrics
from dataenvgym.metrics.rescoring import RescoringResult, rescore_folder
from dataenvgym.workspace import opened


def rescore_evaluation(
    evaluation: str,
    overrides: Sequence[str] = (),
    *,
    evaluations_dir: str | Path = "evaluations",
    trust: bool = False,
) -> RescoringResult:
    """Judge the samples again, and write the new scores beside the old ones.

    Args:
        evaluation: its name, or the path of its folder.
        overrides: other metrics, a judge for them (`teacher=...`, `judge.rubric=...`), or changes
            to the task that affect judging.
        evaluations_dir: the folder of evaluations.
        trust: run any code that the evaluation's config.yaml names (see `config.trust`).

    Raises:
        ConfigurationError: for an option that does not affect judging.
        RunDirectoryError: if there is no such evaluation, or no sample in it is complete.
    """
    directory = EVALUATIONS.find(evaluation, evaluations_dir)
    before = EVALUATIONS.read(directory)
    files = evaluation_files(directory, before)
    overrides = [quoted_metrics(text) for text in overrides]
    settings = settings_to_rescore(directory, overrides, trust=trust)
    asked = any(override.key == "metrics" for override in parse_overrides(overrides))
    task = on_split(build_task(settings), settings.split)
    with opened(directory):
        samples = files.count_complete()
        if not samples:
            raise RunDirectoryError(
                f"{directory} has no complete sample of every problem yet: the `dataenvgym eval` "
                "that began it resumes it"
            )
        names = settings.metrics
        if not asked:  # those of the evaluation that this number of samples allows
            names = [name for name in names or () if parse_metric(name).k <= samples] or None
        metrics = parse_metrics(names, samples)
        needs_judge = any(metric.needs_judge for metric in metrics)
        judge = build_judge(settings.judge, directory) if needs_judge else None
        kind = addition_kind(settings)
        addition = None if kind is None else kind.again(settings, directory)
        with closing(judge) if judge is not None else nullcontext():
            return rescore_folder(
                files,
                task,
                metrics,
                samples,
                settings=resolved_yaml(settings, secrets=False),
                judge=judge,
                asked=int(settings.samples),
                addition=addition,
            )

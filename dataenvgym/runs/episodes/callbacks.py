"""Callbacks of an episode while it runs.

A subclass of `EpisodeCallback` overrides the methods that it needs. `MetricsCallback` sends scores
to TensorBoard, Weights & Biases or MLflow; `events.EventLog` writes `events.jsonl`; the display is
in `display`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.events import ProgressMessage
from dataenvgym.runs.episodes.summary import IterationSummary, RunWarning, Summary

PhaseEvent = Literal["begin", "end"]


@dataclass(frozen=True)
class EpisodePlan:
    """A description of an episode, for callbacks.

    Attributes:
        name: of the run directory.
        task, agent: names.
        seed: of all random choices.
        n_iterations: the planned number, without the base student's evaluation.
        n_finished: the finished number, with the base student's evaluation.
        directory: the run directory.
        problems: which part of its source each split is, as in the `Summary`.
        environment: name of its class, such as "SkillList"; "" if unknown.
    """

    name: str
    task: str
    agent: str
    seed: int
    n_iterations: int
    n_finished: int
    directory: Path
    problems: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""


class EpisodeCallback:
    """Does nothing on every event; override the methods that you need."""

    def on_start(self, plan: EpisodePlan) -> None:
        """Called when the episode begins or is resumed."""

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        """Called when a phase begins, or has ended after `seconds`."""

    def on_progress(self, message: ProgressMessage) -> None:
        """Called with the progress within a phase, many times, perhaps from another thread.

        If it raises, the episode ends with that error when the phase ends.
        """

    def on_warning(self, warning: RunWarning) -> None:
        """Called with a warning for the user, perhaps from another thread."""

    def on_iteration(self, summary: IterationSummary) -> None:
        """Called when an iteration is finished; for a resumed run, also for earlier iterations."""

    def on_end(self, summary: Summary) -> None:
        """Called when the episode is finished, interrupted or failed."""


class MetricsCallback(EpisodeCallback):
    """Sends each iteration's scores to an experiment tracker, which is imported at first use.

    A resumed run reports all its iterations again, so that the tracker's curves are complete:
    TensorBoard hides the earlier ones; W&B and MLflow open a new run with the same name.

    Args:
        backend: "tensorboard" (writes to `directory`), "wandb" or "mlflow" (each configured by
            its own environment variables).
        directory: the folder for TensorBoard's event files.
        project: project (W&B) or experiment (MLflow).
    """

    def __init__(
        self,
        backend: Literal["tensorboard", "wandb", "mlflow"],
        *,
        directory: Path,
        project: str = "dataenvgym",
    ) -> None:
        check_one_of(("tensorboard", "wandb", "mlflow"), **{"metrics backend": backend})
        self._backend = backend
        self._directory = directory
        self._project = project
        self._tracker: Any = None

    def on_start(self, plan: EpisodePlan) -> None:
        try:
            if self._backend == "tensorboard":
                from torch.utils.tensorboard import SummaryWriter

                # the first event of a resumed run removes the steps from 0 on
                self._tracker = SummaryWriter(
                    str(self._directory), purge_step=0 if plan.n_finished else None
                )
            elif self._backend == "wandb":
                import wandb

                self._tracker = wandb.init(
                    project=self._project,
                    name=plan.name,
                    config={"task": plan.task, "agent": plan.agent, "seed": plan.seed},
                )
            else:
                import mlflow

                mlflow.set_experiment(self._project)
                mlflow.start_run(run_name=plan.name)
                self._tracker = mlflow
        except ImportError as error:
            raise ConfigurationError(
                f"metrics backend {self._backend!r} is not installed ({error}); "
                f"pip install {self._backend}, or set episode.metrics=null"
            ) from error

    def on_iteration(self, summary: IterationSummary) -> None:
        scores = {
            "validation/score": summary.val_score,
            "records/total": float(summary.n_records_total),
            "records/dropped": float(sum(summary.dropped.values())),
        }
        if summary.refused:
            scores["gate/drop"] = summary.refused.drop
        for skill, score in summary.val_score_by_skill.items():
            if score is not None:
                scores[f"skill/{skill or 'unlabelled'}"] = score
        for name, score in summary.named_scores.items():
            scores[f"score/{name}"] = score
        for phase, seconds in summary.seconds.items():
            scores[f"seconds/{phase}"] = seconds
        self._log(scores, summary.iteration)

    def on_end(self, summary: Summary) -> None:
        if self._tracker is None:
            return
        if summary.test_score_before is not None and summary.test_score_after is not None:
            # at the last step: W&B ignores values for earlier steps
            scores = {
                "test/score_before": summary.test_score_before,
                "test/score_after": summary.test_score_after,
                "test/iteration": float(summary.best_iteration),
            }
            self._log(scores, summary.iterations[-1].iteration)
        if self._backend == "tensorboard":
            self._tracker.close()
        elif self._backend == "wandb":
            self._tracker.finish(exit_code=int(summary.status != "finished"))
        else:
            ends = {"finished": "FINISHED", "interrupted": "KILLED"}
            self._tracker.end_run(status=ends.get(summary.status, "FAILED"))
        self._tracker = None

    def _log(self, scores: dict[str, float], step: int) -> None:
        # keep only characters that every backend accepts in a name
        scores = {re.sub(r"[^\w\-. /]", "_", name): value for name, value in scores.items()}
        if self._backend == "tensorboard":
            for name, value in scores.items():
                self._tracker.add_scalar(name, value, step)
        elif self._backend == "wandb":
            self._tracker.log(scores, step=step)
        else:
            self._tracker.log_metrics(scores, step=step)

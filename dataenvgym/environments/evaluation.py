"""One evaluation of the student: it is run once, then read from its file."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.environments.timed_predictor import TimedPredictor
from dataenvgym.interfaces import PredictorInterface, SkillLabelerInterface, TaskInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.tasks.adapted import evaluated_by, report_of
from dataenvgym.tasks.purposes import attempts_for


def evaluated(
    task: TaskInterface,
    predictor: PredictorInterface,
    labeler: SkillLabelerInterface | None,
    files: IterationFiles,
    clock: PhaseClock,
    *,
    phase: str = "iteration",
) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
    """Return the completed instances, with the labeler's skills if there is one, and a report.

    Args:
        phase: the purpose of the attempts (see `tasks.purposes`); the iteration's number follows.

    Raises:
        EvaluationError: if nothing could be scored. Nothing is saved then, so a resumed run tries
            again.
    """
    if (completed := files.read_completed()) is not None:
        completed = labeled_by(labeler, completed, clock)
        return completed, report_of(task, completed)
    timed = TimedPredictor(predictor)
    run = files.directory.parent.parent.name
    with clock("generate"), attempts_for(run, f"{phase}-{files.number:03d}"):
        began = time.perf_counter()
        completed = evaluated_by(task, timed)
        elapsed = time.perf_counter() - began
    clock.add("generate", timed.seconds - elapsed)
    clock.add("score", elapsed - timed.seconds)
    shown = labeled_by(labeler, completed, clock)
    report = report_of(task, shown)
    with clock("save"):
        files.write_completed(completed)  # as the task gave them
    return shown, report


def labeled_by(
    labeler: SkillLabelerInterface | None,
    completed: Sequence[CompletedTaskInstance],
    clock: PhaseClock,
) -> list[CompletedTaskInstance]:
    """Replace gold skills by the labeler's; without a labeler, return the instances unchanged."""
    if labeler is None:
        return list(completed)
    with clock("label"):
        labels = labeler.label([c.instance for c in completed])
        return [c.with_skill(*label) for c, label in zip(completed, labels, strict=True)]

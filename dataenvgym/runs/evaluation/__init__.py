"""Evaluations of a student on a task, without training, each in its own folder.

running              `prepare_evaluation`; `run_evaluation` runs or resumes it; `rescore_evaluation`
                     judges its samples again, without the student
directory            a configuration and the folder of its evaluation, and its judges
attribution          `attribute_run`: trains a run's student again without some of its records
evaluated_run        takes task and student of a run for an evaluation; the split of problems

A domain may add checks, files and a table (`Task.evaluation_addition`).

Samples, metrics and the files in the folder are in `dataenvgym.tasks.metrics`.
"""

from dataenvgym.runs.evaluation.attribution import attribute_run
from dataenvgym.runs.evaluation.running import (
    Evaluation,
    prepare_evaluation,
    rescore_evaluation,
    run_evaluation,
)

__all__ = [
    "Evaluation",
    "attribute_run",
    "prepare_evaluation",
    "rescore_evaluation",
    "run_evaluation",
]

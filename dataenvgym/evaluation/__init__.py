"""Evaluations of a student on a task, without training, each in its own folder.

running              `prepare_evaluation`; `run_evaluation` runs or resumes it, and computes metrics
evaluation           a finished evaluation: metrics, scores, samples; `rescore_evaluation` judges
                     these again, without the student
directory            a configuration and the folder of its evaluation, and its judges
attribution          `attribute_run`: trains a run's student again without some of its records;
                     `attribution_table` has the run's own training, and the result
evaluated_run        takes task and student of a run for an evaluation; the split of problems

A domain may add checks, files and a table (`metrics.additions`).

Samples, metrics and the files in the folder are in `dataenvgym.metrics`.
"""

from dataenvgym.evaluation.attribution import attribute_run
from dataenvgym.evaluation.evaluation import Evaluation, rescore_evaluation
from dataenvgym.evaluation.running import prepare_evaluation, run_evaluation

__all__ = [
    "Evaluation",
    "attribute_run",
    "prepare_evaluation",
    "rescore_evaluation",
    "run_evaluation",
]

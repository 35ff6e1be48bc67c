"""Evaluations of a student on a task, without training, each in its own folder.

running        `prepare_evaluation`; `run_evaluation` runs or resumes it, and computes metrics
evaluation     a finished evaluation: metrics, scores, samples
judging_again  `rescore_evaluation`: judges its samples again, without the student
directory      a configuration and the folder of its evaluation, and its judges
evaluated_run  takes the task and the student of a run for an evaluation; the split of the problems

A domain may add checks, files and a table (`evaluation.additions`).

Samples, metrics and the files in the folder are in `dataenvgym.evaluation`.
"""

from dataenvgym.evaluation_runs.evaluation import Evaluation
from dataenvgym.evaluation_runs.judging_again import JudgedAgain, rescore_evaluation
from dataenvgym.evaluation_runs.running import prepare_evaluation, run_evaluation

__all__ = [
    "Evaluation",
    "JudgedAgain",
    "prepare_evaluation",
    "rescore_evaluation",
    "run_evaluation",
]

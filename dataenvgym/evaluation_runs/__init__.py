"""Evaluations of a student on a task, without training, each in its own folder.

running        `run_evaluation`: runs or resumes an evaluation; computes metrics and scores
evaluation     a finished evaluation: metrics, scores, samples
judging_again  `rescore_evaluation`: judges its samples again, without the student
directory      a configuration and the folder of its evaluation
judges         the judges of an evaluation, for the metric `judge`
evaluated_run  takes the task and the student of a run for an evaluation
scenes         scenes between characters: played and scored seats, saved episodes
episode_rows   a row for each episode of scenes
dimension_table   the mean of each dimension of scenes, clustered by scene
splits         the problems of an evaluation

Samples, metrics and the files in the folder are in `dataenvgym.evaluation`.
"""

from dataenvgym.evaluation_runs.evaluation import Evaluation
from dataenvgym.evaluation_runs.judging_again import JudgedAgain, rescore_evaluation
from dataenvgym.evaluation_runs.running import run_evaluation

__all__ = ["Evaluation", "JudgedAgain", "rescore_evaluation", "run_evaluation"]

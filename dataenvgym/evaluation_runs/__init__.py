"""Evaluations: a student on a task, without training, each in a folder of its own.

running        `run_evaluation`: runs or resumes an evaluation, to its metrics and scores
evaluation     a finished one: metrics, scores, samples
judging_again  `rescore_evaluation`: its samples judged again, without the student
directory      a configuration and the folder of its evaluation
judges         who judges an evaluation, for the metric `judge`
evaluated_run  the task and the student of a run, as an evaluation takes them over
scenes         scenes between characters: which seats are played and scored, and what is kept
episode_rows   ... a row for each episode
dimension_table   ... the mean of each dimension, clustered by scene
splits         which problems an evaluation is about

Samples, metrics and the files in the folder are in `dataenvgym.evaluation`.
"""

from dataenvgym.evaluation_runs.evaluation import Evaluation
from dataenvgym.evaluation_runs.judging_again import JudgedAgain, rescore_evaluation
from dataenvgym.evaluation_runs.running import run_evaluation

__all__ = ["Evaluation", "JudgedAgain", "rescore_evaluation", "run_evaluation"]

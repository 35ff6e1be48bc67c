"""Studies compare data-generation strategies on the same tasks and seeds.

grid        Hydra's sweep syntax -> strategies, tasks, seeds
plan        a grid -> episodes, each with its configuration and folder; floor and ceiling
fairness    checks that strategies have equal conditions, before and after the runs
checks      reasons to refuse a study before anything runs; writes `study.json`
study       the folder of a study: run it, resume it, sum it up
comparison  compares existing runs in the same way
measures    the measures of one run
statistics  intervals, paired tests, corrections
summing     runs -> results; `results` has their models
notes       notes for readers of the tables, and warnings: reasons to doubt the numbers
tables      results for a terminal and as Markdown; `plots` draws them, `report` writes the files
display     the display while a study runs; `expected_time` estimates the time left
"""

from dataenvgym.studies.comparison import compare_runs
from dataenvgym.studies.plan import StudyPlan, plan_study
from dataenvgym.studies.results import StudyResults
from dataenvgym.studies.study import Study, run_study

__all__ = ["Study", "StudyPlan", "StudyResults", "compare_runs", "plan_study", "run_study"]

"""Studies: data-generation strategies compared on the same tasks and seeds.

grid        Hydra's sweep syntax -> strategies, tasks, seeds
plan        ... -> episodes, each with its configuration and folder; floor and ceiling
fairness    what strategies must have in common, before and after
checks      what a study is refused for, before anything runs
study       the folder of a study: run it, resume it, sum it up
state       `study.json`: the request, and the state of each episode
comparison  the same for runs that are there already
measures    one run, measured
statistics  intervals, paired tests, corrections
summing     runs -> results; `results` holds their models
doubts      warnings: reasons to doubt the numbers
tables      results for a terminal and as Markdown; `notes` explains them, `plots` draws them,
            `report` writes the files
progress    the display while a study runs; `expected_time`: how long what is left takes
"""

from dataenvgym.studies.comparison import compare_runs
from dataenvgym.studies.plan import StudyPlan, plan_study
from dataenvgym.studies.results import StudyResults
from dataenvgym.studies.study import Study, run_study

__all__ = ["Study", "StudyPlan", "StudyResults", "compare_runs", "plan_study", "run_study"]

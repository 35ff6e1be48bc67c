"""Studies compare data-generation strategies on the same tasks and seeds.

grid        Hydra's sweep syntax -> strategies, tasks, seeds
plan        a grid -> episodes, each with its configuration and folder; floor and ceiling
checks      reasons to refuse a study: unequal conditions above all
state       `study.json`: the request, and the state of each episode
study       the folder of a study: run it, resume it, sum it up
comparison  runs -> results, of a study or of existing runs
racing      stops strategies that cannot be the best any more, by anytime-valid tests
noise       noise models of tasks: fitted from a study, kept as JSON
budget      what a planned study can find, and how long it takes
measures    the measures of one run
aggregate   scores over a suite of tasks: interquartile mean, profiles, probability of improvement

statistics  intervals, paired tests, corrections
results     the models of results, and their estimates
notes       notes for readers of the tables, and warnings: reasons to doubt the numbers
tables      results for a terminal and as Markdown, and the files of a study; `plots` draws them
display     the display while a study runs, with an estimate of the time left
"""

from dataenvgym.studies.comparison import compare_runs
from dataenvgym.studies.plan import StudyPlan, plan_study
from dataenvgym.studies.results import StudyResults
from dataenvgym.studies.study import Study, run_study

__all__ = ["Study", "StudyPlan", "StudyResults", "compare_runs", "plan_study", "run_study"]

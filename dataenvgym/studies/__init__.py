"""Studies compare data-generation strategies on the same tasks and seeds.

grid        Hydra's sweep syntax -> strategies, tasks, seeds
plan        a grid -> episodes, each with its configuration and folder; `study.json`
study       the folder of a study: check it, run it, resume it, sum it up
comparison  runs -> results, if that is fair; of a study or of existing runs
results     the models of results, their measures and estimates; fits noise models
racing      stops strategies that cannot be the best any more, by anytime-valid tests
noise       noise models of tasks, and what a planned study can find with them (`budget`)
statistics  paired tests, power, corrections; `aggregate` has the scores over a suite of tasks
tables      the document of a study, and its files; with `notes` (doubts) and `plots`
display     the display while a study runs, with an estimate of the time left
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.studies.comparison import compare_runs
    from dataenvgym.studies.plan import StudyPlan, plan_study
    from dataenvgym.studies.results import StudyResults
    from dataenvgym.studies.study import Study, run_study
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "Study",
    "StudyPlan",
    "StudyResults",
    "compare_runs",
    "plan_study",
    "run_study",
]

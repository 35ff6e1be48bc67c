"""Quality checks: records that fail one are not trained on.

The checks here ask the task, a teacher or the student; `dataenvgym.environments.checks` runs
them. Duplicates, overlap with evaluation data and the record budget are the environment's own
checks (`dataenvgym.environments.checks`). To write your own check, define a class with a `reason`
and `passes(records, predictor)` (`RecordCheckInterface`), which returns True, False, or a `Failure`
for a record that it could not judge.
"""

from dataenvgym.agents.quality.already_known import AlreadyKnownCheck
from dataenvgym.agents.quality.wrong_answer import WrongAnswerCheck

__all__ = ["AlreadyKnownCheck", "WrongAnswerCheck"]

"""Quality checks that act: records that they do not pass are not trained on.

`dataenvgym.environments.record_judge` asks them. Duplicates, overlap with evaluation data and the
record budget are the environment's own checks (`dataenvgym.environments.checks`); those here ask
the task, a teacher or the student. A check of your own is a class with a `reason` and
`passes(records, predictor)` (`RecordCheckInterface`), which answers True, False, or a `Failure` for
a record that it could not judge.
"""

from dataenvgym.quality.already_known import AlreadyKnownCheck
from dataenvgym.quality.wrong_answer import WrongAnswerCheck

__all__ = ["AlreadyKnownCheck", "WrongAnswerCheck"]

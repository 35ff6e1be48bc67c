"""A small task and a student that gets better with every record it is trained on."""

import pytest

from dataenvgym.domains.math.pocket import SKILLS, PocketMathTask
from dataenvgym.records import Conversation, parse_training_data
from dataenvgym.students.predictors.scripted import ScriptedPredictor


class ImprovingStudent(ScriptedPredictor):
    """Knows the answers of the first `records` instances of the task."""

    def __init__(self, task: PocketMathTask) -> None:
        super().__init__(self._reply)
        instances = [i for split in ("validation", "test") for i in task.on(split).instances]
        self._known = {i.instruction: (n % 40, i.answer) for n, i in enumerate(instances)}

    def _reply(self, conversation: Conversation) -> str:
        position, answer = self._known[conversation[-1].content]
        return f"#### {answer}" if position < 10 + self.records else "#### 12345"


@pytest.fixture
def task():
    return PocketMathTask(n_validation=40, n_test=40)


@pytest.fixture
def student(task):
    return ImprovingStudent(task)


@pytest.fixture
def records():
    """Four good records, of as many skills."""
    return parse_training_data(
        {
            "instruction": f"Put 1 1 1 1 1 {n} in rising order.",
            "output": f"#### 1 1 1 1 1 {n}",
            "provenance": {"skill": skill},
        }
        for n, skill in zip((2, 3, 4, 5), SKILLS, strict=False)
    )

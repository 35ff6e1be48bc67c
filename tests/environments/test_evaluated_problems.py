"""Which problems records are compared with, whatever the task says of itself."""

import pytest

from dataenvgym.environments import OpenEnded
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message, TaskInstance
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import report_on
from tests.fakes import begun, tried

LEAK = {"instruction": "Which is the capital of Peru?", "output": "Lima"}
LATER = {"instruction": "Which is the capital of Chad?", "output": "N'Djamena"}


class MinimalTask:
    """Offers no instances; each evaluation asks about one more country."""

    name = "minimal"
    texts = ("Which is the capital of Peru?", "Which is the capital of Chad?")

    def __init__(self):
        self.evaluations = 0

    def evaluate(self, predictor):
        self.evaluations += 1
        found = []
        for text in self.texts[: self.evaluations]:
            asked = (Message(role="user", content=text or "?"),)
            predictor.predict([asked], SamplingParameters())
            instance = TaskInstance(id=f"i{len(found)}", task=self.name, instruction=text)
            found.append(tried(instance))
        return found

    def generate_performance_report(self, completed):
        return report_on(self.name, completed)


class OfferingTask(MinimalTask):
    @property
    def instances(self):
        return [TaskInstance(id="x", task="offering", instruction=LEAK["instruction"])]


class Splits(OfferingTask):
    """Offers its validation problems, and not those of its test split."""

    def on(self, split):
        return MinimalTask() if split == "test" else OfferingTask()


class Leaking:
    name = "leaking"

    def __call__(self, completed, predictor):
        return [LEAK]

    def step(self):
        pass


def student():
    return ScriptedPredictor(lambda conversation: "?")


def dropped(step):
    return step[4]["n_dropped"]


def test_problems_that_only_an_evaluation_tells_are_not_trained_on(tmp_path):
    environment = OpenEnded(MinimalTask(), student(), directory=tmp_path)
    heard = []
    with hearing_warnings(heard.append):
        environment.reset(seed=0)
        assert dropped(environment.step([LEAK, {"instruction": "Say one", "output": "1"}])) == 1
        assert dropped(environment.step([LATER, {"instruction": "Say 2", "output": "2"}])) == 1
    assert heard == []


def test_a_resumed_episode_knows_the_problems_of_all_earlier_evaluations(tmp_path):
    environment = begun(OpenEnded(MinimalTask(), student(), directory=tmp_path))
    environment.step([])
    resumed = begun(OpenEnded(MinimalTask(), student(), directory=tmp_path), resume=True)
    assert dropped(resumed.step([LEAK, LATER])) == 2
    offering = begun(OpenEnded(OfferingTask(), student()))  # it needs no evaluation
    assert dropped(offering.step([LEAK, LATER])) == 1


class Worse(MinimalTask):
    def evaluate(self, predictor):
        found, is_first = super().evaluate(predictor), self.evaluations == 1
        return [tried(one.instance, right=is_first) for one in found]


def test_a_resumed_episode_knows_the_problems_of_a_student_that_the_gate_refused(tmp_path):
    environment = begun(OpenEnded(Worse(), student(), directory=tmp_path, gate=0.9))
    assert environment.step([{"instruction": "Say one", "output": "1"}])[4]["refused"] == 1
    resumed = begun(OpenEnded(Worse(), student(), directory=tmp_path, gate=0.9), resume=True)
    assert dropped(resumed.step([LEAK, LATER])) == 2


def test_problems_without_a_text_are_warned_about_and_nothing_is_dropped_for_them():
    task = MinimalTask()
    task.texts = ("", " ")
    heard = []
    with hearing_warnings(heard.append):
        environment = begun(OpenEnded(task, student()))
        record = {"instruction": "Say one\n\nand two", "output": "1"}
        assert dropped(environment.step([record])) == 0
    assert "NOT CHECKED for overlap: no evaluated instance of task 'minimal'" in heard[0]


@pytest.mark.parametrize("test_task", [None, MinimalTask()])
def test_unknown_test_problems_are_warned_about_in_summary_and_report(tmp_path, test_task):
    task = OfferingTask() if test_task else Splits()
    environment = OpenEnded(task, student(), directory=tmp_path)
    summary = run_episode(environment, Leaking(), iterations=1, test_task=test_task)
    texts = [w.text for w in summary.warnings if "NOT CHECKED" in w.text]
    assert len(texts) == 1
    assert "the test problems of task 'minimal' are unknown" in texts[0]


def test_problems_of_your_own_test_task_are_not_trained_on(tmp_path):
    task = MinimalTask()
    task.texts = ("Which river?",)
    environment = OpenEnded(task, student(), directory=tmp_path)
    summary = run_episode(environment, Leaking(), iterations=1, test_task=OfferingTask())
    assert summary.dropped == {"evaluation_overlap": 1}

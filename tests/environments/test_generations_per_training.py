"""Several generations for one training: the steps between only gather records."""

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.errors import BudgetSpentError, ConfigurationError, InvalidRecordError
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.runs.episodes import run_episode
from tests.environments.conftest import ImprovingStudent
from tests.environments.test_gate import MathStudent
from tests.fakes import begun


class Noting(ImprovingStudent):
    """Notes the outputs of each training, and how many questions each evaluation asked."""

    def __init__(self, task):
        super().__init__(task)
        self.taught = []
        self.asked = []

    def predict(self, conversations, sampling):
        self.asked.append(len(conversations))
        return super().predict(conversations, sampling)

    def train(self, data, run):
        self.taught.append([d.output for d in data])
        super().train(data, run)


@pytest.fixture
def student(task):
    return Noting(task)


def batch(*numbers):
    return [{"instruction": f"word{n} {n}?", "output": str(n)} for n in numbers]


class Spending:
    """An agent that gives these batches and has no budget for more."""

    name = "spending"

    def __init__(self, batches=()):
        self.batches = iter(batches)

    def __call__(self, completed, predictor):
        for one in self.batches:
            return one
        raise BudgetSpentError("the budget is spent")

    def step(self): ...


def outputs(*numbers):
    return [str(n) for n in numbers]


@pytest.mark.parametrize("mode", ["incremental", "accumulate"])
def test_it_trains_in_each_nth_step_on_the_records_of_n_steps(task, student, tmp_path, mode):
    environment = begun(
        SkillList(task, student, directory=tmp_path, mode=mode, generations_per_training=2)
    )
    shown = []
    for numbers in ((11, 12), (13,), (14, 15), (16,)):
        shown.append(environment.step(batch(*numbers)))
    assert [sorted(one) for one in student.taught] == [
        outputs(11, 12, 13),
        outputs(11, 12, 13, 14, 15, 16),
    ]
    assert student.taught[1][-3:] == outputs(14, 15, 16)  # its own, after the earlier ones
    assert student.asked == [40] * 3  # the base, and twice after a training
    assert [reward for _, reward, *_ in shown][::2] == [0.0, 0.0]
    assert [reward > 0 for _, reward, *_ in shown][1::2] == [True, True]
    assert shown[2][0]["completed"] == shown[1][0]["completed"]
    assert [one.adapter for one in environment.results] == [None, None, 2, 2, 4]
    assert [info["n_records_total"] for *_, info in shown] == [2, 3, 5, 6]


def test_a_spent_budget_trains_on_what_was_gathered(task, student):
    environment = begun(SkillList(task, student, generations_per_training=3, max_records=3))
    assert environment.step(batch(11, 12))[2] is False
    assert environment.step(batch(13, 14))[2] is True
    assert student.taught == [outputs(11, 12, 13)]


def test_records_that_are_trained_on_together_have_one_stage(task, student):
    environment = begun(SkillList(task, student, generations_per_training=2))
    environment.step(batch(11))
    with pytest.raises(InvalidRecordError, match="stage"):
        environment.step([{"kind": "text", "text": "some text"}])
    environment.step(batch(12))
    environment.step([{"kind": "text", "text": "some text"}])


@pytest.mark.parametrize("mode", ["incremental", "accumulate"])
def test_the_gate_refuses_all_that_was_gathered(mode):
    task = PocketMathTask(n_validation=200, n_test=20)
    student, skill = MathStudent(task), task.on("validation").instances[0].skill
    environment = begun(SkillList(task, student, gate=0.05, mode=mode, generations_per_training=2))
    for n, output in enumerate(("wrong", "right", "right", "right")):
        record = {"instruction": f"word{n} {n}?", "output": output, "provenance": {"skill": skill}}
        info = environment.step([record])[4]
        assert info["refused"] == (n == 1)
    assert student.outputs == ["right"] * 2  # the first two are not trained on again


def test_a_number_of_iterations_that_leaves_records_untaught_is_refused(task, student):
    environment = SkillList(task, student, generations_per_training=2)
    with pytest.raises(ConfigurationError, match="multiple of 2"):
        run_episode(environment, Spending(), iterations=3)
    summary = run_episode(environment, Spending([batch(11), batch(11)]), iterations=2)
    assert [one.n_records for one in summary.iterations] == [0, 1, 0]  # the second is a duplicate
    assert student.taught == [outputs(11)]


def test_an_unchanged_student_is_asked_again_only_if_its_answers_are_drawn(task, student):
    environment = begun(SkillList(task, student))
    first = environment.step([])[0]["completed"]
    assert environment.step([])[0]["completed"] == first
    assert student.asked == [40]
    drawn = PocketMathTask(n_validation=40, sampling=SamplingParameters(temperature=1.0))
    environment = begun(SkillList(drawn, student))
    environment.step([])
    assert student.asked == [40, 40, 40]


def test_records_that_an_early_end_leaves_untaught_are_named(task, student):
    environment = SkillList(task, student, generations_per_training=2)
    agent = Spending(batch(10 + n, 20 + n) for n in range(3))
    summary = run_episode(environment, agent, iterations=4)
    assert summary.ended
    (warning,) = summary.warnings
    assert warning.text.startswith("2 records at the end were gathered and not trained on")


def test_failed_calls_of_an_unchanged_student_are_tried_again(task):
    class Failing(Noting):
        def predict(self, conversations, sampling):
            replies = super().predict(conversations, sampling)
            return [Failure(reason="away"), *replies[1:]] if len(self.asked) == 1 else replies

    student = Failing(task)
    environment = begun(SkillList(task, student))
    assert environment.results[0].n_errors == 1
    environment.step([])
    environment.step([])
    assert [one.n_errors for one in environment.results] == [1, 0, 0]
    assert student.asked == [40, 40]

import json
from dataclasses import replace

import pytest

from dataenvgym.adaptation import InnerLoop, adapt
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, TrainingError
from dataenvgym.interfaces import Failure, SamplingParameters, can
from dataenvgym.records import Message, SupervisedDatum, TaskInstance
from dataenvgym.students.llama_factory.training_config import trainer_with
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks import Outcome, Task, TaskEnvironment


class Echo(TaskEnvironment):
    """The second of two replies must be the answer."""

    max_turns = 2

    def respond(self, instance, conversation):
        replies = [m.content for m in conversation if m.role == "assistant"]
        is_right = replies[-1] == instance.answer
        done = is_right or len(replies) == 2
        messages = () if done else (Message(role="user", content="again"),)
        return Outcome(messages=messages, reward=float(is_right), done=done, was_correct=is_right)


def question(n, answer="yes"):
    return TaskInstance(id=f"q{n}", task="echo", instruction=f"say {n}", answer=answer)


class EchoTask(Task):
    name = "echo"

    def load(self, split):
        return [question(n) for n in range(4)]

    def make_environment(self):
        return Echo()


TASK = EchoTask(sampling=SamplingParameters(max_tokens=4))
RECORD = SupervisedDatum(instruction="say", output="yes")


class Learner(ScriptedPredictor):
    """Says "yes" to question n once it has learned more than n records; counts what it does."""

    def __init__(self, failing=()):
        super().__init__(self.reply)
        self.failing = failing
        self.asked = 0
        self.trained = 0

    def reply(self, conversation):
        self.asked += 1
        n = int(conversation[0].content.split()[-1])
        if (self.records, n) in self.failing:
            return Failure(reason="the server is gone")
        return "yes" if n < self.records else "no"

    def train(self, training_data, run):
        self.trained += 1
        if len(training_data) == 13:
            raise TrainingError("the loss is not finite")
        super().train(training_data, run)


def loops(*counts):
    questions = TASK.instances
    return [InnerLoop(f"loop-{n}", questions, [RECORD] * n, seed=n) for n in counts]


def test_a_loop_compares_its_adapter_with_the_base_question_by_question(tmp_path):
    student = Learner()
    student.records = 2  # what was loaded before does not count
    one, three, nothing = adapt(TASK, student, loops(1, 3, 0), tmp_path)
    assert (one.baseline_accuracy, one.adapter_accuracy, one.gain) == (0.0, 0.25, 0.25)
    assert (three.adapter_accuracy, three.gains) == (0.75, (1, 1, 1, 0))
    assert [answer.text for answer in three.answers] == ["yes", "yes", "yes", "no"]
    assert (nothing.n_records, nothing.gain, nothing.answers) == (0, 0.0, nothing.base)
    assert student.trained == 2
    assert student.records == 0


def test_a_failed_call_is_unscored_and_so_is_a_failed_training(tmp_path):
    student = Learner(failing={(0, 0), (2, 1)})
    two, broken = adapt(TASK, student, loops(2, 13), tmp_path)
    assert two.base[0].error == "the server is gone"
    assert two.gains == (None, None, 0, 0)
    assert (two.baseline_accuracy, two.adapter_accuracy) == (0.0, 1 / 3)
    assert (two.n_unscored, broken.n_unscored) == (2, 4)
    assert "the loss is not finite" in broken.error
    assert (broken.adapter_accuracy, broken.gain) == (None, None)


def test_only_the_open_loops_are_tried_again(tmp_path):
    adapt(TASK, Learner(failing={(2, 0), (0, 1)}), loops(1, 2, 3), tmp_path)
    student = Learner()
    for _ in range(2):  # the second time, nothing is open
        found = adapt(TASK, student, loops(1, 2, 3), tmp_path, retry_errors=True)
        assert [one.n_unscored for one in found] == [0, 0, 0]
        assert found[-1].gains == (1, 1, 1, 0)
        assert student.trained == 3  # a question of the base was open, so all were
    assert not list(tmp_path.rglob("adapter"))


def test_another_loop_with_the_name_of_an_earlier_one_starts_anew(tmp_path):
    first, *_ = loops(1)
    for changed in (
        replace(first, records=[RECORD] * 2),
        replace(first, questions=first.questions[:2]),
        replace(first, seed=8),
    ):
        adapt(TASK, Learner(), [first], tmp_path)
        student = Learner()
        (found,) = adapt(TASK, student, [changed], tmp_path)
        assert student.trained == 1
        assert (found.n_records, len(found.answers)) == (
            len(changed.records),
            len(changed.questions),
        )


def test_another_trainer_of_the_student_trains_again(tmp_path):
    student = Learner()
    for rate in (1e-3, 1e-2):
        student.trainer = InProcessTrainer(learning_rate=rate)
        adapt(TASK, student, loops(1), tmp_path)
    assert student.trained == 2


def test_loops_are_told_apart(tmp_path):
    with pytest.raises(ConfigurationError, match="loops"):
        adapt(TASK, Learner(), loops(1, 1), tmp_path)
    other = InnerLoop("other", [question(0, "no")], [RECORD])
    with pytest.raises(InvalidInstanceError, match="have the id 'q0'"):
        adapt(TASK, Learner(), [*loops(1), other], tmp_path)
    own = InnerLoop("own", TASK.instances, [RECORD], trainer=InProcessTrainer())
    with pytest.raises(ConfigurationError, match="no attribute `trainer`"):
        adapt(TASK, Learner(), [own], tmp_path)


def test_a_real_student_learns_each_edit_from_its_base_with_the_options_of_the_edit(
    tiny_student, tmp_path
):
    trainer = InProcessTrainer(threads=1, num_train_epochs=12, lora_rank=8, learning_rate=2e-2)
    student = InProcessPredictor(tiny_student, trainer, threads=1)
    assert can(student, "train_each", "predict_each")
    learned = [SupervisedDatum(instruction=i.instruction, output=i.answer) for i in TASK.instances]
    short = trainer_with(trainer, {"num_train_epochs": 1.0, "learning_rate": 1e-6})
    edits = [
        InnerLoop("taught", TASK.instances, learned),
        InnerLoop("barely", TASK.instances, learned, trainer=short),
        InnerLoop("nothing", TASK.instances, ()),
    ]
    taught, barely, nothing = adapt(TASK, student, edits, tmp_path / "a")
    assert (taught.baseline_accuracy, taught.adapter_accuracy) == (0.0, 1.0)
    assert (barely.adapter_accuracy, nothing.gain) == (0.0, 0.0)
    assert (
        "learning_rate: 1.0e-06" in next((tmp_path / "a/barely").rglob("training.yaml")).read_text()
    )
    assert student._student.folder is None

    class OneByOne:
        """The same student without `AblePredictor`."""

        trainer = student.trainer

        def __getattr__(self, name):
            if name in ("train_each", "predict_each"):
                raise AttributeError(name)
            return getattr(student, name)

    # learned one after another, the answers are the same
    again = adapt(TASK, OneByOne(), edits[::2], tmp_path / "b")
    assert again == [taught, nothing]
    kept = json.loads(next((tmp_path / "b/taught").rglob("adapted.json")).read_text())
    assert kept["n_records"] == 4

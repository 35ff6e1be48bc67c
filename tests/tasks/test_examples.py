"""Worked examples in front of the student's problems."""

import json

import pytest
import yaml

from dataenvgym.domains.math.task import MathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ChatDatum, Message, SupervisedDatum
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.tasks.examples import examples_of, record_with_examples
from tests import fakes

SHOTS = {
    "prefix": "Solved:\n",
    "template": "Q: {instruction}\nA: {answer}\n",
    "suffix": "Q: ",
    "examples": [
        {"instruction": "How much is 2 + 3?", "answer": "{instruction} #### 5"},
        {"instruction": "Name a prime above 20.", "answer": "#### 23"},
        {"instruction": "Sort 3 1 2 upwards.", "answer": "#### 1 2 3"},
    ],
}


class Student(fakes.Student):
    """A student that could be trained."""

    has_learned = False

    def train(self, *given): ...

    save = load = reset = train

    def __init__(self):
        super().__init__(lambda text, sampling: "#### 5")


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "problems.jsonl"
    file.write_text(json.dumps({"question": "How much is 1 + 4?", "answer": "5"}))
    return {"validation": file}


def test_the_base_student_reads_examples_and_a_student_that_learned_does_not(source):
    student = Student()
    task = MathTask(source, examples=SHOTS, template="{instruction} Answer!")
    (completed,) = task.evaluate(student)
    student.has_learned = True
    task.evaluate(student)
    shown, plain = student.asked
    assert plain == "How much is 1 + 4? Answer!"
    assert shown == (
        "Solved:\nQ: How much is 2 + 3?\nA: {instruction} #### 5\nQ: Name a prime above 20.\n"
        f"A: #### 23\nQ: Sort 3 1 2 upwards.\nA: #### 1 2 3\nQ: {plain}"
    )
    assert completed.was_correct
    assert completed.transcript[0].content == plain  # what is stored has no examples
    record = SupervisedDatum(instruction="1 + 1", output="#### 2")
    assert task.as_trained([record]) == [record]


def test_examples_that_are_always_shown_are_in_training_records_too(source):
    task = MathTask(source, examples=SHOTS, examples_for="always")
    student = Student()
    student.has_learned = True
    task.evaluate(student)
    record = SupervisedDatum(instruction="How much is 1 + 4?", output="#### 5")
    (trained,) = task.as_trained([record])
    assert trained.instruction == student.asked[0] != record.instruction


def test_only_the_first_question_of_a_conversation_has_examples_before_it():
    shots = examples_of(SHOTS)
    talk = [Message(role=r, content=c) for r, c in (("user", "a"), ("assistant", "b")) * 2]
    shown = record_with_examples(ChatDatum(messages=talk), shots)
    first, *others = (m.content for m in shown.messages)
    assert (first[:7], first[-1], others) == ("Solved:", "a", ["b", "a", "b"])
    earlier = SupervisedDatum(instruction="c", output="d", history=[("a", "b")])
    shown = record_with_examples(earlier, shots)
    assert shown.history[0][0].startswith("Solved:")
    assert shown.instruction == "c"


def test_the_nearest_examples_are_shown_the_most_similar_one_last():
    pytest.importorskip("bm25s")
    shots = examples_of(SHOTS | {"nearest": 2})
    shown = shots.before("Which prime is above 30? Sort upwards: prime")
    assert "2 + 3" not in shown
    assert shown.index("Sort 3 1 2") < shown.index("Name a prime")
    assert shots.before("?!") == shots.before("?!")
    numbers = examples_of(
        {"nearest": 1, "examples": [{"instruction": "2 + 3", "answer": n} for n in "56"]}
    )
    assert numbers.before("How much is 2 + 3?") == "2 + 3\n5\n\n"  # no words to compare


def test_a_file_is_read_by_its_path_and_ours_by_their_names(tmp_path, source):
    (tmp_path / "shots.yaml").write_text(yaml.safe_dump(SHOTS))
    assert examples_of(tmp_path / "shots.yaml") == examples_of(SHOTS)
    for name in options_by_group()["examples"]:
        assert all(e.answer for e in examples_of(name).examples)
    config = compose(["+examples@task.examples=math"])
    assert examples_of(dict(config.task.examples)) == examples_of("math")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mathh", "Did you mean 'math'"),
        ({"examples": []}, "examples"),
        (SHOTS | {"template": "{instruction}"}, "answer"),
        (SHOTS | {"shots": 3}, "shots"),
    ],
)
def test_examples_that_cannot_be_shown_are_refused(given, said, source):
    with pytest.raises(ConfigurationError, match=said):
        MathTask(source, examples=given)


def test_a_student_that_does_not_say_whether_it_has_learned_is_refused(source):
    student = Student()
    student.has_learned = None
    with pytest.raises(ConfigurationError, match="whether"):
        MathTask(source, examples=SHOTS).evaluate(student)
    assert MathTask(source, examples=SHOTS, examples_for="always").evaluate(student)

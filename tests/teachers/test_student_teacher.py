"""The student as its own teacher."""

from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TeacherInterface, TrainingRun
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_teacher
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.teachers import StudentTeacher
from dataenvgym.teachers.budget import read_usage
from dataenvgym.teachers.teacher_log import read_calls
from tests.fakes import Student
from tests.teachers.conftest import say

GREEDY = SamplingParameters(max_tokens=4)
WARM = SamplingParameters(max_tokens=8, temperature=1.0, seed=3)
SCHEMA = GREEDY.model_copy(update={"json_schema": {"type": "object"}})


class Noting(ScriptedPredictor):
    """Notes what it is asked, and how."""

    def __init__(self, answer: Any = lambda c: c[-1].content, *, takes_schema: bool = True):
        super().__init__(answer)
        self.takes_schema = takes_schema
        self.asked: list[tuple[list[str], SamplingParameters]] = []

    def predict(self, conversations: Any, sampling: SamplingParameters) -> list[Reply | Failure]:
        if sampling.json_schema is not None and not self.takes_schema:
            raise ConfigurationError("json_schema is set")
        self.asked.append(([c[-1].content for c in conversations], sampling))
        return super().predict(conversations, sampling)


def test_the_student_answers_in_batches_and_in_order(tmp_path):
    student = Noting()
    teacher = StudentTeacher(student, batch_size=4, directory=tmp_path)
    assert isinstance(teacher, TeacherInterface)
    replies = teacher.ask([say(i) for i in range(10)], GREEDY, purpose="records")
    assert replies == [Reply(text=str(i)) for i in range(10)]
    assert [len(texts) for texts, _ in student.asked] == [4, 4, 2]
    assert [c.reply for c in read_calls(tmp_path)] == [str(i) for i in range(10)]
    assert {c.model for c in read_calls(tmp_path)} == {"student"}
    usage = read_usage(tmp_path)
    assert (usage.requests, usage.uncounted, usage.cost) == (10, 10, None)


def test_a_student_that_takes_no_schema_is_asked_without_it():
    student = Noting(takes_schema=False)
    teacher = StudentTeacher(student)
    for _ in range(2):
        assert teacher.ask([say("a")], SCHEMA, purpose="records") == [Reply(text="a")]
    assert [s.json_schema for _, s in student.asked] == [None, None]
    willing = Noting()
    StudentTeacher(willing).ask([say("a")], SCHEMA, purpose="records")
    assert willing.asked[0][1].json_schema == {"type": "object"}


def test_samples_of_one_question_are_drawn_with_seeds_of_their_own():
    student = Noting()
    teacher = StudentTeacher(student)
    teacher.ask([say("a"), say("b"), say("a"), say("a")], WARM, purpose="records")
    by_seed = {sampling.seed: texts for texts, sampling in student.asked}
    assert len(by_seed) == 3
    assert by_seed[WARM.seed] == ["a", "b"]


def test_a_student_that_has_learned_is_another_one_for_the_cache(tmp_path):
    student = Noting()
    student.answer = lambda c: f"after {student.trainings} trainings"

    def ask() -> str:
        teacher = StudentTeacher(student, cache=tmp_path / "cache")
        (reply,) = teacher.ask([say("a")], GREEDY, purpose="records")
        return reply.text

    assert [ask(), ask()] == ["after 0 trainings"] * 2
    assert len(student.asked) == 1
    run = TrainingRun(directory=tmp_path / "run")
    run.directory.mkdir()
    student.train([], run)
    assert [ask(), ask()] == ["after 1 trainings"] * 2
    student.reset()
    assert ask() == "after 0 trainings"
    assert len(student.asked) == 2


def test_a_cache_needs_a_student_that_says_who_it_is():
    with pytest.raises(ConfigurationError, match="Student"):
        StudentTeacher(Student("?"), cache="somewhere")
    assert StudentTeacher(Student("?")).ask([say("a")], GREEDY, purpose="p") == [Reply(text="?")]


def test_a_real_student_teaches_itself(tiny_student, tmp_path):
    config = compose(["teacher=student", f"teacher.cache={tmp_path / 'cache'}"])
    student = InProcessPredictor(tiny_student, threads=1)
    teacher = build_teacher(config, student, tmp_path / "run")
    assert isinstance(teacher, StudentTeacher)
    sampling = WARM.model_copy(update={"json_schema": {"type": "object"}})
    asked = [say("hello"), say("hello"), say("you"), say("x" * 500)]
    outcomes = teacher.ask(asked, sampling, purpose="records")
    assert [type(o) for o in outcomes] == [Reply, Reply, Reply, Failure]
    assert outcomes[0] != outcomes[1]
    free = sampling.model_copy(update={"json_schema": None})
    assert outcomes[0] == student.predict([say("hello")], free)[0]
    assert teacher.ask(asked[:3], sampling, purpose="records") == outcomes[:3]
    usage = read_usage(tmp_path / "run")
    assert (usage.requests, usage.cached, usage.failed) == (4, 3, 1)

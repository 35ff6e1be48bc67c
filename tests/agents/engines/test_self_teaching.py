from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import Assignment, RejectionSamplingEngine, SelfConsistencyEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.interfaces import Failure
from dataenvgym.records import Message, TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Outcome, Task, TaskEnvironment
from dataenvgym.tasks.adapted_task import task_of
from tests.fakes import Student


def student_of(task: PocketMathTask, say) -> Student:
    """Replies with `say(problem, sample)`; samples are numbered 0 to 7 in turn."""
    gold = golds(task)
    student = Student(lambda question, _: say(gold[question], (len(student.rounds) - 1) % 8))
    return student


def golds(task: PocketMathTask) -> dict[str, TaskInstance]:
    return {i.instruction: i for i in task.on("train").instances}


@pytest.fixture(scope="module")
def task():
    return PocketMathTask(n_train=400)


def generate(engine, student, *plan: Assignment, seed: int = 0):
    return engine.generate(plan, student, np.random.default_rng(seed))


def mostly(n_right: int):
    """Right in so many of the eight samples, and each time wrong in another way."""
    return lambda p, sample: f"#### {p.answer if sample >= 8 - n_right else 990 + sample}"


# --- self-consistency ---------------------------------------------------------------------------


def test_the_students_most_frequent_answer_becomes_the_record(task):
    student = student_of(task, mostly(6))
    records = generate(SelfConsistencyEngine(task), student, Assignment(20, skill="reversed"))
    assert len(records) == 20
    for record in records:
        problem = golds(task)[record.instruction]
        assert record.output == f"#### {problem.answer}"
        assert record.provenance.skill == problem.skill == "reversed"
    assert len({s.seed for s in student.samplings}) == 8
    assert {s.temperature for s in student.samplings} == {1.0}


def failing_thrice(problem, sample):
    return Failure(reason="timeout") if sample < 3 else f"#### {problem.answer}"


@pytest.mark.parametrize(
    ("say", "options", "n_records"),
    [
        (mostly(5), {}, 0),  # too few agree
        (mostly(6), {}, 3),
        (failing_thrice, {}, 0),  # failed calls have no vote
        (failing_thrice, {"agreement": 0.6}, 3),
        (lambda p, sample: "#### 7777", {}, 3),  # a common error, for gold is not read
    ],
)
def test_a_majority_is_learned_if_it_is_neither_too_small_nor_too_large(
    task, say, options, n_records
):
    student = student_of(task, say)
    records = generate(SelfConsistencyEngine(task, **options), student, Assignment(3))
    assert len(records) == n_records
    assert len(student.rounds) <= 8 * 4


def test_replies_without_a_readable_answer_are_compared_as_a_whole(task):
    class Unread:
        """Makes the same problems, and tells nothing of answers."""

        on, make_environment, sampling = task.on, task.make_environment, task.sampling

    student = student_of(task, lambda p, sample: "yes " if sample < 6 else f"no {sample}")
    records = generate(SelfConsistencyEngine(task_of(Unread())), student, Assignment(3))
    assert [r.output for r in records] == ["yes "] * 3


# --- rejection sampling -------------------------------------------------------------------------


def test_a_right_answer_becomes_the_record_even_if_it_is_rare(task):
    engine = RejectionSamplingEngine(task)
    assert generate(engine, student_of(task, mostly(0)), Assignment(9)) == []
    records = generate(engine, student_of(task, mostly(1)), Assignment(20, skill="sum"))
    assert len(records) == 20
    assert all(r.output == f"#### {golds(task)[r.instruction].answer}" for r in records)


# --- both ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SelfConsistencyEngine, RejectionSamplingEngine])
def test_a_plan_gets_its_skills_and_no_problem_twice_ever(task, kind):
    engine, student = kind(task), student_of(task, mostly(8))
    plan = (Assignment(8, skill="sum"), Assignment(5, skill="gone"), Assignment(30))
    first = generate(engine, student, *plan)
    assert Counter(r.provenance.skill for r in first)["sum"] >= 8
    assert len(first) == 38
    resumed = kind(task)
    resumed.load_state_dict(engine.state_dict())
    for again in (engine, resumed):
        second = generate(again, student, Assignment(500))
        assert len(second) == 400 - len(first)
        assert not {r.instruction for r in first} & {r.instruction for r in second}


# --- several turns ------------------------------------------------------------------------------


class Guessing(TaskEnvironment):
    """The student guesses a number in two tries; the reply is "higher" or "lower"."""

    max_turns = 2

    def respond(self, instance, conversation):
        guess, gold = int(conversation[-1].content), int(instance.answer)
        hint = Message(role="user", content="higher" if guess < gold else "lower")
        right = guess == gold
        return Outcome(() if right else (hint,), float(right), done=right, was_correct=right)


class GuessTask(Task):
    name = "guess"

    def load(self, split):
        return [
            TaskInstance(id=f"{split}{n}", task="guess", instruction=f"{split} {n}?", answer=str(n))
            for n in (5, 7)
        ]

    def make_environment(self):
        return Guessing()


@pytest.mark.parametrize("kind", [SelfConsistencyEngine, RejectionSamplingEngine])
def test_records_have_all_turns_of_the_try(kind):
    student = ScriptedPredictor(lambda c: "7" if c[-1].content == "higher" else "5")
    records = generate(kind(GuessTask(), samples=2), student, Assignment(2))
    five, seven = sorted(records, key=lambda r: r.kind, reverse=True)
    assert (five.kind, five.output) == ("supervised", "5")
    assert [m.content for m in seven.messages] == ["train 7?", "5", "higher", "7"]

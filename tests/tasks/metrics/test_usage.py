"""What an evaluation took, by speaker: kept, summed up, and neither lost nor counted twice."""

import pytest

from dataenvgym.interfaces import Ask, Failure, Reply, SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.records.usage import NOTHING, Usage
from dataenvgym.tasks import Outcome, Task, TaskEnvironment
from dataenvgym.tasks.judging import RubricJudge
from dataenvgym.tasks.metrics import (
    EvaluationFiles,
    draw_samples,
    judge_samples,
    parse_metrics,
    rescore_folder,
)
from dataenvgym.tasks.metrics.results import completed_of
from dataenvgym.tasks.metrics.usage import read_costs, usage_of, write_costs
from dataenvgym.teachers import StudentTeacher
from tests.fakes import Teacher

TOOK = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.25}
ONE = Usage(**TOOK, seconds=None)


class Counting:
    """Says "5", or fails; a reply has tokens and a price."""

    def __init__(self, fails=lambda n: False):
        self.n = 0
        self.fails = fails

    def predict(self, conversations, sampling):
        return [self.answer() for _ in conversations]

    def answer(self):
        self.n += 1
        return Failure(reason="away") if self.fails(self.n) else Reply(text="5", **TOOK)

    def describe(self):
        return {}


class AsksUser(TaskEnvironment):
    """Asks the user once, and is solved."""

    def respond(self, instance, conversation):
        yield Ask("user", conversation[:-1])
        return Outcome(was_correct=True, reward=1.0)


class Asking(Task):
    name = "asking"

    def load(self, split):
        return [TaskInstance(id=f"{n}", task="t", instruction=f"{n}?") for n in range(4)]

    def make_environment(self):
        return AsksUser(others=self.others)


@pytest.fixture
def files(tmp_path):
    return EvaluationFiles(tmp_path / "e", chunk=2)


def drawn(files, user, samples=1, student=None, **options):
    warm = SamplingParameters(temperature=float(samples > 1))
    task = Asking(others={"user": user}, sampling=warm)
    draw_samples(files, task, student or Counting(), task.instances, samples, **options)
    return write_costs(files, samples)


def times(n):
    return sum([ONE] * n, NOTHING)


def test_several_samples_of_a_problem_are_added_up(files):
    found = drawn(files, Counting(), samples=3)
    assert found.speakers == {"student": times(12), "user": times(12)}
    assert found.problems == {str(n): {"student": times(3), "user": times(3)} for n in range(4)}
    assert write_costs(files, 1).speakers == {"student": times(4), "user": times(4)}
    assert read_costs(files.directory).speakers["user"] == times(4)
    assert usage_of(files, 3).tokens_each == 2


def test_a_sample_that_was_drawn_again_has_the_costs_of_its_last_try(files):
    first = drawn(files, Counting(lambda n: n == 2))
    assert first.speakers == {"student": times(4), "user": times(3)}
    assert first.problems["1"] == {"student": ONE}  # what it took until the user failed
    again = drawn(files, Counting(), retry_errors=True)
    assert again.speakers == {"student": times(4), "user": times(4)}
    assert drawn(files, Counting()) == again


def test_replies_from_a_cache_are_counted_as_at_first_and_once(files, tmp_path):
    def teacher(model):
        price = {"prompt": 1e6, "completion": 0.0}
        return StudentTeacher(model, cache=tmp_path / "cache", price=price)

    whole = drawn(files, teacher(model := Counting()))
    assert (model.n, whole.speakers["user"].cost) == (4, 40.0)
    files.part(0, 1).unlink()  # as if it had been killed before it was written
    assert drawn(files, teacher(model := Counting())) == whole
    assert model.n == 0


def test_the_costs_of_an_evaluation_with_a_lost_file_of_usage_are_unknown(files):
    assert drawn(files, Counting()) is not None
    (files.directory / "usage" / "000-0000.json").unlink()
    assert drawn(files, Counting()) is None
    assert read_costs(files.directory) is None


def test_judges_that_are_asked_afterwards_are_counted_once_also_if_they_cannot_be_read(files):
    def says(text, sampling):
        took = {**TOOK, "cost": None} if "3?" in text else TOOK
        is_vague = "2?" in text or "not a verdict" in text
        return Reply(text="Hm." if is_vague else '{"reason": "so", "score": 4}', **took)

    costs = drawn(files, Counting())

    def judged(say):
        graders = {"a": Teacher(say), "b": Teacher(say)}
        judge = RubricJudge(graders, retries=1)
        found = judge_samples(files, judge, completed_of(files, 1), 1)
        return write_costs(files, 1, found.costs)

    found = judged(says)
    assert {problem: one["judge"].prompt_tokens for problem, one in found.problems.items()} == {
        "0": 20, "1": 20, "2": 40, "3": 20,
    }  # fmt: skip
    assert found.problems["3"]["judge"].cost is found.speakers["judge"].cost is None
    assert found.problems["2"]["judge"].cost == 1.0
    assert {who: usage for who, usage in found.speakers.items() if who != "judge"} == costs.speakers
    again = judged(lambda text, sampling: Reply(text='{"reason": "so", "score": 4}', **TOOK))
    assert again.problems["2"]["judge"] == times(6)  # two unreadable replies of each, and a verdict
    assert {**again.problems, "2": {}} == {**found.problems, "2": {}}
    assert judged(says) == again


def test_samples_that_are_judged_again_have_costs_of_those_that_were_asked_again(files):
    drawn(files, Counting(lambda n: n == 2))
    task = Asking(others={"user": Counting()})
    again = rescore_folder(files, task, parse_metrics(["accuracy"], 1), 1)
    found = read_costs(again.directory)
    assert found.speakers == {"user": times(4)}  # not the student, whose messages are replayed
    assert found.problems["1"] == {"user": ONE}

"""A teacher as a speaker of a conversation: it keeps its cache, its budget and its transcript."""

import pytest

from dataenvgym.errors import BudgetSpentError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message, TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Ask, Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.teachers import Teacher
from dataenvgym.teachers.teacher_log import read_calls

INSTANCES = [TaskInstance(id=f"i{k}", task="t", instruction=f"Say {k}") for k in range(40)]
DRAWN = SamplingParameters(temperature=1.0, max_tokens=9)


class Judged(TaskEnvironment):
    def respond(self, instance, conversation):
        verdict = yield Ask("judge", (Message(role="user", content=instance.instruction),), DRAWN)
        return Outcome(was_correct=verdict.text == instance.instruction)


class Thrifty(TaskEnvironment):
    """Pays for the words and the price of its helper."""

    def respond(self, instance, conversation):
        reply = yield Ask("helper", conversation, DRAWN)
        scores = {"cost": reply.cost, "waited": float(reply.seconds is not None)}
        return Outcome(reward=1.0 - reply.completion_tokens / 100, scores=scores)


def judged_by(teacher):
    student = ScriptedPredictor(lambda conversation: "?")
    sampling = SamplingParameters()
    return rollout(student, INSTANCES, Judged, sampling=sampling, others={"judge": teacher})


def make(server, folder, **options):
    options = {"base_url": server.url, "api_key_variable": None, "concurrency": 40} | options
    return Teacher("m", cache=folder / "cache", directory=folder / "run", **options)


def test_a_judge_is_asked_all_at_once_and_its_calls_are_written_down_and_cached(server, tmp_path):
    teacher = make(server, tmp_path)
    completed = judged_by(teacher)
    assert all(c.was_correct for c in completed)
    calls = list(read_calls(tmp_path / "run"))
    assert {call.purpose for call in calls} == {"judge"}
    assert len({call.sampling.seed for call in calls}) == len(calls) == 40
    assert judged_by(teacher) == completed
    assert (teacher.usage.requests, teacher.usage.cached) == (40, 40)
    assert len(server.requests) == 40


def test_a_judge_whose_budget_is_spent_says_so_to_the_caller(server, tmp_path):
    teacher = make(server, tmp_path, max_requests=10)
    with pytest.raises(BudgetSpentError, match="max_requests"):
        judged_by(teacher)
    assert teacher.usage.requests == 10


def test_a_reward_may_depend_on_what_an_ask_cost_and_is_the_same_from_the_cache(server, tmp_path):
    server.answer(lambda payload: "Sure.", tokens=(30, 20))
    teacher = make(server, tmp_path, price={"prompt": 1000.0, "completion": 10_000.0})
    student = ScriptedPredictor(lambda conversation: "Help!")
    others = {"helper": teacher}
    for waited in (1.0, 0.0):
        (done,) = rollout(student, INSTANCES[:1], Thrifty, sampling=DRAWN, others=others)
        assert (done.error, done.reward) == (None, 0.8)
        assert done.scores == {"cost": pytest.approx(0.23), "waited": waited}
    assert teacher.usage.requests == 1

"""A judge among the speakers of a rollout, read by the same rules."""

import pytest
from pydantic import Field

from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Model, TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.judging import Unscored, judge_ask, panel_ask, question
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.teachers.prompts import Prompt
from tests.tasks.judging.judge_server import verdict

INSTANCES = [TaskInstance(id=f"i{k}", task="t", instruction=f"Say {k}") for k in range(4)]
PROMPT = Prompt(user="How good is this?\n\n{text}")


class Score(Model):
    reason: str
    score: int = Field(ge=0, le=10)


class Judged(TaskEnvironment):
    def respond(self, instance, conversation):
        asked = question(PROMPT, Score, data={"text": conversation[-1].content})
        found = yield from judge_ask(asked, Score)
        if isinstance(found, Unscored):
            raise found.error()
        return Outcome(reward=found.score / 10, was_correct=found.score > 5)


class ByPanel(TaskEnvironment):
    def respond(self, instance, conversation):
        asked = question(PROMPT, Score, data={"text": conversation[-1].content})
        judged = yield from panel_ask(asked, Score, who=("judge", "other"), constrained=False)
        score = judged.score("score", min_judges=1)
        if score is None:
            raise Unscored(judged.unscored["judge"]).error()
        return Outcome(reward=score / 10, scores={"judges": len(judged.verdicts)})


def failing(error):
    def fail(conversation):
        raise error

    return ScriptedPredictor(fail)


GOOD = ScriptedPredictor(lambda conversation: verdict(6))
PROSE = ScriptedPredictor(lambda conversation: "Nice.")
BROKEN, OUT_OF_REACH = failing(RuntimeError("boom")), failing(TimeoutError("slow"))
REFUSED = ScriptedPredictor(lambda conversation: Failure(reason="status 500"))


@pytest.mark.parametrize("bad", [PROSE, BROKEN, OUT_OF_REACH, REFUSED])
@pytest.mark.parametrize("order", [("judge", "other"), ("other", "judge")])
def test_a_panel_is_not_voided_by_one_judge_that_fails(bad, order):
    others = dict(zip(order, (GOOD, bad), strict=True))
    (done, *_) = judged_in(ByPanel, **others)
    assert (done.error, done.reward, done.scores) == (None, 0.6, {"judges": 1.0})
    environment = ByPanel(INSTANCES, others=others)  # and in `step`, without a rollout
    environment.reset(seed=0)
    assert environment.step("fine")[1] == 0.6


@pytest.mark.parametrize(
    ("judge", "other", "fault"),
    [
        (BROKEN, PROSE, "judge"),
        (PROSE, OUT_OF_REACH, "infrastructure"),
        (OUT_OF_REACH, BROKEN, "infrastructure"),
        (GOOD, None, "infrastructure"),  # it is missing, which is not a failed call
    ],
)
def test_a_panel_without_a_verdict_is_an_error_of_its_judge_or_of_the_infrastructure(
    judge, other, fault
):
    others = {"judge": judge} | ({} if other is None else {"other": other})
    (done, *_) = judged_in(ByPanel, **others)
    assert done.error is not None
    assert done.fault == fault


def judged_in(environment, said="fine", **others):
    student = ScriptedPredictor(lambda conversation: said)
    return rollout(student, INSTANCES, environment, sampling=SamplingParameters(), others=others)


def test_a_judge_behind_a_server_is_asked_again_within_the_turn(server, tmp_path):
    server.say = lambda messages: "Great!" if len(messages) == 1 else verdict(8)
    teacher = server.teacher(cache=tmp_path)
    completed = judged_in(Judged, judge=teacher)
    assert {(c.reward, c.was_correct, c.error) for c in completed} == {(0.8, True, None)}
    assert "schema" in str(server.requests[0]["response_format"])


def test_a_verdict_that_never_comes_is_the_judges_fault_and_the_students_own_one_changes_nothing(
    server,
):
    server.say = lambda messages: verdict(99)
    (completed, *_) = judged_in(Judged, judge=server.teacher())
    assert completed.error.startswith("judge: no usable verdict in 3 replies")
    server.say = lambda messages: verdict(2)
    (completed, *_) = judged_in(Judged, said=verdict(10), judge=server.teacher())
    assert completed.reward == 0.2

"""A judge among the speakers of a rollout, read by the same rules."""

from __future__ import annotations

import pytest
from pydantic import Field

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.judging import Unscored, judge_ask, panel_ask, question
from dataenvgym.llm.prompts import Prompt
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import Model, TaskInstance
from dataenvgym.rollouts import rollout
from dataenvgym.tasks import Outcome, TaskEnvironment

from .judge_server import verdict

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
        assert score is not None
        return Outcome(reward=score / 10, scores={"judges": len(judged.verdicts)})


def judged_in(environment, said="fine", **others):
    student = ScriptedPredictor(lambda conversation: said)
    return rollout(student, INSTANCES, environment, sampling=SamplingParameters(), others=others)


def test_a_judge_behind_a_server_is_asked_again_within_the_turn(server, tmp_path):
    server.say = lambda messages: "Great!" if len(messages) == 1 else verdict(8)
    teacher = server.teacher(cache=tmp_path)
    completed = judged_in(Judged, judge=teacher)
    assert {(c.reward, c.was_correct, c.error) for c in completed} == {(0.8, True, None)}
    assert "schema" in str(server.requests[0]["response_format"])


def test_a_verdict_that_never_comes_is_the_judges_fault_and_not_a_wrong_answer(server):
    server.say = lambda messages: verdict(99)
    (completed, *_) = judged_in(Judged, judge=server.teacher())
    assert completed.error is not None
    assert completed.error.startswith("judge: no usable verdict in 3 replies")
    assert (completed.reward, completed.was_correct) == (0.0, False)


def test_a_student_that_writes_its_own_verdict_changes_nothing(server):
    server.say = lambda messages: verdict(2)
    (completed, *_) = judged_in(Judged, said=verdict(10), judge=server.teacher())
    assert completed.reward == 0.2


def test_several_speakers_judge_and_a_bad_one_gives_no_score():
    judge = ScriptedPredictor(lambda conversation: verdict(6))
    prose = ScriptedPredictor(lambda conversation: "Nice.")
    (completed, *_) = judged_in(ByPanel, judge=judge, other=prose)
    assert completed.error is None
    assert completed.scores == {"judges": 1.0}
    assert completed.reward == pytest.approx(0.6)

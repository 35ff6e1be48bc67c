import json

import gymnasium
import pytest

from dataenvgym.domains.knowledge.domain import KnowledgeDomain
from dataenvgym.domains.knowledge.environment import KnowledgeEnvironment
from dataenvgym.domains.knowledge.pocket import make_default
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from dataenvgym.tasks.domain import solves


def instance(answer="Denver Broncos", **data):
    return TaskInstance(
        id="1", task="t", instruction="Topic: Super Bowl 50\nWho won?", answer=answer, data=data
    )


def tried(reply, found=None, **options):
    """The last step of one try."""
    environment = KnowledgeEnvironment(**options)
    environment.reset(seed=0, options={"instance": found or instance()})
    _, reward, _, _, info = environment.step(reply)
    return reward, info


class One(Task):
    """A task with one problem, graded by a judge."""

    name = "one"

    def load(self, split):
        return [instance()]


def judged(answer, judge):
    """The completed instance if the student says `answer`, and the number of questions."""
    asked = []

    def say(conversation):
        asked.append(conversation[-1].content)
        return judge(conversation)

    domain = KnowledgeDomain(graded_by="judge")
    others = {"judge": ScriptedPredictor(say)}
    (done,) = One(domain=domain, others=others).evaluate(ScriptedPredictor(lambda _: answer))
    return done, asked


def verdict(is_right):
    return json.dumps({"reason": "so it is", "is_right": is_right})


@pytest.mark.parametrize(
    ("reply", "reward", "f1"),
    [("The Denver Broncos.", 1.0, 1.0), ("Broncos", 0.0, 2 / 3), ("", 0.0, 0.0), ("a", 0.0, 0.0)],
)
def test_the_reward_is_exact_match_and_f1_is_a_score(reply, reward, f1):
    found, info = tried(reply)
    assert (found, info["was_correct"]) == (reward, reward)
    assert info["scores"] == {"f1": pytest.approx(f1)}


def test_thoughts_are_not_part_of_an_answer():
    reply = "<think>Denver or Carolina?</think>\nThe Denver Broncos"
    assert solves(KnowledgeDomain(), instance(), reply) == tried(reply)[0] == 1.0
    assert KnowledgeDomain().answer_class(instance(), reply) == "denver broncos"


@pytest.mark.parametrize("bad", [instance(answer=None), instance(answers=["x", 3])])
def test_an_instance_without_readable_answers_is_refused(bad):
    with pytest.raises(InvalidInstanceError, match=r"no gold answer|answers\.1"):
        tried("x", bad)


def test_the_judge_decides_and_exact_match_is_a_score():
    done, (asked,) = judged("The team from Denver", lambda _: verdict(True))
    assert (done.was_correct, done.reward, done.error) == (True, 1.0, None)
    assert done.scores == {"f1": pytest.approx(0.4), "exact_match": 0.0}
    for text in ("Who won?", "Denver Broncos", "The team from Denver"):
        assert text in asked
    done, _ = judged("Denver Broncos", lambda _: verdict(False))
    assert not done.was_correct
    assert done.scores["exact_match"] == 1.0


def test_an_empty_answer_is_wrong_and_the_judge_is_not_asked():
    done, asked = judged(" \n", lambda _: verdict(True))
    assert (done.was_correct, done.error, asked) == (False, None, [])


@pytest.mark.parametrize("judge", [lambda _: Failure(reason="busy"), lambda _: Reply(text="yes")])
def test_a_failed_judge_gives_no_score_and_is_counted(judge):
    done, asked = judged("Denver", judge)
    assert done.error is not None
    assert done.fault == "judge"
    assert asked


def test_gold_answers_that_no_answer_can_match_are_named():
    right, wrong = KnowledgeDomain().gold_errors([instance(), instance(answer="The")])
    assert right is None
    assert "no word that counts" in wrong


def test_the_environment_has_an_id_and_problems():
    assert "dataenvgym/Knowledge-v0" in gymnasium.registry
    environment = make_default()
    conversation, _ = environment.reset(seed=0)
    assert conversation[-1].content
    assert environment.step("no idea")[1] == 0.0

"""Required information that a judge finds said, in whatever words."""

import json

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Failure, Reply
from tests.domains.tool_use.phone_world import SET, Phone, begun, domain, instance, say
from tests.tasks.rollouts.fakes import Predictor

WANTED = ["the plan is the large one", "it lasts a year"]


def problem(name="i", **data):
    said = {"basis": ["state", "said"], "said": WANTED, "said_by": "judge"}
    return instance(name, **said, **data)


def found(*was_said):
    things = [{"number": n, "reason": "r", "was_said": w} for n, w in enumerate(was_said, 1)]
    return json.dumps({"things": things})


def judge(*replies):
    left = list(replies)
    return Predictor(lambda c: left.pop(0))


@pytest.mark.parametrize("said", [(True, True), (True, False)])
def test_a_judge_decides_what_was_said_and_the_basis_is_still_multiplied(said):
    asked = []

    def answer(conversation):
        asked.append(conversation[-1].content)
        return Reply(text=found(*said))

    environment = begun(problem(), {"judge": Predictor(answer)})
    environment.step(say(SET, words="Let me see."))
    _, reward, done, _, info = environment.step("Large, for twelve months.")
    assert (reward, done) == (float(all(said)), True)
    assert info["scores"] == {"state": 1.0, "said": float(all(said))}
    assert "[1] assistant:\n    Let me see.\n[2] assistant:\n    Large, for twelve" in asked[0]
    assert "2. it lasts a year" in asked[0]
    assert len(asked) == 1


@pytest.mark.parametrize("reply", ["Yes, all of it!", found(True), found(True, True, True)])
def test_a_judge_that_does_not_decide_each_thing_is_asked_again_and_then_at_fault(reply):
    replies = [Reply(text=reply)] * 3
    environment = begun(problem(), {"judge": judge(*replies, Reply(text=found(True, True)))})
    environment.step(say(SET))
    with pytest.raises(SpeakerError, match="usable") as raised:
        environment.step("Large, for a year.")
    assert raised.value.fault == "judge"
    assert environment.step("Large, for a year.")[1] == 1.0  # the environment was as before


def test_a_scripted_user_is_where_it_was_after_a_judge_that_failed():
    script = {
        "kind": "script",
        "states": {"a": [{"say": "More?", "then": "b"}], "b": [{"say": "Bye.", "stop": True}]},
    }
    fails = judge(Failure(reason="gone"), Reply(text=found(True, True)))
    environment = begun(problem(user=script), {"judge": fails})
    environment.step(say(SET))
    assert environment.step("Large.")[0][-1].content == "More?"
    with pytest.raises(SpeakerError, match="judge: gone"):
        environment.step("A year.")
    conversation, reward, done, *_ = environment.step("A year.")
    assert (conversation[-1].content, reward, done) == ("Bye.", 1.0, True)


def test_a_silent_student_is_not_judged():
    environment = begun(problem(), {"judge": judge()})
    environment.step(say(SET))
    assert environment.step(" ")[4]["scores"] == {"state": 1.0, "said": 0.0}


def test_problems_with_a_judge_have_no_gold_conversation():
    made = domain()
    assert made.gold_record(problem()) is None
    assert made.gold_record(instance(basis=["state", "said"], said=["large"])) is not None


@pytest.mark.usefixtures("one_process")
def test_an_audit_asks_no_judge_and_wants_it_said_to_the_letter():
    by_text = instance(basis=["state", "said"], said=WANTED)
    for gold in ([SET], []):
        one, other = (
            p.model_copy(update={"data": {**p.data, "gold": gold}}) for p in (problem(), by_text)
        )
        assert audit(Phone(), [one]).violations == audit(Phone(), [other]).violations
    assert "gold" not in {v.check for v in audit(Phone(), [problem()]).violations}

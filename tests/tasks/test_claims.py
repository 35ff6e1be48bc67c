import pytest

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
)
from dataenvgym.tasks.claims import Claim, all_hold, claims_of


def test_each_kind_of_record_makes_its_claims():
    asked = {"instruction": "q", "system": "s"}
    assert [(c.question, c.answer, c.is_right) for c in claims_of(
        PreferenceDatum(**asked, chosen="a", rejected="b")
    )] == [("q", "a", True), ("q", "b", False)]  # fmt: skip
    (claim,) = claims_of(KTODatum(**asked, output="a", desirable=False))
    assert (claim.answer, claim.is_right, len(claim.prompt)) == ("a", False, 2)
    assert claims_of(SupervisedDatum(instruction="q", input="i", output="a"))[0].question == "q\ni"
    assert claims_of(TextDatum(text="q a")) == ()


def test_a_chat_claims_its_last_answer_unless_tools_are_called():
    user, said = Message(role="user", content="q"), Message(role="assistant", content="a")
    call = Message(role="assistant", content="", tool_calls=(ToolCall(name="t", arguments={}),))
    result = Message(role="tool", content="r")
    (claim,) = claims_of(ChatDatum(messages=(user, said, user, said), system="s"))
    assert [m.role for m in claim.prompt] == ["system", "user", "assistant", "user"]
    assert claims_of(ChatDatum(messages=(user, call, result, said))) == ()


def test_a_preference_for_a_turn_of_a_conversation_claims_nothing():
    turns = tuple(Message(role=r, content="q") for r in ("user", "assistant", "user"))
    assert claims_of(PreferenceDatum(messages=turns, chosen="a", rejected="b")) == ()


@pytest.mark.parametrize(
    ("gives_right", "is_right", "holds"),
    [
        (True, True, True),
        (False, True, False),
        (True, False, False),
        (False, False, True),
        (None, True, None),
        (None, False, None),
    ],
)
def test_a_claim_about_an_answer_is_checked_against_the_verdict(gives_right, is_right, holds):
    prompt = (Message(role="user", content="q"),)
    assert Claim(prompt, "a", is_right).holds(gives_right) is holds


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [([], None), ([True, True], True), ([True, None], None), ([None, False], False)],
)
def test_all_claims_have_to_hold(verdicts, together):
    assert all_hold(verdicts) is together

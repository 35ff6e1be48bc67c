"""Mistakes of a student: each gets a short message, and changes nothing."""

import json

import pytest
from gymnasium.error import ResetNeeded

from dataenvgym.domains.tool_use.environment import MOST_CALLS
from dataenvgym.errors import InvalidActionError

from .phone_world import READ, SET, begun, instance, say


def call(name="set_plan", **arguments):
    return say({"name": name, "arguments": arguments})


BAD = {
    "unknown tool": (call("fly"), "there is no tool 'fly'"),
    "unknown tool of a megabyte": (call("x" * 2**20), "there is no tool"),
    "the user's tool": (call("switch_data", on=True), "there is no tool 'switch_data'"),
    "wrong type": (call(account="acc_7", plan=5), "argument 'plan' is 5"),
    "text for a number": (call(account="acc_7", plan="large", months="12"), "argument 'months'"),
    "a bool for a number": (call(account="acc_7", plan="large", months=True), "argument 'months'"),
    "null": (call(account=None, plan="large"), "argument 'account' is None"),
    "an object for text": (call(account="acc_7", plan={"name": "large"}), "argument 'plan' is {"),
    "missing argument": (call(account="acc_7"), "argument 'plan' is missing"),
    "no arguments": (call(), "argument 'account' is missing"),
    "extra argument": (call(account="acc_7", plan="large", color="red"), "no argument 'color'"),
    "refused by the tool": (call(account="acc_8", plan="large"), "there is no account acc_8"),
    "a megabyte of the wrong type": (call(account="acc_7", plan=["x" * 2**20]), "set_plan: "),
    "deep nesting": (call(account="acc_7", plan=json.loads("[" * 90 + "]" * 90)), "set_plan: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_is_answered_by_a_short_message_and_changes_nothing(name):
    text, expected = BAD[name]
    environment = begun(instance())
    state = environment._progress.world.state
    before = state.digest()
    conversation, reward, done, truncated, info = environment.step(text)
    answer = conversation[-1]
    assert answer.role == "tool"
    assert answer.content.startswith("Error: ")
    assert expected in answer.content
    assert len(answer.content) < 300
    assert (reward, done, truncated, info["was_correct"]) == (0.0, False, False, 0.0)
    assert environment._progress.world.state.digest() == before
    environment.step(say(SET))
    assert environment.step("Done.")[1] == 1.0


@pytest.mark.parametrize("action", [None, 7, b"x", ["x"], {"name": "set_plan"}, "\ud800"])
def test_an_action_that_is_not_text_is_refused_and_changes_nothing(action):
    environment = begun(instance())
    with pytest.raises(InvalidActionError):
        environment.step(action)
    environment.step(say(SET))
    assert environment.step("Done.")[1] == 1.0


@pytest.mark.parametrize("last", ["Done.", *[say({"name": "fly"})] * 1])
def test_calls_after_the_end_are_refused(last):
    environment = begun(instance(), max_errors=1)
    environment.step(last)
    with pytest.raises(ResetNeeded):
        environment.step(say(READ))


def test_a_flood_of_calls_is_ended():
    environment = begun(instance())
    conversation, _, done, *_ = environment.step(say(*[READ] * 2_000))
    assert sum(m.role == "tool" for m in conversation) == MOST_CALLS + 5
    assert done

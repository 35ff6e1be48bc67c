"""Mistakes of a student: each gets a short message, and changes nothing."""

import json

import pytest

from tests.domains.tool_use.phone_world import SET, begun, instance, say


def call(name="set_plan", **arguments):
    return say({"name": name, "arguments": arguments})


BAD = {
    "unknown tool": (call("fly"), "there is no tool 'fly'"),
    "unknown tool of a megabyte": (call("x" * 2**20), "there is no tool"),
    "the user's tool": (call("switch_data", on=True), "there is no tool 'switch_data'"),
    "wrong type": (call(account="acc_7", plan=5), "argument 'plan' is 5"),
    "refused by the tool": (call(account="acc_8", plan="large"), "there is no account acc_8"),
    "long integer": (call(account="acc_7", plan=2**64), "set_plan: "),
    "very long integer": (call(account="acc_7", plan=-(10**4000)), "set_plan: "),
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


DEEP = "[" * 100_000
MALFORMED = {
    "cut off": '<tool_call>\n{"name": "set_plan", "arguments": {"account": "acc',
    "no JSON": "<tool_call>\nset_plan(account='acc_7')\n</tool_call>",
    "deep": f'<tool_call>\n{{"name": "set_plan", "arguments": {{"plan": {DEEP}}}}}\n</tool_call>',
    "deep and closed": '<tool_call>\n{"name": "set_plan", "arguments": {"plan": '
    f"{DEEP}{']' * len(DEEP)}}}}}\n</tool_call>",
    "a megabyte": '<tool_call>\n{"name": "' + "x" * 2**20,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_call_is_answered_by_a_short_message_and_counts_as_an_error(name):
    script = {"kind": "script", "states": {"s": [{"say": "Bye.", "stop": True}]}}
    environment = begun(instance(user=script), max_errors=2)
    other = begun(instance())  # among good ones, it is answered too
    results = [
        m.content for m in other.step(f"{say(SET)}\n{MALFORMED[name]}")[0] if m.role == "tool"
    ]
    assert (results[0], results[1][:7]) == ("large for 12 months", "Error: ")
    conversation, _, done, *_ = environment.step(MALFORMED[name])  # the user does not hear it
    assert conversation[-1].role == "tool"
    assert conversation[-1].content.startswith("Error: ")
    assert len(conversation[-1].content) < 300
    assert not done
    _, reward, done, _, info = environment.step(MALFORMED[name])
    assert (reward, done, info["note"]) == (0.0, True, "ended after 2 errors in a row")

"""`ToolUse-v0`: turns, errors and ends."""

import pytest
from gymnasium.utils.env_checker import check_env

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.tool_use.environment import MOST_CALLS
from tests.domains.tool_use.phone_world import READ, SET, begun, domain, instance, say

UNKNOWN = {"name": "fly", "arguments": {}}
OTHER = {"name": "set_plan", "arguments": {"account": "acc_7", "plan": "huge"}}


def contents(conversation, role):
    return [m.content for m in conversation if m.role == role]


def test_several_calls_of_a_message_run_in_order_and_each_has_its_result():
    environment = begun(instance())
    conversation, reward, done, truncated, _ = environment.step(say(READ, SET, UNKNOWN, READ))
    results = contents(conversation, "tool")
    assert ["small" in result for result in results] == [True, False, False, False]
    assert ["large" in result for result in results] == [False, True, False, True]
    assert results[2].startswith("Error: there is no tool 'fly'")
    assert (reward, done, truncated) == (0.0, False, False)


@pytest.mark.parametrize(
    ("options", "messages", "end", "reward", "note"),
    [
        ({}, [say(SET), "It is done."], (True, False), 1.0, None),
        ({"max_turns": 2}, [say(SET), say(READ)], (False, True), 0.0, "cut off after 2 messages"),
        (  # READ ends the row of errors, and SET comes after the last one
            {"max_errors": 3},
            [say(SET, UNKNOWN, UNKNOWN, READ, UNKNOWN), say(UNKNOWN, UNKNOWN, OTHER)],
            (True, False),
            0.0,
            "ended after 3 errors in a row",
        ),
    ],
)
def test_a_conversation_ends_with_words_or_at_a_limit(options, messages, end, reward, note):
    environment = begun(instance(), **options)
    for message in messages:
        _, got, done, truncated, info = environment.step(message)
    assert (got, done, truncated, info["was_correct"]) == (reward, *end, reward)
    assert info["scores"] == {"state": 1.0}  # also at a limit
    assert info.get("note") == note


def test_words_next_to_calls_count_and_reach_the_user():
    script = {
        "kind": "script",
        "states": {"s": [{"asked": ["12 months"], "say": "Bye.", "stop": True}, {"say": "?"}]},
    }
    problem = instance(user=script, basis=["state", "said"], said=["12 months"])
    environment = begun(problem)
    for _ in range(2):  # episodes share no state
        conversation, *_ = environment.step(say(READ, SET, words="This is for 12 months."))
        assert "small" in contents(conversation, "tool")[0]
        _, reward, done, *_ = environment.step("It is done.")
        assert (reward, done) == (1.0, True)
        environment.reset(seed=0, options={"instance": problem})


def test_errors_in_all_can_be_counted_as_tau2_does():
    environment = begun(instance(), max_errors=10, count_errors="total", max_turns=200)
    for _ in range(9):
        assert not environment.step(say(UNKNOWN, READ))[2]
    _, reward, done, _, info = environment.step(say(SET, UNKNOWN))
    assert (reward, done, info["note"]) == (0.0, True, "ended after 10 errors in all")
    environment = begun(instance(), max_errors=10, count_errors="total", max_turns=200)
    ends = [environment.step(say(SET))[1:4] for _ in range(200)]
    assert ends == [(0.0, False, False)] * 199 + [(0.0, False, True)]


def test_calls_beyond_the_most_of_a_message_fail():
    environment = begun(instance(), max_errors=5)
    conversation, _, done, *_ = environment.step(say(*[READ] * (MOST_CALLS + 2)))
    results = contents(conversation, "tool")
    assert len(results) == MOST_CALLS + 2
    assert results[-2:] == ["Error: not run: a message has 100 calls at most"] * 2
    assert not done
    assert environment.step(say(*[READ] * 2_000))[2]


def test_gymnasiums_checker_passes_on_problems_with_users():
    script = {"kind": "script", "states": {"s": [{"say": "And?"}]}}
    problems = [instance("a", "", user=script), instance("b", user=script), instance("c")]
    check_env(domain().make_environment(problems), skip_render_check=True)

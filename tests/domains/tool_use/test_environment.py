"""`ToolUse-v0`: turns, errors and ends."""

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.tool_use.environment import MOST_CALLS
from dataenvgym.errors import ConfigurationError
from dataenvgym.rollouts import rollout
from dataenvgym.tasks.options import LONG_REPLIES

from ...rollouts.fakes import Predictor, Reply, Submitting, both_modes  # noqa: F401
from .phone_world import READ, SET, begun, domain, instance, say

UNKNOWN = {"name": "fly", "arguments": {}}


def contents(conversation, role):
    return [m.content for m in conversation if m.role == role]


def test_several_calls_of_a_message_run_in_order_and_each_has_its_result():
    environment = begun(instance())
    conversation, reward, done, truncated, _ = environment.step(say(READ, SET, UNKNOWN, READ))
    results = contents(conversation, "tool")
    assert [("small" in r, "large" in r) for r in results] == [
        (True, False),
        (False, True),
        (False, False),
        (False, True),
    ]
    assert results[2].startswith("Error: there is no tool 'fly'")
    assert (reward, done, truncated) == (0.0, False, False)


def test_without_a_user_words_are_the_final_answer():
    environment = begun(instance())
    environment.step(say(SET))
    _, reward, done, _, info = environment.step("It is done.")
    assert (reward, done, info["was_correct"]) == (1.0, True, 1.0)
    assert info["scores"] == {"state": 1.0}
    assert "note" not in info


def test_after_the_end_reset_is_needed():
    environment = begun(instance())
    environment.step("No.")
    with pytest.raises(ResetNeeded):
        environment.step(say(SET))
    environment = begun(instance(), max_turns=1)
    assert environment.step(say(READ))[3]
    with pytest.raises(ResetNeeded):
        environment.step(say(SET))


def test_the_users_stop_ends_it_and_the_calls_before_count():
    script = {"kind": "script", "states": {"s": [{"say": "Thanks.", "stop": True}]}}
    environment = begun(instance(user=script))
    environment.step(say(SET))
    conversation, reward, done, *_ = environment.step("Done.")
    assert (conversation[-1].content, reward, done) == ("Thanks.", 1.0, True)


def test_words_next_to_calls_count_and_reach_the_user():
    script = {
        "kind": "script",
        "states": {"s": [{"asked": ["12 months"], "say": "Bye.", "stop": True}, {"say": "?"}]},
    }
    problem = instance(user=script, basis=["state", "said"], said=["12 months"])
    environment = begun(problem)
    environment.step(say(SET, words="This is for 12 months."))
    _, reward, done, *_ = environment.step("It is done.")
    assert (reward, done) == (1.0, True)


def test_the_message_limit_gives_reward_0_and_the_scores_show_fulfilled_components():
    environment = begun(instance(), max_turns=2)
    environment.step(say(SET))
    _, reward, done, truncated, info = environment.step(say(READ))
    assert (reward, done, truncated, info["was_correct"]) == (0.0, False, True, 0.0)
    assert info["scores"] == {"state": 1.0}
    assert info["note"] == "cut off after 2 messages"


def test_errors_in_a_row_end_it_with_reward_0_in_any_case():
    environment = begun(instance(), max_errors=3)
    environment.step(say(SET, UNKNOWN, UNKNOWN, READ, UNKNOWN))
    _, reward, done, _, info = environment.step(say(UNKNOWN, UNKNOWN, READ))
    assert (reward, done, info["was_correct"]) == (0.0, True, 0.0)
    assert info["scores"] == {"state": 1.0}
    assert info["note"] == "ended after 3 errors in a row"


def test_nothing_runs_after_the_last_error():
    environment = begun(instance(), max_errors=1)
    conversation, *_ = environment.step(say(UNKNOWN, SET))
    assert len(contents(conversation, "tool")) == 1


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


@pytest.mark.parametrize(
    "options", [{"max_errors": 0}, {"count_errors": "never"}, {"max_turns": 0}, {"max_turns": 201}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ConfigurationError):
        domain(**options)


def test_episodes_share_no_state():
    one = domain().make_environment()
    for _ in range(2):
        one.reset(seed=0, options={"instance": instance()})
        conversation, *_ = one.step(say(READ, SET))
        assert "small" in contents(conversation, "tool")[0]


def test_gymnasiums_checker_passes_on_problems_with_users():
    script = {"kind": "script", "states": {"s": [{"say": "And?"}]}}
    problems = [instance("a", "", user=script), instance("b", user=script), instance("c")]
    check_env(domain().make_environment(problems), skip_render_check=True)


@pytest.mark.parametrize("make_vector", [SyncVectorEnv, AsyncVectorEnv])
def test_both_vector_kinds_call_tools(make_vector):
    options = {} if make_vector is SyncVectorEnv else {"shared_memory": False}
    vector = make_vector([lambda: gymnasium.make("dataenvgym/ToolUse-v0")] * 2, **options)
    try:
        first, _ = vector.reset(seed=0)
        assert all(c[0].tools for c in first)
        call = say({"name": "find_orders", "arguments": {"customer": "Ann"}})
        conversations, _, done, *_ = vector.step((call, "No."))
        assert conversations[0][-1].role == "tool"
        assert not done[0]
    finally:
        vector.close()


@both_modes
def test_rollouts_have_the_results_of_steps(make):
    def answer(conversation):
        return Reply(text=say(SET) if len(conversation) == 2 else "Done.")

    made = domain()
    problems = [instance(f"i{k}") for k in range(5)]
    completed = rollout(make(answer), problems, made.make_environment, sampling=LONG_REPLIES)
    assert [(c.reward, c.error, c.fault) for c in completed] == [(1.0, None, None)] * 5
    assert completed[0].scores == {"state": 1.0}

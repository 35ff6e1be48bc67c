"""The components of the score."""

import pytest

from dataenvgym.domains.tool_use.components import Ending, score
from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.errors import EvaluationError
from dataenvgym.records import ToolCall
from tests.domains.tool_use.phone_world import READ, SET, SWITCH, Phone


def scored(calls=(), words=(), **data):
    problem = ToolUseProblem.model_validate({"world": "phone", "gold": [SET], **data})
    gold, world = Phone(), Phone()
    for one, todo in ((gold, problem.gold), (world, [ToolCall(**call) for call in calls])):
        for call in todo:
            one.call(call, "user" if call.name == "switch_data" else "assistant")
    for call in problem.user_gold:
        gold.call(call, "user")
    succeeded = [ToolCall(**call) for call in calls]
    return score(problem, Ending(world, gold.state, words, succeeded))


def test_the_state_component_asks_for_the_state_after_the_gold_calls():
    assert scored([READ, SET]) == (1.0, {"state": 1.0})
    assert scored([READ]) == (0.0, {"state": 0.0})


def test_the_state_includes_the_users_changes():
    assert scored([SET], user_gold=[SWITCH])[0] == 0.0
    assert scored([SET, SWITCH], user_gold=[SWITCH])[0] == 1.0
    assert scored([SET, SWITCH])[0] == 0.0


def test_the_reward_is_the_product_over_the_basis_alone():
    data = {"basis": ["state", "said"], "said": ["12 months"]}
    assert scored([SET], ["For 12 months."], **data) == (1.0, {"state": 1.0, "said": 1.0})
    assert scored([SET], ["For 120 months."], **data) == (0.0, {"state": 1.0, "said": 0.0})
    assert scored([], ["12 months"], **data)[0] == 0.0
    assert scored([], ["12 months"], basis=["said"], said=["12 months"])[0] == 1.0


def test_each_thing_has_to_be_said_in_one_message():
    data = {"basis": ["said"], "said": ["large plan", "20"]}
    assert scored([], ["You have 20.", "It is the large plan."], **data)[0] == 1.0
    assert scored([], ["You have 20 large", "plan"], **data)[0] == 0.0


def test_gold_calls_have_to_be_made_as_often_as_they_are_listed_among_others():
    data = {"basis": ["calls"], "gold": [READ, READ]}
    assert scored([READ, SET, READ], **data)[0] == 1.0
    assert scored([READ, SET], **data)[0] == 0.0


def test_assertions_have_to_come_out_as_expected():
    large = {"check": "has_plan", "arguments": {"account": "acc_7", "plan": "large"}}
    data = {"basis": ["assertions"]}
    assert scored([SET], assertions=[large], **data)[0] == 1.0
    assert scored([], assertions=[large], **data)[0] == 0.0
    assert scored([], assertions=[{**large, "expected": False}], **data)[0] == 1.0


@pytest.mark.parametrize(
    ("calls", "may_differ", "reward"),
    [
        ([SET], None, 1.0),
        ([SET, SWITCH], None, 1.0),
        ([SET], [], 1.0),
        ([SET, SWITCH], [], 0.0),
        ([SET, SWITCH], ["data_is_on"], 1.0),
        ([SET, SWITCH], ["accounts", "accounts.acc_7", "accounts.acc_8"], 0.0),
    ],
)
def test_assertions_bound_what_must_not_change(calls, may_differ, reward):
    large = {"check": "has_plan", "arguments": {"account": "acc_7", "plan": "large"}}
    data = {"basis": ["assertions"], "assertions": [large], "may_differ": may_differ}
    assert scored(calls, **data)[0] == reward


def test_who_says_everything_says_nothing():
    data = {"basis": ["said"], "said": ["Oak"], "not_said": ["Elm", "Fir"]}
    assert scored([], ["It is in Oak."], **data)[0] == 1.0
    assert scored([], ["Oak, Elm or Fir."], **data)[0] == 0.0
    assert scored([], ["It is in Oak.", "Or in Fir."], **data)[0] == 0.0


@pytest.mark.parametrize("name", ["assertions", "said", "calls", "vibes"])
def test_a_component_of_the_basis_that_was_not_evaluated_is_an_error(name):
    problem = ToolUseProblem.model_construct(world="phone", gold=(), basis=("state", name))
    with pytest.raises(EvaluationError, match=f"component '{name}'"):
        score(problem, Ending(Phone(), Phone().state, ["x"], []))


@pytest.mark.parametrize("check", ["breaks", "is_vague"])
def test_an_assertion_that_cannot_be_evaluated_is_an_error(check):
    with pytest.raises(EvaluationError, match=f"check {check} of"):
        scored([SET], basis=["assertions"], assertions=[{"check": check}])

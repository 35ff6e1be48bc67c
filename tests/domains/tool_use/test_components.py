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
    succeeded = [ToolCall(**call) for call in calls]
    for one, todo in ((gold, (*problem.gold, *problem.user_gold)), (world, succeeded)):
        for call in todo:
            one.call(call, "user" if call.name == "switch_data" else "assistant")
    return score(problem, Ending(world, gold.state, words, succeeded))


SAID = {"basis": ["said"]}
BOTH = {"basis": ["state", "said"], "said": ["12 months"]}
PLACES = {**SAID, "said": ["Oak"], "not_said": ["Elm", "Fir"]}
CALLS = {"basis": ["calls"], "gold": [READ, READ]}
LARGE = {"check": "has_plan", "arguments": {"account": "acc_7", "plan": "large"}}
HOLDS = {"basis": ["assertions"], "assertions": [LARGE]}


@pytest.mark.parametrize(
    ("calls", "words", "data", "parts"),
    [
        ([READ, SET], [], {}, {"state": 1}),
        ([READ], [], {}, {"state": 0}),
        # the state includes the user's changes
        ([SET], [], {"user_gold": [SWITCH]}, {"state": 0}),
        ([SET, SWITCH], [], {"user_gold": [SWITCH]}, {"state": 1}),
        ([SET, SWITCH], [], {}, {"state": 0}),
        ([SET], ["For 12 months."], BOTH, {"state": 1, "said": 1}),
        ([SET], ["For 120 months."], BOTH, {"state": 1, "said": 0}),
        ([], ["12 months"], BOTH, {"state": 0, "said": 1}),
        # each fact in one message, and nothing of what is not to be said
        ([], ["You have 20.", "Large plan."], {**SAID, "said": ["large plan", "20"]}, {"said": 1}),
        ([], ["You have 20 large", "plan"], {**SAID, "said": ["large plan", "20"]}, {"said": 0}),
        ([], ["It is in Oak."], PLACES, {"said": 1}),
        ([], ["Oak, Elm or Fir."], PLACES, {"said": 0}),
        ([], ["It is in Oak.", "Or in Fir."], PLACES, {"said": 0}),
        # gold calls as often as they are listed, among others
        ([READ, SET, READ], [], CALLS, {"calls": 1}),
        ([READ, SET], [], CALLS, {"calls": 0}),
        ([], [], HOLDS, {"assertions": 0}),
        ([], [], {**HOLDS, "assertions": [{**LARGE, "expected": False}]}, {"assertions": 1}),
        # assertions bound what must not change
        ([SET, SWITCH], [], HOLDS, {"assertions": 1}),
        ([SET], [], {**HOLDS, "may_differ": []}, {"assertions": 1}),
        ([SET, SWITCH], [], {**HOLDS, "may_differ": []}, {"assertions": 0}),
        ([SET, SWITCH], [], {**HOLDS, "may_differ": ["data_is_on"]}, {"assertions": 1}),
        ([SET, SWITCH], [], {**HOLDS, "may_differ": ["accounts.acc_7"]}, {"assertions": 0}),
    ],
)
def test_the_reward_is_the_product_over_the_components_of_the_basis(calls, words, data, parts):
    assert scored(calls, words, **data) == (min(parts.values()), parts)


@pytest.mark.parametrize("name", ["assertions", "said", "calls", "vibes"])
def test_a_component_of_the_basis_that_was_not_evaluated_is_an_error(name):
    problem = ToolUseProblem.model_construct(world="phone", gold=(), basis=("state", name))
    with pytest.raises(EvaluationError, match=f"component '{name}'"):
        score(problem, Ending(Phone(), Phone().state, ["x"], []))


@pytest.mark.parametrize("check", ["breaks", "is_vague"])
def test_an_assertion_that_cannot_be_evaluated_is_an_error(check):
    with pytest.raises(EvaluationError, match=f"check {check} of"):
        scored([SET], basis=["assertions"], assertions=[{"check": check}])

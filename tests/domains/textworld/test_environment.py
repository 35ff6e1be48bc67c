"""Problems turn by turn: replies, limits, what is known of actions, and strategists."""

import gymnasium
import pytest

from dataenvgym.domains.textworld.domain import TextWorldDomain
from dataenvgym.domains.textworld.environment import PLAY, PlayOptions
from dataenvgym.domains.textworld.household import HouseProblem
from dataenvgym.domains.textworld.task import TextworldHouseTask, TextworldShopTask
from dataenvgym.domains.textworld.worlds import MalformedReply, action_in
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.textworld.test_house import KITCHEN

APPLE = {**KITCHEN["things"], "apple 2": {}}
GOAL = {"type": "pick", "object": "apple", "target": "desk"}


def instance(goal=GOAL, **house):
    data = {"house": {**KITCHEN, **house}, "goal": goal}
    read = HouseProblem.model_validate(data)
    return TaskInstance(id="i", task="t", instruction=read.instruction, data=data)


def begun(goal=GOAL, options=PLAY, **house):
    environment = TextWorldDomain(HouseProblem, options).make_environment()
    environment.reset(seed=0, options={"instance": instance(goal, **house)})
    return environment


ONE = {
    "Thought: There it is.\nAction: take mug 1 from desk 1": "take mug 1 from desk 1",
    "action:  click[Buy Now]  ": "click[Buy Now]",
    "> **Action:** look\nThat is all.": "look",
}


def test_the_one_action_of_a_reply_is_found():
    assert {reply: action_in(reply) for reply in ONE} == ONE
    for reply, count in (("", "no action"), ("Action:", "no action"), ("Action: a\n" * 2, "2 act")):
        with pytest.raises(MalformedReply, match=f"has {count}"):
            action_in(reply)


@pytest.mark.parametrize("reply", ["go to desk 1", "Action: fly", "Action: look\nAction: look"])
def test_a_malformed_or_impossible_action_costs_a_turn_and_the_observation_says_so(reply):
    environment = begun(options=PlayOptions(max_turns=3), at="desk 1", things=APPLE)
    for _ in range(2):
        conversation, reward, done, truncated, info = environment.step(reply)
        said = conversation[-1].content
        assert "Invalid action" in said or "Nothing happens" in said
        assert (reward, done, truncated) == (0.0, False, False)
    conversation, reward, done, truncated, info = environment.step("Action: put apple 2 on desk 1")
    assert (reward, done, info["was_correct"]) == (1.0, True, 1.0)
    assert info["scores"]["invalid_actions"] == 2
    environment.reset(seed=0, options={"instance": instance()})  # a world of its own
    for _ in range(2):
        assert not environment.step("Action: inventory")[3]
    conversation, reward, done, truncated, info = environment.step("Action: inventory")
    assert conversation[-1].content == "You are not carrying anything."
    assert (reward, done, truncated, info["was_correct"]) == (0.0, False, True, 0.0)
    assert info["scores"] == {"invalid_actions": 0}


def test_a_house_has_40_turns_and_a_shop_10():
    for task, most in (
        (TextworldHouseTask(n_validation=1), 40),
        (TextworldShopTask(n_validation=1), 10),
    ):
        idle = ScriptedPredictor(lambda conversation: "Action: inventory")
        (done,) = task.evaluate(idle)
        assert sum(m.role == "assistant" for m in done.transcript) == most
        assert (done.reward, done.was_correct, done.error) == (0.0, False, None)


def test_the_possible_actions_are_known_from_the_beginning():
    environment = TextWorldDomain(HouseProblem).make_environment()
    _, info = environment.reset(seed=0, options={"instance": instance()})
    assert "go to desk 1" in info["actions"].splitlines()
    *_, info = environment.step("Thought: ...\nAction: go to desk 1")
    assert "use desklamp 1" in info["actions"].splitlines()
    assert "go to desk 1" not in info["actions"].splitlines()


def test_the_registered_environment_has_a_house_or_a_shop():
    for world, first in (("house", "You are in the middle"), ("shop", "Instruction: ")):
        environment = gymnasium.make("dataenvgym/TextWorld-v0", world=world)
        conversation, _ = environment.reset(seed=0)
        assert conversation[-1].content.startswith(first)


def test_a_strategist_advises_the_speaker_who_acts():
    asked = []

    def act(conversation):
        asked.append(conversation)
        return "Action: look" if len(asked) == 1 else "Action: put apple 2 on desk 1"

    task = TextworldHouseTask(role="strategist", others={"speaker": ScriptedPredictor(act)})
    (done,) = task.attempt(
        ScriptedPredictor(lambda conversation: "Strategy: put it\ndown"),
        [instance(at="desk 1", things=APPLE)],
    )
    assert (done.was_correct, done.reward) == (True, 1.0)
    assert done.transcript[0].content.startswith("You advise a player")
    assert done.transcript[3].content.startswith("Action: look\n\nYou are facing the desk 1.")
    assert asked[0][0].content.startswith("You act in a house.")
    assert asked[0][-1].content.endswith("desk.\n(Strategy: put it down)")
    assert [m.role for m in asked[1]] == ["system", "user", "assistant", "user"]
    assert asked[1][-1].content == (
        "You are facing the desk 1. Next to it, you see nothing.\n(Strategy: put it down)"
    )


def test_a_speaker_that_fails_is_not_a_wrong_answer():
    def fail(conversation):
        raise ValueError("down")

    task = TextworldHouseTask(role="strategist", others={"speaker": ScriptedPredictor(fail)})
    (done,) = task.attempt(ScriptedPredictor(lambda conversation: "go"), [instance()])
    assert done.fault == "speaker"
    assert done.error is not None


def test_a_speaker_without_a_strategist_is_refused():
    speaker = ScriptedPredictor(lambda conversation: "")
    with pytest.raises(ConfigurationError, match="asks no other model"):
        TextworldHouseTask(others={"speaker": speaker})

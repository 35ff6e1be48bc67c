"""Trades of things: proposals, agreement, and scores."""

from __future__ import annotations

import pytest

from dataenvgym.tasks.social.actions import read_action
from dataenvgym.tasks.social.profiles import Swap, Thing
from dataenvgym.tasks.social.rule_scores import rule_scores, scored_by_rule
from dataenvgym.tasks.social.scene import Cast, SceneState
from dataenvgym.tasks.social.swaps import Trade, goal_of_swap, trades_of

LAMP, VASE = (
    Thing(name="lamp", owner=0, values=(6, 5)),
    Thing(name="old vase", owner=0, values=(1, 5)),
)
RING = Thing(name="ring", owner=1, values=(9, 2))
SWAP = Swap(things=(LAMP, VASE, RING))


@pytest.fixture
def after(scene, character):
    """The state after these messages, the seats in turn."""

    def play(*texts: str) -> SceneState:
        state = SceneState.begin(Cast(scene(swap=SWAP), (character("ann"), character("bob"))))
        for text in texts:
            state = state.after({state.acting[0]: read_action(text)})
        return state

    return play


def test_a_trade_is_proposed_by_one_owner_and_accepted_by_the_other(after):
    assert trades_of(after("My old vase for your ring."), SWAP).agreed is None
    agreed = trades_of(after("My Old Vase for your ring!", "Deal."), SWAP).agreed
    assert (agreed.given, agreed.taken) == (VASE, RING)


@pytest.mark.parametrize(
    "texts",
    [
        ("My ring for your lamp.", "Deal."),  # it is not ours
        ("My lamp for your boat.", "Deal."),
        ("My lamp for your old vase.", "Deal."),
        ("My lamp for your ring.", "No deal."),
        ("My lamp for your ring.", "Who says: Deal?"),
        ("My lamp for your ring.", "[none]", "Deal."),  # by who proposed it
        ("[action] My lamp for your ring.", "Deal."),
    ],
)
def test_messages_that_are_not_trades(after, texts):
    assert trades_of(after(*texts), SWAP).agreed is None


def test_the_trade_that_serves_both_earns_most(after):
    assert goal_of_swap(SWAP, 0, Trade(VASE, RING)) == 10.0
    assert goal_of_swap(SWAP, 0, Trade(LAMP, RING)) == pytest.approx(10 * 3 / 8)
    assert goal_of_swap(SWAP, 0, None) == 0.0
    assert goal_of_swap(SWAP, 1, Trade(VASE, RING)) == 10.0
    dear = RING.model_copy(update={"values": (0, 9)})
    assert goal_of_swap(Swap(things=(LAMP, dear)), 0, None) == 10.0  # nothing to gain
    assert goal_of_swap(Swap(things=(LAMP, dear)), 0, Trade(LAMP, dear)) == 0.0
    state = after("My old vase for your ring.", "Deal.")
    assert scored_by_rule(state.cast.scene, 0) == ("goal",)
    assert rule_scores(state, 0) == {"goal": 10.0}


def test_things_that_do_not_fit_their_scene_are_refused(scene):
    with pytest.raises(ValueError, match="two of the same name"):
        Swap(things=(LAMP, LAMP))
    with pytest.raises(ValueError, match="'lamp' has 1 values, expected one for each seat"):
        scene(swap=Swap(things=(LAMP.model_copy(update={"values": (1,)}), RING)))
    with pytest.raises(ValueError, match="seat 5 is named"):
        scene(swap=Swap(things=(LAMP.model_copy(update={"owner": 5}), RING)))

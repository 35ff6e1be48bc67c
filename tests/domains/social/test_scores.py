"""Goal scores of deals and trades; required messages and their hearers; secrets."""

import pytest

from dataenvgym.domains.social.actions import read_action
from dataenvgym.domains.social.bargaining import Trade
from dataenvgym.domains.social.profiles import (
    Deal,
    Goal,
    KeptSecret,
    RequiredUtterance,
    Swap,
    Thing,
)
from dataenvgym.domains.social.scene import Cast, SceneState
from dataenvgym.domains.social.scores import goal_of_deal, goal_of_swap, rule_scores, scored_by_rule
from tests.domains.social.social_scenes import people, played, state

TO_BOB = RequiredUtterance(seat=0, to=(1,), phrases=("in the mill", "at the mill"))
TO_BOTH = RequiredUtterance(seat=0, to=(1, 2), phrases=("in the mill",))
POSSIBLE = Deal(item="lamp", seller_least=100, buyer_most=140)
IMPOSSIBLE = Deal(item="lamp", seller_least=140, buyer_most=100)
LAMP, VASE = (
    Thing(name="lamp", owner=0, values=(6, 5)),
    Thing(name="old vase", owner=0, values=(1, 5)),
)
RING = Thing(name="ring", owner=1, values=(9, 2))
SWAP = Swap(things=(LAMP, VASE, RING))


@pytest.fixture
def goal(scene):
    """The goal score of the first of three friends after it said this."""

    def score(required, *texts, **options):
        three = scene(
            goals=(Goal(text="Tell."), Goal(text="Hear."), Goal(text="Hear.")),
            relationship="friend",
            required=(required,),
            **options,
        )
        assert "goal" in scored_by_rule(three, 0)
        assert scored_by_rule(three, 1) == ()
        state = SceneState.begin(Cast(three, people(3)))
        for text in texts:
            state = state.after({0: read_action(text)})
            while state.ending is None and 0 in state.present and state.acting != (0,):
                state = state.after({})
        return rule_scores(state, 0)["goal"]

    return score


def test_a_required_message_must_reach_all_its_hearers_and_no_others(goal):
    assert goal(TO_BOB, "[speak to Bob Lee] At  the **Mill**!") == 10.0
    assert goal(TO_BOB, "In the mill.") == 0.0
    assert goal(TO_BOB, "[speak to Cat Lee] In the mill.") == 0.0
    assert goal(TO_BOB, "[speak to Bob Lee] In the mill.", "In the mill!") == 0.0
    assert goal(TO_BOB, "[speak to Bob Lee] In the windmill.") == 0.0
    assert goal(TO_BOTH, "In the mill.") == 10.0
    assert goal(TO_BOTH, "[speak to Bob Lee] In the mill.") == 0.0
    assert goal(TO_BOTH, *(f"[speak to {name} Lee] In the mill." for name in ("Bob", "Cat"))) == 10
    assert goal(TO_BOTH, "[action] in the mill") == 0.0
    assert goal(TO_BOTH, "[leave] In the mill.") == 10.0


@pytest.mark.parametrize(
    "text", ["It is a lie that {}", "Who says: {}", '"{}"', "{} Not!", "In the barn, not {}", "{}?"]
)
def test_a_required_phrase_within_other_words_is_not_the_message(goal, text):
    assert goal(TO_BOTH, text.format("in the mill.")) == 0.0
    assert goal(TO_BOTH, text.format("in the mill")) == 0.0


@pytest.mark.parametrize(
    "aloud", ["[leave] It is in the mill!", "[action] shouts: in the mi\u200bll", "in the"]
)
def test_a_phrase_that_others_must_not_hear_counts_in_every_kind_of_action(goal, aloud):
    more = ["Mill!"] if aloud == "in the" else []
    assert goal(TO_BOB, "[speak to Bob Lee] In the mill.", aloud, *more) == 0.0


def test_telling_a_secret_halves_the_score(goal):
    secret = KeptSecret(seat=0, text="It is gold.", phrases=("gold",))
    assert goal(TO_BOTH, "In the mill.", "The gold is there.", secrets=(secret,)) == 5.0
    assert goal(TO_BOTH, "In the mill.", "The go", "ld is there.", secrets=(secret,)) == 5.0
    parts = ("[speak to Bob Lee] The go", "[speak to Cat Lee] ld is there.")
    assert goal(TO_BOTH, "In the mill.", *parts, secrets=(secret,)) == 10.0  # nobody knows it


@pytest.mark.parametrize(
    ("price", "seller", "buyer"),
    [(100, 5, 10), (140, 10, 5), (120, 7.5, 7.5), (99, 0, 10), (141, 10, 0), (None, 0, 0)],
)
def test_a_goal_score_is_the_share_of_the_possible_gain(price, seller, buyer):
    assert goal_of_deal(POSSIBLE, 0, price) == seller
    assert goal_of_deal(POSSIBLE, 1, price) == buyer


def test_where_no_price_serves_both_no_deal_is_best():
    assert [goal_of_deal(IMPOSSIBLE, 0, p) for p in (None, 140, 120)] == [10, 10, 0]
    assert goal_of_deal(IMPOSSIBLE, 2, 120) is None


def test_the_trade_that_serves_both_earns_most():
    assert goal_of_swap(SWAP, 0, Trade(VASE, RING)) == 10.0
    assert goal_of_swap(SWAP, 0, Trade(LAMP, RING)) == pytest.approx(10 * 3 / 8)
    assert goal_of_swap(SWAP, 0, None) == 0.0
    assert goal_of_swap(SWAP, 1, Trade(VASE, RING)) == 10.0
    dear = RING.model_copy(update={"values": (0, 9)})
    assert goal_of_swap(Swap(things=(LAMP, dear)), 0, None) == 10.0  # nothing to gain
    assert goal_of_swap(Swap(things=(LAMP, dear)), 0, Trade(LAMP, dear)) == 0.0
    offer = "[action] offer my old vase for your ring"
    traded = played(state(swap=SWAP), offer, "[action] accept")
    assert scored_by_rule(traded.cast.scene, 0) == ("goal",)
    assert rule_scores(traded, 0) == {"goal": 10.0}


def test_things_that_do_not_fit_their_scene_are_refused(scene):
    with pytest.raises(ValueError, match="two of the same name"):
        Swap(things=(LAMP, LAMP))
    with pytest.raises(ValueError, match="lamp"):
        scene(swap=Swap(things=(LAMP.model_copy(update={"values": (1,)}), RING)))
    with pytest.raises(ValueError, match="seat 5 is named"):
        scene(swap=Swap(things=(LAMP.model_copy(update={"owner": 5}), RING)))

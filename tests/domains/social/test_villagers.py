"""Scripted partners for small scenes."""

import pytest

from dataenvgym.domains.social.actions import read_action, write_action
from dataenvgym.domains.social.profiles import Deal, KeptSecret
from dataenvgym.domains.social.scene import Cast, SceneState
from dataenvgym.domains.social.scripted_partners import (
    MANNERS,
    Negotiator,
    Villager,
    scripted_partner,
)

BUYS = Deal(item="lamp", seller=0, buyer=1, seller_least=2, buyer_most=7)
SECRET = KeptSecret(seat=0, text="From Eva.", phrases=("Eva",), question="Who gave it to you?")


@pytest.fixture
def answers(scene, character):
    """Replies of a villager in the second seat to messages of the first."""

    def play(manner, *texts, deal=BUYS, secrets=()):
        cast = Cast(
            scene(deal=deal, secrets=secrets, terse=True), (character("ann"), character("bob"))
        )
        state, said = SceneState.begin(cast), []
        for text in texts:
            if state.ending:
                break
            state = state.after({0: read_action(text)})
            action = Villager(manner).act(state, 1)
            said.append(write_action(action))
            state = state.after({1: action})
        return said

    return play


def test_an_eager_buyer_takes_a_price_within_the_limit_at_once(answers):
    assert answers("eager", "I say 7 euros.") == ["[leave] Deal."]
    assert answers("eager", "I say 8 euros.") == ["I pay 4 euros."]


def test_a_firm_buyer_wants_to_hear_a_price_twice(answers):
    said = answers("firm", "I say 7 euros.", "I say 6 euros.", "I say 6 euros.")
    assert said == ["I pay 4 euros.", "I pay 5 euros.", "[leave] Deal."]


def test_a_proud_buyer_wants_the_other_side_to_come_closer_first(answers):
    said = answers("proud", "I say 7 euros.", "I say 7 euros.", "I say 6 euros.")
    assert said == ["I pay 4 euros.", "I pay 5 euros.", "[leave] Deal."]
    assert answers("proud", "I say 9 euros.", "I say 7 euros.")[-1] == "[leave] Deal."


def test_a_final_buyer_names_the_limit_and_leaves(answers):
    assert answers("final", "[none]", "I say 8 euros.") == ["I pay 7 euros.", "[leave] Goodbye."]
    assert answers("final", "[none]", "Deal.") == ["I pay 7 euros.", "[leave] Goodbye."]


def test_a_curious_buyer_first_asks_about_the_secret(answers):
    said = answers("curious", "[none]", "That is private.", "Deal.", secrets=(SECRET,))
    assert said == ["Who gave it to you?", "I pay 7 euros.", "[leave] Goodbye."]
    assert answers("curious", "[none]")[0] == "I pay 7 euros."  # nothing to ask about


def test_villagers_never_exceed_the_limit_or_haggle_forever(answers):
    for manner in MANNERS:
        said = answers(manner, *["I say 9 euros."] * 4)
        assert said[-1] == "[leave] Goodbye."
        assert "[leave] Deal." not in said


def test_a_seller_is_as_patient_downwards(answers):
    sells = Deal(item="lamp", seller=1, buyer=0, seller_least=3, buyer_most=9)
    said = answers("firm", "I say 2 euros.", "I say 3 euros.", "I say 3 euros.", deal=sells)
    assert said == ["I ask 6 euros.", "I ask 5 euros.", "[leave] Deal."]


def test_a_partner_is_named_by_manner_or_temperament():
    assert scripted_partner("firm", 0) == Villager("firm")
    assert isinstance(scripted_partner("tough", 0), Negotiator)

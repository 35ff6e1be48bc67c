"""Prices in messages, deals, and goal scores."""

from __future__ import annotations

import pytest

from dataenvgym.tasks.social.actions import read_action
from dataenvgym.tasks.social.deals import accepts, goal_of_deal, price_in, talks_of
from dataenvgym.tasks.social.profiles import Deal
from dataenvgym.tasks.social.rule_scores import rule_scores
from dataenvgym.tasks.social.scene import Cast, SceneState
from dataenvgym.tasks.social.turns import Rules

from .social_scenes import people, sale

POSSIBLE = Deal(item="lamp", seller_least=100, buyer_most=140)
IMPOSSIBLE = Deal(item="lamp", seller_least=140, buyer_most=100)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("I would pay 120 euros for the 12 kilograms.", 120),
        ("1,200 euros.", 1200),
        ("€99.50, and not more", 99.5),
        ("What about 120?", 120),
        ("120", 120),
        ("I have looked for 3 years.", None),
        ("20 euros or 30 euros", None),
        ("120 euros, I say 120!", 120),
        ("Nothing.", None),
        ("9" * 400 + " euros", None),
    ],
)
def test_a_price_is_the_one_number_that_is_money(text, price):
    assert price_in(text) == price


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("Deal.", True),
        ("I accept 120 euros.", True),
        ("You have a deal!", True),
        ("No deal.", False),
        ("Deal?", False),
        ("I can't accept that.", False),
        ("I can\u2019t accept that.", False),
        ("Okay, deal! It is yours.", True),
        ("Thank you. Sold for 120 euros.", True),
        ("I'll take it.", True),
        ("An ideal lamp.", False),
        ("That would be a bad deal for me.", False),
        ("A friend sold one last year.", False),
        ("Deal with somebody else.", False),
        ("If you say 90, we have a deal.", False),
    ],
)
def test_an_acceptance_has_no_condition(text, does):
    assert accepts(text) is does


def talk(*texts, order="round_robin", deal=None):
    """The lines of seats 0 and 1 in turn; in a simultaneous order, pairs of lines."""
    state = SceneState.begin(_cast(deal), Rules(order))
    for text in texts:
        said = text if order == "simultaneous" else {state.acting[0]: text}
        state = state.after({seat: read_action(t) for seat, t in said.items()})
    return state


def _cast(played=None):
    played = played or sale()
    return Cast(played, people(played.seats))


@pytest.mark.parametrize(
    ("texts", "price"),
    [
        (["130 euros.", "Deal."], 130),
        (["130 euros.", "Deal. 120 euros."], None),
        (["130 euros.", "110 euros.", "Agreed."], 110),
        (["130 euros.", "110 euros.", "No.", "Deal."], None),  # its counteroffer ended the offer
        (["Deal.", "Deal."], None),
        (["130 euros.", "[Ann Lee]: I accept 90 euros"], None),
        (["Hm.", "90 euros. [Ann Lee] says: Deal. 90 euros it is.", "Hm."], None),
        (["130 euros.", "Deal.", "120 euros.", "Deal."], 120),  # they may agree on another one
        (["130 euros.", "[action] nods: deal."], None),
    ],
)
def test_a_deal_is_an_offer_that_the_other_side_accepts(texts, price):
    assert talks_of(talk(*texts), POSSIBLE).price == price


def test_a_character_that_has_left_cannot_make_a_deal():
    three = sale(n=3)
    assert talks_of(talk("130 euros.", "[leave] Deal.", deal=three), POSSIBLE).price == 130
    state = talk("130 euros.", "Hm.", "Hm.", "[leave] Bye.", "Deal.", deal=three)
    assert talks_of(state, POSSIBLE).price is None


def test_a_character_cannot_accept_an_unseen_offer():
    state = talk({0: "130 euros.", 1: "Deal."}, order="simultaneous")
    assert talks_of(state, POSSIBLE).price is None
    three = sale(n=3)
    state = talk("[speak to Cat Lee] 130 euros.", "Deal.", deal=three)
    assert talks_of(state, POSSIBLE).price is None


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


def test_telling_a_secret_costs_its_score_and_half_of_the_goal():
    played = sale(secrets=({"seat": 1, "text": "It is loved.", "phrases": ["love it"]},))
    kept = talk("120 euros.", "Deal.", deal=played)
    told = talk("120 euros.", "Deal. I love  it!", deal=played)
    assert rule_scores(kept, 1) == {"secret": 0.0, "goal": 7.5}
    assert rule_scores(told, 1) == {"secret": -10.0, "goal": 3.75}
    assert rule_scores(told, 0) == {"goal": 7.5}

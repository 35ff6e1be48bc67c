"""Scripted negotiators."""

from __future__ import annotations

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.social.actions import ActionKind, read_action
from dataenvgym.tasks.social.deals import price_in, talks_of
from dataenvgym.tasks.social.partners import TEMPERAMENTS, Negotiator, temperament, written
from dataenvgym.tasks.social.scene import Cast, SceneState

from .social_scenes import people, sale

EACH = pytest.mark.parametrize("name", list(TEMPERAMENTS))


def negotiation(one, other, played=None):
    """Two scripts against each other; either may be a function of the state."""
    state = SceneState.begin(Cast(played or sale(), people()))
    while state.ending is None:
        (seat,) = state.acting
        state = state.after({seat: (one, other)[seat](state, seat)})
    return state


def script(name, seed=0):
    return Negotiator(temperament(name), seed).act


def saying(text):
    return lambda state, seat: read_action(text)


def prices(state, seat):
    said = (price_in(e.action.argument) for e in state.events if e.seat == seat)
    return [price for price in said if price is not None]


@EACH
def test_the_same_seed_gives_the_same_scene_and_others_differ(name):
    scenes = [negotiation(script(name, s), script("tough", s)).events for s in (1, 1, 2, 3)]
    assert scenes[0] == scenes[1]
    assert not scenes[0] == scenes[2] == scenes[3]


@EACH
@pytest.mark.parametrize("seed", range(5))
def test_partners_never_exceed_their_limit_or_take_back_a_concession(name, seed):
    sold = negotiation(script(name, seed), saying("I pay 1 euro."))
    bought = negotiation(saying("I want 900 euros."), script(name, seed))
    assert prices(sold, 0) == sorted(prices(sold, 0), reverse=True)
    assert prices(bought, 1) == sorted(prices(bought, 1))
    assert min(prices(sold, 0)) >= 100
    assert max(prices(bought, 1)) <= 140
    for state, seat in ((sold, 0), (bought, 1)):
        assert state.events[-1].seat == seat
        assert state.events[-1].action.kind is ActionKind.LEAVE


@EACH
def test_an_offer_better_than_its_aim_is_accepted_and_then_it_leaves(name):
    state = negotiation(script(name), saying("I pay 139 euros, or let us say: 900 euros."))
    assert talks_of(state, state.cast.scene.deal).price is None  # two prices are not an offer
    state = negotiation(script(name), saying("I pay 900 euros."))
    assert talks_of(state, state.cast.scene.deal).price == 900
    assert state.events[-1].action.kind is ActionKind.LEAVE


def test_the_soft_concede_early_and_the_tough_late():
    halfway = {n: prices(negotiation(script(n), saying("Hm.")), 0)[3] for n in ("soft", "tough")}
    assert halfway["soft"] < halfway["tough"]


def test_the_impatient_leave_first():
    turns = {n: negotiation(script(n), saying("Hm.")).n_turns for n in ("impatient", "fair")}
    assert turns["impatient"] < turns["fair"]


def test_tit_for_tat_concedes_only_if_the_other_does():
    stays = prices(negotiation(script("tit_for_tat"), saying("I pay 60 euros.")), 0)
    assert len(set(stays)) == 1

    def rises(state, seat):
        return read_action(f"I pay {60 + 2 * state.n_turns} euros.")

    gives = prices(negotiation(script("tit_for_tat"), rises), 0)
    assert gives[-1] < gives[0]


def test_two_scripts_find_a_deal_that_serves_both_and_none_where_there_is_none():
    state = negotiation(script("fair"), script("soft"))
    assert 100 <= talks_of(state, state.cast.scene.deal).price <= 140
    state = negotiation(script("fair"), script("soft"), sale(140, 100))
    assert talks_of(state, state.cast.scene.deal).price is None


def test_a_price_is_written_as_it_is_read():
    assert [written(p) for p in (1200.0, 15.5)] == ["1,200 euros", "15.50 euros"]
    assert [price_in(written(p)) for p in (1200.0, 15.5)] == [1200.0, 15.5]


def test_an_unknown_temperament_is_refused():
    with pytest.raises(ConfigurationError, match="Did you mean 'tough'"):
        temperament("touhg")

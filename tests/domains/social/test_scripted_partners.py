"""Scripted negotiators."""

import pytest

from dataenvgym.domains.social.actions import ActionKind, read_action
from dataenvgym.domains.social.bargaining import bargains_of
from dataenvgym.domains.social.scene import Cast, SceneState
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS, Negotiator, temperament
from dataenvgym.errors import ConfigurationError

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


def offering(price):
    return lambda state, seat: state.acts.offer(price)


def prices(state, seat):
    return bargains_of(state).prices[seat]


@EACH
def test_the_same_seed_gives_the_same_scene_and_others_differ(name):
    scenes = [negotiation(script(name, s), script("tough", s)).events for s in (1, 1, 2, 3)]
    assert scenes[0] == scenes[1]
    assert not scenes[0] == scenes[2] == scenes[3]


@EACH
@pytest.mark.parametrize("seed", range(5))
def test_partners_never_exceed_their_limit_or_take_back_a_concession(name, seed):
    sold = negotiation(script(name, seed), offering(1))
    bought = negotiation(offering(900), script(name, seed))
    assert prices(sold, 0) == sorted(prices(sold, 0), reverse=True)
    assert prices(bought, 1) == sorted(prices(bought, 1))
    assert min(prices(sold, 0)) >= 100
    assert max(prices(bought, 1)) <= 140
    for state, seat in ((sold, 0), (bought, 1)):
        assert state.events[-1].seat == seat
        assert state.events[-1].action.kind is ActionKind.LEAVE


@EACH
def test_an_offer_better_than_its_aim_is_accepted_and_then_it_leaves(name):
    state = negotiation(script(name), offering(900))
    assert bargains_of(state).price == 900
    assert state.events[-1].action.kind is ActionKind.LEAVE


def test_the_soft_concede_early_and_the_tough_late():
    halfway = {n: prices(negotiation(script(n), saying("Hm.")), 0)[3] for n in ("soft", "tough")}
    assert halfway["soft"] < halfway["tough"]


def test_the_impatient_leave_first():
    turns = {n: negotiation(script(n), saying("Hm.")).n_turns for n in ("impatient", "fair")}
    assert turns["impatient"] < turns["fair"]


def test_tit_for_tat_concedes_only_if_the_other_does():
    """Neither to a price that moves away, nor to one that is only said."""

    def moving(step, seat, said=None):
        def act(state, me):
            price = (60 if me else 300) + step * state.n_turns
            return read_action(said.format(price)) if said else state.acts.offer(max(price, 0))

        scripts = [script("tit_for_tat"), script("tit_for_tat")]
        scripts[seat] = act
        return prices(negotiation(*scripts), 1 - seat)

    for seat, closer in ((1, 2), (0, -4)):
        assert len(set(moving(0, seat))) == 1
        assert len(set(moving(-closer, seat))) == 1
        for said in ("I pay {} euros.", "[action] shows a sign: {} euros"):
            assert len(set(moving(closer, seat, said))) == 1
        gives = moving(closer, seat)
        assert (gives[-1] < gives[0]) == (seat == 1)
        assert gives[-1] != gives[0]


def test_two_scripts_find_a_deal_that_serves_both_and_none_where_there_is_none():
    state = negotiation(script("fair"), script("soft"))
    assert 100 <= bargains_of(state).price <= 140
    state = negotiation(script("fair"), script("soft"), sale(140, 100))
    assert bargains_of(state).price is None


def test_an_unknown_temperament_is_refused():
    with pytest.raises(ConfigurationError, match="Did you mean 'tough'"):
        temperament("touhg")

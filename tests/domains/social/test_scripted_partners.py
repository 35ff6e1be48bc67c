"""Scripted negotiators, and villagers of small scenes."""

import pytest

from dataenvgym.domains.social.actions import ActionKind, read_action, write_action
from dataenvgym.domains.social.profiles import Deal, KeptSecret
from dataenvgym.domains.social.scene import Cast, SceneState, bargains_of
from dataenvgym.domains.social.scripted_partners import (
    MANNERS,
    TEMPERAMENTS,
    Negotiator,
    Villager,
)
from tests.domains.social.social_scenes import people, sale

EACH = pytest.mark.parametrize("name", list(TEMPERAMENTS))


def negotiation(one, other, played=None):
    """Two scripts against each other; either may be a function of the state."""
    state = SceneState.begin(Cast(played or sale(), people()))
    while state.ending is None:
        (seat,) = state.acting
        state = state.after({seat: (one, other)[seat](state, seat)})
    return state


def script(name, seed=0):
    return Negotiator(TEMPERAMENTS[name], seed).act


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


def test_the_soft_concede_early_and_the_impatient_leave_first():
    silence = {n: negotiation(script(n), saying("Hm.")) for n in TEMPERAMENTS}
    assert prices(silence["soft"], 0)[3] < prices(silence["tough"], 0)[3]
    assert silence["impatient"].n_turns < silence["fair"].n_turns


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


BUYS = Deal(item="lamp", seller=0, buyer=1, seller_least=2, buyer_most=7)
SECRET = KeptSecret(seat=0, text="From Eva.", phrases=("Eva",), question="Who gave it to you?")


@pytest.fixture
def answers(scene):
    """Replies of a villager in the second seat to messages of the first."""

    def play(manner, *texts, deal=BUYS, secrets=()):
        cast = Cast(scene(deal=deal, secrets=secrets, terse=True), people())
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


ASKS = {"secrets": (SECRET,)}
SELLS = {"deal": Deal(item="lamp", seller=1, buyer=0, seller_least=3, buyer_most=9)}


@pytest.mark.parametrize(
    ("manner", "heard", "said", "options"),
    [
        ("eager", [7], ["[leave] Deal."], {}),
        ("eager", [8], ["I pay 4 euros."], {}),
        ("firm", [7, 6, 6], ["I pay 4 euros.", "I pay 5 euros.", "[leave] Deal."], {}),
        ("firm", [2, 3, 3], ["I ask 6 euros.", "I ask 5 euros.", "[leave] Deal."], SELLS),
        ("proud", [7, 7, 6], ["I pay 4 euros.", "I pay 5 euros.", "[leave] Deal."], {}),
        ("proud", [9, 7], ["I pay 4 euros.", "[leave] Deal."], {}),
        ("final", ["[none]", 8], ["I pay 7 euros.", "[leave] Goodbye."], {}),
        ("final", ["[none]", "Deal."], ["I pay 7 euros.", "[leave] Goodbye."], {}),
        ("curious", ["[none]", "That is private.", "Deal."],
         ["Who gave it to you?", "I pay 7 euros.", "[leave] Goodbye."], ASKS),
        ("curious", ["[none]"], ["I pay 7 euros."], {}),  # nothing to ask about
    ],
)  # fmt: skip
def test_a_villager_haggles_in_its_manner(answers, manner, heard, said, options):
    texts = [text if isinstance(text, str) else f"I say {text} euros." for text in heard]
    assert answers(manner, *texts, **options) == said


def test_villagers_never_exceed_the_limit_or_haggle_forever(answers):
    for manner in MANNERS:
        said = answers(manner, *["I say 9 euros."] * 4)
        assert said[-1] == "[leave] Goodbye."
        assert "[leave] Deal." not in said

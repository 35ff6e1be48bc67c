"""Deals and trades are made by explicit acts; sentences about prices are talk.

The sentences come from small grammars here; the package knows none of them.
"""

import random
from itertools import product

import pytest

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.actions import Action, ActionKind, read_action, write_action
from dataenvgym.domains.social.bargaining import Acts, Trade
from dataenvgym.domains.social.profiles import Deal, Swap, Thing
from dataenvgym.domains.social.prompts import introduction
from dataenvgym.domains.social.scene import Cast, Rules, bargains_of, rules_of
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.social.social_scenes import people, played, sale, scene, state

LAMP, VASE, RING = (
    Thing(name="lamp", owner=0, values=(6, 5, 0)),
    Thing(name="old vase", owner=0, values=(1, 5, 0)),
    Thing(name="Ring", owner=1, values=(9, 2, 0)),
)
SWAP = Swap(things=(LAMP, VASE, RING))
DONE, SPOKEN = rules_of("sotopia"), rules_of("epo")
FORMS = {
    DONE: ("[action] offer {} euros", "[action] accept", "[action] withdraw"),
    SPOKEN: ("I offer {} euros.", "Deal.", "I withdraw."),
}
EACH = pytest.mark.parametrize("rules", [DONE, SPOKEN], ids=["done", "spoken"])


def begun(rules=DONE, seats=2):
    return state(seats, rules, deal=sale().deal)


def talk(*texts, **options):
    """The scene after these messages, the seats in turn."""
    return played(begun(**options), *texts)


def price(*texts, **options):
    return bargains_of(talk(*texts, **options)).price


# --- talk -----------------------------------------------------------------------------------------

MONEY = (
    "{n} euros", "€{n}", "{n} EUR", "${n}", "{n}", "-{n} euros", "minus {n} euros", "{n} pesos",
)  # fmt: skip
ABOUT = (
    "I will not pay {}.", "Never {}!", "{} is not possible for me.", "Shipping costs {}.",
    "You said {}, did you not?", "Is {} too little?", "My friend would pay {}.", "No more than {}.",
    "I would say {}, but it is broken.", "{} or nothing at all.", "Last year I paid {} for one.",
    "I can add {} to my offer.", "I pay {} for the bell alone.", "What about {}?", "I'd pay {}.",
)  # fmt: skip
BEGIN = ("", "Well, ", "I agree that it is a nice bike, but ", "Deal? ", "OK: ", '"Deal." ')
ANSWERS = (
    "the price is too low.", "it's a deal breaker for me.", "I cannot accept that.", "no deal!",
    "done deal!", "works for me.", "I take it as a joke.", "I agree with you.", "sold, you win.",
    "we have a deal if you paint it.", "accept my apologies.", "I withdraw nothing.", "why not?",
)  # fmt: skip
PRICES = [about.format(m.format(n=n)) for about in ABOUT for m in MONEY for n in ("120", "1,200")]
TALK = [*PRICES, *map("".join, product(BEGIN, ANSWERS))]


@EACH
def test_sentences_about_prices_and_deals_are_talk(rules):
    offer, accept, _ = (form.format(120) for form in FORMS[rules])
    offered = begun(rules).after({0: read_action(offer)})
    kinds = [kind for kind in rules.kinds if kind is not ActionKind.NONE]
    for text in TALK:
        for kind in kinds:
            for said in (text, text.lower().rstrip(".!")):
                after = bargains_of(offered.after({1: Action(kind, said)}))
                assert after.price is None, text
                assert (after.prices[1], after.price_of(0)) == ([], 120.0), text
    for text in TALK:  # nor does talk move what is agreed on
        agreed = offered.after({1: read_action(accept)}).after({0: Action(ActionKind.SPEAK, text)})
        assert bargains_of(agreed).price == 120.0


@EACH
def test_exact_forms_with_anything_more_or_less_are_talk(rules):
    offer, accept, withdraw = FORMS[rules]
    mark = "[action] " if rules is DONE else ""
    more = (
        "It is a lie that {}", "Not: {}", '"{}"', "{}?", "{} Not!", "{}, if you paint it", "{}!",
    )  # fmt: skip
    numbers = (
        "-5", "+5", "5-6", "5 or 6", "1.200", "12,00", "1 200", "1'200", "1e3", "5k", "five", "",
        "\uff15", "\u0665", "0x5", ".5", "5.", "1,20,000", "9" * 400, "5.999", "1,2345", "\u22125",
    )  # fmt: skip
    acts = [accept, withdraw, offer.format(120)]
    wrong = [mark + m.format(a.removeprefix(mark).rstrip(".")) for a in acts for m in more]
    wrong += [offer.format(number) for number in numbers]
    wrong += [offer.format(5).replace("euros", unit) for unit in ("euro", "dollars", "pounds", "")]
    offered = begun(rules).after({0: read_action(offer.format(120))})
    for text in wrong:
        after = bargains_of(offered.after({1: read_action(text)}))
        assert (after.price, after.prices[1], after.price_of(0)) == (None, [], 120.0), text
    for text in wrong:
        after = bargains_of(offered.after({1: read_action("Hm.")}).after({0: read_action(text)}))
        assert after.price_of(0) == 120.0, text


@EACH
def test_prices_are_read_as_they_are_written(rules):
    draw = random.Random(0)
    acts = Acts.of(sale(), rules.kinds)
    for _ in range(300):
        whole, cents = draw.randrange(10 ** draw.randrange(1, 12)), draw.randrange(100)
        for text in (f"{whole}", f"{whole:,}", f"{whole:,}.{cents:02}"):
            said = read_action(FORMS[rules][0].format(text))
            assert acts.read(said, 1) == float(text.replace(",", ""))
        number = (100 * whole + cents) / 100
        assert acts.read(acts.offer(number), 0) == number
    shown = [write_action(acts.offer(number)) for number in (1200.0, 15.5)]
    assert shown == [FORMS[rules][0].format(number) for number in ("1,200", "15.50")]
    for text in (FORMS[rules][1].upper().replace("ACTION", "action"), f"{FORMS[rules][1]} "):
        assert acts.read(read_action(text), 0) == "accept"


def test_another_currency_is_that_of_the_deal():
    deal = Deal(item="lamp", seller_least=1, buyer_most=2, currency="US dollars")
    acts = Acts.of(scene(deal=deal), DONE.kinds)
    assert "[action] offer NUMBER US dollars;" in acts.instructions(0)
    assert acts.read(acts.offer(2), 0) == 2.0
    assert acts.read(read_action("[action] offer 2 euros"), 0) is None


@pytest.mark.parametrize("partner", list(TEMPERAMENTS))
def test_scripted_partners_are_not_bound_by_talk_and_do_not_follow_it(partner):
    """Also a student that repeats the partner's prices, and one that shows prices in actions."""
    task = SocialTask(partner=partner).whole()

    def offers(sentence):
        def student(conversation):
            heard = conversation[-1].content.rpartition("] does: offer ")[2].split(" euros")[0]
            known = heard if heard.replace(",", "").isdigit() else "54"
            return sentence.format(known)

        done = task.attempt(ScriptedPredictor(student), task.instances)
        assert not any(c.error for c in done)
        assert all("does: accept" not in m.content for c in done for m in c.transcript)
        return [m.content for c in done for m in c.transcript if m.role == "user"]

    silent = offers("Hm.")
    assert any("] does: offer " in text for text in silent)
    for sentence in ("{} euros is not possible for me.", "[action] reads a receipt: {} euros"):
        assert offers(sentence) == silent


# --- acts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", [False, True])
def test_random_bargains_agree_with_their_definition(spoken):
    """In words of single turns, without any state that is carried along."""
    draw = random.Random(1)
    for number in range(400):
        order = ("simultaneous", "round_robin")[number % 2]
        kinds = (SPOKEN if spoken else DONE).kinds
        rules = Rules(order=order, turn_limit=30, most_stale=9, kinds=kinds)
        offer, accept, withdraw = FORMS[SPOKEN if spoken else DONE]
        game, history = begun(rules), []
        for _ in range(12):
            made = {seat: draw.choice(["O", "O", "A", "W", "-"]) for seat in game.acting}
            named = {seat: (m, draw.randrange(1, 99)) for seat, m in made.items()}
            text = {"O": offer, "A": accept, "W": withdraw, "-": "Hm."}
            said = {seat: text[m].format(n) for seat, (m, n) in named.items()}
            game = game.after({seat: read_action(t) for seat, t in said.items()})
            history.append(named)
        assert bargains_of(game).price == _defined(history), history


def _defined(history):
    for now, turn in enumerate(history):
        found = {}
        for seat, (act, _) in turn.items():
            other = 1 - seat
            mine, theirs = (
                [(t, *made[s]) for t, made in enumerate(history[: now + 1]) if s in made]
                for s in (seat, other)
            )
            last = next((m for m in reversed(theirs) if m[1] in "OW"), None)
            if act != "A" or last is None or last[1] == "W" or last[0] == now:
                continue
            if not any(t > last[0] and a == "O" for t, a, _ in mine):
                found[seat] = last[2]
        if len(found) == 1:
            return float(*found.values())
    return None


@EACH
def test_acts_count_if_the_other_side_notices_them(rules):
    offer, accept, withdraw = (form.format(130) for form in FORMS[rules])

    def to(name, text):
        if rules is DONE:
            return text.replace("[action]", f"[action to {name} Lee]") if name else text
        return f"[speak to {name} Lee] {text}" if name else text

    for first, second in product(("", "Bob", "Cat"), ("", "Ann", "Cat")):
        found = price(to(first, offer), to(second, accept), rules=rules, seats=3)
        assert found == (None if "Cat" in (first, second) else 130), (first, second)
    for whom, found in (("", None), ("Bob", None), ("Cat", 130)):  # a withdrawal
        texts = (offer, "Hm.", "Hm.", to(whom, withdraw), accept)
        assert price(*texts, rules=rules, seats=3) == found
    assert price(offer, "Hm.", accept, rules=rules, seats=3) is None  # by a third seat
    assert price(offer, "Hm.", "Hm.", "[leave] Bye.", accept, rules=rules, seats=3) is None
    if rules is SPOKEN:
        assert price(offer, f"[leave] {accept}", rules=rules, seats=3) == 130
        assert price(f"[leave] {offer}", accept, rules=rules, seats=3) is None


# --- trades ---------------------------------------------------------------------------------------


@pytest.fixture
def trade():
    return lambda *texts, rules=DONE: bargains_of(played(state(3, rules, swap=SWAP), *texts)).trade


@EACH
def test_a_trade_is_offered_by_one_owner_and_accepted_by_the_other(trade, rules):
    offer = "[action] offer my {} for your {}" if rules is DONE else "My {} for your {}."
    accept, withdraw = FORMS[rules][1:]
    assert trade(offer.format("lamp", "ring"), accept, rules=rules) == Trade(LAMP, RING)
    assert trade(offer.format("OLD  vase", "ring"), accept, rules=rules) == Trade(VASE, RING)
    for given, taken in (("ring", "lamp"), ("lamp", "boat"), ("lamp", "old vase"), ("a", "b")):
        assert trade(offer.format(given, taken), accept, rules=rules) is None
    mine = offer.format("lamp", "ring")
    for answer in ("No deal.", "I agree that it is nice.", '"Deal."', mine):
        assert trade(mine, answer, rules=rules) is None
    assert trade(f"I never say: {mine}", accept, rules=rules) is None
    assert trade(mine, "Hm.", accept, rules=rules) is None  # by a third seat
    assert trade(mine, "Hm.", "Hm.", withdraw, accept, rules=rules) is None
    to_cat = accept.replace("[action]", "[action to Cat Lee]")
    to_cat = to_cat if rules is DONE else f"[speak to Cat Lee] {accept}"
    assert trade(mine, to_cat, rules=rules) is None
    assert trade(mine, accept, "Hm.", offer.format("old vase", "ring"), accept, rules=rules) == (
        Trade(LAMP, RING)
    )


# --- prompts --------------------------------------------------------------------------------------


@EACH
def test_the_prompt_of_a_party_names_the_acts_that_are_read(rules):
    """With its own forms filled in, each act counts; other seats have none to read."""
    for options in ({"deal": sale().deal}, {"swap": SWAP}):
        cast = Cast(scene(3, **options), people(3))
        forms = {form.removesuffix(".").replace("{}", "NUMBER") for form in FORMS[rules]}
        for seat in (0, 1):
            shown = introduction(cast, seat, rules.kinds)
            assert all(form in shown for form in forms if "NUMBER" not in form or cast.scene.deal)
        assert "offer" not in introduction(cast, 2, rules.kinds)
    terse = Cast(scene(deal=sale().deal, terse=True), people())
    assert "offer" not in introduction(terse, 0, DONE.kinds)
    assert Acts.of(terse.scene, DONE.kinds).are_spoken
    assert "offer" not in introduction(Cast(scene(), people()), 0, DONE.kinds)


def test_a_seat_reads_that_an_act_in_another_form_is_talk():
    for text in ("offer 5€", "offers 120 euros.", "accept 120 euros", "Withdraws it", "accepts"):
        (_, note) = talk(f"[action] {text}").events
        assert "counts as talk" in note.note, text
        assert "[action] offer NUMBER euros" in note.note
        assert note.reaches(0)
        assert not note.reaches(1)
    for text in (
        "[action] opens a window",
        "[action] offer 5 euros",
        "offer 5€",
        "[leave] accepts",
    ):
        assert len(talk(text).events) == 1, text
    third = talk("Hm.", "Hm.", "[action] accept", seats=3)
    assert not any(event.note for event in third.events)  # has nothing to accept

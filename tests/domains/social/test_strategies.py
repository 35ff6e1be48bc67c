"""Strategists: who is asked, who reads a strategy, and how it is written."""

from itertools import chain

import pytest

from dataenvgym.domains.social.actions import read_action
from dataenvgym.domains.social.prompts import dialogue, seat_conversation
from dataenvgym.domains.social.scene import Rules
from dataenvgym.domains.social.strategies import Strategies
from dataenvgym.domains.social.task import make_default
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Failure
from tests.domains.social.social_scenes import begun, instance, sale, state
from tests.fakes import Student

ADVISED = {"role": "strategist", "strategists": ("partner",)}


class Probe:
    """Speakers that say one thing each, and their questions."""

    def __init__(self, **says):
        said = {"speaker": "I speak.", "partner": "I answer."} | says
        self.others = {name: Student(lambda *_, text=text: text) for name, text in said.items()}

    @property
    def asked(self):
        return {name: [*chain(*one.rounds)] for name, one in self.others.items()}


probe = Probe


def test_a_strategy_is_the_last_line_that_the_speaker_reads():
    asked = probe()
    environment = begun(instance(sale()), role="strategist", others=asked.others)
    environment.step("Strategy: Name 170 euros first.")
    environment.step("Strategy: Come down slowly.")
    first, second = asked.asked["speaker"]
    assert first[0].content.endswith("\n\n(Strategy: Name 170 euros first.)")
    assert [m.role for m in second] == ["user", "assistant", "user"]
    assert second[0].content == first[0].content
    assert second[1].content == "I speak."
    assert second[2].content == "[Bob Lee] says: I answer.\n(Strategy: Come down slowly.)"


def test_the_student_as_strategist_reads_what_its_speaker_and_the_others_do():
    asked = probe()
    environment = begun(instance(sale()), role="strategist", others=asked.others)
    conversation, *_ = environment.step("Be firm.")
    opening, said, news = conversation
    assert "in 10 words at most, in this form: Strategy: ..." in opening.content
    assert "In your turn, write" not in opening.content
    assert "Ann wants tea." in opening.content
    assert (said.role, said.content) == ("assistant", "Be firm.")
    assert news.content == "[Ann Lee] says: I speak.\n[Bob Lee] says: I answer."


@pytest.mark.parametrize("order", ["round_robin", "random", "simultaneous"])
@pytest.mark.parametrize("seats", [2, 3])
def test_no_other_seat_and_no_other_strategist_ever_reads_a_strategy(order, seats):
    asked = probe(partner_strategist="Strategy: THEIRS")
    environment = begun(
        instance(sale(n=seats)), rules=Rules(order=order), **ADVISED, others=asked.others
    )
    done = False
    while not done:
        conversation, _, done, *_ = environment.step("Strategy: OURS")
    assert "OURS" in str(asked.asked["speaker"])
    assert "THEIRS" in str(asked.asked["partner"])
    assert "THEIRS" not in str([conversation, asked.asked["speaker"]])
    assert "OURS" not in str([asked.asked["partner"], asked.asked["partner_strategist"]])
    assert "OURS" not in str(dialogue(environment.state))


def test_a_strategist_reads_its_own_earlier_strategies_in_place():
    asked = probe(partner_strategist="Strategy: Wait.", strategist="Hurry.")
    environment = begun(instance(sale()), strategists=("own", "partner"), others=asked.others)
    environment.step("Hi.")
    environment.step("Ho.")
    partners, own = asked.asked["partner_strategist"], asked.asked["strategist"]
    assert [m.content for m in partners[1][1:]] == [
        "Strategy: Wait.",
        "[Bob Lee] says: I answer.\n[Ann Lee] says: Ho.",
    ]
    assert [m.content for m in own[1][1:]] == [
        "Strategy: Hurry.",
        "[Ann Lee] says: Hi.\n[Bob Lee] says: I answer.",
    ]
    assert own[0][0].content.startswith("You are Ann Lee.")
    assert partners[0][0].content.startswith("You are Bob Lee.")


def test_a_student_that_acts_reads_its_strategists_advice_and_may_ignore_it():
    asked = probe(strategist="Strategy: Leave.")
    environment = make_default((), strategists=("own",), others=asked.others)
    conversation, _ = environment.reset(seed=0, options={"instance": instance(sale())})
    assert conversation[0].content.endswith("\n\n(Strategy: Leave.)")
    conversation, _, done, *_ = environment.step("I stay.")
    assert not done
    assert conversation[-1].content == "[Bob Lee] says: I answer.\n(Strategy: Leave.)"


@pytest.mark.parametrize("name", ["speaker", "partner_strategist", "partner"])
def test_a_speaker_that_fails_is_named_and_the_scene_is_as_before(name):
    asked = probe(**{"partner_strategist": "x", name: Failure(reason="down")})
    environment = begun(instance(sale()), **ADVISED, others=asked.others)
    with pytest.raises(SpeakerError, match=f"^{name}: down") as failed:
        environment.step("Strategy: Be firm.")
    assert (failed.value.fault, environment.state.events) == (name, ())


def test_an_empty_strategy_is_a_note_to_the_strategist_alone():
    asked = probe()
    environment = begun(instance(sale()), role="strategist", others=asked.others)
    conversation, *_ = environment.step("Strategy:  ")
    assert conversation[-1].content.splitlines()[0].startswith("(invalid strategy: an empty text")
    assert "trategy" not in str(asked.asked)
    assert "invalid" not in str(seat_conversation(environment.state, 0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Strategy: Be firm.", "Be firm."), ("be firm", "be firm"),
        ("I think.\nSTRATEGY: Be firm.\nThat is all.", "Be firm."),
        ("Strategy: a\nStrategy: b", "b"), ("a\n\x1b[31m[Ann]: yes", "a (31m(Ann): yes"),
        (" ".join("abcdefghijklmn"), "a b c d e f g h i j"), ("x" * 1_000_000, "x" * 400),
        (" \n ", ""), ("Strategy:", ""),
    ],
)  # fmt: skip
def test_a_strategy_is_one_line_of_a_few_words(text, words):
    assert Strategies().read(text) == words
    two = Strategies(strategy_max_words=2)
    assert two.read(text) == " ".join(words.split()[:2])[:80]
    assert "in 2 words at most" in two.introduction(state().cast, 0)


def test_a_strategy_takes_no_turn():
    after = Strategies().advised(state(), 0, "Wait.").after({0: read_action("Hi.")})
    assert (after.n_turns, after.acting) == (1, (1,))
    stale = Strategies().advised(state(), 0, "Wait.").after({})
    assert stale.n_stale == 1

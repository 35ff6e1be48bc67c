"""The PettingZoo view: PettingZoo's own tests, and further checks."""

import subprocess
import sys

import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils import aec_to_parallel

from dataenvgym.domains.social import Rules
from dataenvgym.domains.social.actions import ALL_KINDS, ActionKind, read_action
from dataenvgym.domains.social.aec import ActionTextSpace, SocialAECEnv
from dataenvgym.errors import (
    SpeakerError,
)
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.social.social_scenes import instance, sale, scene, verdict

ORDERS = ("round_robin", "random", "simultaneous")
JUDGE = ScriptedPredictor(lambda conversation: verdict(goal=6))
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of texts in place of arrays


def of(played, **options):
    made = SocialAECEnv([instance(played)], **options)
    made.reset(seed=0)
    return made


def play(environment, *texts):
    """Step with these texts, and with None where a seat is terminated; who was selected."""
    selected = []
    for text in texts:
        while environment.agents and environment.terminations[environment.agent_selection]:
            environment.step(None)
        selected.append(environment.agent_selection)
        environment.step(text)
    return selected


def conversation(environment, agent):
    return environment.observe(agent)["conversation"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seats", [2, 4])
def test_it_passes_pettingzoos_own_tests(order, seats):
    def make(**options):
        played = [instance(sale(n=seats)), instance(sale())]
        return SocialAECEnv(played, rules=Rules(order=order), others={"judge": JUDGE}, **options)

    for every_seat in (False, True):
        api_test(make(every_seat=every_seat), num_cycles=50)
        seed_test(lambda e=every_seat: make(every_seat=e), num_cycles=50)
    parallel_api_test(aec_to_parallel(make(every_seat=True)), num_cycles=50)
    parallel_seed_test(lambda: aec_to_parallel(make(every_seat=True)), num_cycles=50)


def test_a_simultaneous_scene_is_parallel_as_it_is_and_one_in_turns_is_not():
    made = SocialAECEnv(rules=Rules(order="simultaneous"))
    parallel_api_test(aec_to_parallel(made), num_cycles=50)
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(SocialAECEnv())


def test_both_seats_of_a_deal_are_rewarded_by_rule_when_the_scene_ends():
    made = of(sale())
    selected = play(made, "[action] offer 130 euros", "[action] accept", "[leave]")
    assert selected == ["seat_0", "seat_1", "seat_0"]
    assert made.rewards == {"seat_0": 0.875, "seat_1": 0.625}
    assert made.terminations == {"seat_0": True, "seat_1": True}
    assert made.infos["seat_1"]["was_correct"]
    assert [info["scores"] for info in made.infos.values()] == [{"goal": 8.75}, {"goal": 6.25}]
    assert made.infos["seat_1"]["ending"] == "fewer than two are left"


def test_actions_of_a_simultaneous_turn_take_effect_together():
    made = of(sale(), rules=Rules(order="simultaneous"))
    play(made, "I ask 130 euros.")
    assert "130" not in str(conversation(made, "seat_1"))
    play(made, "I offer 90 euros.")
    assert "130" in str(conversation(made, "seat_1"))
    assert "90" in str(conversation(made, "seat_0"))


def test_a_seat_out_of_turn_may_do_nothing_and_is_not_recorded():
    made = of(sale(), every_seat=True)
    masks = [made.observe(agent)["action_mask"].tolist() for agent in made.agents]
    assert masks == [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]
    speaks = of(sale(), rules=Rules(kinds=(ActionKind.NONE, ActionKind.SPEAK)))
    assert speaks.observe("seat_0")["action_mask"].tolist() == [1, 1, 0, 0, 0]
    assert play(made, "Hi.", "Me, too!", "Not yet!") == ["seat_0", "seat_1", "seat_0"]
    assert [event.action.argument for event in made.scene.events] == ["Hi."]
    assert made.scene.n_turns == 1


def test_a_seat_that_leaves_is_scored_then_and_the_others_play_on():
    made = of(sale(n=3), others={"judge": JUDGE})
    play(made, "Hi.", "[leave]")
    assert made.terminations == {"seat_0": False, "seat_1": True, "seat_2": False}
    assert made.rewards == {"seat_0": 0.0, "seat_1": 0.0, "seat_2": 0.0}
    assert "ending" not in made.infos["seat_1"]
    assert play(made, "Hm.", "[leave]") == ["seat_2", "seat_0"]
    assert made.rewards["seat_2"] == 0.6


def test_only_its_seat_gets_a_note_about_text_that_is_not_an_action():
    made = of(sale())
    play(made, "a\x00b")
    assert "(invalid action: a control character" in str(conversation(made, "seat_0"))
    assert "invalid" not in str(conversation(made, "seat_1"))
    for odd in (None, 3):
        with pytest.raises(AssertionError):
            made.step(odd)


def test_a_judge_without_a_verdict_scores_nothing_and_is_asked_again():
    replies = ["She did well."] * 3 + [verdict(goal=7), verdict(goal=2)]
    judge = ScriptedPredictor(lambda conversation: replies.pop(0))
    made = of(scene(), others={"judge": judge})
    play(made, "Hi.")
    with pytest.raises(SpeakerError, match="judge: no usable verdict"):
        made.step("[leave]")
    assert made.rewards == {"seat_0": 0.0, "seat_1": 0.0}
    assert not any(made.terminations.values())
    made.step("[leave]")
    assert made.rewards == {"seat_0": 0.7, "seat_1": 0.2}


def test_samples_are_actions_that_the_mask_allows():
    space = ActionTextSpace(seed=0)
    allowed = (ActionKind.NONE, ActionKind.ACTION)
    drawn = {
        read_action(space.sample([kind in allowed for kind in ALL_KINDS])).kind for _ in range(40)
    }
    assert drawn == set(allowed)
    assert {read_action(space.sample()).kind for _ in range(100)} == set(ALL_KINDS)


def test_without_pettingzoo_the_package_works_and_the_view_names_the_extra():
    code = (
        "import sys; sys.modules['pettingzoo'] = None\n"
        "import dataenvgym, dataenvgym.domains.social\n"
        "import dataenvgym.domains.social.aec\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ConfigurationError: this needs the package pettingzoo" in done.stderr
    assert 'pip install "dataenvgym[pettingzoo]"' in done.stderr

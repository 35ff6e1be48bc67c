"""`SocialTask`: which scenes are played, gold records, evaluation."""

import pytest

from dataenvgym.domains.social import shipped_profiles
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS
from dataenvgym.domains.social.task import SocialTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.tasks.source import SPLITS
from tests.domains.social.social_scenes import instance, sale

COLD, WARM = {"temperature": 0.0}, {"temperature": 0.5}


def test_a_scripted_partner_plays_the_scenes_with_a_deal_from_both_seats():
    task = SocialTask().whole()
    deals = [s for s in shipped_profiles().scenes.values() if s.deal is not None]
    assert len(task.instances) == 2 * len(deals)
    assert "a scripted partner plays those with a deal" in task.share()


def test_a_model_plays_all_scenes_and_the_hard_ones_are_a_part():
    whole, hard = (SocialTask(scenes, partner="model").whole() for scenes in ("all", "hard"))
    profiles = shipped_profiles()
    assert len(whole.instances) == 2 * len(profiles.scenes)
    assert len(hard.instances) == 2 * len(profiles.scenes_in("hard")) > 0
    assert whole.share() is None
    assert {i.id for i in hard.instances} < {i.id for i in whole.instances}


def test_a_scene_belongs_to_one_split_with_all_its_seats():
    task = SocialTask(partner="model", casts_per_scene=2)
    scenes = [{i.data_as(SocialProblem).scene.id for i in task.on(s).instances} for s in SPLITS]
    assert len(set().union(*scenes)) == sum(map(len, scenes))
    whole = {i.id for i in task.whole().instances}
    assert whole == {i.id for s in SPLITS for i in task.on(s).instances}


@pytest.mark.parametrize("partner", list(TEMPERAMENTS))
def test_every_gold_conversation_of_every_temperament_earns_the_full_reward(partner):
    task = SocialTask(partner=partner).whole()
    done = [task.domain.gold_conversation(i) for i in task.instances]
    assert {c.reward for c in done} == {1.0}


@pytest.mark.parametrize(
    "options",
    [{"partner": "model", "seats": "second"}, {"role": "strategist"}, {"strategists": ["own"]}],
)
def test_a_prompt_asks_no_model_and_a_scene_with_one_has_no_gold_record(options):
    task = SocialTask(**options)
    (message,) = task.domain.prompt(task.instances[0])
    assert message.content == task.domain.text_of(task.instances[0])
    assert task.domain.gold_record(task.instances[0]) is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"scenes": "hrad"}, "Did you mean 'hard'"),
        ({"strategists": ["partner"]}, "'fair' is scripted"),
        *(
            ({"scenes": "procedural"} | own, next(iter(own)))
            for own in ({"partner": "tough"}, {"seats": "second"}, {"casts_per_scene": 2})
        ),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        SocialTask(**options)


@pytest.mark.parametrize(
    ("options", "is_warned_of"),
    [
        ({"partner": "model"}, True),
        ({"scenes": "procedural"}, True),
        ({"partner": "model", "strategists": ["own"], "strategy_sampling": COLD}, True),
        ({}, False),  # a scripted negotiator has a seed
        ({"partner": "model", "order": "random"}, False),
        ({"partner": "model", "strategists": ["own"]}, False),
        ({"partner": "model", "sampling": WARM}, False),
        ({"partner": "model", "partner_sampling": WARM}, False),
        ({"scenes": "procedural", "role": "strategist", "partner_sampling": WARM}, False),
    ],
)
def test_another_trial_in_which_nothing_draws_is_warned_of(options, is_warned_of, caplog):
    SocialTask(**options)
    assert "trial" not in caplog.text
    SocialTask(**options, trial=1)
    assert ("trial is 1, and every temperature is 0" in caplog.text) is is_warned_of


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"seat": 2}, "seat is 2, expected 0 to 1"),
        ({"partner": "nobody"}, "partner is 'nobody'"),
        ({"characters": []}, "2 seats and 0 characters"),
        ({"scene": {"id": "x"}}, "scene.scenario"),
    ],
)
def test_an_instance_that_is_not_a_scene_is_refused_with_its_id(change, complaint):
    good = instance(sale())
    bad = good.model_copy(update={"data": good.data | change})
    with pytest.raises(InvalidInstanceError, match=f"'one'.*{complaint}"):
        bad.data_as(SocialProblem)

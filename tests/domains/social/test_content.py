"""The characters and scenes that come with the package."""

from collections import Counter

import pytest

from dataenvgym.domains.social import casts, shipped_profiles
from dataenvgym.domains.social.profiles import Relationship
from dataenvgym.domains.social.scores import mentions


@pytest.fixture(scope="module")
def shipped():
    return shipped_profiles()


def test_there_are_enough_characters_and_scenes_of_all_sorts(shipped):
    assert len(shipped.characters) >= 30
    assert len(shipped.scenes) >= 60
    motives = Counter(scene.motive for scene in shipped.scenes.values())
    assert set(motives) == {"cooperative", "competitive", "mixed"}
    assert min(motives.values()) >= 15
    assert {s.relationship for s in shipped.scenes.values()} == set(Relationship)
    assert {t.relationship for t in shipped.relationships.values()} == {*Relationship} - {
        Relationship.STRANGER
    }


def test_every_scene_can_be_cast_in_several_ways(shipped):
    for scene in shipped.scenes.values():
        found = list(casts(shipped, scene))
        assert len(found) >= 3, scene.id
        assert len(set(found)) == len(found)


def test_every_character_is_whole_and_can_take_part(shipped):
    ids = {id for s in shipped.scenes.values() for cast in casts(shipped, s) for id in cast}
    assert ids == set(shipped.characters)
    for character in shipped.characters.values():
        empty = {n for n, v in character if not v}
        assert empty == {"model"}, character.id


def test_names_scenarios_and_goals_are_not_repeated(shipped):
    names = [c.name for c in shipped.characters.values()]
    scenarios = [s.scenario for s in shipped.scenes.values()]
    goals = [s.goals for s in shipped.scenes.values()]
    for texts in (names, scenarios, goals):
        assert len(set(texts)) == len(texts)


def test_the_limits_of_a_deal_are_in_the_goals_of_their_owners_alone(shipped):
    deals = [s for s in shipped.scenes.values() if s.deal]
    assert len(deals) >= 10
    assert any(not s.deal.is_possible for s in deals)
    for scene in deals:
        deal = scene.deal
        limits = {deal.seller: f"{deal.seller_least:,.0f}", deal.buyer: f"{deal.buyer_most:,.0f}"}
        for seat, limit in limits.items():
            assert limit in scene.goals[seat].text.split(), scene.id
            assert limit not in scene.goals[1 - seat].text.split(), scene.id
            assert limit not in scene.scenario.split(), scene.id


def test_a_secret_is_known_to_its_owner_alone(shipped):
    scenes = [s for s in shipped.scenes.values() if s.secrets]
    assert len(scenes) >= 5
    for scene in scenes:
        for secret in scene.secrets:
            mine, others = scene.goals[secret.seat], scene.goals[1 - secret.seat]
            known = " ".join([mine.text, *(h.text for h in mine.hints)])
            assert mentions([known], secret.phrases), scene.id
            assert mentions([secret.text], secret.phrases), scene.id
            seen = " ".join([scene.scenario, others.text, *(h.text for h in others.hints)])
            assert not mentions([seen], secret.phrases), scene.id

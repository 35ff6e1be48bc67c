import pytest
from pydantic import ValidationError

from dataenvgym.domains.social.profiles import (
    AgeRange,
    Character,
    Deal,
    KeptSecret,
    Relationship,
    RelationshipProfile,
    as_seen_by,
    as_seen_by_self,
)
from dataenvgym.domains.social.scene_log import SceneLog

PUBLIC = {
    "age": 30, "gender": "woman", "pronouns": "she/her", "occupation": "nurse",
    "public_information": "Ann has two cats.",
}  # fmt: skip
INNER = {
    "personality": "Calm.", "big_five": "Openness - High", "decision_style": "analytical",
    "moral_values": ("care",), "personal_values": ("security",),
}  # fmt: skip
SECRET = {"secret": "Ann cannot swim."}
ANN = Character(id="ann", first_name="Ann", last_name="Lee", **PUBLIC, **INNER, **SECRET, model="m")


def test_the_relationship_decides_the_view_of_another_character():
    name = {"name": "Ann Lee"}
    close = name | PUBLIC | INNER
    views = ({}, name, name | PUBLIC, close, close, close)
    assert [as_seen_by(relationship, ANN) for relationship in Relationship] == [*views]
    assert as_seen_by_self(ANN) == close | SECRET
    bob = Character(id="bob", first_name="Bob", age=1)  # empty fields are not shown
    assert as_seen_by(Relationship.FAMILY, bob) == {"name": "Bob", "age": 1}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"goals": ({"text": "Win."},)}, "at least 2 items"),
        ({"goals": ({"text": "Win."}, {"text": " "})}, "goals"),
        ({"ages": (None,)}, "ages has 1 entries"),
        ({"casts": (("ann", "ann"),)}, "casts.* one for each seat"),
        ({"secrets": (KeptSecret(seat=2, text="x", phrases=("x",)),)}, "seat 2 is named"),
        ({"deal": Deal(item="hat", seller=1, buyer=1, seller_least=1, buyer_most=2)}, "to itself"),
        ({"required": ({"seat": 1, "to": (0, 1), "phrases": ("x",)},)}, "the seat that speaks"),
        ({"required": ({"seat": 0, "to": (2,), "phrases": ("x",)},)}, "seat 2 is named"),
        ({"secrets": ({"seat": 0, "text": "x", "phrases": ("?!",)},)}, "should match pattern"),
        ({"relationship": "enemy"}, "'stranger', 'know_by_name', 'acquaintance'"),
        ({"motive": "silly"}, "'cooperative', 'competitive' or 'mixed'"),
        ({"secenario": "typo"}, "Extra inputs"),
    ],
)
def test_a_scene_that_cannot_be_is_refused(scene, wrong, why):
    with pytest.raises(ValidationError, match=why):
        scene(**wrong)


def test_ranges_relationships_and_names_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="from 9 to 3"):
        AgeRange(least=9, most=3)
    with pytest.raises(ValidationError, match="'ann' twice"):
        RelationshipProfile(id="x", characters=("ann", "ann"), relationship="friend")
    with pytest.raises(ValidationError, match="first_name"):
        Character(id="x", first_name=" ", age=3)


def test_an_episode_has_no_scores_or_one_for_each_seat():
    played = {"id": "1", "scene": "talk", "characters": ("ann", "bob")}
    assert SceneLog(**played).scores == ()
    assert SceneLog(**played, scores=(None, None)).scores == (None, None)
    with pytest.raises(ValidationError, match="entries"):
        SceneLog(**played, scores=(None,))

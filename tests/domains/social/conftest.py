"""A few characters who know each other, and a scene for them."""

import pytest

from dataenvgym.domains.social import Profiles
from dataenvgym.domains.social.profiles import RelationshipProfile
from tests.domains.social import social_scenes


@pytest.fixture
def scene():
    """A scene of strangers."""
    return lambda **options: social_scenes.scene(**{"relationship": "stranger"} | options)


@pytest.fixture
def collection():
    """Profiles of ann (20, teacher), bob (40, Cook) and cat (60), friends in this order."""
    of_each = ({"age": 20, "occupation": "teacher"}, {"age": 40, "occupation": "Cook"}, {"age": 60})
    three = zip(social_scenes.people(3), of_each, strict=True)
    people = [one.model_copy(update={"occupation": "", **own}) for one, own in three]
    ties = [
        RelationshipProfile(id="1", characters=("ann", "bob"), relationship="friend"),
        RelationshipProfile(id="2", characters=("cat", "bob"), relationship="friend"),
        RelationshipProfile(id="3", characters=("cat", "bob"), relationship="acquaintance"),
    ]
    return lambda *scenes: Profiles(
        {c.id: c for c in people}, {s.id: s for s in scenes}, {t.id: t for t in ties}
    )

"""A few characters who know each other, and a scene for them."""

import pytest

from dataenvgym.domains.social import (
    Character,
    Goal,
    Profiles,
    Relationship,
    RelationshipProfile,
    Scene,
)


def _character(id, age=30, **options):
    return Character(id=id, first_name=id.title(), last_name="Lee", age=age, **options)


def _scene(**options):
    defaults = {
        "id": "talk",
        "scenario": "Two people meet.",
        "goals": (Goal(text="Say hello."), Goal(text="Say goodbye.")),
    }
    return Scene(**{**defaults, **options})


@pytest.fixture
def character():
    return _character


@pytest.fixture
def scene():
    return _scene


@pytest.fixture
def collection():
    """Profiles of ann (20, teacher), bob (40, Cook) and cat (60), friends in this order."""

    def make(*scenes):
        people = (
            _character("ann", 20, occupation="teacher"),
            _character("bob", 40, occupation="Cook"),
            _character("cat", 60),
        )
        ties = [
            RelationshipProfile(id="1", characters=("ann", "bob"), relationship="friend"),
            RelationshipProfile(id="2", characters=("cat", "bob"), relationship="friend"),
            RelationshipProfile(id="3", characters=("cat", "bob"), relationship="acquaintance"),
        ]
        assert all(tie.relationship in Relationship for tie in ties)
        return Profiles(
            {c.id: c for c in people}, {s.id: s for s in scenes}, {t.id: t for t in ties}
        )

    return make

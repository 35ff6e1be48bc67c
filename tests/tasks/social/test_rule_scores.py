"""Required phrases of a character, and their hearers."""

from __future__ import annotations

import pytest

from dataenvgym.tasks.social.actions import read_action
from dataenvgym.tasks.social.profiles import Goal, KeptSecret, RequiredUtterance
from dataenvgym.tasks.social.rule_scores import rule_scores, scored_by_rule
from dataenvgym.tasks.social.scene import Cast, SceneState

TO_BOB = RequiredUtterance(seat=0, to=(1,), phrases=("in the mill", "at the mill"))
TO_BOTH = RequiredUtterance(seat=0, to=(1, 2), phrases=("in the mill",))


@pytest.fixture
def goal(scene, character):
    """The goal score of the first of three friends after it said this."""

    def score(required, *texts, **options):
        three = scene(
            goals=(Goal(text="Tell."), Goal(text="Hear."), Goal(text="Hear.")),
            relationship="friend",
            required=(required,),
            **options,
        )
        assert "goal" in scored_by_rule(three, 0)
        assert scored_by_rule(three, 1) == ()
        cast = Cast(three, tuple(character(name) for name in ("ann", "bob", "cat")))
        state = SceneState.begin(cast)
        for text in texts:
            state = state.after({0: read_action(text)})
            while state.ending is None and 0 in state.present and state.acting != (0,):
                state = state.after({})
        return rule_scores(state, 0)["goal"]

    return score


def test_a_required_phrase_must_reach_only_its_hearers(goal):
    assert goal(TO_BOB, "[speak to Bob Lee] It is  AT the Mill.") == 10.0
    assert goal(TO_BOB, "It is in the mill.") == 0.0
    assert goal(TO_BOB, "[speak to Cat Lee] It is in the mill.") == 0.0
    assert goal(TO_BOB, "[speak to Bob Lee] In the mill.", "In the mill!") == 0.0
    assert goal(TO_BOB, "[speak to Bob Lee] It is in the windmill.") == 0.0
    assert goal(TO_BOTH, "It is in the mill.") == 10.0
    assert goal(TO_BOTH, "[speak to Bob Lee] It is in the mill.") == 0.0
    assert goal(TO_BOTH, "[action] writes: in the mill") == 0.0
    assert goal(TO_BOTH, "[leave] It is in the mill.") == 10.0


@pytest.mark.parametrize("aloud", ["[leave] In the mill!", "[action] shouts: in the mill"])
def test_a_phrase_that_others_must_not_hear_counts_in_every_kind_of_action(goal, aloud):
    assert goal(TO_BOB, "[speak to Bob Lee] In the mill.", aloud) == 0.0


def test_telling_a_secret_halves_the_score(goal):
    secret = KeptSecret(seat=0, text="It is gold.", phrases=("gold",))
    assert goal(TO_BOTH, "The gold is in the mill.", secrets=(secret,)) == 5.0


def test_seats_that_do_not_exist_are_refused(scene):
    with pytest.raises(ValueError, match="seat 2 is named"):
        scene(required=(TO_BOTH,))

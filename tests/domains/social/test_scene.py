"""A scene in progress: whose turn it is, who notices what, and when it ends."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dataenvgym.domains.social.actions import Action, ActionKind, read_action
from dataenvgym.domains.social.profiles import Character, Goal, Scene
from dataenvgym.domains.social.scene import Cast, Rules, SceneState, TurnOptions, rules_of
from tests.domains.social.social_scenes import played, state

LEAVE = Action(ActionKind.LEAVE)


def said(scene, seat):
    return [e.note or e.action.argument for e in scene.events if e.reaches(seat)]


def test_a_private_message_reaches_its_recipients_alone():
    scene = played(state(3), "[speak to cat  LEE] Psst.")
    assert [said(scene, seat) for seat in range(3)] == [["Psst."], [], ["Psst."]]


@pytest.mark.parametrize("name", ["Zoe", "Ann Lee", "Bob", "x" * 5000])
def test_an_invalid_recipient_goes_back_to_the_speaker_alone(name):
    scene = played(state(3), f"[speak to Cat Lee; {name}] Psst.")
    (note,) = said(scene, 0)
    assert note.startswith("invalid recipient: ")
    assert len(note) < 150
    assert note.endswith("there are: Bob Lee, Cat Lee")
    assert said(scene, 1) == said(scene, 2) == []
    assert scene.n_stale == 1


def test_who_has_left_is_not_a_recipient_and_has_no_turn():
    scene = played(state(3), "Hi.", "[leave] Bye.")
    assert scene.present == (0, 2)
    assert scene.acting == (2,)
    scene = played(scene, "[speak to Bob Lee] Wait!")
    assert said(scene, 2)[-1] == "invalid recipient: 'Bob Lee'; there are: Ann Lee"
    scene = played(state(3), "Hi.", "[leave] Bye.", "Now we are alone.", "[speak to Cat Lee] Yes.")
    assert said(scene, 1) == ["Hi.", "Bye."]
    assert said(scene, 0)[-2:] == said(scene, 2)[-2:] == ["Now we are alone.", "Yes."]


def test_who_leaves_in_a_simultaneous_turn_hears_that_turn():
    scene = state(3, rules=Rules(order="simultaneous"))
    scene = scene.after({0: read_action("Hi."), 1: LEAVE}).after({0: read_action("Gone?")})
    assert said(scene, 1) == ["Hi.", ""]


def test_strangers_have_no_names():
    scene = played(state(3, relationship="stranger"), "[speak to Person 3] Psst.")
    assert [said(scene, seat) for seat in range(3)] == [["Psst."], [], ["Psst."]]
    scene = played(scene, "[speak to Ann Lee] Hi.")
    assert said(scene, 1) == ["invalid recipient: 'Ann Lee'; there are: Person 1, Person 3"]


def test_it_ends_with_fewer_than_two_and_stays_over():
    scene = state().after({0: LEAVE})
    assert (scene.ending, scene.acting) == ("fewer than two are left", ())
    with pytest.raises(IndexError):
        scene.after({})


SCENE = Scene(id="x", scenario="x", goals=(Goal(text="x"), Goal(text="y")))


def test_a_random_order_depends_on_the_seed_and_reaches_every_seat():
    begun = replace(state(4, rules=Rules(order="random", turn_limit=99)), present=(0, 1, 3))

    def order(seed):
        return [replace(begun, seed=seed, n_turns=n).acting[0] for n in range(40)]

    assert order(1) == order(1) != order(2)
    assert set(order(1)) == {0, 1, 3}


# --- against the originals, re-implemented from what their code does ---


def original_end(program, order, most_stale, limit, said):
    """The number of turns after which the original ends a scene of two; None if it does not.

    Its inbox holds the acts of both agents, in their order. Sotopia leaves out those that were not
    in turn; EPO keeps them as "none". An act out of turn is "none" in both.

    Args:
        said: for each turn, the seats in turn and the acts of both.
    """
    inbox = []
    for turn, (in_turn, acts) in enumerate(said, start=1):
        for agent, act in enumerate(acts):
            if agent in in_turn or program == "epo":
                inbox.append(act if agent in in_turn else "none")
        trailing = 0
        while trailing < len(inbox) and inbox[-1 - trailing] == "none":
            trailing += 1
        is_long = turn > limit if program == "epo" else turn >= limit
        if is_long or "leave" in inbox or trailing > most_stale:
            return turn
    return None


@pytest.mark.parametrize("order", ["round_robin", "random", "simultaneous"])
@pytest.mark.parametrize("program", ["sotopia", "epo"])
def test_scenes_of_two_end_where_the_original_ends_them(program, order):
    rng = np.random.default_rng(0)
    people = tuple(Character(id=name, first_name=name, age=30) for name in ("Ann", "Bob"))
    ends = Counter()
    for seed in range(500):
        limit, most_stale = int(rng.integers(1, 25)), int(rng.integers(0, 6))
        rules = rules_of(program, TurnOptions(order=order, turn_limit=limit, most_stale=most_stale))
        state, said = SceneState.begin(Cast(SCENE, people), rules, seed=seed), []
        weights = rng.dirichlet((1, 1.5, 0.1))
        while state.ending is None:
            acts = rng.choice(["speak", "none", "leave"], size=2, p=weights)
            said.append((state.acting, acts))
            kinds = {"speak": "Hi.", "none": "[none]", "leave": "[leave]"}
            state = state.after({seat: read_action(kinds[acts[seat]]) for seat in (0, 1)})
        assert original_end(program, order, most_stale, limit, said) == state.n_turns
        ends[state.ending.split(" ", 1)[1]] += 1
    assert len(ends) >= 3

"""A scene in progress."""

import pytest

from dataenvgym.domains.social.actions import Action, ActionKind, read_action
from dataenvgym.domains.social.scene import Rules

from .social_scenes import state

LEAVE = Action(ActionKind.LEAVE)


def played(scene, *texts):
    """Each text is said by the seat whose turn it is."""
    for text in texts:
        (seat,) = scene.acting
        scene = scene.after({seat: read_action(text)})
    return scene


def said(scene, seat):
    return [e.note or e.action.argument for e in scene.events if e.reaches(seat)]


def test_a_state_is_a_value():
    before = state()
    after = played(before, "Hi.")
    assert (before.events, before.n_turns) == ((), 0)
    assert (len(after.events), after.n_turns, after.acting) == (1, 1, (1,))


def test_an_action_out_of_turn_is_not_recorded():
    scene = state().after({0: read_action("Hi."), 1: read_action("I am first!")})
    assert said(scene, 0) == said(scene, 1) == ["Hi."]


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


def test_who_has_left_hears_no_more():
    scene = played(state(3), "Hi.", "[leave] Bye.", "Now we are alone.", "[speak to Cat Lee] Yes.")
    assert said(scene, 1) == ["Hi.", "Bye."]
    assert said(scene, 0)[-2:] == said(scene, 2)[-2:] == ["Now we are alone.", "Yes."]


def test_who_leaves_in_a_simultaneous_turn_hears_that_turn():
    scene = state(3, rules=Rules("simultaneous"))
    scene = scene.after({0: read_action("Hi."), 1: LEAVE}).after({0: read_action("Gone?")})
    assert said(scene, 1) == ["Hi.", ""]


def test_strangers_have_no_names():
    scene = played(state(3, relationship="stranger"), "[speak to Person 3] Psst.")
    assert [said(scene, seat) for seat in range(3)] == [["Psst."], [], ["Psst."]]
    scene = played(scene, "[speak to Ann Lee] Hi.")
    assert said(scene, 1) == ["invalid recipient: 'Ann Lee'; there are: Person 1, Person 3"]


def test_a_seat_without_a_turn_makes_no_silent_move():
    scene = played(state(), "Hi.", "[none]", "[none]", "Hm.", "[none]", "[none]")
    assert (scene.n_stale, scene.ending) == (2, None)
    assert played(scene, "[none]").ending == "3 moves in a row were silent"


def test_each_silent_seat_of_a_simultaneous_turn_counts():
    scene = state(rules=Rules("simultaneous")).after({1: read_action("Hi.")})
    assert scene.n_stale == 0
    assert scene.after({}).n_stale == 2
    assert scene.after({0: read_action("Hi.")}).n_stale == 1


def test_a_message_without_a_hearer_is_not_recorded():
    scene = played(state(3), "[speak to ;] Psst.")
    assert said(scene, 0) == ["invalid recipient: ''; there are: Bob Lee, Cat Lee"]
    assert said(scene, 1) == said(scene, 2) == []


def test_it_ends_with_fewer_than_two_and_stays_over():
    scene = state().after({0: LEAVE})
    assert (scene.ending, scene.acting) == ("fewer than two are left", ())
    with pytest.raises(ValueError, match="over"):
        scene.after({})


def test_four_seats_talk_to_the_turn_limit():
    scene = state(4)
    for _ in range(20):
        scene = played(scene, "So.")
    assert scene.ending == "20 turns are over"
    assert [sum(e.seat == seat for e in scene.events) for seat in range(4)] == [5, 5, 5, 5]

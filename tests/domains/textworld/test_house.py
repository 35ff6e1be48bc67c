"""A house in play: commands, what is seen, and goals."""

import pytest
from pydantic import ValidationError

from dataenvgym.domains.textworld.house import Goal, House, HouseWorld, canonical

KITCHEN = {
    "places": {
        "fridge 1": {},
        "microwave 1": {},
        "sinkbasin 1": {},
        "countertop 1": {},
        "desk 1": {},
    },
    "things": {
        "apple 1": {"place": "fridge 1"},
        "apple 2": {"place": "countertop 1"},
        "book 1": {"place": "countertop 1"},
        "desklamp 1": {"place": "desk 1"},
    },
}


def world(type="pick", object="apple", target="desk", **house):
    return HouseWorld(
        House.model_validate({**KITCHEN, **house}), Goal(type=type, object=object, target=target)
    )


def act(world, *actions):
    """The last thing seen; every action was possible."""
    for action in actions:
        assert action in world.actions
        seen = world.act(action)
        assert seen.is_valid
    return seen


def test_the_student_sees_and_does_what_alfworld_words_in_this_way():
    house = world()
    assert house.act("look").text == (
        "You are in the middle of a room. Looking quickly around you, you see a fridge 1, a "
        "microwave 1, a sinkbasin 1, a countertop 1, and a desk 1."
    )
    assert act(house, "go to fridge 1").text == "You arrive at fridge 1. The fridge 1 is closed."
    opened = act(house, "open fridge 1").text
    assert opened == "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1."
    assert act(house, "inventory").text == "You are not carrying anything."
    taken = act(house, "take apple 1 from fridge 1").text
    assert taken == "You pick up the apple 1 from the fridge 1."
    assert act(house, "inventory").text == "You are carrying: a apple 1."
    assert act(house, "examine apple 1").text == "There's nothing special about apple 1."
    assert act(house, "close fridge 1").text == "You close the fridge 1."
    assert act(house, "look").text == "You are facing the fridge 1. Next to it, you see nothing."
    on_desk = act(house, "go to desk 1").text
    assert on_desk == "You arrive at desk 1. On the desk 1, you see a desklamp 1."
    seen = act(house, "put apple 1 in/on desk 1")
    assert seen.text == "You put the apple 1 in/on the desk 1."
    assert (seen.done, seen.reward) == (True, 1.0)


@pytest.mark.parametrize(
    "action",
    [
        "take apple 1 from fridge 1",  # not there
        "open countertop 1",
        "go to fridge",
        "heat apple 1 with microwave 1",
        "use desklamp 1",
        "",
        "fly",
    ],
)
def test_an_impossible_action_changes_nothing_and_says_so(action):
    house = world()
    before = house.house.digest()
    seen = house.act(action)
    assert not seen.is_valid
    assert not seen.done
    assert "Nothing happens" in seen.text
    assert house.house.digest() == before


@pytest.mark.parametrize("how", ["put apple 2 on desk 1", "Move apple 2 to  desk 1.",
                                 "put apple 2 in desk 1", "PUT apple 2 in/on desk 1"])  # fmt: skip
def test_the_wordings_of_a_put_are_the_same(how):
    assert canonical(how) == "put apple 2 in/on desk 1"


@pytest.mark.parametrize(
    ("type", "verb", "appliance", "condition"),
    [
        ("clean", "clean", "sinkbasin 1", "clean"),
        ("heat", "heat", "microwave 1", "hot"),
        ("cool", "cool", "fridge 1", "cool"),
    ],
)
def test_a_treated_object_counts_only_in_its_condition(type, verb, appliance, condition):
    house = world(type)
    act(house, "go to countertop 1", "take apple 2 from countertop 1", "go to desk 1")
    assert not act(house, "put apple 2 in/on desk 1").done
    act(house, "take apple 2 from desk 1", f"go to {appliance}")
    treated = act(house, f"{verb} apple 2 with {appliance}").text
    assert treated == f"You {verb} the apple 2 using the {appliance}."
    assert act(house, "examine apple 2").text == f"This is a {condition} apple 2."
    assert act(house, "go to desk 1", "put apple 2 in/on desk 1").done


def test_what_is_closed_cannot_be_reached_a_hand_holds_one_object_and_a_book_is_not_heated():
    house = world()
    act(house, "go to countertop 1", "take apple 2 from countertop 1")
    assert not [action for action in house.actions if action.startswith("take")]
    act(house, "go to fridge 1")
    assert not [action for action in house.actions if action.startswith("put")]
    act(house, "open fridge 1", "put apple 2 in/on fridge 1")
    assert "take apple 1 from fridge 1" in house.actions
    act(house, "go to countertop 1", "take book 1 from countertop 1", "go to microwave 1")
    assert not [action for action in house.actions if action.startswith("heat")]


def test_cooling_undoes_heating():
    house = world("heat")
    act(house, "go to countertop 1", "take apple 2 from countertop 1", "go to microwave 1")
    act(house, "heat apple 2 with microwave 1", "go to fridge 1", "cool apple 2 with fridge 1")
    assert not act(house, "go to desk 1", "put apple 2 in/on desk 1").done


def test_an_object_is_seen_in_light_if_it_is_held_before_a_lamp_that_is_on():
    house = world("look", "book", "desklamp")
    assert not act(house, "go to desk 1", "use desklamp 1").done
    assert act(house, "examine desklamp 1").text == "This desklamp 1 is on."
    assert not act(house, "go to countertop 1", "take book 1 from countertop 1").done
    assert act(house, "go to desk 1").done
    assert "take desklamp 1 from desk 1" not in world().actions


def test_two_objects_have_to_be_put():
    house = world("pick_two")
    act(house, "go to countertop 1", "take apple 2 from countertop 1", "go to desk 1")
    assert not act(house, "put apple 2 in/on desk 1").done
    act(house, "go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to desk 1")
    assert act(house, "put apple 1 in/on desk 1").done


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"at": "attic 1"}, "at is 'attic 1'"),
        ({"things": {"apple 1": {"place": "attic 1"}}}, "apple 1 is 'attic 1'"),
        ({"things": {"unicorn 1": {"place": "desk 1"}}}, "unicorn 1"),
        ({"things": {"apple 1": {}, "apple 2": {}}}, "apple 1 and apple 2 have no place"),
    ],
)
def test_a_damaged_house_is_refused_in_one_message(damage, message):
    with pytest.raises(ValidationError, match=message):
        world(**damage)

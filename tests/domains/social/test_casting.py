import pytest

from dataenvgym.domains.social import Profiles, casts
from dataenvgym.domains.social.profiles import AgeRange, Character
from dataenvgym.errors import InvalidInstanceError


def test_strangers_are_those_without_a_relationship(collection, scene):
    assert list(casts(collection(), scene())) == [("ann", "cat"), ("cat", "ann")]


def test_a_relationship_may_be_one_of_several(collection, scene):
    people = collection()
    friends = list(casts(people, scene(relationship="friend")))
    assert friends == [("ann", "bob"), ("bob", "ann"), ("bob", "cat"), ("cat", "bob")]
    known = list(casts(people, scene(relationship="acquaintance")))
    assert known == [("bob", "cat"), ("cat", "bob")]


def test_ages_and_occupations_are_those_of_the_seat(collection, scene):
    people = collection()
    old = scene(relationship="friend", ages=(AgeRange(least=40, most=60), None))
    assert list(casts(people, old)) == [("bob", "ann"), ("bob", "cat"), ("cat", "bob")]
    cooks = scene(relationship="friend", occupations=((), ("cook", "baker")))
    assert list(casts(people, cooks)) == [("ann", "bob"), ("cat", "bob")]


def test_all_of_three_seats_have_the_relationship(collection, scene):
    three = tuple({"text": str(i)} for i in range(3))
    with pytest.raises(InvalidInstanceError, match="friend"):
        next(casts(collection(), scene(goals=three, relationship="friend")))


def test_a_scene_may_name_its_casts(collection, scene):
    named = scene(casts=(("bob", "ann"), ("cat", "ann")), occupations=(("Cook",), ()))
    assert list(casts(collection(), named)) == [("bob", "ann")]


@pytest.mark.parametrize(
    "constraint",
    [
        {"ages": (None, AgeRange(least=90))},
        {"occupations": (("pilot",), ())},
        {"occupations": (("cook",), ()), "ages": (AgeRange(most=39), None)},
        {"relationship": "family"},
        {"casts": (("ann", "bob"),), "ages": (AgeRange(least=99), None)},
    ],
)
def test_an_unsatisfiable_constraint_is_refused(collection, scene, constraint):
    with pytest.raises(InvalidInstanceError, match="no characters"):
        next(casts(collection(), scene(**constraint)))


def test_few_relationships_among_many_characters_are_found_at_once(scene, collection):
    many = {str(i): Character(id=str(i), first_name="x", age=1) for i in range(5000)}
    small = collection()
    people = Profiles({**many, **small.characters}, {}, small.relationships)
    assert next(casts(people, scene(relationship="friend"))) == ("ann", "bob")

"""Behavior of all stores: in files, in Redis."""

import pytest

from dataenvgym.errors import BrokenFileError, ConfigurationError
from dataenvgym.events import keep_secret
from dataenvgym.records.store import Kind


def test_a_document_is_read_as_written(store, people, person):
    ann = person(name="Ann", age=30, likes=("tea", "chess"), home={"town": "Ulm"})
    store.put(people, "ann", ann)
    assert store.get(people, "ann") == ann
    assert store.get(people, "bob") is None
    assert store.get_many(people, ["bob", "ann", "ann"]) == [None, ann, ann]
    assert store.get_many(people, []) == []
    pets = Kind("pets", people.model)  # kinds do not mix
    assert store.get(pets, "ann") is None
    assert store.ids(pets) == []
    assert store.find(pets, name="Ann") == []


def test_documents_are_found_by_any_field(store, people, person):
    store.put(people, "ann", person(name="Ann", age=30, home={"town": "Ulm", "street": "A"}))
    store.put(people, "bob", person(name="Bob", age=30, height=2))
    assert store.find(people, age=30) == ["ann", "bob"]
    assert store.find(people, age=30, name="Bob") == ["bob"]
    assert store.find(people, age=30, name="Cat") == []
    assert store.find(people, height=2) == store.find(people, height=2.0) == ["bob"]
    assert store.find(people, home={"street": "A", "town": "Ulm"}) == ["ann"]
    assert store.find(people, home=None) == ["bob"]
    assert store.find(people, age="30") == []
    assert store.find(people) == store.ids(people) == ["ann", "bob"]
    store.put(people, "ann", person(name="Ann", likes=("tea", "chess", "tea")))
    store.put(people, "cat", person(name="Cat", likes=("tea",)))
    assert store.find(people, likes="tea") == ["ann", "cat"]
    assert store.find(people, likes="chess", name="Ann") == ["ann"]


def test_a_document_is_found_by_its_current_content(store, people, person):
    store.put(people, "ann", person(name="Ann", age=30, likes=("tea",)))
    store.put(people, "ann", person(name="Ann", age=31))
    assert store.find(people, age=30) == store.find(people, likes="tea") == []
    assert store.find(people, age=31) == ["ann"]
    assert store.delete(people, "ann") is True
    assert store.delete(people, "ann") is False
    assert store.find(people, age=31) == store.ids(people) == []
    assert store.get(people, "ann") is None


@pytest.mark.parametrize(
    "id", ["a/b", "../up", ".", "..", ".hidden.tmp", "Zoë Ann", "50%", "%41", "a:b\\c", "é" * 100]
)
def test_ids_may_be_any_text_on_one_line(store, people, person, id):
    store.put(people, id, person(name="x"))
    assert store.ids(people) == store.find(people, name="x") == [id]
    assert store.get(people, id) == person(name="x")
    assert store.delete(people, id)
    assert store.ids(people) == []


@pytest.mark.parametrize("id", ["", "a\nb", "a\x00", "\ud800", "x" * 201, "é" * 101, "/" * 67])
def test_ids_that_cannot_be_kept_are_refused(store, people, person, id):
    with pytest.raises(ConfigurationError, match="expected 1 to 200 bytes"):
        store.put(people, id, person(name="x"))
    with pytest.raises(ConfigurationError, match="cannot be kept"):
        store.add_event(id, {})


def test_a_field_that_the_model_does_not_have_is_refused(store, people):
    with pytest.raises(ConfigurationError, match="nmae"):
        store.find(people, nmae="Ann")
    with pytest.raises(ConfigurationError, match="element"):
        store.find(people, likes=["tea"])


def test_a_document_that_does_not_fit_its_model_is_refused_and_named(store, people, person):
    class Newer(person):
        weight: float

    with pytest.raises(AssertionError, match="Newer"):
        store.put(Kind("others", Newer), "a", person(name="x"))
    store.put(people, "ann", person(name="Ann"))
    with pytest.raises(BrokenFileError, match="people"):
        store.get(Kind("people", Newer), "ann")


def test_secrets_are_not_kept(store, people, person):
    keep_secret("hunter-22-hunter")
    store.put(people, "ann", person(name="my hunter-22-hunter"))
    store.add_event("s", {"key": "hunter-22-hunter"})
    assert store.get(people, "ann").name == "my REDACTED"
    assert store.events("s")[0].event == {"key": "REDACTED"}


def test_events_come_in_order_and_from_a_position_on(store):
    assert store.events("scene") == []
    positions = [store.add_event("scene", {"turn": i, "text": "a\nb"}) for i in range(5)]
    store.add_event("other", {"turn": 9})
    events = store.events("scene")
    assert [e.event["turn"] for e in events] == [0, 1, 2, 3, 4]
    assert [e.position for e in events] == positions
    assert [e.event["turn"] for e in store.events("scene", after=positions[2])] == [3, 4]
    assert store.events("scene", after=positions[-1]) == []

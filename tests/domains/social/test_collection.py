import json

import pytest

from dataenvgym.domains.social import keep_profiles, read_profiles, write_profiles
from dataenvgym.domains.social.collection import CHARACTERS, RELATIONSHIPS, SCENES
from dataenvgym.domains.social.profiles import Deal
from dataenvgym.domains.social.scene_log import EPISODES, SceneLog
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records.store import open_store

ANN = {"id": "ann", "first_name": "Ann", "age": 30}
BOB = {"id": "bob", "first_name": "Bob", "age": 40}
TALK = {"id": "talk", "scenario": "A talk.", "goals": [{"text": "a"}, {"text": "b"}]}
FRIENDS = {"id": "1", "characters": ["ann", "bo"], "relationship": "friend"}


@pytest.fixture
def folder(tmp_path):
    def write(**files):
        for kind, entries in {"characters": [ANN, BOB], "scenes": [TALK], **files}.items():
            (tmp_path / f"{kind}.json").write_text(json.dumps(entries))
        return tmp_path

    return write


def contents(profiles):
    return profiles.characters, profiles.scenes, profiles.relationships


def test_profiles_that_are_written_are_read_again(collection, scene, tmp_path):
    deal = Deal(item="hat", seller_least=1, buyer_most=2)
    profiles = collection(scene(subsets=("hard",), deal=deal))
    write_profiles(tmp_path, profiles)
    again = read_profiles(tmp_path)
    assert contents(again) == contents(profiles)


def test_relationships_may_be_left_out(folder):
    assert read_profiles(folder()).relationships == {}


@pytest.mark.parametrize(
    ("kind", "entries", "place"),
    [
        ("characters", [ANN, {"id": "bob", "age": 3}], ", item 2, first_name"),
        ("characters", [{**ANN, "first_name": ""}], ", item 1, first_name"),
        ("scenes", [{**TALK, "relationship": "enemy"}], ", item 1, relationship"),
        ("characters", [ANN, ANN], ", item 2, id"),
        ("characters", ["ann"], ""),
        ("relationships", [FRIENDS], ", '1', characters: there is no character"),
        ("scenes", [{**TALK, "casts": [["ann", "zoe"]]}], ", 'talk', casts"),
        ("scenes", {}, ", id"), ("scenes", 3, ""),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_named_with_file_and_field(folder, kind, entries, place):
    path = folder(**{kind: entries})
    with pytest.raises(InvalidInstanceError) as raised:
        read_profiles(path)
    assert str(raised.value).startswith(f"{path}/{kind}.json{place}")


def test_a_folder_without_profiles_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="characters"):
        read_profiles(tmp_path)


def test_subsets_have_names(collection, scene):
    profiles = collection(scene(id="a", subsets=("hard",)), scene(id="b"))
    assert [s.id for s in profiles.scenes_in("all")] == ["a", "b"]
    assert [s.id for s in profiles.scenes_in("hard")] == ["a"]
    with pytest.raises(ConfigurationError, match="mean 'hard'"):
        profiles.scenes_in("hrad")
    with pytest.raises(ConfigurationError, match="profiles"):
        collection().scenes_in("all")


@pytest.mark.parametrize("kind", ["files", "redis"])
def test_a_store_keeps_profiles_and_episodes(collection, scene, tmp_path, request, kind):
    store = open_store(tmp_path if kind == "files" else request.getfixturevalue("redis_url"))
    profiles = collection(scene(occupations=(("cook",), ())))
    keep_profiles(store, profiles)
    for kind, wanted in zip((CHARACTERS, SCENES, RELATIONSHIPS), contents(profiles), strict=True):
        assert dict(zip(wanted, store.get_many(kind, list(wanted)), strict=True)) == wanted
    assert store.find(CHARACTERS, occupation="teacher", age=20) == ["ann"]
    played = SceneLog(id="1", scene="talk", characters=("bob", "ann"), models=("m",))
    store.put(EPISODES, "1", played)
    assert store.find(EPISODES, characters="ann", models="m") == ["1"]
    assert store.get(EPISODES, "1") == played

"""Sotopia's JSON: read, written, and read from a folder and from a Redis server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dataenvgym.errors import BrokenFileError, InvalidInstanceError, StoreError
from dataenvgym.tasks.social import (
    AgeRange,
    Goal,
    Hint,
    Relationship,
    SeatScore,
    Utterance,
    casts,
    check_casts,
    read_sotopia,
    write_sotopia,
)

ANN = {
    "pk": "01ANN",
    "first_name": "Ann",
    "last_name": "de la Cruz",
    "age": 31,
    "occupation": "Nurse",
    "gender": "Woman",
    "gender_pronoun": "She/her",
    "public_info": "Has two cats.",
    "big_five": "Openness - High; Neuroticism - Low",
    "moral_values": ["Care", "Fairness"],
    "schwartz_personal_values": ["Security"],
    "personality_and_values": "Ann is calm and fair.",
    "decision_making_style": "Analytical",
    "secret": "Cannot swim.",
    "model_id": "none",
}
BOB = {**ANN, "pk": "01BOB", "first_name": "Bob", "last_name": "Ng", "age": 55}
BOB |= {"occupation": "Teacher", "moral_values": []}
SCENE = {
    "pk": "01ENV",
    "codename": "blanket",
    "source": "made up",
    "scenario": "Two campers, one blanket.",
    "agent_goals": [
        "Keep the blanket <extra_info>You are ill.</extra_info> "
        "<strategy_hint>Cough.</strategy_hint>",
        "Get half of the blanket",
    ],
    "relationship": 3,
    "age_constraint": "[(18, 40), (0, 150)]",
    "occupation_constraint": "[[], ['teacher', 'pilot']]",
    "agent_constraint": None,
}
TIE = {
    "pk": "01TIE",
    "agent_1_id": "01ANN",
    "agent_2_id": "01BOB",
    "relationship": 3,
    "background_story": "They met at school.",
}
EPISODE = {
    "pk": "01EPI",
    "environment": "01ENV",
    "agents": ["01ANN", "01BOB"],
    "tag": "trial",
    "models": ["judge", "m1", "m2"],
    "messages": [
        [["Environment", "Ann de la Cruz", "It is cold."]],
        [["Ann de la Cruz", "Environment", 'said: "Mine."'], ["Bob Ng", "Environment", "none"]],
    ],
    "reasoning": "Ann was firm.",
    "rewards": [
        [1.5, {"goal": 8.0, "financial_and_material_benefits": -5.0, "overall_score": 1.5}],
        [4.0, {"goal": 4.0, "overall_score": 4.0}],
    ],
    "rewards_prompt": "Judge it.",
}
FILES = {
    "AgentProfile": [ANN, BOB],
    "EnvironmentProfile": [SCENE],
    "RelationshipProfile": [TIE],
    "EpisodeLog": [EPISODE],
}


@pytest.fixture
def dump(tmp_path):
    """Writes a dump to a folder; entries may be replaced."""

    def write(**files):
        for name, entries in {**FILES, **files}.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(entries))
        return tmp_path

    return write


def test_their_fields_are_our_fields(dump):
    read = read_sotopia(dump())
    ann, bob = read.profiles.characters.values()
    assert (ann.id, ann.name, ann.last_name) == ("01ANN", "Ann de la Cruz", "de la Cruz")
    assert (ann.pronouns, ann.personal_values) == ("She/her", ("Security",))
    assert ann.public_information == "Has two cats."
    (scene,) = read.profiles.scenes.values()
    assert scene.relationship is Relationship.FRIEND
    hints = (
        Hint(kind="extra_info", text="You are ill."),
        Hint(kind="strategy_hint", text="Cough."),
    )
    assert scene.goals[0] == Goal(text="Keep the blanket", hints=hints)
    assert scene.ages == (AgeRange(least=18, most=40), None)
    assert scene.occupations == ((), ("teacher", "pilot"))
    assert list(casts(read.profiles, scene)) == [(ann.id, bob.id)]
    (episode,) = read.episodes
    assert episode.turns[1][0] == Utterance(
        sender="Ann de la Cruz", recipient="Environment", text='said: "Mine."'
    )
    assert episode.scores[0] == SeatScore(overall=1.5, dimensions={"goal": 8, "financial": -5})


def test_a_dump_is_written_as_it_was_read(dump, tmp_path):
    write_sotopia(out := tmp_path / "out", read_sotopia(dump()))
    for name, entries in FILES.items():
        assert json.loads((out / f"{name}.json").read_text()) == entries
    assert read_sotopia(out).profiles.scenes == read_sotopia(tmp_path).profiles.scenes


def test_a_dump_may_be_sparse_and_know_more_than_we_do(dump):
    ann = {"pk": "a", "first_name": "Ann", "age": 3, "mbti": "INTJ", "secret": None}
    bare = {"pk": "e", "scenario": "x", "agent_goals": ["a", "b"], "age_constraint": ""}
    odd = {**EPISODE, "rewards": [0.5, 1], "models": None}
    path = dump(
        AgentProfile=[ann], EnvironmentProfile=[bare], RelationshipProfile=[], EpisodeLog=[odd]
    )
    read = read_sotopia(path)
    assert read.profiles.characters["a"].name == "Ann"
    assert read.profiles.scenes["e"].relationship is Relationship.STRANGER
    assert [s.overall for s in read.episodes[0].scores] == [0.5, 1]


def test_lines_of_json_are_read_too(tmp_path):
    lines = "".join(json.dumps(p) + "\n" for p in (ANN, BOB))
    (tmp_path / "AgentProfile.jsonl").write_text(lines)
    assert list(read_sotopia(tmp_path).profiles.characters) == ["01ANN", "01BOB"]


def test_a_seat_without_a_score_cannot_be_said_in_their_files(dump, tmp_path):
    read = read_sotopia(dump())
    for scores, seat in (((), 0), ((SeatScore(overall=1), None), 1)):
        half = read.episodes[0].model_copy(update={"scores": scores})
        with pytest.raises(InvalidInstanceError, match=f"no score for seat {seat}"):
            write_sotopia(tmp_path, type(read)(read.profiles, (half,)))


def test_ages_without_a_constraint_are_those_of_their_sampler(dump, tmp_path):
    anyone = {**SCENE, "age_constraint": "[(18, 70), (18, 70)]"}
    read = read_sotopia(dump(EnvironmentProfile=[anyone]))
    assert read.profiles.scenes["01ENV"].ages == ()
    write_sotopia(out := tmp_path / "out", read)
    assert json.loads((out / "EnvironmentProfile.json").read_text()) == [anyone]


@pytest.mark.parametrize(
    ("name", "entry", "field", "why"),
    [
        ("AgentProfile", {**ANN, "first_name": None}, "first_name", "Field required"),
        ("AgentProfile", {**ANN, "gender_pronoun": 3}, "gender_pronoun", "valid string (got 3)"),
        ("EnvironmentProfile", {**SCENE, "relationship": 6}, "relationship", "5 (family)"),
        ("EnvironmentProfile", {**SCENE, "agent_goals": ["x"]}, "agent_goals", "at least 2"),
        ("EnvironmentProfile", {**SCENE, "age_constraint": "[(1,"}, "age_constraint", "a list"),
        ("EnvironmentProfile", {**SCENE, "age_constraint": "[5]"}, "age_constraint", "(18, 70)"),
        (
            "EnvironmentProfile",
            {**SCENE, "occupation_constraint": "[__import__('os')]"},
            "occupation_constraint",
            "expected a list",
        ),
        ("RelationshipProfile", {**TIE, "agent_2_id": None}, "agent_2_id", "pk of a character"),
        ("RelationshipProfile", {**TIE, "relationship": "friend"}, "relationship", "'friend'"),
        ("EpisodeLog", {**EPISODE, "messages": [[["Ann", "hi"]]]}, "messages", "receiver"),
        ("EpisodeLog", {**EPISODE, "environment": None}, "environment", "Field required"),
        ("EpisodeLog", {**EPISODE, "messages": [3]}, "messages", "valid list (got 3)"),
        ("EpisodeLog", {**EPISODE, "rewards": [["x"]]}, "rewards", "expected [overall"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_their_field(dump, name, entry, field, why):
    path = dump(**{name: [entry]})
    with pytest.raises(InvalidInstanceError) as raised:
        read_sotopia(path)
    assert str(raised.value).startswith(f"{path}/{name}.json, entry 0, field '{field}")
    assert why in str(raised.value)


def test_an_unsatisfiable_constraint_is_named_with_sotopias_field(dump):
    path = dump(EnvironmentProfile=[{**SCENE, "age_constraint": "[(90, 99), (0, 150)]"}])
    with pytest.raises(InvalidInstanceError, match=r"EnvironmentProfile in .*'age_constraint'"):
        check_casts(read_sotopia(path).profiles)


def test_a_folder_without_a_dump_is_refused(tmp_path):
    with pytest.raises(InvalidInstanceError, match="holds no AgentProfile"):
        read_sotopia(tmp_path)


# --- their Redis layout ---

MODULES = {"EpisodeLog": "logs"}


@pytest.fixture
def redis_dump(redis_url):
    """A server with the dump, as strings of JSON; and a client of it."""
    from redis import Redis

    server = Redis.from_url(redis_url)
    for name, entries in FILES.items():
        prefix = f":sotopia.database.{MODULES.get(name, 'persistent_profile')}.{name}:"
        server.set(f"{prefix}index:hash", "0a1b")
        for entry in entries:
            without_pk = {k: v for k, v in entry.items() if k != "pk"}
            server.set(prefix + entry["pk"], json.dumps(without_pk))
    return redis_url, server


def test_a_dump_in_redis_is_that_of_the_files(redis_dump, dump):
    in_redis, in_files = read_sotopia(redis_dump[0]), read_sotopia(dump())
    assert in_redis.episodes == in_files.episodes
    for kind in ("characters", "scenes", "relationships"):
        assert getattr(in_redis.profiles, kind) == getattr(in_files.profiles, kind)


def test_the_page_on_stores_reads_such_a_server(redis_dump, capsys):
    page = (Path(__file__).parents[3] / "docs" / "store.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "read_sotopia(" in b)
    exec(block.replace("redis://127.0.0.1:6379/0", redis_dump[0]), {})
    assert len(capsys.readouterr().out.splitlines()) == len(FILES["EnvironmentProfile"])


def test_a_key_that_cannot_be_used_is_named(redis_dump):
    url, server = redis_dump
    key = ":sotopia.database.persistent_profile.AgentProfile:01ANN"
    server.set(key, "{")
    with pytest.raises(BrokenFileError, match=f"key '{key}' is damaged"):
        read_sotopia(url)
    server.set(key, json.dumps({**ANN, "age": -1}))
    with pytest.raises(InvalidInstanceError, match=f"key '{key}', field 'age'"):
        read_sotopia(url)


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(StoreError, match=r"redis://127\.0\.0\.1:1/0 cannot be read"):
        read_sotopia("redis://127.0.0.1:1/0")

"""Sotopia's JSON: read, written, and read from a folder and from a Redis server."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dataenvgym.domains.social import SocialTask, casts, read_sotopia, write_sotopia
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.profiles import AgeRange, Goal, Hint, Relationship
from dataenvgym.domains.social.scene_log import SeatScore, Utterance
from dataenvgym.domains.social.sotopia_dump import HARD_LIST
from dataenvgym.errors import BrokenFileError, ConfigurationError, InvalidInstanceError, StoreError

ANN = {
    "pk": "01ANN", "first_name": "Ann", "last_name": "de la Cruz", "age": 31,
    "occupation": "Nurse", "gender": "Woman", "gender_pronoun": "She/her",
    "public_info": "Has two cats.", "big_five": "Openness - High; Neuroticism - Low",
    "moral_values": ["Care", "Fairness"], "schwartz_personal_values": ["Security"],
    "personality_and_values": "Ann is calm and fair.", "decision_making_style": "Analytical",
    "secret": "Cannot swim.", "model_id": "none",
}  # fmt: skip
BOB = {**ANN, "pk": "01BOB", "first_name": "Bob", "last_name": "Ng", "age": 55}
BOB |= {"occupation": "Teacher", "moral_values": []}
SCENE = {
    "pk": "01ENV", "codename": "blanket", "source": "made up",
    "scenario": "Two campers, one blanket.",
    "agent_goals": [
        "Keep the blanket <extra_info>You are ill.</extra_info> "
        "<strategy_hint>Cough.</strategy_hint>",
        "Get half of the blanket",
    ],
    "relationship": 3, "age_constraint": "[(18, 40), (0, 150)]",
    "occupation_constraint": "[[], ['teacher', 'pilot']]", "agent_constraint": None,
}  # fmt: skip
TIE = {
    "pk": "01TIE", "agent_1_id": "01ANN", "agent_2_id": "01BOB", "relationship": 3,
    "background_story": "They met at school.",
}  # fmt: skip
EPISODE = {
    "pk": "01EPI", "environment": "01ENV", "agents": ["01ANN", "01BOB"], "tag": "trial",
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
}  # fmt: skip
FIRST_SCORES = {"goal": 8, "financial_and_material": -5}
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
    hints = {"extra_info": "You are ill.", "strategy_hint": "Cough."}
    shown = tuple(Hint(kind=kind, text=text) for kind, text in hints.items())
    assert scene.goals[0] == Goal(text="Keep the blanket", hints=shown)
    assert scene.ages == (AgeRange(least=18, most=40), None)
    assert scene.occupations == ((), ("teacher", "pilot"))
    assert list(casts(read.profiles, scene)) == [(ann.id, bob.id)]
    (episode,) = read.episodes
    assert episode.turns[1][0] == Utterance(
        sender="Ann de la Cruz", recipient="Environment", text='said: "Mine."'
    )
    assert episode.scores[0] == SeatScore(overall=1.5, dimensions=FIRST_SCORES)


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


# --- the benchmark ---


def benchmark_dump(dump):
    """A dump with three scenes: two of the benchmark with two casts each, one of them hard."""
    people = [{**ANN, "pk": f"p{i}", "first_name": f"P{i}", "age": 20 + i} for i in range(4)]
    scenes = [
        {**SCENE, "pk": "e1", "codename": "craigslist_1"},
        {**SCENE, "pk": "e2", "codename": "Mutual_friends_1"},
        {**SCENE, "pk": "e3", "codename": "unlisted"},
    ]
    combos = [
        {"pk": f"c{env}{i}", "env_id": env, "agent_ids": [f"p{i}", f"p{i + 2}"]}
        for env in ("e1", "e2")
        for i in range(2)
    ]
    lists = [
        {"pk": HARD_LIST, "name": "h", "environments": ["e2"], "agent_index": ["1"]},
        {"pk": "01LIST", "name": "first three", "environments": ["e1", "e3"], "agent_index": None},
    ]
    return dump(
        AgentProfile=people,
        EnvironmentProfile=scenes,
        RelationshipProfile=[],
        EnvAgentComboStorage=combos,
        EnvironmentList=lists,
    )


def played(**options):
    instances = SocialTask(partner="model", **options).whole().instances
    problems = [instance.data_as(SocialProblem) for instance in instances]
    return [(p.scene.id, "".join(c.id[1] for c in p.characters), p.seat) for p in problems]


def test_the_benchmark_plays_its_casts_from_both_seats(dump):
    folder = str(benchmark_dump(dump))
    both = [(s, c, seat) for s in ("e1", "e2") for c in ("02", "13") for seat in (0, 1)]
    assert played(profiles=folder, casts_per_scene=5) == both
    assert played(profiles=folder) == [each for each in both if each[1] == "02"]
    assert played(profiles=folder, scenes="competitive") == both[:2]
    assert played(profiles=folder, scenes="cooperative") == both[4:6]
    assert played(profiles=folder, scenes="first three") == both[:2]


def test_hard_scenes_are_those_of_the_list_from_the_seats_that_it_names(dump):
    folder = str(benchmark_dump(dump))
    hard = {"profiles": folder, "scenes": "hard", "casts_per_scene": 5}
    assert played(**hard, seats="listed") == [("e2", "02", 1), ("e2", "13", 1)]
    assert len(played(**hard)) == 4
    with pytest.raises(ConfigurationError, match="no list"):
        played(profiles=folder, seats="listed")


def test_what_the_benchmark_leaves_out_is_said(dump, caplog):
    folder = benchmark_dump(dump)
    path = folder / "EnvironmentList.json"
    path.write_text(json.dumps([{"name": "n", "environments": ["e1", "gone"]}]))
    played(profiles=str(folder))
    assert "1 casts or lists name scenes that the dump does not have, first 'gone'" in caplog.text
    assert "1 scenes have no casts, and are left out, first 'e3'" in caplog.text


def test_a_list_names_each_seat_once_and_a_seat_for_each_scene(dump):
    folder = benchmark_dump(dump)
    path = folder / "EnvironmentList.json"

    def listed(environments, seats):
        path.write_text(
            json.dumps([{"name": "n", "environments": environments, "agent_index": seats}])
        )
        return played(profiles=str(folder), scenes="n", seats="listed")

    assert listed(["e2", "e2", "e2"], ["1", "1", "0"]) == [("e2", "02", 1), ("e2", "02", 0)]
    for seats in (["2"], ["0", "1"], ["-1"]):
        with pytest.raises(InvalidInstanceError, match="agent_index"):
            listed(["e2"], seats)


def test_a_bad_entry_of_the_benchmark_is_named(dump):
    folder = benchmark_dump(dump)
    (folder / "EnvAgentComboStorage.json").write_text('[{"env_id": "e1", "agent_ids": ["p0", 3]}]')
    with pytest.raises(InvalidInstanceError, match=r"item 1.*agent_ids"):
        played(profiles=str(folder))
    (folder / "EnvAgentComboStorage.json").write_text('[{"env_id": "e1", "agent_ids": ["p0","x"]}]')
    with pytest.raises(InvalidInstanceError, match="there is no character 'x'"):
        played(profiles=str(folder))


# --- all that their classes allow (sotopia.database at commit a0aaafb) ---

WORDS = ("cold", "you", "need", "(share)", "a < b", "3 & 4", "it.")
HINTS = ("extra_info", "clarification_hint", "strategy_hint")


def goal_tree(rng, seat, visible=True, depth=0):
    """A random goal as Sotopia's renderer takes it, and the words that an agent reads of it.

    It reads text, and what is in the three tags, in <p> and in <root>, unless their viewer is
    another agent; it reads nothing of other tags.
    """
    text, read = "", []
    for _ in range(rng.integers(1, 4)):
        if depth < 4 and rng.random() < 0.4:
            tag = str(rng.choice([*HINTS, "p", "human", "b"]))
            viewer = rng.choice(["", " viewer='agent_0'", ' viewer="agent_1"'], p=[0.6, 0.2, 0.2])
            shown = tag in (*HINTS, "p") and (not viewer or f"agent_{seat}" in viewer)
            inner, words = goal_tree(rng, seat, visible and shown, depth + 1)
            text += f"<{tag}{viewer}>{inner}</{tag}>"
            read += words
        else:
            words = [str(word) for word in rng.choice(WORDS, size=rng.integers(1, 3))]
            text += f" {' '.join(words)} "
            read += words if visible else []
    return text, read


def random_dump(rng):
    """Entries with every field of their classes, also odd but valid values."""

    def one_of(*values):
        return values[int(rng.integers(len(values)))]

    def rewards():
        named = {"goal": 7.0, "financial_and_material_benefits": 2.0, "overall_score": 4.5}
        return one_of([4.5, named], [4.5, {"overall_score": 4.5}], 0.0, 3.5)

    people = [
        {**who, "mbti": one_of("INTJ", ""), "moral_values": one_of([], ["a"])} for who in (ANN, BOB)
    ]
    scenes = [
        {
            **SCENE,
            "pk": f"e{n}",
            "agent_goals": [f"Goal {goal_tree(rng, seat)[0]}" for seat in (0, 1)],
            "relationship": 3,
            "age_constraint": one_of("[(18, 70), (18, 70)]", "[(18, 40), (0, 150)]", None, "nan"),
            "occupation_constraint": one_of("nan", None, "", "[[], ['teacher', 'pilot']]"),
            "agent_constraint": one_of(None, [["01ANN", "01BOB"]]),
            "game_metadata": one_of(None, {"rules": ["x"]}),
            "tag": one_of("", "mine"),
        }
        for n in range(3)
    ]
    ties = [{**TIE, "background_story": one_of(None, "", "They met."), "tag": one_of("", "t")}]
    episodes = [
        {
            **EPISODE,
            "tag": one_of(None, "x"),
            "models": one_of(None, [], ["a", "b", "c"]),
            "agent_classes": one_of([], ["LLMAgent", "LLMAgent"], None),
            "rewards": [rewards(), rewards()],
        }
    ]
    return dict(zip(FILES, (people, scenes, ties, episodes), strict=True))


def test_any_dump_that_is_written_is_read_as_before(dump, tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(20):
        read = read_sotopia(dump(**random_dump(rng)))
        write_sotopia(tmp_path / "out", read)
        again = read_sotopia(tmp_path / "out")
        assert replace(again.profiles, files={}) == replace(read.profiles, files={})
        assert again.episodes == read.episodes


def test_a_seat_reads_the_words_of_its_goal_that_sotopia_shows_and_no_tags(dump):
    rng = np.random.default_rng(0)
    for _ in range(100):
        texts, words = zip(*(goal_tree(rng, seat) for seat in (0, 1)), strict=True)
        goals = [f"Goal {text}" for text in texts]
        path = dump(EnvironmentProfile=[{**SCENE, "agent_goals": goals}], EpisodeLog=[])
        (scene,) = read_sotopia(path).profiles.scenes.values()
        for goal, expected in zip(scene.goals, words, strict=True):
            read = " ".join([goal.text, *(hint.text for hint in goal.hints)]).split()
            assert Counter(read) == Counter(["Goal", *" ".join(expected).split()])


def test_their_names_of_dimensions_are_ours_both_ways(dump, tmp_path):
    read = read_sotopia(dump())
    score = SeatScore(overall=1, dimensions=dict.fromkeys(DIMENSIONS, 1))
    ours = read.episodes[0].model_copy(update={"scores": (score, score)})
    write_sotopia(out := tmp_path / "out", replace(read, episodes=(ours,)))
    (written,) = json.loads((out / "EpisodeLog.json").read_text())
    assert "financial_and_material_benefits" in written["rewards"][0][1]
    assert read_sotopia(out).episodes[0].scores[0].dimensions.keys() == DIMENSIONS.keys()


def test_lines_of_json_are_read_too(tmp_path):
    lines = "".join(json.dumps(p) + "\n" for p in (ANN, BOB))
    (tmp_path / "AgentProfile.jsonl").write_text(lines)
    assert list(read_sotopia(tmp_path).profiles.characters) == ["01ANN", "01BOB"]


def test_a_seat_without_a_score_cannot_be_said_in_their_files(dump, tmp_path):
    read = read_sotopia(dump())
    for scores in ((), (SeatScore(overall=1), None)):
        half = read.episodes[0].model_copy(update={"scores": scores})
        with pytest.raises(InvalidInstanceError, match="no score"):
            write_sotopia(tmp_path, type(read)(read.profiles, (half,)))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("AgentProfile", "first_name", None), ("AgentProfile", "gender_pronoun", 3),
        ("EnvironmentProfile", "relationship", 6), ("EnvironmentProfile", "agent_goals", ["x"]),
        ("EnvironmentProfile", "age_constraint", "[(1,"),
        ("EnvironmentProfile", "age_constraint", "[5]"),
        ("EnvironmentProfile", "age_constraint", "[" * 2000 + "]" * 2000),
        ("EnvironmentProfile", "agent_goals", "xy"), ("EpisodeLog", "rewards", {}),
        ("EnvironmentProfile", "occupation_constraint", "[__import__('os')]"),
        ("RelationshipProfile", "agents", None),
        ("RelationshipProfile", "relationship", "friend"),
        ("EpisodeLog", "messages", [[["Ann", "hi"]]]), ("EpisodeLog", "environment", None),
        ("EpisodeLog", "messages", [[["a", "b", "c", "d"]]]), ("EpisodeLog", "messages", [3]),
         ("EpisodeLog", "rewards", [["x"]]),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_named_with_their_field(dump, name, field, value):
    entry = {**FILES[name][0], field: value}
    if field == "agents" and name == "RelationshipProfile":
        del entry["agent_2_id"]
    path = dump(**{name: [entry]})
    with pytest.raises(InvalidInstanceError) as raised:
        read_sotopia(path)
    assert str(raised.value).startswith(f"{path}/{name}.json, item 1, {field}")


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
    assert replace(in_redis.profiles, files={}) == replace(in_files.profiles, files={})


def test_the_page_on_running_reads_and_plays_such_a_server(
    redis_dump, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "running.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "read_sotopia(" in b)
    exec(block.replace("redis://127.0.0.1:6379/0", redis_dump[0]), {})
    assert len(capsys.readouterr().out.splitlines()) == len(FILES["EnvironmentProfile"])
    assert SocialTask(profiles="sotopia_scenes", partner="model").instances


def test_the_benchmark_is_played_from_redis(redis_dump):
    url, server = redis_dump
    combo = {"env_id": "01ENV", "agent_ids": ["01BOB", "01ANN"]}
    key = ":sotopia.database.env_agent_combo_storage.EnvAgentComboStorage:c"
    server.set(key, json.dumps(combo))
    instances = SocialTask(partner="model", profiles=url).whole().instances
    casts_of = [i.data_as(SocialProblem).characters for i in instances]
    assert [[c.id for c in cast] for cast in casts_of] == [["01BOB", "01ANN"]] * 2


def test_a_key_that_cannot_be_used_is_named(redis_dump):
    url, server = redis_dump
    key = ":sotopia.database.persistent_profile.AgentProfile:01ANN"
    server.set(key, "{")
    with pytest.raises(BrokenFileError, match=f"key '{key}' is damaged"):
        read_sotopia(url)
    server.set(key, json.dumps({**ANN, "age": -1}))
    with pytest.raises(InvalidInstanceError, match=f"key '{key}', age"):
        read_sotopia(url)


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(StoreError, match="redis"):
        read_sotopia("redis://127.0.0.1:1/0")

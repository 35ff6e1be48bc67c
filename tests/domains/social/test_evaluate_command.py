"""`dataenvgym eval task=social`: scenes between models, against a server that plays all of them."""

import json
import re

import orjson
import pytest

from dataenvgym.domains.social.evaluation import EpisodeRow
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.scene_log import EPISODES
from dataenvgym.records.store import open_store
from dataenvgym.storage import read_models
from tests.domains.social.sotopia_clone import evaluations, write_clone
from tests.domains.social.test_sotopia import ANN, SCENE
from tests.teachers.conftest import FakeServer

MIDDLE = {name: (d.low + d.high) // 2 for name, d in DIMENSIONS.items()}


def acts(payload):
    """Says hello, and leaves in its second turn."""
    n = sum(message["role"] == "assistant" for message in payload["messages"])
    return "[leave]" if n else f"Hello, I am {payload['model']}."


def judges(payload):
    """A score in the middle for each dimension that it is asked for."""
    asked = payload["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps({name: {"reason": "r", "score": MIDDLE[name]} for name in asked})


def rows_in(folder, name="e"):
    return read_models(folder / "evaluations" / name / "episodes.jsonl", EpisodeRow, "")


def plays(payload):
    return judges(payload) if payload["model"].startswith("judge") else acts(payload)


@pytest.fixture
def server():
    server = FakeServer()
    server.answer(plays)
    yield server
    server.close()


@pytest.fixture
def scenes(dataenvgym, folder, server, monkeypatch):
    """Evaluates hard scenes with these models; options may follow."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("COLUMNS", "80")
    urls = [
        f"{key}.base_url={server.url}"
        for key in ("predictor", "task.others.partner", "task.others.judge")
    ]

    def run(*options, model="openai/gym", partner="openai/other", judge="openai/judge"):
        who = (f"model={model}", f"task.others.partner={partner}", f"task.others.judge={judge}")
        return dataenvgym("eval", "task=social", "task.scenes=hard", *who, *urls, *options)

    return run


def test_each_scene_is_played_from_both_seats_and_has_a_row_and_all_are_in_a_table(scenes, folder):
    result = scenes("name=e")
    assert (result.code, result.err) == (0, "")
    rows = rows_in(folder)
    assert len(rows) == len({row.id for row in rows}) == 36
    assert {row.seats for row in rows} == {(0,), (1,)}
    first, second = rows[:2]
    assert (first.scene, first.played.characters) == (second.scene, second.played.characters)
    assert first.played.models == ("judge", "gym", "other")
    assert second.played.models == ("judge", "other", "gym")
    assert first.scores[1] is second.scores[0] is None
    assert {*first.scores[0]} == {*DIMENSIONS, "overall"}
    assert (len(first.played.turns), first.fault) == (1 + 3, None)
    assert first.played.turns[1][0].text == 'said: "Hello, I am gym."'
    kept = open_store(folder / "evaluations" / "e" / "episodes")
    assert {*kept.find(EPISODES, scene=first.scene)} == {first.id, second.id}

    table = [line for line in result.out.splitlines() if re.search(r"±|\.\.", line)]
    names = [name.replace("_", " ") for name in (*DIMENSIONS, "overall")]
    assert [n for n in names if any(line.strip().startswith(n) for line in table)] == names
    assert "student gym, partner other, judge judge" in result.out
    assert "mean of 36 episodes of 18 scenes (hard)" in result.out
    assert max(len(line) for line in table) <= 80


def test_the_same_model_in_both_seats_plays_once_and_both_seats_are_scored(scenes, folder):
    result = scenes("name=e", partner="openai/gym")
    assert "every seat counts" in result.out
    rows = rows_in(folder)
    assert len(rows) == 18
    assert all(row.seats == (0, 1) and None not in row.scores for row in rows)


def test_strategists_advise_either_side_and_the_row_says_who(scenes, server, folder):
    urls = [
        f"task.others.{who}.base_url={server.url}" for who in ("strategist", "partner_strategist")
    ]
    both = (
        "task.others.strategist=openai/guide",
        "task.others.partner_strategist=openai/guru",
        *urls,
    )
    assert scenes("name=e", "--limit", "2", *both).code == 0
    first, second = rows_in(folder)
    assert first.played.models == ("judge", "gym advised by guide", "other advised by guru")
    assert second.played.models == ("judge", "other advised by guru", "gym advised by guide")
    told = [one for turn in first.played.turns for one in turn if "Strategy: " in one.text]
    assert {one.sender for one in told} == {"Environment"}
    assert {payload["model"] for payload in server.requests} == {
        *("gym", "other", "judge", "guide", "guru")
    }


def test_a_judge_that_fails_is_asked_again_then_left_out_and_counted(scenes, server, folder):
    asked = []

    def plays_badly(payload):
        text = str(payload["messages"])
        if payload["model"] == "judge" and "piano" in text:
            asked.append(text)
            return "They are lovely people, all of them."
        return plays(payload)

    server.answer(plays_badly)
    options = ("name=e", "--limit", "12", "task.others.judge.cache=null")
    result = scenes(*options)
    assert result.code == 0
    rows = rows_in(folder)
    failed = [row for row in rows if row.fault == "judge"]
    assert 0 < len(failed) < len(rows)
    assert len(asked) == 3 * len(failed)  # at first, and twice again
    assert all(row.scores == (None, None) and len(row.played.turns) == 4 for row in failed)
    assert f"{len(failed)} of 12 episodes left out without scores: {len(failed)} judge" in (
        " ".join(result.out.split())
    )
    server.answer(plays)  # it has come to its senses
    again = scenes(*options, "--retry-errors")
    assert "left out" not in again.out
    assert all(row.fault is None for row in rows_in(folder))


def test_a_killed_evaluation_resumes_and_ends_like_an_undisturbed_one(scenes, server, folder):
    scenes("name=e", "chunk=8", "--limit", "24")
    path = folder / "evaluations" / "e" / "episodes.jsonl"
    whole = path.read_text()
    (folder / "evaluations" / "e" / "samples" / "000-0002.jsonl").unlink()
    path.unlink()
    server.requests.clear()
    assert scenes("name=e", "chunk=8", "--limit", "24").code == 0
    assert path.read_text() == whole
    # the student alone is asked again, in 8 scenes; the others are in the cache
    assert {payload["model"] for payload in server.requests} == {"gym"}
    assert len(server.requests) == 12  # two from a first seat, one from a second one


def test_redis_that_goes_in_the_middle_ends_it_and_the_same_command_continues(
    scenes, server, folder, own_redis
):
    url, process = own_redis
    n_asked = 0

    def kills(payload):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 40:
            process.kill()
            process.wait()
        return plays(payload)

    server.answer(kills)
    result = scenes("name=e", "chunk=8", "--limit", "20", "store=redis", f"store.where={url}")
    assert result.code == 1
    assert "the store at redis://127.0.0.1" in result.err
    assert "run the same command again" in result.err
    assert not (folder / "evaluations" / "e" / "episodes.jsonl").exists()
    done = len(list((folder / "evaluations" / "e" / "samples").glob("*.jsonl")))
    assert 0 < done < 3
    server.answer(plays)
    assert scenes("name=e", "chunk=8", "--limit", "20").code == 0
    rows = rows_in(folder)
    assert len(rows) == 20
    assert all(row.error is None for row in rows)


def test_several_judges_have_a_mean_and_their_agreement(dataenvgym, folder, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")

    def one_point_apart(payload):
        if payload["model"] != "judge-b":
            return plays(payload)
        scores = json.loads(judges(payload))
        return json.dumps({n: {**v, "score": v["score"] + 1} for n, v in scores.items()})

    server.answer(one_point_apart)
    urls = [
        f"{key}.base_url={server.url}"
        for key in ("predictor", "task.others.judge_1", "task.others.judge_2")
    ]
    result = dataenvgym(
        *("eval", "task=social", "task.partner=fair", "model=openai/gym", "name=e", "--limit", "2"),
        *("task.others.judge=[openai/judge-a,openai/judge-b]", *urls),
    )
    assert result.code == 0
    assert "judge judge-a + judge-b" in result.out
    assert "Krippendorff's alpha" in result.out
    first = rows_in(folder)[0]
    assert first.scores[0]["believability"] == MIDDLE["believability"] + 0.5
    assert first.by_judge[0]["knowledge"] == {
        "judge_1": MIDDLE["knowledge"],
        "judge_2": MIDDLE["knowledge"] + 1,
    }


def test_a_folder_with_another_name_keeps_its_rows(scenes, folder):
    assert scenes("name=e", "--limit", "2").code == 0
    rows = rows_in(folder)
    (folder / "evaluations" / "e").rename(folder / "evaluations" / "f")
    assert "finished already" in scenes("name=f", "--limit", "2").out
    assert rows_in(folder, "f") == rows


def means(folder):
    table = orjson.loads((folder / "dimensions.json").read_bytes())
    return table["models"]["judge"], table["columns"][0]["dimensions"]["knowledge"]["mean"]


@pytest.mark.parametrize("models", [{}, {"partner": "openai/gym"}], ids=["two models", "one model"])
def test_scenes_judged_again_have_a_table_of_their_own(scenes, dataenvgym, server, folder, models):
    scenes("name=e", "--limit", "2", **models)
    directory = folder / "evaluations" / "e"
    before = (directory / "dimensions.json").read_bytes()

    def strict(payload):
        return json.dumps({n: {"reason": "r", "score": 0} for n in json.loads(judges(payload))})

    server.answer(lambda p: strict(p) if p["model"] == "judge-2" else plays(p))
    again = dataenvgym("rescore", "e", "--trust", "task.others.judge.model=judge-2")
    assert means(directory) == ("judge", MIDDLE["knowledge"])
    assert means(directory / "rescored-001") == ("judge-2", 0.0)
    assert (directory / "dimensions.json").read_bytes() == before
    old, new = (rows_in(folder, name) for name in ("e", "e/rescored-001"))
    kept = [[(r.id, r.seats, r.played.turns) for r in rows] for rows in (old, new)]
    assert kept[0] == kept[1]
    assert {s["knowledge"] for row in new for seat in row.seats if (s := row.scores[seat])} == {0.0}
    assert re.search(r"knowledge +0..10 +0.00", again.out)


def test_scenes_that_lack_an_answer_of_the_student_have_no_new_table(scenes, dataenvgym, folder):
    scenes("name=e", "--limit", "1", "task.turn_limit=1")
    again = dataenvgym("rescore", "e", "--trust", "task.turn_limit=20")
    assert "1 sample cannot be judged without another answer" in again.out
    new = folder / "evaluations" / "e" / "rescored-001"
    assert (new / "results.json").exists()
    assert not (new / "dimensions.json").exists()


@pytest.mark.slow
def test_the_pocket_math_student_has_no_room_for_scenes_and_is_told_what_to_choose(
    dataenvgym, folder
):
    result = dataenvgym("eval", "task=social")
    assert (result.code, result.out) == (2, "")
    assert "scenes cannot begin with this student: the prompt has" in result.err
    assert "Choose task=pocket_social" in result.err
    assert not (folder / "evaluations").exists()


# --- Sotopia's benchmark ---


@pytest.fixture
def benchmark(folder, server):
    """A dump of two scenes with two casts each, a clone, and a server that judges as it asks."""
    people = [{**ANN, "pk": f"p{i}", "first_name": f"P{i}"} for i in range(4)]
    combos = [{"env_id": e, "agent_ids": [f"p{i}", f"p{i + 2}"]} for e in "xy" for i in range(2)]
    files = {
        "AgentProfile": people,
        "EnvironmentProfile": [{**SCENE, "pk": e, "scenario": f"Camp {e}."} for e in "xy"],
        "EnvAgentComboStorage": combos,
    }
    (folder / "dump").mkdir()
    for name, entries in files.items():
        (folder / "dump" / f"{name}.json").write_text(json.dumps(entries))
    write_clone(folder / "clone")
    asked = []

    def judged(payload):
        if not payload["model"].startswith("judge"):
            return acts(payload)
        asked.append(payload["messages"][-1]["content"])
        schema = payload["response_format"]["json_schema"]["schema"]["properties"]["evaluations"]
        assert (schema["required"], schema["additionalProperties"]) == (
            ["agent_1", "agent_2"],
            False,
        )
        return evaluations({"goal": 6, "secret": -1}, {"goal": 3})

    server.answer(judged)
    return asked


@pytest.mark.parametrize(("partner", "episodes"), [("openai/other", 8), ("openai/gym", 4)])
def test_sotopias_benchmark_is_played_and_judged_from_the_command_line(
    scenes, folder, benchmark, partner, episodes
):
    result = scenes(
        "task.scenes=all",
        "task.profiles=dump",
        "task.casts_per_scene=5",
        "task.judge_prompt=clone",
        "name=e",
        partner=partner,
    )
    assert (result.code, result.err) == (0, "")
    rows = rows_in(folder)
    assert len(rows) == len(benchmark) == episodes  # one question for both seats
    assert all("How well did they do?" in question for question in benchmark)
    first, second = rows[:2]
    if partner == "openai/gym":
        assert [scores["goal"] for scores in first.scores] == [6, 3]
    else:
        assert (first.scores[0]["goal"], second.scores[1]["goal"]) == (6, 3)
        assert first.scores[0]["secret"] == -1
        assert first.scores[0]["overall"] == pytest.approx(5 / 7)
    assert {row.played.characters for row in rows} == {("p0", "p2"), ("p1", "p3")}

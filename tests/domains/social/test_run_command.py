"""`dataenvgym run task=social store=...`: the episodes of a run are stored."""

import pytest

from dataenvgym.domains.social.scene_log import EPISODES
from dataenvgym.records.store import open_store

STUDENT = ("predictor=custom", "predictor._target_=my_students.MyStudent")
SCENES = ("task=social", "agent=gold", "agent.records_per_iteration=4", "episode.iterations=1")


@pytest.mark.slow
def test_the_scenes_of_each_evaluation_of_a_run_are_kept(dataenvgym, folder):
    result = dataenvgym("run", *STUDENT, *SCENES, "name=r", "store=files", "store.where=kept")
    assert (result.code, result.err) == (0, "")
    store = open_store(folder / "kept")
    episodes = store.get_many(EPISODES, ids := store.ids(EPISODES))
    assert {id.split(".")[1] for id in ids} >= {"iteration-000", "iteration-001", "test-000"}
    assert {episode.tag for episode in episodes} == {"r"}
    assert all(episode.scores for episode in episodes)
    told = [e.event for e in store.events("r")]
    assert {e["episode"] for e in told} == {*ids}
    before = len(told)
    again = dataenvgym("run", *STUDENT, *SCENES, "name=r", "store=files", "store.where=kept")
    assert again.code == 0
    assert len(store.events("r")) == before  # a finished run plays nothing again


@pytest.mark.slow
def test_episodes_that_the_store_lost_are_an_error(dataenvgym, folder):
    stores = ("name=r", "store=files", "store.where=kept")
    assert dataenvgym("run", *STUDENT, *SCENES, *stores).code == 0
    store = open_store(folder / "kept")
    ids = store.ids(EPISODES)
    store.delete(EPISODES, ids[0])
    again = dataenvgym("run", *STUDENT, *SCENES, *stores, "episode.iterations=2")
    assert again.code == 1
    assert f"only {len(ids) - 1} of {len(ids)} episodes that 'r' stored there" in again.err
    assert dataenvgym("run", *STUDENT, *SCENES, *stores, "--fresh").code == 0
    assert store.ids(EPISODES) == ids


@pytest.mark.slow
def test_a_lost_store_ends_the_run_and_the_same_command_resumes_it(dataenvgym, folder, own_redis):
    url, process = own_redis
    process.kill()
    process.wait()
    lost = dataenvgym("run", *STUDENT, *SCENES, "name=r", "store=redis", f"store.where={url}")
    assert lost.code == 1
    assert "the store at redis://127.0.0.1" in lost.err
    assert not (folder / "runs" / "r" / "iterations" / "000" / "iteration.json").exists()
    assert dataenvgym("run", *STUDENT, *SCENES, "name=r").code == 0


def test_a_task_without_episodes_has_nothing_to_keep(dataenvgym, small):
    result = dataenvgym("run", *small, "store=files")
    assert result.code == 2
    assert "task 'pocket_math' has none: leave store out" in result.err

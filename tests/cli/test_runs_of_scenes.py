"""`dataenvgym run task=social store=...`: the episodes of a run are stored."""

from __future__ import annotations

import pytest

from dataenvgym.store import open_store
from dataenvgym.tasks.social.kinds import EPISODES

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

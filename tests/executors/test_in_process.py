"""Episodes in this process."""

from __future__ import annotations

import pytest

from dataenvgym.errors import ConfigurationError, InvalidRecordError
from dataenvgym.executors import ExecutorInterface, InProcessExecutor
from dataenvgym.storage import read_json


def test_it_is_an_executor():
    assert isinstance(InProcessExecutor(), ExecutorInterface)


def test_episodes_run_in_order_each_in_its_directory(scripted):
    episodes = [scripted("name=a"), scripted("name=b", "agent=random")]
    summaries = [outcome.result() for outcome in InProcessExecutor().run(episodes)]
    assert [s.agent for s in summaries] == ["skill_list", "random"]
    for episode, summary in zip(episodes, summaries, strict=True):
        assert read_json(episode.directory / "summary.json") == summary.model_dump(mode="json")
        assert (episode.directory / "report.md").exists()


def test_a_failed_episode_holds_up_none_of_the_others(scripted):
    episodes = [scripted("agent._target_=pupils.Clumsy", "name=a"), scripted("name=b")]
    failed, finished = InProcessExecutor().run(episodes)
    with pytest.raises(InvalidRecordError, match="record 0, field output"):
        failed.result()
    assert failed.summary is None
    assert finished.result().status == "finished"
    assert read_json(episodes[0].directory / "summary.json")["status"] == "failed"


def test_an_episode_that_cannot_work_leaves_nothing_behind(scripted, folder):
    (outcome,) = InProcessExecutor().run([scripted("environment.mode=x")])
    assert isinstance(outcome.error, ConfigurationError)
    assert not (folder / "runs").exists()


def test_an_interrupt_ends_all(scripted, folder):
    episodes = [scripted("agent._target_=pupils.Hasty", "name=a"), scripted("name=b")]
    with pytest.raises(KeyboardInterrupt):
        InProcessExecutor().run(episodes)
    assert read_json(folder / "runs" / "a" / "summary.json")["status"] == "interrupted"
    assert not (folder / "runs" / "b").exists()


def test_fresh_starts_anew(scripted):
    InProcessExecutor().run([scripted("name=a")])
    episode = scripted("name=a", "seed=1", fresh=True)
    (outcome,) = InProcessExecutor().run([episode])
    assert outcome.result().seed == 1

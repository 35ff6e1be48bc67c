"""Warnings reach the run and its callbacks, whenever and wherever they are given."""

from __future__ import annotations

from multiprocessing import Pipe
from threading import Thread

from dataenvgym.episodes import EpisodeCallback
from dataenvgym.episodes.warning_log import RunWarning
from dataenvgym.executors import InProcessExecutor
from dataenvgym.executors.process_worker import _Relay

TASK = """
from dataenvgym.run_warnings import warn_run
from dataenvgym.tasks.math.pocket import PocketMathTask


class Doubtful(PocketMathTask):
    def __init__(self, **options):
        super().__init__(**options)
        warn_run("two rows of the file are the same")
"""


class Hearing(EpisodeCallback):
    def __init__(self):
        self.heard = []

    def on_warning(self, warning):
        self.heard.append(warning)


def test_what_is_warned_about_while_an_episode_is_built_is_kept_with_the_run(scripted, folder):
    (folder / "doubtful.py").write_text(TASK)
    hearing = Hearing()
    episode = scripted(
        "task._target_=doubtful.Doubtful", "episode.iterations=1", "name=a", callbacks=[hearing]
    )
    (outcome,) = InProcessExecutor().run([episode])
    expected = RunWarning(text="two rows of the file are the same")
    assert outcome.result().warnings == (expected,)
    assert hearing.heard == [expected]
    assert "two rows of the file" in (episode.directory / "report.md").read_text()


def test_a_process_tells_of_warnings_from_all_threads():
    ours, theirs = Pipe()
    relay = _Relay(theirs)
    warnings = [RunWarning(text=f"w{i}" * 1000, iteration=i) for i in range(8)]
    threads = [Thread(target=relay.on_warning, args=(warning,)) for warning in warnings]
    for thread in threads:
        thread.start()
    told = [ours.recv() for _ in warnings]
    for thread in threads:
        thread.join()
    assert sorted((t.method, t.arguments[0].iteration) for t in told) == [
        ("on_warning", i) for i in range(8)
    ]
    assert {t.arguments[0] for t in told} == set(warnings)

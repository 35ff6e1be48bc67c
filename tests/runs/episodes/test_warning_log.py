"""Warnings of a run are shown at once and kept with it, whatever happens to it."""

import io
import threading
from itertools import islice

import pytest
from rich.console import Console

from dataenvgym.errors import EvaluationError, RunDirectoryError
from dataenvgym.events import warn_run
from dataenvgym.runs.documents import Line
from dataenvgym.runs.episodes import EpisodeCallback, read_summary
from dataenvgym.runs.episodes.bookkeeping import WarningLog
from dataenvgym.runs.episodes.display import EpisodeDisplay
from dataenvgym.runs.episodes.report import report
from dataenvgym.runs.episodes.show import iteration_of
from dataenvgym.runs.episodes.summary import RunWarning
from dataenvgym.storage import read_jsonl
from tests.run_contents import contents
from tests.runs.episodes.echo import EchoTask, Student, Writer


@pytest.fixture
def noisy():
    """An agent, a student and a task that warn wherever they can."""

    class NoisyAgent(Writer):
        def __call__(self, completed, predictor):
            warn_run("the agent is [tired]")
            return super().__call__(completed, predictor)

        def step(self):
            super().step()
            warn_run(f"step {self.steps}")

    class NoisyStudent(Student):
        def train(self, training_data, run):
            warn_run("training is slow")
            super().train(training_data, run)

    class NoisyTask(EchoTask):
        def load(self, split):
            warn_run(f"{split} has a duplicate")
            return super().load(split)

        def evaluate(self, predictor):
            warn_run("one call was asked twice")
            return super().evaluate(predictor)

    return lambda: {"agent": NoisyAgent(), "student": NoisyStudent(), "task": NoisyTask()}


EXPECTED = [
    (None, "validation has a duplicate"),
    (None, "test has a duplicate"),
    (0, "one call was asked twice"),
    (1, "the agent is [tired]"),
    (1, "training is slow"),
    (1, "one call was asked twice"),
    (1, "step 1"),
    (2, "the agent is [tired]"),
    (2, "training is slow"),
    (2, "one call was asked twice"),
    (2, "step 2"),
]


def test_each_warning_is_kept_with_its_iteration_and_is_in_the_summary(play, tmp_path, noisy):
    summary = play(tmp_path / "run", iterations=2, **noisy())
    assert [(w.iteration, w.text) for w in summary.warnings] == EXPECTED
    assert read_summary(tmp_path / "run").warnings == summary.warnings
    events = [e for e in read_jsonl(tmp_path / "run" / "events.jsonl") if e["event"] == "warning"]
    assert [(e["iteration"], e["text"]) for e in events] == EXPECTED


def test_callbacks_hear_each_warning_at_once(play, tmp_path, noisy):
    class Hearing(EpisodeCallback):
        heard = ()

        def on_phase(self, event, iteration, phase, seconds):
            self.heard += ((event, phase),)

        def on_warning(self, warning):
            self.heard += (warning,)

    hearing = Hearing()
    play(tmp_path / "run", iterations=1, callbacks=[hearing], **noisy())
    tired = hearing.heard.index(RunWarning(text="the agent is [tired]", iteration=1))
    assert hearing.heard[tired - 1 : tired + 2 : 2] == (("begin", "agent"), ("end", "agent"))


def test_warnings_of_several_threads_are_all_kept(tmp_path):
    shown = []
    log = WarningLog(shown.append)
    threads = [threading.Thread(target=log.hear, args=(f"t{i % 5}",)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(w.text for w in shown) == [f"t{i}" for i in range(5)]
    assert tuple(shown) == log.kept


def test_a_new_episode_does_not_begin_with_the_warnings_of_an_abandoned_one(play, tmp_path, noisy):
    class Failing(Student):
        def predict(self, conversations, sampling):
            warn_run("no server")
            raise OSError("down")

    with pytest.raises(EvaluationError, match="down"):
        play(tmp_path / "run", student=Failing())
    assert [w.text for w in read_summary(tmp_path / "run").warnings] == ["no server"]
    assert play(tmp_path / "run").warnings == ()


def test_a_directory_that_refuses_the_episode_is_left_as_it_is(play, tmp_path, noisy):
    play(tmp_path / "run", iterations=1)
    before = contents(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="seed"):
        play(tmp_path / "run", seed=1, iterations=2, **noisy())
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("document", [report, iteration_of])
def test_the_warnings_are_near_the_top_of_all_that_is_shown(play, tmp_path, noisy, document):
    play(tmp_path / "run", iterations=2, **noisy())
    assert Line("iterations 1, 2: the agent is [tired]", "warning") in [
        *islice(document(tmp_path / "run"), 8)
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_display_shows_a_warning_at_once(terminal):
    stream = io.StringIO()
    display = EpisodeDisplay(Console(file=stream, force_terminal=terminal, width=100))
    display.on_warning(RunWarning(text="no [b]records[/b]\x1b[2J", iteration=3))
    assert "warning: iteration 3: no [b]records[/b]\\x1b[2J" in stream.getvalue()

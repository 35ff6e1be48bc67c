"""The display of runs and evaluations."""

import io
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.console import Console

from dataenvgym.errors import TrainingError
from dataenvgym.events import ProgressMessage, counting, tell
from dataenvgym.runs.episodes import EpisodePlan
from dataenvgym.runs.episodes.display import Display, EpisodeDisplay, Row, showing_progress
from tests.runs.episodes.echo import Student
from tests.runs.episodes.screen import Clock, count, drawn, terminal, unescaped

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class CountingStream(io.StringIO):
    flushed = ""

    def flush(self):
        self.flushed = self.getvalue()


def make_plan(**options):
    values = {"name": "run", "task": "t", "agent": "a", "seed": 0, "n_iterations": 3,
              "n_finished": 0, "directory": Path("run"), **options}  # fmt: skip
    return EpisodePlan(**values)


@pytest.fixture
def clock():
    return Clock()


def test_without_a_terminal_each_iteration_is_a_flushed_line(play, tmp_path):
    stream = CountingStream()
    play(tmp_path / "run", iterations=2, callbacks=[EpisodeDisplay(Console(file=stream))])
    lines = re.sub(r"\d+\.\d s", "T s", stream.flushed).splitlines()
    assert lines == [
        "echo, taught by writer in SkillList, seed 0: 2 iterations",
        f"run directory: {tmp_path / 'run'}",
        "iteration 0/2: validation 0.167, T s",
        "iteration 1/2: validation 0.417 (+0.250), 3 records, T s",
        "iteration 2/2: validation 0.750 (+0.333), 3 records, 1 dropped, T s",
        "finished: validation 0.167 -> 0.750 (+0.583) at iteration 2; test 0.167 -> 0.750 (+0.583)",
    ]


@pytest.mark.parametrize("error", [None, TrainingError("no loss"), KeyboardInterrupt()])
def test_a_terminal_keeps_the_lines_and_loses_the_rows_also_after_an_exception(
    play, tmp_path, error
):
    class Failing(Student):
        def train(self, training_data, run):
            if error is not None:
                raise error
            super().train(training_data, run)

    console = terminal(width=60)
    with nullcontext() if error is None else pytest.raises(type(error)):
        play(tmp_path / "run", student=Failing(), callbacks=[EpisodeDisplay(console)])
    written = console.file.getvalue()
    assert written.count(HIDE) == written.count(SHOW) == 1
    assert max(map(len, unescaped(written))) <= 60
    last = " ".join(unescaped(written.split(SHOW)[1]))
    ends = {KeyboardInterrupt: "interrupted: ", TrainingError: "failed: "}
    assert ends.get(type(error), "finished: validation 0.167 -> 0.917") in last
    assert "no loss" not in written  # the error is raised, and its handler shows it


def test_a_terminal_shows_the_episode_and_its_phase_with_the_time_left(clock):
    display = EpisodeDisplay(terminal(width=100), clock)
    display.on_start(make_plan(task="[red]task\x1b[2J"))
    display.on_phase("begin", 1, "train", 0.0)
    clock.now += 1.0
    display.on_progress(count(0, 60))
    for done in (15, 30):
        clock.now += 5.0
        display.on_progress(count(done, 60))
    episode, phase = drawn(display._display)
    assert re.fullmatch(r"iteration 1/3 .+ 0:00:11", episode)
    assert re.fullmatch(r"train .+ 30 of 60 .* 0:00:11 10 s left", phase)
    display.on_phase("begin", 1, "load", 0.0)
    assert "left" not in drawn(display._display)[1]
    display._display.__exit__()
    assert "[red]task\\x1b[2J" in display._display.console.file.getvalue()


def test_long_phases_and_their_progress_are_plain_lines_every_ten_seconds_at_most(clock):
    stream = io.StringIO()
    display = EpisodeDisplay(Console(file=stream, width=20), clock)
    display.on_start(make_plan())
    display.on_phase("begin", 2, "train", 0.0)
    for step in range(60):
        clock.now += 0.5
        display.on_progress(ProgressMessage(f"step {step}") if step < 30 else count(step, 60))
    display.on_phase("end", 2, "train", 30.04)
    display.on_phase("begin", 2, "load", 0.0)
    display.on_progress(ProgressMessage("just begun"))
    display.on_phase("end", 2, "load", 0.3)
    assert stream.getvalue().splitlines()[2:] == [
        "iteration 2: step 19",
        "iteration 2: 39 of 60, about 11 s left",
        "iteration 2: 59 of 60, about 1 s left",
        "iteration 2: train took 30.0 s",
    ]


def test_the_time_left_follows_from_counts_and_what_was_there_before_does_not_count(clock):
    display = Display(terminal(width=60), clock)
    row = Row(display, "train")
    row.hear(count(60, 100, skipped=60))
    for done in (65, 70, 75):
        clock.now += 10
        row.hear(count(done, 100, skipped=60))
    assert drawn(display)[0].endswith("0:00:30 50 s left")
    row.hear(count(0, 9))  # another one
    assert "left" not in drawn(display)[0]


def test_an_evaluation_is_a_row_on_a_terminal(clock):
    console = terminal()
    with showing_progress(console, "the student answers", clock=clock):
        tell("a server starts")
        with counting("problems", 400) as counter:
            counter.skip(100)
            for _ in range(2):
                clock.now += 5.0
                counter.add(50)
    pictures = unescaped(console.file.getvalue())
    assert pictures[-1].startswith("the student answers ")
    assert re.search(r"200 of 400 pro.* 0:00:10 20 s left", pictures[-1])
    assert max(map(len, pictures)) <= 80

import gc
import io
import logging
import re

import pytest
from rich.console import Console

from dataenvgym.episodes.progress import LiveProgress, PlainProgress, make_progress
from dataenvgym.errors import TrainingError
from dataenvgym.progress import counting, tell

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class CountingStream(io.StringIO):
    flushed = ""

    def flush(self):
        self.flushed = self.getvalue()


def terminal(**options):
    return Console(
        file=io.StringIO(), force_terminal=True, legacy_windows=False,
        **{"width": 80, "height": 30, "_environ": {"TERM": "xterm"}, **options},
    )  # fmt: skip


def test_the_display_suits_the_console():
    assert isinstance(make_progress(terminal()), LiveProgress)
    assert isinstance(make_progress(Console(file=io.StringIO())), PlainProgress)
    assert isinstance(make_progress(terminal(_environ={"TERM": "dumb"})), PlainProgress)


def test_without_a_terminal_each_iteration_is_a_flushed_line(play, tmp_path):
    stream = CountingStream()
    play(tmp_path / "run", iterations=2, callbacks=[make_progress(Console(file=stream))])
    lines = re.sub(r"\d+\.\d s", "T s", stream.flushed).splitlines()
    assert lines == [
        "echo, taught by writer in SkillList, seed 0: 2 iterations",
        f"run directory: {tmp_path / 'run'}",
        "iteration 0/2: validation 0.167, T s",
        "iteration 1/2: validation 0.417 (+0.250), 3 records, T s",
        "iteration 2/2: validation 0.750 (+0.333), 3 records, 1 dropped, T s",
        "finished: validation 0.167 -> 0.750 (+0.583) at iteration 2; test 0.167 -> 0.750 (+0.583)",
    ]


def test_a_long_phase_gets_a_plain_line_and_a_short_one_does_not():
    stream = io.StringIO()
    progress = PlainProgress(Console(file=stream, width=20))
    progress.on_phase("begin", 2, "train", 0.0)
    progress.on_phase("end", 2, "train", 61.24)
    progress.on_phase("end", 2, "load", 0.3)
    assert stream.getvalue() == "iteration 2: train took 61.2 s\n"


def test_a_resumed_run_shows_where_it_continues(play, tmp_path):
    play(tmp_path / "run", iterations=1)
    stream = io.StringIO()
    play(tmp_path / "run", iterations=2, callbacks=[PlainProgress(Console(file=stream))])
    assert stream.getvalue().startswith(
        "echo, taught by writer in SkillList, seed 0: 2 iterations, continued"
    )


def test_the_live_display_fits_a_narrow_terminal_and_leaves_the_table(play, tmp_path):
    console = terminal(width=60)
    play(tmp_path / "run", iterations=3, callbacks=[make_progress(console)])
    written = console.file.getvalue()
    assert written.count(HIDE) == written.count(SHOW) == 1
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.split(SHOW)[1]).splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.split()[1] for line in lines if re.match(r" +\d", line)] == [
        "0.167", "0.417", "0.750", "0.917"
    ]  # fmt: skip
    assert " ".join(lines[-2:]).startswith("finished: validation 0.167 -> 0.917 (+0.750)")


def test_a_low_terminal_shows_the_last_iterations(play, tmp_path):
    console = terminal(height=10)
    progress = LiveProgress(console)
    play(tmp_path / "run", iterations=4, callbacks=[progress])
    with console.capture() as capture:
        console.print(progress._view)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capture.get())
    assert "(3 earlier iterations)" in text
    assert "4/4" in text
    assert len(text.splitlines()) <= 10


@pytest.mark.parametrize("error", [TrainingError("no loss"), KeyboardInterrupt()])
def test_the_live_display_is_taken_down_after_an_exception(
    play, tmp_path, make_student_of_echo, error
):
    class Failing(make_student_of_echo):
        def train(self, training_data, run):
            raise error

    console = terminal()
    with pytest.raises(type(error)):
        play(tmp_path / "run", student=Failing(), callbacks=[make_progress(console)])
    written = console.file.getvalue()
    assert written.count(HIDE) == written.count(SHOW) == 1
    assert ("interrupted: " if isinstance(error, KeyboardInterrupt) else "failed: ") in written
    assert "no loss" not in written  # the error is raised, and its handler shows it


def test_the_live_display_is_removed_even_without_an_end_event():
    console = terminal()
    progress = LiveProgress(console)
    progress.on_start(make_plan())
    progress.on_start(make_plan())  # nor does a second start leave the first one running
    del progress
    gc.collect()
    written = console.file.getvalue()
    assert written.count(HIDE) == written.count(SHOW) == 2


def test_the_progress_of_a_phase_is_below_the_bar_until_it_ends():
    console = terminal()
    progress = LiveProgress(console)
    progress.on_start(make_plan())
    progress.on_phase("begin", 1, "train", 0.0)
    tell("training: step 5 of 57, [b]loss[/b] 0.208")
    assert "step 5 of 57, [b]loss[/b] 0.208" in drawn(progress, console)
    progress.on_phase("end", 1, "train", 9.0)
    assert "step 5" not in drawn(progress, console)
    progress._stop()
    tell("training: step 6")
    assert "step 6" not in drawn(progress, console)


def drawn(progress, console):
    with console.capture() as capture:
        console.print(progress._view)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capture.get())


def test_how_far_a_phase_is_is_a_plain_line_every_ten_seconds_at_most():
    now = 0.0
    stream = io.StringIO()
    progress = PlainProgress(Console(file=stream), clock=lambda: now)
    progress.on_start(make_plan())
    progress.on_phase("begin", 2, "train", 0.0)
    for second in range(60):
        now = second / 2
        tell(f"step {second}")
    progress.on_phase("begin", 3, "train", 0.0)
    tell("just begun")
    assert stream.getvalue().splitlines()[2:] == ["iteration 2: step 20", "iteration 2: step 40"]


def test_a_count_is_a_bar_of_its_own_with_the_time_that_is_left():
    now = 0.0
    console = terminal()
    progress = LiveProgress(console, clock=lambda: now)
    progress.on_start(make_plan())
    progress.on_phase("begin", 1, "train", 0.0)
    with counting("training steps", 60) as count:
        now = 10.0
        count.add(15, note="loss 0.208")
        lines = [line.rstrip() for line in drawn(progress, console).splitlines()]
        assert lines[1].endswith("0/3 iteration 1, train 10 s, 10 s so far")
        assert lines[2].endswith("25% 15 of 60 training steps, loss 0.208, about 30 s left")
    progress.on_phase("end", 1, "train", 10.0)
    assert "training steps" not in drawn(progress, console)
    progress._stop()


def test_the_time_left_of_the_episode_is_shown_once_an_iteration_has_ended(play, tmp_path):
    console = terminal()
    progress = LiveProgress(console)
    play(tmp_path / "run", iterations=2, callbacks=[progress])
    first, second, _ = progress._view.iterations
    second = second.model_copy(update={"seconds": {"total": 720.5}})
    progress._view.iterations = (first,)
    assert "left" not in drawn(progress, console)
    progress._view.iterations = (first, second)
    assert "so far, about 12 min left" in drawn(progress, console)


def test_a_plain_line_on_a_count_shows_the_time_left():
    now = 0.0
    stream = io.StringIO()
    progress = PlainProgress(Console(file=stream), clock=lambda: now)
    progress.on_start(make_plan())
    progress.on_phase("begin", 2, "train", 0.0)
    with counting("problems", 60) as count:
        now = 12.0
        count.add(20)
    progress._hearing.end()
    assert stream.getvalue().splitlines()[-1] == ("iteration 2: 20 of 60 problems, about 24 s left")


@pytest.mark.parametrize("kind", [PlainProgress, LiveProgress])
def test_nothing_is_heard_of_once_the_episode_is_over(play, tmp_path, kind):
    before = list(logging.getLogger("dataenvgym.progress").handlers)
    progress = kind(terminal())
    play(tmp_path / "run", iterations=1, callbacks=[progress])
    assert logging.getLogger("dataenvgym.progress").handlers == before
    progress.on_start(make_plan())
    assert logging.getLogger("dataenvgym.progress").handlers != before
    del progress
    gc.collect()
    assert logging.getLogger("dataenvgym.progress").handlers == before


def test_markup_in_a_name_is_only_text():
    console = terminal()
    progress = LiveProgress(console)
    progress.on_start(make_plan(task="[red]task\x1b[2J"))
    progress._stop()
    assert "[red]task\\x1b[2J" in console.file.getvalue()


def make_plan(**options):
    from pathlib import Path

    from dataenvgym.episodes import EpisodePlan

    values = {"name": "run", "task": "t", "agent": "a", "seed": 0, "n_iterations": 3,
              "n_finished": 0, "directory": Path("run"), **options}  # fmt: skip
    return EpisodePlan(**values)

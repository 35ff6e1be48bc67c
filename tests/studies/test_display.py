"""The display while a study runs."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from dataenvgym.runs.episodes.callbacks import EpisodePlan
from dataenvgym.studies.display import ExpectedTime, StudyDisplay, run_seconds
from tests.runs.episodes.echo import iteration
from tests.runs.episodes.echo import summary as make_summary
from tests.runs.episodes.screen import Clock, count, drawn


def plan(name):
    return EpisodePlan(name, "t", "a", 0, 5, 0, Path(name))


def summary(status, **more):
    iterations = (iteration(0, 0.5), iteration(1, 0.5, records=3))
    return make_summary(*iterations, status=status, best_iteration=0, **more)


@pytest.fixture
def clock():
    return Clock()


def expected(workers=1, **kinds):
    found = ExpectedTime(workers)
    for kind, episodes in kinds.items():
        for _ in range(episodes):
            found.plan(kind, iterations=6)
    return found


def text_of(display):
    return f"{display._row._task.description}, {display._row.text}"


def test_each_episode_that_ends_is_a_line(clock):
    stream = io.StringIO()
    display = StudyDisplay(
        Console(file=stream, width=40), total=5, done=2, expected=expected(a=3), clock=clock
    )
    with display:
        first, second = display.watch("one", "a"), display.watch("two", "a")
        first.on_start(plan("one"))
        second.on_start(plan("two"))
        first.on_phase("begin", 1, "train", 0.0)
        first.on_iteration(iteration(0, 0.5))
        assert text_of(display) == "2/5 episodes done, 2 running"
        second.on_end(summary("failed", error="ValueError: no\ntrace"))
        first.on_end(summary("finished"))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("3/5 two: failed: validation 0.500")
    assert "ValueError: no" in lines[0]
    assert "trace" not in lines[0]
    assert lines[1].startswith("4/5 one: finished")
    assert text_of(display) == "4/5 episodes done, 0 running, 1 failed"


def test_on_a_terminal_each_running_episode_is_a_row_that_does_not_wrap(clock):
    console = Console(file=io.StringIO(), width=80, height=20, force_terminal=True)
    display = StudyDisplay(console, total=5, done=0, expected=expected(a=5), clock=clock)
    watches = [display.watch(f"skill_list_{name}, seed 0", "a") for name in "ab"]
    for name, watch in zip("ab", watches, strict=True):
        watch.on_start(plan(name))
        watch.on_phase("begin", 1, "train", 0.0)

    watches[0].on_progress(count(10, 40))
    watches[1].on_progress(count(0, 400))
    for done in (20, 30):
        clock.now += 2.0
        watches[0].on_progress(count(done, 40, text=f"{done} of 40 training steps, loss 0.125"))
    first, second, third = drawn(display)
    assert re.match("0/5 episodes done .* 2 running", first)
    assert second.startswith("skill_list_a, ")
    assert "1/5 train, 30 of 40" in second
    assert second.endswith("0:00:04 2 s left")
    assert max(map(len, (first, second, third))) <= 80
    watches[0].on_phase("begin", 1, "evaluate", 0.0)
    assert "left" not in drawn(display)[1]
    watches[1].on_end(summary("finished"))
    assert len(drawn(display)) == 2


def test_the_time_left_shrinks_with_each_iteration_that_ends(clock):
    times = expected(fast=2, slow=1)
    assert str(times) == "the time left is known after the first episode of each strategy"
    stream = io.StringIO()
    display = StudyDisplay(Console(file=stream), total=3, done=0, expected=times, clock=clock)
    with display:
        first = display.watch("one", "fast")
        first.on_start(plan("one"))
        clock.now += 60.0
        first.on_end(summary("finished"))
        assert text_of(display).endswith("about 60 s, not counting slow")
        second = display.watch("two", "fast")
        second.on_start(plan("two"))
        second.on_iteration(iteration(0, 0.5))
        second.on_iteration(iteration(1, 0.5))
        assert text_of(display).endswith("about 40 s, not counting slow")
        second.on_end(summary("interrupted"))
        assert "about" not in text_of(display)  # of the slow one nothing is known
        third = display.watch("three", "slow")
        third.on_start(plan("three"))
        clock.now += 600.0
        third.on_end(summary("finished"))
    assert times.unknown == []


def test_a_damaged_line_of_events_does_not_hide_the_time_of_the_others(tmp_path):
    test = b'{"event": "phase", "phase": "test", "seconds": 2.5}\n'
    (tmp_path / "events.jsonl").write_bytes(test + b'{"event": "pha\n[]\n{}\n' + test)
    assert run_seconds(summary("finished"), tmp_path) == 5.0

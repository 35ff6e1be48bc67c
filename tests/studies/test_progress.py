"""The display while a study runs."""

import io
import re
from pathlib import Path

from rich.console import Console

from dataenvgym.episodes.callbacks import EpisodePlan
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.progress import tell
from dataenvgym.studies.expected_time import ExpectedTime
from dataenvgym.studies.progress import StudyProgress


def iteration(number, score, records=0):
    return IterationSummary(
        iteration=number, val_score=score, n_val=4, n_errors=0, n_records=records,
        n_records_total=records,
        dropped={}, seconds={}, val_score_by_skill={},
    )  # fmt: skip


def plan(name):
    return EpisodePlan(name, "t", "a", 0, 5, 0, Path(name))


def summary(status, **more):
    iterations = (iteration(0, 0.5), iteration(1, 0.5, records=3))
    return Summary(task="t", agent="a", seed=0, status=status, iterations=iterations,
                   best_iteration=0, **more)  # fmt: skip


def play(progress):
    with progress:
        first, second = progress.watch("one"), progress.watch("two")
        first.on_start(plan("one"))
        second.on_start(plan("two"))
        first.on_phase("begin", 1, "train", 0.0)
        first.on_iteration(iteration(0, 0.5))
        before = progress.head()
        second.on_end(summary("failed", error="ValueError: no\ntrace"))
        first.on_end(summary("finished"))
        return before, progress.head()


def test_elsewhere_each_episode_that_ends_is_a_line():
    stream = io.StringIO()
    now = iter(float(i) for i in range(100))
    progress = StudyProgress(
        Console(file=stream, width=40), total=5, done=2, clock=lambda: next(now)
    )
    before, after = play(progress)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("3/5 two: failed: validation 0.500")
    assert "ValueError: no" in lines[0]
    assert "trace" not in lines[0]
    assert lines[1].startswith("4/5 one: finished")
    assert before.startswith("2/5 episodes done, 2 running")
    assert after.startswith("4/5 episodes done, 0 running, 1 failed")


def ended(progress, label, kind):
    watch = progress.watch(label, kind)
    watch.on_start(plan(label))
    watch.on_end(summary("finished"))


def test_the_time_left_is_shown_once_an_episode_of_each_kind_has_ended():
    expected = ExpectedTime(workers=2)
    for kind in ("fast", "fast", "fast", "slow", "slow"):
        expected.plan(kind, iterations=6)
    assert str(expected) == "the time left is known after the first episode of each strategy"
    stream = io.StringIO()
    now = iter([0.0, 0.0, 20.0, 20.0, 220.0, 220.0, 240.0])  # begun; an episode's begin and end
    progress = StudyProgress(
        Console(file=stream, width=90), total=5, done=0, expected=expected, clock=lambda: next(now)
    )
    with progress:
        ended(progress, "a", "fast")
        assert str(expected) == "about 20 s, not counting slow (no episode has ended yet)"
        ended(progress, "b", "slow")
        assert str(expected) == "about 2 min"  # (2 x 20 + 200) / 2
        ended(progress, "c", "fast")
    told = [line for line in stream.getvalue().splitlines() if line.startswith("left: ")]
    assert told == ["left: about 2 min"]


def test_on_a_terminal_the_running_episodes_are_shown_and_taken_down_at_the_end():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=20)
    progress = StudyProgress(console, total=5, done=0)
    with progress:
        watch = progress.watch("one")
        watch.on_start(plan("one"))
        watch.on_phase("begin", 3, "train", 0.0)
        console.print(progress._render())
    text = stream.getvalue()
    assert "0/5 episodes done, 1 running" in text
    assert "iteration 3/5" in text
    assert "train" in text


def test_each_running_episode_has_the_count_of_its_phase_and_no_line_wraps():
    now = 0.0
    console = Console(file=io.StringIO(), width=80, height=20, force_terminal=True)
    progress = StudyProgress(console, total=5, done=0, prefix="math: ", clock=lambda: now)
    watches = [progress.watch(f"math: skill_list_{name}, seed 0") for name in "ab"]
    for name, watch in zip("ab", watches, strict=True):
        watch.on_start(plan(name))
        watch.on_phase("begin", 1, "train", 0.0)
    tell("10 of 40 training steps", done=10, total=40, source="a")
    tell("0 of 400 problems", done=0, total=400, source="b")
    now = 4.0
    tell("30 of 40 training steps, loss 0.125", done=30, total=40, source="a")
    first, second, third = drawn(progress, console)
    assert first == "0/5 episodes done, 2 running, 4 s so far"
    assert "train, 30 of 40 training steps" in second
    assert second.startswith("skill_list_a, ")
    assert "train, 0 of 400 problems" in third
    assert max(map(len, (first, second, third))) <= 80
    watches[0].on_phase("begin", 1, "evaluate", 0.0)
    assert "training steps" not in drawn(progress, console)[1]
    watches[1].on_end(summary("finished"))
    tell("31 of 40 training steps", done=31, total=40)  # of this process
    assert "31 of 40" in drawn(progress, console)[1]
    watches[0].on_end(summary("finished"))


def test_the_time_left_shrinks_with_each_iteration_that_ends():
    expected = ExpectedTime(workers=1)
    for _ in range(2):
        expected.plan("fast", iterations=6)
    expected.plan("slow", iterations=6)
    now = 0.0
    progress = StudyProgress(
        Console(file=io.StringIO()), total=3, done=0, expected=expected, clock=lambda: now
    )
    with progress:
        first = progress.watch("one", "fast")
        first.on_start(plan("one"))
        now = 60.0
        first.on_end(summary("finished"))
        assert progress.head().endswith("about 60 s left, not counting slow")
        second = progress.watch("two", "fast")
        second.on_start(plan("two"))
        second.on_iteration(iteration(0, 0.5))
        second.on_iteration(iteration(1, 0.5))
        assert progress.head().endswith("about 40 s left, not counting slow")
        second.on_end(summary("interrupted"))
        assert "left" not in progress.head()  # of the slow one nothing is known


def drawn(progress, console):
    with console.capture() as capture:
        console.print(progress._render())
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capture.get())
    return [line.rstrip() for line in text.splitlines()]

"""The display of `dataenvgym eval`."""

import io
import re

from rich.console import Console

from dataenvgym.cli.progress_bar import showing_progress
from dataenvgym.progress import counting, tell


def screen(written: str) -> list[str]:
    """The pictures that were drawn, without what moves the cursor."""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).replace("\r", "\n").splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def test_a_terminal_gets_a_bar_with_a_count_and_the_time_left():
    now = 0.0
    console = Console(
        file=io.StringIO(), force_terminal=True, width=80, height=24, _environ={"TERM": "xterm"}
    )
    with showing_progress(console, "the student answers", clock=lambda: now):
        tell("a server starts")
        with counting("problems", 400) as count:
            count.skip(100)
            now = 10.0
            count.add(100)
    pictures = screen(console.file.getvalue())
    assert pictures[-2].endswith("50% 200 of 400 problems, about 20 s left")
    assert pictures[-1] == "a server starts"
    assert max(map(len, pictures)) <= 80


def test_before_the_first_count_the_phase_is_shown():
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "xterm"})
    with showing_progress(console, "the student answers"):
        pass
    (picture,) = screen(console.file.getvalue())
    assert picture.endswith("the student answers ...")


def test_elsewhere_it_is_a_plain_line_every_ten_seconds_at_most():
    now = 0.0
    stream = io.StringIO()
    with (
        showing_progress(Console(file=stream, width=20), "judging", clock=lambda: now),
        counting("problems", 100) as count,
    ):
        for _ in range(25):
            now += 1.0
            count.add()
    assert stream.getvalue().splitlines() == [
        "10 of 100 problems, about 90 s left",
        "20 of 100 problems, about 80 s left",
    ]

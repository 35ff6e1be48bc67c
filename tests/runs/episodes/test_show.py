import io

import pytest
from rich.console import Console

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs.episodes.show import show_iteration
from tests.runs.episodes.echo import Student, Writer


@pytest.fixture
def show(finished_run):
    def run(**options):
        console = Console(file=io.StringIO(), width=options.pop("width", 100))
        show_iteration(finished_run, console, **options)
        return console.file.getvalue()

    return run


def test_records_and_both_answers_are_shown(show):
    text = show()
    assert "iteration 3 of echo, taught by writer" in text
    assert "3 records accepted" in text
    assert "1 record dropped" in text
    assert "12 instances: 10 learned, 1 forgotten, 11 right now" in text
    assert "base student: wrong (0)" in text
    assert "iteration 3: right" in text


def test_the_hypotheses_of_a_record_are_shown_below_it(play, tmp_path):
    class Supposing(Writer):
        def __call__(self, completed, predictor):
            records = super().__call__(completed, predictor)
            for record in records:
                record["provenance"]["hypotheses"] = ["carrying: it forgets [it]"]
            return records

    play(tmp_path / "run", agent=Supposing(size=1), iterations=1)
    console = Console(file=io.StringIO(), width=100)
    show_iteration(tmp_path / "run", console)
    assert console.file.getvalue().count("hypothesis: carrying: it forgets [it]") == 1


def test_text_is_shown_as_it_is_without_markup_or_control_characters(show):
    text = show()
    assert r"Say 103, [bold]please[/bold] \x1b[31m." in text
    assert "no [red]idea" in text
    assert "[/oops] `x`" in text
    assert "\x1b" not in text


def test_filters_by_skill_by_wrong_answers_and_by_number(show):
    text = show(skill="whisper", wrong=True)
    assert "1 of 4 instances wrong" in text
    assert "accepted" not in text
    assert "0 records accepted" in show(skill="whisper")
    assert "echo-100" in text
    assert "echo-103" not in text
    assert "... and 10 more" in show(limit=2)


def test_the_base_student_is_shown_alone(show):
    text = show(iteration=0)
    assert "base student on echo" in text
    assert "records" not in text
    assert "iteration" not in text


def test_it_fits_a_narrow_terminal(show):
    assert max(map(len, show(width=60).splitlines())) <= 60


def test_a_failed_call_is_neither_right_nor_wrong(play, tmp_path):
    from dataenvgym.interfaces import Failure

    student = Student()
    answer = student.answer
    student.answer = lambda c: Failure(reason="down") if "105" in c[-1].content else answer(c)
    play(tmp_path / "run", student=student, iterations=1)
    console = Console(file=io.StringIO(), width=100)
    show_iteration(tmp_path / "run", console, wrong=True)
    assert "echo-105" not in console.file.getvalue()
    show_iteration(tmp_path / "run", console)
    assert "iteration 1: call failed" in console.file.getvalue()


def test_an_unknown_iteration_or_skill_is_named_with_a_way_out(show):
    with pytest.raises(RunDirectoryError, match="the base student"):
        show(iteration=7)
    with pytest.raises(RunDirectoryError, match="iteration -1"):
        show(iteration=-1)
    with pytest.raises(ConfigurationError, match="mean 'whisper'"):
        show(skill="wisper")
    with pytest.raises(ConfigurationError, match="limit is 0"):
        show(limit=0)

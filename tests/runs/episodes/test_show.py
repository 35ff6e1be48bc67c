import io
from functools import partial

import pytest
from rich.console import Console

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs import documents as document
from dataenvgym.runs.episodes.show import iteration_of
from tests.runs.episodes.echo import Student, Writer


def text_of(run, *, width=100, **options):
    console = Console(file=io.StringIO(), width=width)
    document.show(iteration_of(run, **options), console)
    return console.file.getvalue()


@pytest.fixture
def show(finished_run):
    return partial(text_of, finished_run)


def test_records_and_both_answers_are_shown(show, shown):
    shown("iteration.txt", show(width=60, limit=2))
    shown("base_student.txt", show(iteration=0, limit=3))


def test_the_hypotheses_of_a_record_are_shown_below_it(play, tmp_path):
    class Supposing(Writer):
        def __call__(self, completed, predictor):
            records = super().__call__(completed, predictor)
            for record in records:
                record["provenance"]["hypotheses"] = ["carrying: it forgets [it]"]
            return records

    play(tmp_path / "run", agent=Supposing(size=1), iterations=1)
    assert text_of(tmp_path / "run").count("hypothesis: carrying: it forgets [it]") == 1


def test_filters_by_skill_by_wrong_answers_and_by_number(show):
    text = show(skill="whisper", wrong=True)
    assert "1 of 4 instances wrong" in text
    assert "accepted" not in text
    assert "0 records accepted" in show(skill="whisper")
    assert "echo-100" in text
    assert "echo-103" not in text
    assert "... and 10 more" in show(limit=2)


def test_a_failed_call_is_neither_right_nor_wrong(play, tmp_path):
    from dataenvgym.interfaces import Failure

    student = Student()
    answer = student.answer
    student.answer = lambda c: Failure(reason="down") if "105" in c[-1].content else answer(c)
    play(tmp_path / "run", student=student, iterations=1)
    assert "echo-105" not in text_of(tmp_path / "run", wrong=True)
    assert "iteration 1: call failed" in text_of(tmp_path / "run")


def test_an_unknown_iteration_or_skill_is_named_with_a_way_out(show):
    with pytest.raises(RunDirectoryError, match="the base student"):
        show(iteration=7)
    with pytest.raises(RunDirectoryError, match="iteration -1"):
        show(iteration=-1)
    with pytest.raises(ConfigurationError, match="mean 'whisper'"):
        show(skill="wisper")

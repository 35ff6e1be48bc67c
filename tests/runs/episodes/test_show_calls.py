"""The teacher's calls on a terminal."""

import io

import pytest
from rich.console import Console

from dataenvgym.errors import RunDirectoryError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.runs.documents import show
from dataenvgym.runs.episodes.show import calls_of
from dataenvgym.teachers.teacher_log import TeacherCall

ASKED = (
    Message(role="system", content="You write data."),
    Message(role="user", content=f"Write {'many ' * 40}records.\x1b[31m [bold]"),
)


@pytest.fixture
def call():
    """Makes a call; the answered one if nothing is said."""

    def make(**changes) -> TeacherCall:
        values = {
            "time": "2026-01-01T00:00:00Z", "purpose": "records", "model": "big", "sample": 0,
            "messages": ASKED, "sampling": SamplingParameters(), "reply": '{"records": []}',
            "finish_reason": "stop", "failure": None, "cached": False, "prompt_tokens": 90,
            "completion_tokens": 12, "cost": None, "seconds": 1.25,
        }  # fmt: skip
        return TeacherCall(**{**values, **changes})

    return make


@pytest.fixture
def text_of(tmp_path):
    """Writes calls to a run directory, and shows them in 80 columns."""

    def write(*calls, **options) -> str:
        (tmp_path / "teacher").mkdir(exist_ok=True)
        lines = "".join(f"{call.model_dump_json()}\n" for call in calls)
        (tmp_path / "teacher" / "calls.jsonl").write_text(lines)
        out = io.StringIO()
        show(calls_of(tmp_path, **options), Console(file=out, width=80))
        return out.getvalue()

    return write


def test_each_call_is_shown_with_question_answer_and_cost(text_of, call, shown):
    calls = call(), call(cached=True), call(reply=None, failure="HTTP 500", cost=0.001)
    shown("calls.txt", text_of(*calls))


def test_only_some_of_them_are_shown_where_that_is_asked_for(text_of, call):
    failed = call(reply=None, failure="HTTP 500")
    assert "call 2 of 3" not in text_of(call(), call(), failed, failed=True)
    assert "... and 2 more" in text_of(call(), call(), failed, limit=1)


def test_a_run_without_calls_and_a_damaged_file_say_so(tmp_path):
    with pytest.raises(RunDirectoryError, match="asked in"):
        [*calls_of(tmp_path)]
    (tmp_path / "teacher").mkdir()
    (tmp_path / "teacher" / "calls.jsonl").write_text('{"time": 1}\n')
    with pytest.raises(RunDirectoryError, match=r"calls\.jsonl is damaged"):
        [*calls_of(tmp_path)]

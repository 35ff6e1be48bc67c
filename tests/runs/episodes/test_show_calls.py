"""The teacher's calls on a terminal."""

import io

import pytest
from rich.console import Console

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.runs.episodes.show import show_calls
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
def shown(tmp_path):
    """Writes calls to a run directory, and shows them in 80 columns."""

    def show(*calls, **options) -> str:
        (tmp_path / "teacher").mkdir(exist_ok=True)
        lines = "".join(f"{call.model_dump_json()}\n" for call in calls)
        (tmp_path / "teacher" / "calls.jsonl").write_text(lines)
        out = io.StringIO()
        show_calls(tmp_path, Console(file=out, width=80, markup=False, highlight=False), **options)
        return out.getvalue()

    return show


def test_each_call_is_shown_with_question_answer_and_cost_in_80_columns(shown, call):
    out = shown(call(), call(cached=True), call(reply=None, failure="HTTP 500", cost=0.001))
    lines = out.splitlines()
    assert lines[0] == "3 calls of the teacher, 1 answered by the cache, 1 without an answer"
    assert "call 1 of 3: records" in lines
    assert "big, 90 + 12 tokens, cost unknown, 1.2 s" in lines
    assert "big, from the cache" in lines
    assert '  {"records": []}' in lines
    assert lines[-2:] == ["no answer:", "  HTTP 500"]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in out
    assert "[bold]" in out


def test_only_some_of_them_are_shown_where_that_is_asked_for(shown, call):
    failed = call(reply=None, failure="HTTP 500")
    assert "call 2 of 3" not in shown(call(), call(), failed, failed=True)
    assert "... and 2 more" in shown(call(), call(), failed, limit=1)


def test_a_run_without_calls_and_a_damaged_file_say_so(tmp_path, shown, call):
    with pytest.raises(RunDirectoryError, match="asked in"):
        show_calls(tmp_path, Console())
    with pytest.raises(ConfigurationError, match="limit is 0"):
        shown(call(), limit=0)
    (tmp_path / "teacher" / "calls.jsonl").write_text('{"time": 1}\n')
    with pytest.raises(RunDirectoryError, match=r"calls\.jsonl is damaged"):
        show_calls(tmp_path, Console())

"""A whole conversation, scored by a rubric."""

import os

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance
from dataenvgym.tasks.judging import RubricJudge, fenced
from tests.fakes import Teacher, lost
from tests.tasks.judging.judge_server import verdict


def completed(reply="4", answer="4"):
    return CompletedTaskInstance(
        instance=TaskInstance(id="i", task="t", instruction="2+2?", answer=answer),
        transcript=(Message(role="user", content="2+2?"), Message(role="assistant", content=reply)),
        reward=0.0,
        was_correct=False,
    )


def test_a_conversation_is_scored_within_the_range_by_your_own_rubric(server, tmp_path):
    (tmp_path / "rubric.md").write_text("Is it short?\n")
    judge = RubricJudge(
        {"a": server.teacher()}, rubric_file=tmp_path / "rubric.md", scale=[-5, 5], retries=0
    )
    asked = judge.question(completed())
    assert "Rubric: Is it short?" in asked[-1].content
    assert "from -5 (worst) to 5" in asked[-1].content
    assert fenced("4") in asked[-1].content
    (judged,) = judge.ask([asked])
    assert judge.score(judged) is None  # 7 is out of range
    server.say = lambda messages: verdict(-5)
    assert judge.score(*judge.ask([asked])) == -5


def test_without_a_gold_answer_the_prompt_does_not_speak_of_one(server):
    judge = RubricJudge({"a": server.teacher()})
    assert "right answer" in judge.question(completed())[-1].content
    assert "right answer" not in judge.question(completed(answer=None))[-1].content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": [5, 5]}, "scale"),
        ({"min_judges": 2}, "min_judges"),
        ({"rubric_file": os.devnull}, "rubric_file"),
        ({"prompt": {"user": "{rubric}"}}, "has no {conversation}, which it needs"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        RubricJudge({"a": Teacher(lost)}, **options)


def test_the_description_has_everything_that_determines_verdicts(server):
    one, other = (RubricJudge({"a": server.teacher()}, rubric=r) for r in "ab")
    same = RubricJudge({"a": server.teacher()}, rubric="a", aggregation="majority", retries=5)
    assert one.describe() == same.describe() != other.describe()

"""What a reply to a math problem answers, and which answers are the same."""

from __future__ import annotations

import pytest
from dataenvgym.tasks.math.answers import MathAnswers

from dataenvgym.tasks.math.pocket import PocketMathTask
from dataenvgym.tasks.math.task import MathTask

TASK = PocketMathTask(n_validation=1)
(INSTANCE,) = TASK.instances


def test_math_tasks_share_their_answers():
    assert issubclass(MathTask, MathAnswers)
    assert isinstance(TASK, MathAnswers)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("It is 5.\n#### 72", "72"),
        ("so \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("it may be 7", None),
        ("", None),
    ],
)
def test_the_answer_is_what_the_reply_marks_as_final(reply, expected):
    assert TASK.answer_class(INSTANCE, reply) == expected


def test_answers_that_the_scorer_calls_equal_are_the_same():
    assert TASK.same_answer(INSTANCE, "\\frac{1}{2}", "0.5")
    assert TASK.same_answer(INSTANCE, "18.90", "18.9")
    assert not TASK.same_answer(INSTANCE, "0.5", "0.6")

"""Answers in replies to math problems, and equality of answers."""

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.tasks.domain import gives
from dataenvgym.tasks.scoring import Verdict

TASK = PocketMathTask(n_validation=1)
(INSTANCE,) = TASK.instances


def test_answers_that_the_scorer_calls_equal_are_the_same():
    assert TASK.domain.same_answer(INSTANCE, "\\frac{1}{2}", "0.5")
    assert TASK.domain.same_answer(INSTANCE, "18.90", "18.9")
    assert not TASK.domain.same_answer(INSTANCE, "0.5", "0.6")


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [("#### 7", True), ("so \\boxed{7.0}", True), ("#### 8", False), ("seven", False)],
)
def test_a_reply_gives_an_answer_if_the_scorer_calls_its_final_answer_equal(reply, is_right):
    assert gives(TASK.domain, INSTANCE, reply, "7") is is_right


def test_a_comparison_that_fails_is_not_settled(monkeypatch):
    failed = [Verdict(False, "not settled within 5 s", exhausted=True)]
    monkeypatch.setattr("dataenvgym.domains.math.domain.grade_pairs", lambda pairs: failed)
    assert gives(TASK.domain, INSTANCE, "#### 9^{9^{9^{9}}}", "7") is None
    assert not TASK.domain.same_answer(INSTANCE, "9^{9^{9^{9}}}", "7")

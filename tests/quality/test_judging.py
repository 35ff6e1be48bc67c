from __future__ import annotations

import logging

import pytest

from dataenvgym.errors import BudgetSpentError, ConfigurationError, ServerError
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.quality import judge_records
from dataenvgym.records import SupervisedDatum

STUDENT = ScriptedPredictor(lambda conversation: "x")
RECORDS = [SupervisedDatum(instruction=letter, output="x") for letter in "abcd"]


class Refusing:
    """Drops the records with these instructions, and remembers what it was asked."""

    def __init__(self, reason: str, refused: str) -> None:
        self.reason = reason
        self.refused = refused
        self.asked: list[str] = []

    def passes(self, records, predictor):
        self.asked += [r.instruction for r in records]
        return [r.instruction not in self.refused for r in records]


class Raising:
    reason = "raising"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def passes(self, records, predictor):
        raise self.error


def test_each_check_sees_what_passed_those_before_it_and_the_first_reason_counts():
    first, second = Refusing("first", "bd"), Refusing("second", "ab")
    reasons = judge_records([first, second], STUDENT, RECORDS)
    assert reasons == ["second", "first", None, "first"]
    assert (first.asked, second.asked) == ([*"abcd"], [*"ac"])


def test_without_checks_everything_passes():
    assert judge_records([], STUDENT, RECORDS) == [None] * 4


@pytest.mark.parametrize("error", [BudgetSpentError("no money left"), ServerError("gone")])
def test_a_check_that_cannot_judge_passes_all_says_so_and_the_others_go_on(caplog, error):
    with caplog.at_level(logging.WARNING):
        reasons = judge_records([Raising(error), Refusing("other", "c")], STUDENT, RECORDS)
    assert reasons == [None, None, "other", None]
    assert f"quality check raising: 4 records were not judged: {error}" in caplog.text


def test_a_bug_in_a_check_is_not_swallowed():
    with pytest.raises(KeyError):
        judge_records([Raising(KeyError("bug"))], STUDENT, RECORDS)


def test_a_check_that_does_not_answer_for_each_record_is_refused():
    class Short(Refusing):
        def passes(self, records, predictor):
            return [True]

    with pytest.raises(ConfigurationError, match="1 verdicts on 4 records"):
        judge_records([Short("short", "")], STUDENT, RECORDS)

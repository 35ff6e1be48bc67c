import pytest

from dataenvgym.environments.checks import RecordJudge
from dataenvgym.errors import (
    BudgetSpentError,
    ExternalError,
    PredictionError,
    ServerError,
)
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure
from dataenvgym.records import SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor

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
    reasons = RecordJudge([first, second], STUDENT)(RECORDS)
    assert reasons == ["second", "first", None, "first"]
    assert (first.asked, second.asked) == ([*"abcd"], [*"ac"])


@pytest.mark.parametrize("error", [BudgetSpentError("no money left"), ExternalError("gone")])
def test_a_check_that_cannot_judge_passes_all_with_a_warning_and_the_others_continue(error):
    warnings: list[str] = []
    judge = RecordJudge([Raising(error), Refusing("other", "c")], STUDENT)
    with hearing_warnings(warnings.append):
        assert judge(RECORDS) == [None, None, "other", None]
    assert warnings == [
        f"quality check raising: 4 of 4 records could not be judged, and pass: {error}"
    ]
    assert judge.unjudged == {id(record): ("raising",) for record in RECORDS}


def test_single_records_that_could_not_be_judged_pass_and_are_counted():
    class Failing(Refusing):
        def passes(self, records, predictor):
            passes = super().passes(records, predictor)
            return [Failure(reason="lost") if i == 2 else p for i, p in enumerate(passes)]

    warnings: list[str] = []
    judge = RecordJudge([Failing("failing", "bc"), Refusing("other", "")], STUDENT)
    with hearing_warnings(warnings.append):
        assert judge(RECORDS) == [None, "failing", None, None]
    assert warnings == ["quality check failing: 1 of 4 records could not be judged, and pass: lost"]
    assert judge.unjudged == {id(RECORDS[2]): ("failing",)}


@pytest.mark.parametrize("error", [ServerError("gone"), PredictionError("died"), KeyError("bug")])
def test_a_student_that_is_gone_and_a_bug_end_the_check(error):
    with pytest.raises(type(error)):
        RecordJudge([Raising(error)], STUDENT)(RECORDS)

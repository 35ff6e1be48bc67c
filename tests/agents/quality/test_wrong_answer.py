from collections import Counter

import pytest

from dataenvgym.agents.quality import WrongAnswerCheck
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.errors import ConfigurationError, PredictionError
from dataenvgym.interfaces import Failure
from dataenvgym.records import (
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
)
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Source, Task
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.domain import Domain
from tests import fakes

LOST = Failure(reason="lost")
STUDENT = ScriptedPredictor(lambda conversation: "x")


class Teacher(fakes.Teacher):
    """Answers by the problem and the number of the try."""

    def __init__(self, answers, **options):
        super().__init__(self._try, **options)
        self.answers = answers
        self.tries = Counter()

    def _try(self, text, sampling):
        problem = next(p for p in self.answers if p in text)
        answer = self.answers[problem][self.tries[problem] % len(self.answers[problem])]
        self.tries[problem] += 1
        return LOST if answer == "FAIL" else f"So: {answer}"


def record(instruction: str, answer: str = "1") -> SupervisedDatum:
    return SupervisedDatum(instruction=instruction, output=f"#### {answer}")


def passes(check: WrongAnswerCheck, *records) -> list[bool | Failure]:
    return check.passes(records, STUDENT)


def test_the_task_judges_readable_records_and_the_rest_passes():
    check = WrongAnswerCheck(PocketMathTask())
    assert passes(
        check,
        record("Put 3 1 2 in rising order.", "1 2 3"),
        record("Put 3 1 2 in rising order.", "3 2 1"),
        record("What is the capital of France?", "Rome"),
        TextDatum(text="Put 3 1 2 in rising order. #### 3"),
    ) == [True, False, True, True]


def test_the_teachers_majority_judges_records_that_the_task_cannot():
    teacher = Teacher(
        {
            "four legs": ["#### 4"],
            "three wheels": ["#### 3", "#### 2", "#### 3", "#### 3", "#### 7"],
            "a riddle": ["#### 1", "#### 2", "#### 3", "#### 4", "#### 5"],
            "no answer": ["nobody knows"],
        }
    )
    check = WrongAnswerCheck(PocketMathTask(), teacher, samples=5)
    assert passes(
        check,
        record("four legs?", "4.0"),
        record("four legs!", "5"),
        SupervisedDatum(instruction="four legs, then?", output="quite a few"),
        record("three wheels?", "3"),
        record("a riddle?", "9"),
        record("no answer?", "9"),
        record("What is 3 plus 4?", "8"),
    ) == [True, False, False, True, True, True, False]
    # asked no more than it takes: three equal answers of five are a majority
    assert teacher.tries == {"four legs": 9, "three wheels": 4, "a riddle": 5, "no answer": 5}
    assert teacher.purposes == {"quality"}
    assert len({sampling.seed for sampling in teacher.samplings}) == 5


def test_every_claim_of_a_record_has_to_hold():
    check = WrongAnswerCheck(PocketMathTask())
    asked = {"instruction": "What is 3 plus 4?"}
    assert passes(
        check,
        PreferenceDatum(**asked, chosen="#### 7", rejected="#### 8"),
        PreferenceDatum(**asked, chosen="#### 8", rejected="#### 9"),
        PreferenceDatum(**asked, chosen="#### 7", rejected="seven, #### 7"),
        KTODatum(**asked, output="#### 8", desirable=False),
        KTODatum(**asked, output="#### 7", desirable=False),
        KTODatum(**asked, output="#### 8", desirable=True),
    ) == [True, False, False, True, False, False]


def test_a_spent_budget_lets_the_rest_pass_unjudged():
    teacher = Teacher({"one": ["#### 1"], "two": ["#### 2"]}, budget=3)
    check = WrongAnswerCheck(MathTask("none.jsonl"), teacher=teacher, samples=3)
    spent = Failure(reason="the budget is spent")
    # both once, then "one" again, which makes a majority of two
    assert passes(check, record("one", "9"), record("two", "9")) == [False, spent]
    assert passes(check, record("one", "9")) == [spent]


def test_a_missing_answer_leaves_no_verdict_unless_the_others_decide():
    teacher = Teacher(
        {
            "a riddle": ["FAIL", "#### 1", "#### 2"],
            "four legs": ["FAIL", "#### 4", "#### 4"],
            "three wheels": ["#### 3"],
        }
    )
    check = WrongAnswerCheck(MathTask("none.jsonl"), teacher=teacher, samples=3)
    asked = record("a riddle", "9"), record("four legs", "9"), record("three wheels", "3")
    assert passes(check, *asked) == [LOST, False, True]


def test_a_teacher_that_answers_nothing_at_all_not_even_a_greeting_ends_the_check():
    teacher = Teacher({"a riddle": ["FAIL"], "Hello!": ["Hi"]})
    check = WrongAnswerCheck(MathTask("none.jsonl"), teacher=teacher)
    assert passes(check, record("a riddle")) == [LOST]
    teacher = Teacher({"a riddle": ["FAIL"], "Hello!": ["FAIL"]})
    with pytest.raises(PredictionError, match="lost"):
        passes(WrongAnswerCheck(MathTask("none.jsonl"), teacher=teacher), record("a riddle"))


def test_without_any_judge_it_refuses_by_default():
    class Silent:
        name = "silent"

    with pytest.raises(ConfigurationError, match="judge_record"):
        WrongAnswerCheck(task_of(Silent()))
    check = WrongAnswerCheck(task_of(Silent()), needs_judge=False)
    assert passes(check, record("one", "9")) == [True]


class Essays(Source):
    def load(self, split):
        return [TaskInstance(id="1", task="essays", instruction="Write about a river.")]


class EssayDomain(Domain):
    """Judges what is too short, and has no form in which two answers could be equal."""

    def make_environment(self, instances=()):
        return MathEnvironment(instances)

    def judge_record(self, record):
        return False if len(record.output) < 5 else None


def test_where_a_domain_has_no_answer_form_the_teacher_is_not_asked_and_records_are_unjudged():
    teacher = Teacher({"about": ["A river."]})
    check = WrongAnswerCheck(Task(Essays(), EssayDomain()), teacher)
    rivers = SupervisedDatum(instruction="Write about rivers.", output="They flow.")
    short = SupervisedDatum(instruction="Write about rivers.", output="No.")
    judged, verdict = passes(check, short, rivers)
    assert judged is False
    assert isinstance(verdict, Failure)
    assert "its domain has no `answer_form`" in verdict.reason
    assert not teacher.tries


def test_a_teacher_needs_an_answer_form_of_the_task_or_the_prompt_to_judge():
    class Unjudged(EssayDomain):
        judge_record = Domain.judge_record

    task, teacher = Task(Essays(), Unjudged()), Teacher({"Say yes or no": ["no"]})
    with pytest.raises(ConfigurationError, match="wrong_answer"):
        WrongAnswerCheck(task, teacher)
    asking = {"user": "Say yes or no: {instruction}"}
    check = WrongAnswerCheck(task, teacher, prompt=asking)
    for output, holds in (("So: no", True), ("So: yes", False)):
        asked = SupervisedDatum(instruction="Is it a river?", output=output)
        assert passes(check, asked) == [holds]

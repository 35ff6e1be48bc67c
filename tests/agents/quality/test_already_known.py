from collections import Counter

import pytest

from dataenvgym.agents.quality import AlreadyKnownCheck, WrongAnswerCheck
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import PredictionError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
)
from tests.fakes import Student

LOST = Failure(reason="lost")
TASK = PocketMathTask()


def student_of(answers: dict[str, list[str]]) -> Student:
    """Answers `answers[prompt]`, a list by try: the greedy one first."""
    tries = Counter[str]()

    def say(prompt: str, sampling: SamplingParameters) -> str | Failure:
        tries[prompt] += 1
        text = answers.get(prompt, ["#### none"] * 9)[tries[prompt] - 1]
        return LOST if text == "FAIL" else text

    return Student(say)


def record(instruction: str, output: str = "#### 1") -> SupervisedDatum:
    return SupervisedDatum(instruction=instruction, output=output)


def test_a_record_whose_greedy_answer_is_right_does_not_pass():
    student = student_of({"a": ["so it is #### 1.0"], "b": ["#### 2"], "c": ["FAIL"]})
    records = [record("a"), record("b"), record("c"), record("d", "no final answer")]
    assert AlreadyKnownCheck(TASK).passes(records, student) == [False, True, LOST, True]


def test_records_that_are_not_problems_of_the_task_pass():
    student = student_of({"a": ["Paris it is"]})
    records = [record("a", "Paris it is"), record("b").model_copy(update={"system": "Be brief."})]
    assert AlreadyKnownCheck(TASK).passes(records, student) == [True, True]
    assert student.rounds == []


def test_a_check_that_can_judge_no_record_at_all_is_named_in_a_warning():
    student = student_of({"a": ["#### 1"]})
    said = (Message(role="user", content="a"), Message(role="assistant", content="#### 1"))
    scored = [ScoredDatum(messages=said, weights=(1.0,))] * 2
    for check in (AlreadyKnownCheck(TASK), WrongAnswerCheck(TASK)):
        told: list[str] = []
        with hearing_warnings(told.append):
            assert check.passes(scored, student) == [True, True]
            assert check.passes([], student) == []
        assert told == [
            f"quality check {check.reason}: it can judge none of the 2 records (of kind scored), "
            "and they all pass"
        ]
        with hearing_warnings(told.append):
            check.passes([*scored, record("Put 3 1 2 in rising order.", "#### 1 2 3")], student)
        assert len(told) == 1


def test_tries_besides_the_greedy_answer_have_to_be_right_too():
    answers = {
        "always": ["#### 1"] * 5,
        "often": ["#### 1", "#### 1", "#### 2", "#### 1", "#### 1"],
        "rarely": ["#### 1", "#### 2", "#### 2", "#### 1", "#### 2"],
        "lost": ["#### 1", "FAIL", "FAIL", "FAIL", "#### 1"],
        "never": ["#### 2"],
    }
    records = [record(name) for name in answers]
    student = student_of(answers)
    check = AlreadyKnownCheck(TASK, samples=4, share=0.75)
    assert check.passes(records, student) == [False, False, True, LOST, True]
    sizes, samplings = tuple(student.sizes), tuple(student.samplings)
    assert sizes == (5, 4, 4, 4, 4)  # after a wrong first answer the student is not asked again
    assert [s.temperature for s in samplings] == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert len({s.seed for s in samplings[1:]}) == 4


def test_failed_tries_that_cannot_change_the_verdict_do_not_matter():
    answers = {
        "known": ["#### 1", "FAIL", "#### 1", "#### 1", "#### 1"],
        "new": ["#### 1", "FAIL", "#### 2", "#### 2", "#### 2"],
    }
    check = AlreadyKnownCheck(TASK, samples=4, share=0.75)
    passes = check.passes([record(name) for name in answers], student_of(answers))
    assert passes == [False, True]


def test_a_student_that_answers_nothing_at_all_not_even_a_greeting_ends_the_check():
    check = AlreadyKnownCheck(PocketMathTask(chunk_size=2))
    with pytest.raises(PredictionError, match="greeting"):
        check.passes([record(str(i)) for i in range(4)], Student(lambda prompt, sampling: LOST))
    student = student_of({"long": ["FAIL"], "longer": ["FAIL"]})
    check = AlreadyKnownCheck(TASK)
    assert check.passes([record("long"), record("longer")], student) == [LOST, LOST]
    assert student.sizes == [2, 1]


def test_only_right_answers_to_a_prompt_can_be_known():
    student = student_of({p: ["#### 1"] for p in ("good", "bad", "chosen", "chat", "tool")})
    chat = (Message(role="user", content="chat"), Message(role="assistant", content="#### 1"))
    call = Message(role="assistant", content="#### 1", tool_calls=(ToolCall(name="x"),))
    records = [
        KTODatum(instruction="good", output="#### 1", desirable=True),
        KTODatum(instruction="bad", output="#### 1", desirable=False),
        PreferenceDatum(instruction="chosen", chosen="#### 1", rejected="#### 2"),
        ChatDatum(messages=chat),
        ChatDatum(messages=(Message(role="user", content="tool"), call)),
        TextDatum(text="good"),
    ]
    passes = AlreadyKnownCheck(TASK).passes(records, student)
    assert passes == [False, True, False, False, True, True]

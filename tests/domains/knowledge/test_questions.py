"""Questions without passages: multiple choice, short answers, instructions with rules."""

import re

import pytest

from dataenvgym.domains.knowledge.choice import read_choice
from dataenvgym.domains.knowledge.instructions import instruction_checks
from dataenvgym.domains.knowledge.questions import QuestionTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import Reply
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor

CITIES = ["Paris", "Rome", "Oslo", "Rome, Italy"]


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("B) Rome", "B"),
        ("**B**", "B"),
        ("B. Rome", "B"),
        ("The answer is (C).", "C"),
        ("Answer: A", "A"),
        ("**Answer:** B", "B"),
        ("**Answer: B**", "B"),
        ("First I thought the answer is A. No: the answer is D", "D"),
        (r"So \boxed{C}, and the answer is A", "C"),
        (r"So $\boxed{\text{C}}$.", "C"),
        (r"\boxed{C.}", "C"),
        (r"\boxed{\text{Anchorage}}", None),
        ("Let me think.\nA dog is no city.\nC", "C"),
        ("rome", "B"),
        ("Oslo!", "C"),
        ("A dog is no city", None),
        ("Answer: Z", None),
        ("The answer is Anchorage", None),
        ("", None),
        ("I do not know", None),
    ],
)
def test_the_choice_of_a_reply_is_read(reply, letter):
    assert read_choice(reply, CITIES) == letter


def test_choices_of_several_forms_are_the_same_problem(tmp_path):
    asked = {"question": "Capital of Italy?", "subject": "geography"}
    answers = [
        {"choices": CITIES, "answer": 1},
        {"choices": CITIES, "answer": "B"},
        {"options": CITIES, "answer": "Rome"},
        {"choices": CITIES, "expected_answer": "B"},
        {"choices": {"text": CITIES, "label": ["1", "2", "3", "4"]}, "answerKey": "2"},
    ]
    write_jsonl(tmp_path / "q.jsonl", [{**asked, **answer} for answer in answers])
    task = QuestionTask(tmp_path / "q.jsonl", graded_by="choice").whole()
    problems = {i.model_copy(update={"id": ""}).model_dump_json() for i in task.instances}
    assert len(problems) == 1
    first = task.instances[0]
    assert first.instruction == "\n".join(
        ["Capital of Italy?", "", "A) Paris", "B) Rome", "C) Oslo", "D) Rome, Italy"]
    )
    assert (first.answer, first.skill) == ("B", "geography")
    for reply, reward in (("Rome is it.\nAnswer: B", 1.0), ("A", 0.0)):
        completed = task.evaluate(ScriptedPredictor(lambda c, reply=reply: reply))
        assert [c.reward for c in completed] == [reward] * 5
    assert task.domain.gold_record(first).output == "B"
    assert task.domain.answer_class(first, "I say (C)\nC") == "C"


def test_an_answer_is_one_of_the_labels_or_texts_before_a_number(tmp_path):
    labeled = {"text": ["Bonn", "Rome"], "label": ["1", "2"]}
    rows = [
        {"question": "Which capital?", "choices": labeled, "answerKey": 1},
        {"question": "Which blood?", "choices": ["O", "Rh", "AB"], "answer": "AB"},
    ]
    write_jsonl(tmp_path / "q.jsonl", rows)
    task = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by="choice")
    assert [instance.answer for instance in task.instances] == ["A", "C"]


def test_words_in_common_with_the_best_answer_are_partial_credit(tmp_path):
    row = {"question": "Who?", "answers": ["Ann Bell", "Bell"]}
    write_jsonl(tmp_path / "q.jsonl", [row])
    task = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by="f1")
    (half,) = task.evaluate(ScriptedPredictor(lambda c: "Ann Lee"))
    assert (half.reward, half.was_correct) == (0.5, False)
    (full,) = task.evaluate(ScriptedPredictor(lambda c: "the Bell."))
    assert (full.reward, full.was_correct) == (1.0, True)
    exact = QuestionTask({"validation": tmp_path / "q.jsonl"})
    (half,) = exact.evaluate(ScriptedPredictor(lambda c: "Ann Lee"))
    assert (half.reward, half.scores["f1"]) == (0.0, 0.5)


def test_a_judge_may_decide(tmp_path):
    write_jsonl(tmp_path / "q.jsonl", [{"question": "Who?", "answer": "Ann"}])

    class Judge:
        def predict(self, conversations, sampling):
            return [Reply(text='{"reason": "so", "is_right": true}') for _ in conversations]

    task = QuestionTask(
        {"validation": tmp_path / "q.jsonl"}, graded_by="judge", others={"judge": Judge()}
    )
    (found,) = task.evaluate(ScriptedPredictor(lambda c: "Anne"))
    assert (found.was_correct, found.scores["exact_match"]) == (True, 0.0)
    with pytest.raises(ConfigurationError, match=r"set task\.others\.judge"):
        QuestionTask(tmp_path / "q.jsonl", graded_by="judge")


@pytest.mark.parametrize(
    ("graded_by", "row", "message"),
    [
        ("choice", {"question": "x", "answer": 1}, "choices"),
        ("choice", {"question": "x", "choices": ["a"], "answer": 0}, "choices"),
        ("choice", {"question": "x", "choices": CITIES, "answer": 4}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": "E"}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": "AB"}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": True}, "answer"),
        ("exact_match", {"question": "x", "answer": {"value": "b"}}, "answer"),
        ("exact_match", {"question": "x", "answers": ["b", None]}, "answers"),
        ("exact_match", {"question": 3, "answer": "b"}, "question"),
        ("exact_match", {"answer": "b"}, "question"),
        ("exact_match", {"question": "b"}, "answer"),
        ("instructions", {"prompt": "b", "kwargs": [1]}, "instruction_id_list"),
    ],
)
def test_a_row_that_cannot_be_graded_is_named(tmp_path, graded_by, row, message):
    write_jsonl(tmp_path / "q.jsonl", [row])
    task = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by=graded_by)
    with pytest.raises(InvalidInstanceError, match=message) as raised:
        _ = task.instances
    assert "q.jsonl" in str(raised.value)


RULES = {
    "key": 7,
    "prompt": "Write no commas, and at least three words.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{}, {"num_words": 3, "relation": "at least"}],
}


def test_rules_are_checked_by_a_package(tmp_path):
    pytest.importorskip("if_verifiable")
    write_jsonl(tmp_path / "q.jsonl", [RULES])
    task = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by="instructions")
    for reply, reward, loose in (
        ("one two three", 1.0, 1.0),
        ("one, two three", 0.5, 0.0),
        ("Well, here:\none two three", 0.5, 1.0),
        ("", 0.0, 0.0),
    ):
        (found,) = task.evaluate(ScriptedPredictor(lambda c, reply=reply: reply))
        assert (found.reward, found.was_correct) == (reward, reward == 1.0)
        assert found.scores == {"loose": loose}
    (found,) = task.evaluate(ScriptedPredictor(lambda c: "one, two three"))
    assert found.note == "not followed: punctuation:no_comma"
    write_jsonl(tmp_path / "q.jsonl", [{**RULES, "instruction_id_list": ["a:b", "c:d"]}])
    unknown = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by="instructions")
    with pytest.raises(InvalidInstanceError, match="is no check"):
        _ = unknown.instances


def test_without_the_package_the_error_names_the_extra(tmp_path, monkeypatch):
    instruction_checks.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "if_verifiable.common", None)
    write_jsonl(tmp_path / "q.jsonl", [RULES])
    task = QuestionTask({"validation": tmp_path / "q.jsonl"}, graded_by="instructions")
    with pytest.raises(ConfigurationError, match=re.escape("dataenvgym[ifeval]")):
        _ = task.instances

"""Questions without passages: multiple choice, short answers, instructions with rules."""

import re

import pytest

from dataenvgym.domains.knowledge.instructions import instruction_checks
from dataenvgym.domains.knowledge.questions import QuestionTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor

CITIES = ["Paris", "Rome", "Oslo", "Rome, Italy"]


@pytest.fixture
def questions(tmp_path):
    """A task with these rows."""

    def task(*rows, **options):
        write_jsonl(tmp_path / "q.jsonl", rows)
        return QuestionTask({"validation": tmp_path / "q.jsonl"}, **options)

    return task


def says(text):
    return ScriptedPredictor(lambda conversation: text)


def test_choices_of_several_forms_are_the_same_problem(questions):
    asked = {"question": "Capital of Italy?", "subject": "geography"}
    answers = [
        {"choices": CITIES, "answer": 1},
        {"choices": CITIES, "answer": "B"},
        {"options": CITIES, "answer": "Rome"},
        {"choices": CITIES, "expected_answer": "B"},
        {"choices": {"text": CITIES, "label": ["1", "2", "3", "4"]}, "answerKey": "2"},
    ]
    task = questions(*(asked | answer for answer in answers), graded_by="choice")
    problems = {i.model_copy(update={"id": ""}).model_dump_json() for i in task.instances}
    assert len(problems) == 1
    first = task.instances[0]
    assert first.instruction == "\n".join(
        ["Capital of Italy?", "", "A) Paris", "B) Rome", "C) Oslo", "D) Rome, Italy"]
    )
    assert (first.answer, first.skill) == ("B", "geography")
    for reply, reward in (("Rome is it.\nAnswer: B", 1.0), ("A", 0.0)):
        assert [c.reward for c in task.evaluate(says(reply))] == [reward] * 5
    assert task.domain.gold_record(first).output == "B"
    assert task.domain.answer_class(first, "I say (C)\nC") == "C"


def test_an_answer_is_one_of_the_labels_or_texts_before_a_number(questions):
    """Labels that are null are as if they were absent."""
    labeled = {"text": ["Bonn", "Rome"], "label": ["1", "2"]}
    rows = [
        {"question": "Which capital?", "choices": labeled, "answerKey": 1},
        {"question": "Which blood?", "choices": ["O", "Rh", "AB"], "answer": "AB"},
        {"question": "Null?", "choices": labeled | {"label": None}, "answerKey": "B"},
    ]
    task = questions(*rows, graded_by="choice")
    assert [instance.answer for instance in task.instances] == ["A", "C", "B"]


def test_words_in_common_with_the_best_answer_are_partial_credit(questions):
    row = {"question": "Who?", "answers": ["Ann Bell", "Bell"]}
    task = questions(row, graded_by="f1")
    (half,), (full,) = (task.evaluate(says(text)) for text in ("Ann Lee", "the Bell."))
    assert [(c.reward, c.was_correct) for c in (half, full)] == [(0.5, False), (1.0, True)]
    (half,) = questions(row).evaluate(says("Ann Lee"))
    assert (half.reward, half.scores["f1"]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("graded_by", "row", "message"),
    [
        ("choice", {"question": "x", "answer": 1}, "choices"),
        ("choice", {"question": "x", "choices": ["a"], "answer": 0}, "choices"),
        ("choice", {"question": "x", "choices": CITIES, "answer": 4}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": "E"}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": "AB"}, "answer"),
        ("choice", {"question": "x", "choices": CITIES, "answer": True}, "answer"),
        *(
            ("choice", {"question": "x", "choices": {"text": CITIES} | odd, "answer": 2}, "choices")
            for odd in ({"label": 5}, {"label": "1234"}, {"text": None})
        ),
        ("exact_match", {"question": "x", "answer": {"value": "b"}}, "answer"),
        ("exact_match", {"question": "x", "answers": ["b", None]}, "answers"),
        ("exact_match", {"question": 3, "answer": "b"}, "question"),
        ("exact_match", {"answer": "b"}, "question"),
        ("exact_match", {"question": "b"}, "answer"),
        ("instructions", {"prompt": "b", "kwargs": [1]}, "instruction_id_list"),
    ],
)
def test_a_row_that_cannot_be_graded_is_named(questions, graded_by, row, message):
    with pytest.raises(InvalidInstanceError, match=rf"q\.jsonl.*{message}"):
        _ = questions(row, graded_by=graded_by).instances


RULES = {
    "key": 7,
    "prompt": "Write no commas, and at least three words.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{}, {"num_words": 3, "relation": "at least"}],
}


def test_rules_are_checked_by_a_package(questions):
    pytest.importorskip("if_verifiable")
    task = questions(RULES, graded_by="instructions")
    for reply, reward, loose in (
        ("one two three", 1.0, 1.0),
        ("one, two three", 0.5, 0.0),
        ("Well, here:\none two three", 0.5, 1.0),
        ("", 0.0, 0.0),
    ):
        (found,) = task.evaluate(says(reply))
        assert (found.reward, found.was_correct) == (reward, reward == 1.0)
        assert found.scores == {"loose": loose}
    (found,) = task.evaluate(says("one, two three"))
    assert found.note == "not followed: punctuation:no_comma"
    with pytest.raises(InvalidInstanceError, match="is no check"):
        _ = questions(
            RULES | {"instruction_id_list": ["a:b", "c:d"]}, graded_by="instructions"
        ).instances


def test_without_the_package_the_error_names_the_extra(questions, monkeypatch):
    instruction_checks.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "if_verifiable.common", None)
    with pytest.raises(ConfigurationError, match=re.escape("dataenvgym[ifeval]")):
        _ = questions(RULES, graded_by="instructions").instances

"""Transcripts become records, and records become problems."""

import pytest

from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
    Tool,
    ToolCall,
)
from dataenvgym.records.tool_formats import read_reply
from dataenvgym.tasks.domain import last_reply
from dataenvgym.tasks.record_conversion import (
    lesson_of,
    preference_of,
    prefix_records,
    record_of,
)

SYSTEM = Message(role="system", content="Be brief.")


def user(text):
    return Message(role="user", content=text)


def student(text, *calls):
    return Message(role="assistant", content=text, tool_calls=calls)


def tried(*transcript) -> CompletedTaskInstance:
    instance = TaskInstance(id="i", task="t", instruction="?", skill="s")
    return CompletedTaskInstance(
        instance=instance, transcript=transcript, reward=1.0, was_correct=True
    )


def test_one_turn_is_a_supervised_record_with_the_whole_prompt_and_nothing_behind():
    prompt = (SYSTEM, user("1+1?"), student("2"), user("2+2?"))
    record = record_of(tried(*prompt, student("4"), user("You won.")), prompt)
    assert isinstance(record, SupervisedDatum)
    assert (record.prompt, record.output, record.provenance.skill) == (prompt, "4", "s")


def test_several_turns_are_a_chat_record_with_all_that_the_student_said():
    turns = (user("Guess."), student("5"), user("higher"), student("7"))
    record = record_of(tried(SYSTEM, *turns), (SYSTEM, turns[0]))
    assert isinstance(record, ChatDatum)
    assert (record.system, record.messages, record.provenance.skill) == ("Be brief.", turns, "s")


@pytest.mark.parametrize("before", [(), (SYSTEM,)])
def test_tools_that_the_first_message_declares_are_those_of_the_record(before):
    tools = (Tool(name="add", parameters={"type": "object"}),)
    turns = (*before, user("1+1?"), student("2"))
    declared = (turns[0].model_copy(update={"tools": tools}), *turns[1:])
    record = record_of(tried(*declared), declared[:-1])
    assert isinstance(record, ChatDatum)
    assert (record.tools, record.messages) == (tools, turns[-2:])
    assert record.conversation == declared
    call = student("", ToolCall(name="add", arguments={"a": 1}))
    turns = (user("1+1?"), call, Message(role="tool", content="2"), student("2"))
    assert record_of(tried(*turns), turns[:1]).messages == turns


def test_attempts_that_are_not_lessons_give_no_record():
    hi, broken = user("Hi"), (user("there"), student("a"), user("b"), student("c"))
    for transcript in ((), (hi,), (hi, student("")), (hi, *broken)):
        assert record_of(tried(*transcript), transcript[:1]) is None


@pytest.mark.parametrize(
    ("record", "output"),
    [
        (SupervisedDatum(instruction="q", output="a"), "a"),
        (KTODatum(instruction="q", output="a", desirable=True), "a"),
        (KTODatum(instruction="q", output="a", desirable=False), None),
        (PreferenceDatum(instruction="q", chosen="a", rejected="b"), "a"),
        (ChatDatum(messages=(user("q"), student("a"))), "a"),
        (ChatDatum(messages=(user("q"), student("a", ToolCall(name="x")))), None),
        (TextDatum(text="q"), None),
    ],
)
def test_the_lesson_of_a_record_is_the_right_answer_to_its_prompt(record, output):
    lesson = lesson_of(record)
    assert (lesson and (lesson.instruction, lesson.output)) == (output and ("q", output))


ADD = Tool(name="add", parameters={"type": "object"})
ASKED = Message(role="system", content="Be brief.", tools=(ADD,)), user("1+1, and 1 more?")
TWO, THREE = (ToolCall(name="add", arguments={"a": a, "b": 1}) for a in (1, 2))


def result(text):
    return Message(role="tool", content=text)


SOLVED = (*ASKED, student("", TWO), result("2"), student("", THREE), result("3"), student("3"))


def test_a_try_is_cut_after_each_message_of_the_student_and_the_whole_comes_first():
    records = prefix_records(tried(*SOLVED, user("Thanks!")), ASKED)
    assert [record.conversation for record in records] == [SOLVED[:n] for n in (7, 5, 3)]
    assert {record.provenance.skill for record in records} == {"s"}


def test_two_tries_are_compared_where_they_part():
    wrong = (*SOLVED[:4], student("2"))
    pair = preference_of(tried(*SOLVED), tried(*wrong), ASKED)
    assert pair.prompt == SOLVED[:4]
    assert tuple(side[0] for side in pair.segments) == (SOLVED[4], wrong[4])
    assert pair.provenance.skill == "s"
    early = preference_of(tried(*SOLVED), tried(*ASKED, student("", THREE)), ASKED)
    assert (early.prompt, early.rejected) == (ASKED, (student("", THREE),))


def test_two_whole_answers_are_a_preference_with_an_instruction():
    prompt = (SYSTEM, user("1+1?"))
    pair = preference_of(tried(*prompt, student("2")), tried(*prompt, student("3")), prompt)
    found = (pair.instruction, pair.system, pair.chosen, pair.rejected)
    assert found == ("1+1?", "Be brief.", "2", "3")
    longer = tried(*prompt, student("3"), user("No."), student("4"))
    turn = preference_of(tried(*prompt, student("2")), longer, prompt)
    assert (turn.instruction, turn.messages) == ("", prompt[1:])


@pytest.mark.parametrize(
    "wrong",
    [
        SOLVED,
        SOLVED[:5],
        (*SOLVED[:3], result("error")),
        (*SOLVED[:3], user("Stop.")),
        (*SOLVED[:4], student("")),
        (ASKED[0], user("1+2?"), student("3")),
    ],
)
def test_tries_that_first_differ_outside_of_the_students_turns_are_not_a_pair(wrong):
    assert preference_of(tried(*SOLVED), tried(*wrong), ASKED) is None


def test_the_last_reply_has_its_calls_in_it():
    said = last_reply(tried(*SOLVED[:4]))
    assert read_reply(ASKED, said).message == SOLVED[2]
    assert last_reply(tried(user("1?"))) is None

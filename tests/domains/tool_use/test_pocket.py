"""Pocket tools: requests in a village, which calls of tools fulfill."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.domains.tool_use.pocket_skills import SKILLS
from dataenvgym.domains.tool_use.village import PLACES
from dataenvgym.environments import RecordChecks
from dataenvgym.records import ChatDatum, Message, ToolCall
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.metrics.answers import answers_of

SMALL = {"n_train": 60, "n_validation": 60, "n_test": 60}


@pytest.fixture(scope="module")
def task():
    return PocketToolsTask(**SMALL)


@pytest.fixture(scope="module")
def records(task):
    plan = [Assignment(3, skill=skill) for skill in SKILLS]
    return list(PocketEngine(task).generate(plan, None, np.random.default_rng(0)))


def knowing(task, *, last=lambda text: text, calls=lambda calls: calls) -> ScriptedPredictor:
    """A student that says the gold replies, with changes."""
    golds = {i.instruction: list(task.domain.gold_replies(i)) for i in task.instances}

    def answer(conversation):
        asked = next(m.content for m in conversation if m.role == "user")
        turn = sum(m.role == "assistant" for m in conversation)
        replies = golds[asked]
        is_call = replies[turn].startswith("<tool_call>")
        return calls(replies[turn]) if is_call else last(replies[turn])

    return ScriptedPredictor(answer)


def test_gold_calls_and_words_earn_all_and_each_alone_nothing(task):
    report = task.generate_performance_report
    assert report(task.evaluate(knowing(task))).score == 1.0
    silent = report(task.evaluate(knowing(task, last=lambda text: "")))
    assert silent.score < 1.0
    for skill in silent.skills:  # of questions, the words are the answer
        assert skill.accuracy == (skill.category not in ("questions", "comparisons"))
    idle = report(task.evaluate(knowing(task, calls=lambda text: "done")))
    assert idle.score == 0.0
    for said in ("done", " ".join((*PLACES, *map(str, range(20))))):  # all answers in one list
        assert report(task.evaluate(ScriptedPredictor(lambda _, said=said: said))).score == 0.0


# --- records ------------------------------------------------------------------------------------


def test_the_engine_writes_conversations_that_solve_their_problems(task, records):
    assert len(records) == 3 * len(SKILLS)
    assert len({r.messages[0].content for r in records}) == len(records)
    assert all(isinstance(r, ChatDatum) and r.tools for r in records)
    assert all(task.domain.judge_record(record) for record in records)
    problems = [task.problem_of(record) for record in records]
    assert [task.domain.gold_record(p).messages for p in problems] == [r.messages for r in records]
    kept = RecordChecks(task).check(records)
    assert len(kept.accepted) == len(records)


def test_a_record_with_a_wrong_call_or_word_is_judged_wrong(task, records):
    def with_last(record, text):
        last = Message(role="assistant", content=text)
        return record.model_copy(update={"messages": (*record.messages[:-1], last)})

    said = next(r for r in records if r.provenance.skill == "totaled")
    assert not task.domain.judge_record(with_last(said, "#### 99"))
    call = ToolCall(name="add", arguments={"item": "tea", "amount": 77})
    added = Message(role="assistant", content="", tool_calls=(call,))
    first, *others = said.messages
    more = said.model_copy(
        update={"messages": (first, added, Message(role="tool", content="ok"), *others)}
    )
    assert not task.domain.judge_record(more)
    asked = Message(role="user", content="Who are you?")
    other = said.model_copy(update={"messages": (asked, *said.messages[1:])})
    assert task.domain.judge_record(other) is None


def test_tries_agree_if_they_lead_to_the_same_state_and_words(task):
    instance = next(i for i in task.instances if i.skill == "shared")
    one, other, *_ = task.domain.gold_replies(instance)

    def completed(*calls):
        replies = [*calls, "done"]
        student = ScriptedPredictor(lambda c: replies[sum(m.role == "assistant" for m in c)])
        return task.attempt(student, [instance])[0]

    tries = [completed(one, other), completed(other, one), completed(one), completed()]
    assert [each.was_correct for each in tries] == [True, True, False, False]
    answers = [answer for answer, _ in answers_of(task, tries)]
    assert answers[0] == answers[1]
    assert len(set(answers)) == 3

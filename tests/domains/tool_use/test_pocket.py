"""Pocket tools: requests in a village, which calls of tools fulfill."""

from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.tool_use.pocket import POCKET_TOOLS, PocketToolsTask
from dataenvgym.domains.tool_use.pocket_skills import SKILLS
from dataenvgym.domains.tool_use.village import PLACES
from dataenvgym.environments import RecordChecks
from dataenvgym.metrics.answers import answers_of
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.quality import AlreadyKnownCheck, WrongAnswerCheck
from dataenvgym.records import ChatDatum, Message, ToolCall
from dataenvgym.tasks.record_conversion import problem_of
from dataenvgym.tool_formats import as_reply

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


def test_there_are_twenty_skills_in_five_categories_with_phrasings():
    assert len(SKILLS) == 20
    assert len({skill.category for skill in SKILLS.values()}) == 5
    assert all(len(set(skill.phrasings)) == 3 for skill in SKILLS.values())
    assert all(sorted(s.operands) == list(s.operands) for s in SKILLS.values())


def test_the_same_problems_come_again_in_equal_shares_of_the_skills():
    one, two = PocketToolsTask(), PocketToolsTask()
    assert one.instances == two.instances
    assert set(Counter(i.skill for i in one.instances).values()) == {20}
    assert PocketToolsTask(seed=1).instances != one.instances


def test_no_two_splits_share_operands():
    task = PocketToolsTask()
    for split in ("train", "validation", "test"):
        found = [POCKET_TOOLS.operands_in(i.instruction) for i in task.on(split).instances]
        assert {POCKET_TOOLS.split_of(operands) for operands in found} == {split}


def test_every_kind_of_argument_and_one_to_three_calls_occur(task):
    gold = [call for i in task.instances for call in task.domain.prepared(i).problem.gold]
    kinds = {type(value) for call in gold for value in call.arguments.values()}
    assert kinds == {str, int, bool, list}
    assert {len(c.arguments) for c in gold if c.name == "add"} == {1, 2}  # optional
    numbers = {len(task.domain.prepared(i).problem.gold) for i in task.instances}
    assert numbers == {1, 2, 3}


def test_gold_calls_and_words_earn_all_and_each_alone_nothing(task):
    report = task.generate_performance_report
    assert report(task.evaluate(knowing(task))).score == 1.0
    silent = report(task.evaluate(knowing(task, last=lambda text: "")))
    assert silent.score < 1.0
    for skill in silent.skills:  # of questions, the words are the answer
        assert skill.accuracy == (skill.category not in ("questions", "comparisons"))
    idle = report(task.evaluate(knowing(task, calls=lambda text: "done")))
    assert idle.score == 0.0
    other = ScriptedPredictor(lambda c: "done")
    assert report(task.evaluate(other)).score == 0.0


def test_a_list_of_all_answers_earns_nothing(task):
    everything = " ".join((*PLACES, *map(str, range(20))))
    assert not any(c.was_correct for c in task.attempt(ScriptedPredictor(lambda _: everything)))


def test_other_calls_that_lead_to_the_same_state_are_right(task):
    instance = next(i for i in PocketToolsTask().instances if i.skill == "shared")
    first, second, *_ = task.domain.gold_replies(instance)
    swapped = [second, first, "done"]
    student = ScriptedPredictor(lambda c: swapped[sum(m.role == "assistant" for m in c)])
    (completed,) = task.attempt(student, [instance])
    assert completed.was_correct


def test_results_of_calls_are_needed(task):
    """In chains and questions, the same request in two villages has two answers."""
    for skill in ("joined", "paid", "matched", "released", "counted", "totaled", "bought"):
        rng = np.random.default_rng(0)
        results = {
            message.content
            for _ in range(20)
            for message in POCKET_TOOLS.draw(skill, "train", rng).steps[1:2]
        }
        assert len(results) > 3, skill


# --- records ------------------------------------------------------------------------------------


def test_the_engine_writes_conversations_that_solve_their_problems(task, records):
    assert len(records) == 3 * len(SKILLS)
    assert len({r.messages[0].content for r in records}) == len(records)
    assert all(isinstance(r, ChatDatum) and r.tools for r in records)
    assert all(task.domain.judge_record(record) for record in records)
    problems = [problem_of(task.domain, record) for record in records]
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


def test_quality_checks_drop_wrong_and_already_known_records(task, records):
    asked = next(r for r in records if r.provenance.skill == "totaled")
    wrong = Message(role="assistant", content="#### 99")
    spoiled = asked.model_copy(update={"messages": (*asked.messages[:-1], wrong)})
    assert WrongAnswerCheck(task).passes([asked, spoiled], None) == [True, False]
    replies = [as_reply(m) for m in asked.messages if m.role == "assistant"]
    student = ScriptedPredictor(
        lambda c: (
            replies[sum(m.role == "assistant" for m in c)]
            if c[0].content == asked.messages[0].content
            else "done"
        )
    )
    other = next(r for r in records if r.provenance.skill == "bought")
    assert AlreadyKnownCheck(task).passes([asked, other], student) == [False, True]


def test_records_have_the_prompt_of_the_evaluation(task):
    framed = PocketToolsTask(**SMALL, system_prompt="Be brief.", template="Do: {instruction}")
    plan = [Assignment(1, skill="bought")]
    (record,) = PocketEngine(framed).generate(plan, None, np.random.default_rng(0))
    problem = problem_of(framed.domain, record)
    assert record.conversation[:2] == framed.domain.prompt(problem)
    assert framed.domain.judge_record(record)


def test_tries_agree_if_they_lead_to_the_same_state_and_words(task):
    instance = next(i for i in task.instances if i.skill == "shared")
    one, other, *_ = task.domain.gold_replies(instance)

    def completed(*calls):
        replies = [*calls, "done"]
        student = ScriptedPredictor(lambda c: replies[sum(m.role == "assistant" for m in c)])
        return task.attempt(student, [instance])[0]

    tries = [completed(one, other), completed(other, one), completed(one), completed()]
    answers = [answer for answer, _ in answers_of(task, tries)]
    assert answers[0] == answers[1]
    assert len(set(answers)) == 3


def test_calls_in_any_format_are_understood(task):
    instance = next(i for i in task.instances if i.skill == "carried")
    (call,) = task.domain.prepared(instance).problem.gold
    texts = [as_reply(Message(role="assistant", content="", tool_calls=(call,)))]
    texts.append("##carry item {item} place {place}".format(**call.arguments))
    for text in texts:
        replies = [text, "done"]
        student = ScriptedPredictor(lambda c, r=replies: r[sum(m.role == "assistant" for m in c)])
        assert task.attempt(student, [instance])[0].was_correct

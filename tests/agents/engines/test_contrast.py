"""Pairs of tries at one problem: where a right and a wrong one part."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, ContrastEngine, RejectionSamplingEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.interfaces import Failure
from dataenvgym.records import ChatDatum, PreferenceDatum
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Trying, turn_of


class Wavering(Trying):
    """Solves problems of pocket tools step by step, and errs in some of eight samples.

    In sample n of a problem it gives up after n calls, or before the last; later samples are right.
    """

    def __init__(self, task, *, errs_in: int = 2) -> None:
        template = task.domain.prompt_template
        problems = {template.text(i.instruction): i for i in task.on("train").instances}
        self._gold = {text: [*task.domain.gold_replies(i)] for text, i in problems.items()}
        self.n_calls = {text: len(i.data["gold"]) for text, i in problems.items()}
        self._errs_in = errs_in
        super().__init__(lambda conversation, n: self._said(conversation, n % 8))

    def _said(self, conversation, sample: int) -> str:
        asked = next(m.content for m in conversation if m.role == "user")
        turn = turn_of(conversation)
        errs = sample < self._errs_in and turn >= min(sample, self.n_calls[asked] - 1)
        return "I give up." if errs else self._gold[asked][turn]


@pytest.fixture(scope="module")
def tools():
    return PocketToolsTask(n_train=60)


def generate(engine, student, *plan: Assignment):
    return engine.generate(plan, student, np.random.default_rng(0))


def test_a_pair_is_the_turn_in_which_a_failed_try_leaves_a_solved_one(tools):
    student = Wavering(tools)
    pairs = generate(ContrastEngine(tools), student, Assignment(8))
    assert len(pairs) == 8
    for pair in pairs:
        assert isinstance(pair, PreferenceDatum)
        assert pair.tools == tools.domain.world.tools()
        assert pair.rejected == "I give up."
        assert pair.provenance.skill
        assert pair.chosen[0].tool_calls
        # of two tries that fail, the second one does so later, if more than one call is needed
        n_calls = student.n_calls[pair.messages[0].content]
        roles = ["user", "assistant", "tool"] if n_calls > 1 else ["user"]
        assert [message.role for message in pair.messages] == roles
    assert {len(pair.messages) for pair in pairs} == {1, 3}


@pytest.mark.parametrize("errs_in", [0, 8])
def test_a_problem_that_is_always_or_never_solved_makes_no_pair(tools, errs_in):
    student = Wavering(tools, errs_in=errs_in)
    assert generate(ContrastEngine(tools), student, Assignment(4)) == []


def test_a_try_that_failed_for_another_reason_is_never_rejected():
    task = PocketMathTask(n_train=40)
    gold = {i.instruction: f"#### {i.answer}" for i in task.on("train").instances}
    asked: dict[str, int] = {}

    def answer(conversation):
        question = conversation[-1].content
        asked[question] = asked.get(question, -1) + 1
        return (Failure(reason="timeout"), gold[question], "#### 99999")[min(asked[question], 2)]

    student = ScriptedPredictor(answer)
    for samples, n_pairs in ((2, 0), (3, 5)):
        asked.clear()
        pairs = generate(ContrastEngine(task, samples=samples), student, Assignment(5))
        assert len(pairs) == n_pairs
    assert {(p.chosen, p.rejected) for p in pairs} == {
        (gold[p.instruction], "#### 99999") for p in pairs
    }


def test_a_solved_conversation_may_be_learned_in_all_its_beginnings(tools):
    whole = generate(RejectionSamplingEngine(tools), Wavering(tools), Assignment(6))
    cut = generate(RejectionSamplingEngine(tools, prefixes=True), Wavering(tools), Assignment(6))
    assert len(whole) == len(cut) == 6  # beginnings count among the records that are wanted
    assert all(isinstance(record, ChatDatum) for record in (*whole, *cut))
    assert len({record.messages[0] for record in whole}) == 6
    first, second = cut[:2]
    assert first == whole[0]
    assert second.messages == first.messages[: len(second.messages)]
    assert second.messages[-1].role == "assistant"
    assert len(second.messages) == len(first.messages) - 2

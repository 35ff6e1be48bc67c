"""Preference pairs: right answers before the student's own wrong ones."""

import numpy as np
import pytest

from dataenvgym.agents import (
    Assignment,
    PocketEngine,
    PoolEngine,
    PreferenceEngine,
    RandomSelection,
)
from dataenvgym.domains.math.pocket import SKILLS, PocketMathTask, recognize
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.tool_use.pocket import POCKET_TOOLS, PocketToolsTask
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.records import PreferenceDatum, TextDatum
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Wavering, turn_of

TASK = PocketMathTask(n_train=200)
PLAN = (Assignment(20, skill="sum"), Assignment(10, skill="largest"))


def sometimes(rates, failing=()):
    """Answers rightly with the probability that each skill has."""
    return Wavering(_solve, rates, failing=failing, wrong="#### 1000")


def _solve(question):
    skill, _ = recognize(question)
    digits = "".join(c if c.isdigit() else " " for c in question).split()
    return skill.name, skill.answer(tuple(map(int, digits)))


def generate(student, plan=PLAN, engine=None, seed=0, **options):
    preference = PreferenceEngine(engine or PocketEngine(TASK), TASK, **options)
    return preference.generate(plan, student, np.random.default_rng(seed))


def test_each_pair_is_a_right_answer_and_the_students_own_wrong_one():
    pairs = generate(sometimes({"sum": 0.5, "largest": 0.5}))
    assert len(pairs) == 30
    for pair in pairs:
        assert isinstance(pair, PreferenceDatum)
        skill, _ = recognize(pair.instruction)
        assert skill.name == pair.provenance.skill
        assert pair.chosen == f"#### {_solve(pair.instruction)[1]}"
        assert pair.rejected == "#### 1000"
    assert len({pair.instruction for pair in pairs}) == 30


def test_more_problems_are_tried_until_there_are_enough_errors():
    student = sometimes({"sum": 0.85, "largest": 0.85})
    assert len(generate(student, rounds=6, most_tries=20.0)) == 30
    assert len(student.asked) > 100


def test_a_student_without_errors_gives_no_pairs_and_is_not_tried_for_ever():
    student = sometimes({"sum": 1.0, "largest": 1.0})
    assert list(generate(student, most_tries=4.0)) == []
    assert len(student.asked) <= 4 * 30


def test_failed_calls_are_not_wrong_answers():
    assert list(generate(sometimes({}, failing=SKILLS))) == []


def test_another_engine_may_write_the_problems_and_its_state_is_kept():
    pool = PoolEngine(RandomSelection(), TASK)
    preference = PreferenceEngine(pool, TASK)
    assert preference.fit.needs == "counts"
    assert tuple(preference.skills) == tuple(sorted(SKILLS))
    pairs = preference.generate((Assignment(20),), sometimes({}), np.random.default_rng(0))
    assert len(pairs) == 20
    assert preference.state_dict() == pool.state_dict()
    assert len(preference.state_dict()["taken"]) >= 20


class Writer:
    """Writes given records, however many are asked for."""

    skills = ()

    def __init__(self, *records):
        self.records = records

    def generate(self, plan, predictor, rng):
        if not self.records:
            raise BudgetSpentError("spent")
        return self.records


def test_a_spent_budget_without_any_pair_and_records_of_another_kind_are_refused():
    with pytest.raises(BudgetSpentError):
        generate(sometimes({}), engine=Writer())
    with pytest.raises(ConfigurationError, match="kind 'text'"):
        generate(sometimes({}), engine=Writer(TextDatum(text="a")))


def test_in_a_conversation_with_tools_the_pair_is_about_the_first_message_that_differs():
    task = PocketToolsTask(n_train=20, n_validation=20, n_test=20)

    def answer(conversation):
        asked = next(m.content for m in conversation if m.role == "user")
        first = POCKET_TOOLS.read(asked).steps[0]
        return "#### wrong" if turn_of(conversation) else as_reply(first)

    student = ScriptedPredictor(answer)
    engine = PreferenceEngine(PocketEngine(task), task)
    pairs = engine.generate([Assignment(3, skill="bought")], student, np.random.default_rng(0))
    assert len(pairs) == 3
    for pair in pairs:
        question, call, result = pair.messages
        price, pay, *_ = POCKET_TOOLS.read(question.content).steps[::2]
        assert (call, result.role) == (price, "tool")
        assert pair.chosen == (pay,)
        assert pair.rejected == "#### wrong"


def test_chats_without_tools_make_pairs_where_the_student_leaves_them():
    task = PocketSocialTask(n_train=16, n_validation=16, n_test=16)
    engine = PreferenceEngine(PocketEngine(task), task)
    student = ScriptedPredictor(lambda conversation: "[leave] Goodbye.")
    plan = [Assignment(4, skill="find_need")]
    pairs = engine.generate(plan, student, np.random.default_rng(0))
    assert len(pairs) == 4
    assert {(p.chosen, p.rejected) for p in pairs} == {("What do you need?", "[leave] Goodbye.")}

"""Tries that leave another one at a turn, and the pairs that they make."""

import json

import numpy as np
import pytest

from dataenvgym.agents import Assignment, BranchedTriesEngine, ScoredTriesEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.students.llama_factory.scored import without_weights
from dataenvgym.tasks.rollouts import StudentSpeaker
from tests.agents.engines.lamps import Lamps
from tests.fakes import Trying, turn_of


class Wavering(Trying):
    """Waits, and walks away; played again, it accepts, walks or waits in its second turn."""

    def __init__(self):
        again = ("Strategy: walk", "Strategy: accept", "Strategy: walk off")
        super().__init__(lambda c, n: again[n % 3] if turn_of(c) else "Strategy: wait")


def names(turn):
    """A judge that names the student's turn with this number, from 1."""
    return lambda conversation: json.dumps({"turns": [{"turn": 2 * turn, "reason": "There."}]})


def generate(task, student, count=3, **options):
    engine = BranchedTriesEngine(task, samples=3, **options)
    warnings: list[str] = []
    with hearing_warnings(warnings.append):
        records = engine.generate((Assignment(count),), student, np.random.default_rng(0))
    return records, warnings


def said(record):
    return tuple(m.content for m in record.messages if m.role == "assistant")


def test_records_of_a_problem_part_at_the_turn_that_the_judge_names():
    student = Wavering()
    records, warnings = generate(Lamps(judge=names(2)), student)
    assert [said(record)[1] for record in records] == [
        "Strategy: walk",
        "Strategy: accept",
        "Strategy: walk off",
    ]
    assert [record.weights for record in records] == [(None, 0.0), (None, 0.875), (None, 0.0)]
    assert len({record.messages[:3] for record in records}) == 1
    assert student.n_asked == 2 + 1 + 1  # earlier messages are not asked for again
    assert warnings == []


def test_the_judge_reads_the_score_and_records_become_pairs_that_first_differ_at_its_turn():
    asked = []

    def judge(conversation):
        asked.append(conversation[-1].content)
        return names(2)(conversation)

    records, _ = generate(Lamps(3, judge=judge), Wavering(), count=9)
    assert "were not good enough" in asked[0]
    assert "it was achieved completely): 0\n" in asked[0]
    pairs = without_weights(records, "dpo")
    assert len(pairs) == 3
    for pair in pairs:
        assert pair.chosen == "Strategy: accept"
        assert pair.rejected.startswith("Strategy: walk")
        assert [m.role for m in pair.messages] == ["user", "assistant", "user"]


def test_a_pair_may_have_the_turns_that_follow():
    records, _ = generate(Lamps(judge=names(1)), Wavering())
    assert [record.weights for record in records] == [(0.0, None), (0.875, None), (0.0, None)]
    # all wait in their first turn, so there is nothing to compare at it
    assert without_weights(records, "dpo", segment="tail") == []


def test_without_a_judge_the_turn_is_drawn():
    records, _ = generate(Lamps(8), Wavering(), count=24)
    places = {next(i for i, w in enumerate(r.weights) if w is not None) for r in records}
    assert places == {0, 1}


def test_a_try_with_the_full_reward_is_not_played_again():
    def partner(conversation):
        if any(m.content == "[action] accept" for m in conversation):
            return "[leave]"
        heard = "100 euros" in str(conversation)
        return "[action] accept" if heard else "[action] offer 110 euros"

    lamps = Lamps(speaker=lambda conversation: "[action] offer 100 euros", partner=partner)
    records, warnings = generate(lamps, Wavering())
    assert records == []
    assert "gave no record" in warnings[-1]


def test_a_partner_that_says_something_else_before_the_turn_leaves_nothing_to_compare():
    prices = iter(range(110, 140))

    def partner(conversation):
        accepted = "does: accept" in str(conversation)
        return "[leave]" if accepted else f"[action] offer {next(prices)} euros"

    records, warnings = generate(Lamps(1, judge=names(2), partner=partner), Wavering())
    assert records == []
    assert "2 cannot be compared (the last one: another speaker said something else" in warnings[0]


def test_tries_without_a_verdict_are_left_out():
    records, warnings = generate(Lamps(judge=lambda c: Failure(reason="down")), Wavering(), tries=1)
    assert (records, "3 have no verdict of the judge" in warnings[0]) == ([], True)


def test_a_partner_that_is_the_student_says_the_same_again_before_that_turn():
    class Both(Wavering):
        """Sells, too, and names prices that its sampling decides."""

        def predict(self, conversations, sampling):
            if "You are Ann" not in conversations[0][0].content:
                return super().predict(conversations, sampling)
            price = 110 + sampling.seed % 20
            offer = f"[action] offer {price} euros"
            accepted = ["does: accept" in str(c) for c in conversations]
            return [Reply(text="[leave]" if each else offer) for each in accepted]

    task = Lamps(judge=names(2))
    task.others["partner"] = StudentSpeaker()
    records, warnings = generate(task, Both())
    assert len(records) == 3
    assert warnings == []


def test_the_student_does_not_judge_its_own_turns():
    task = Lamps()
    task.others["judge"] = StudentSpeaker()
    for engine in (BranchedTriesEngine, ScoredTriesEngine):
        with pytest.raises(ConfigurationError, match="its own turns"):
            engine(task)
        engine(task, name_turns=False)

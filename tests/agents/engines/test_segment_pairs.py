"""Pairs of segments from a try and its best continuation (SDPO)."""

import json

import numpy as np
import pytest

from dataenvgym.agents import Assignment, SegmentPairsEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure
from dataenvgym.records import CompletedTaskInstance, PreferenceDatum, TaskInstance
from tests.agents.engines.lamps import Lamps
from tests.fakes import Trying, turn_of


def judge(turn=1, end=None, asked=None):
    """Names a turn of the student, and then an end, both as indexes of messages."""

    def judge(conversation):
        text = conversation[0].content
        if asked is not None:
            asked.append(text)
        if "closed** interval" in text:
            ends = {"start_index": turn, "end_index": end, "reason": "There."}
            return end if isinstance(end, Failure) else json.dumps(ends)
        return json.dumps({"index": turn, "reason": "There."})

    return judge


class Wavering(Trying):
    """Waits and walks away; played again from a turn on, it says another of these each time."""

    def __init__(self, first=("wait", "walk"), again=()):
        tries = (first, *again)
        super().__init__(lambda c, n: "Strategy: " + tries[n % len(tries)][turn_of(c)])


SOLD = [("wait", "walk off"), ("hold", "accept"), ("stay", "accept"), ("wait", "walk")]


def generate(task, student, count=1, samples=5, **options):
    engine = SegmentPairsEngine(task, samples=samples, **options)
    warnings: list[str] = []
    with hearing_warnings(warnings.append):
        records = engine.generate((Assignment(count),), student, np.random.default_rng(0))
    return records, warnings


def said(segment):
    return [m.content.removeprefix("Strategy: ") for m in segment if m.role == "assistant"]


def test_the_first_of_the_best_continuations_is_preferred_to_the_try():
    asked: list[str] = []
    task = Lamps(1, judge=judge(1, 3, asked))
    (pair,), warnings = generate(task, Wavering(again=SOLD))
    assert isinstance(pair, PreferenceDatum)
    assert [said(segment) for segment in pair.segments] == [["hold", "accept"], ["wait", "walk"]]
    assert [m.role for m in pair.prompt] == ["user"]
    assert warnings == []
    assert len(asked) == 2  # the turn, and the segment's end
    assert "'from': 'gpt', 'value': 'Strategy: wait'" in asked[0]
    assert "'score'" not in asked[0]


@pytest.mark.parametrize(
    ("options", "end", "expected"),
    [
        ({}, 1, [["hold"], ["wait"]]),
        ({}, 3, [["hold", "accept"], ["wait", "walk"]]),
        ({"segment": 1}, None, [["hold"], ["wait"]]),
        ({"segment": 9}, None, [["hold", "accept"], ["wait", "walk"]]),
        ({"segment": "tail"}, None, [["hold", "accept"], ["wait", "walk"]]),
    ],
)
def test_the_judge_or_a_number_ends_the_segment(options, end, expected):
    (pair,), _ = generate(Lamps(1, judge=judge(1, end)), Wavering(again=SOLD), **options)
    assert [said(segment) for segment in pair.segments] == expected


def test_the_prompt_of_a_pair_ends_before_the_named_turn():
    (pair,), _ = generate(Lamps(1, judge=judge(3, 3)), Wavering(again=SOLD))
    assert [said(segment) for segment in pair.segments] == [["accept"], ["walk"]]
    assert said(pair.prompt) == ["wait"]


def done(**scores):
    instance = TaskInstance(id="a", task="t", instruction="q")
    return CompletedTaskInstance(
        instance=instance, transcript=(), reward=0.5, was_correct=False, scores=scores
    )


def test_goal_counts_before_relationship_and_equal_scores_are_not_better():
    by = {"rank_by": ["goal", "relationship"], "improvable": {"goal": 7, "relationship": 2}}
    engine = SegmentPairsEngine(Lamps(judge=judge()), **by)
    assert engine._rank(done(goal=8, relationship=0)) > engine._rank(done(goal=7, relationship=5))
    assert engine._rank(done(goal=7, relationship=3)) > engine._rank(done(goal=7, relationship=2))
    assert engine._rank(done(goal=7, relationship=3)) == engine._rank(done(goal=7, relationship=3))
    # data_filtering_negative.py: goal <= 7 or relationship <= 2
    for goal in range(11):
        for relationship in range(-5, 6):
            assert engine.is_improvable(done(goal=goal, relationship=relationship)) is (
                goal <= 7 or relationship <= 2
            )
    with pytest.raises(ConfigurationError, match="dimensions"):
        engine.is_improvable(done(relationship=1.0))


def test_at_most_some_tries_of_one_scene_and_seat_are_improved_in_an_iteration():
    class Casts(Lamps):
        def load(self, split):
            scenes = super().load(split)
            return [
                s.model_copy(update={"id": f"{s.id}-{cast}"}) for s in scenes for cast in "abcde"
            ]

    def located(**options):
        asked: list[str] = []
        task = Casts(2, judge=judge(1, 3, asked))
        assert len({problem.instruction for problem in task.on("train").instances}) == 2
        engine = SegmentPairsEngine(task, samples=2, **options)
        for _ in range(2):
            student = Wavering(again=[("wait", "walk")])
            engine.generate((Assignment(10),), student, np.random.default_rng(0))
        return len(asked)

    # data_filtering_negative.py: three for each environment and position
    assert [located(), located(most_negatives=3), located(most_negatives=1)] == [20, 12, 4]


def test_a_try_that_no_continuation_improves_has_no_record():
    student = Wavering(again=[("wait", "walk")])
    records, warnings = generate(Lamps(1, judge=judge(1, 3)), student)
    assert records == []
    assert "1 tries were not improved by any of 4 continuations" in warnings[-1]


def test_a_pair_without_an_end_is_left_out():
    task = Lamps(1, judge=judge(1, Failure(reason="down")))
    records, warnings = generate(task, Wavering(again=SOLD))
    assert records == []
    assert "1 have no verdict of the judge (the last one: down" in warnings[0]


def test_a_partner_that_draws_its_replies_says_the_same_before_the_turn():
    prices = iter(range(110, 200))

    def partner(conversation):
        accepted = "does: accept" in str(conversation)
        return "[leave]" if accepted else f"[action] offer {next(prices)} euros"

    task = Lamps(1, judge=judge(3, 3), partner=partner)
    (pair,), warnings = generate(task, Wavering(again=SOLD))
    assert "offer 111 euros" in pair.prompt[-1].content  # its second draw
    assert warnings == []


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ConfigurationError, match="segment"):
        SegmentPairsEngine(Lamps())
    with pytest.raises(ConfigurationError, match=r"history|dialogue|\{turn"):
        SegmentPairsEngine(Lamps(), segment="tail", turn_prompt={"user": "{turn}"})

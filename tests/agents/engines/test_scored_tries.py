"""Scored records from the student's own tries, shown with a strategist who buys a lamp."""

import json
import re

import gymnasium
import numpy as np
import pytest

from dataenvgym.agents import Agent, Assignment, FreePolicy, ScoredTriesEngine
from dataenvgym.errors import BudgetSpentError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import ScoredDatum
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from tests.agents.engines.lamps import FAILED, SOLD, WALKED, Lamps, Tries


def generate(task, student, count=2, **options):
    engine = ScoredTriesEngine(task, samples=2, **options)
    warnings: list[str] = []
    with hearing_warnings(warnings.append):
        records = engine.generate((Assignment(count),), student, np.random.default_rng(0))
    return records, warnings


def weights(records):
    return [tuple(round(w, 4) for w in record.weights) for record in records]


def named(*turns):
    """A judge that names the student's turns with these numbers, from 1."""

    def judge(conversation):
        # the dialogue's numbers of the student's messages: 2, 4, ...
        found = [{"turn": 2 * turn, "reason": "It decided."} for turn in turns]
        return json.dumps({"turns": found})

    return judge


def test_each_try_is_a_record_whose_last_turn_has_the_final_score():
    records, warnings = generate(Lamps(), Tries(SOLD, WALKED))
    assert all(isinstance(record, ScoredDatum) for record in records)
    assert weights(records) == [(0.99, 1.0), (0.0, 0.0)]
    assert [m.content for m in records[0].messages if m.role == "assistant"] == [*SOLD]
    assert records[0].messages[2].content == "[Bob L] says: Hm.\n[Person 1] does: offer 110 euros"
    assert records[0].provenance.skill == "competitive"
    assert warnings == []


def test_without_a_judge_only_the_group_tells_a_good_try_from_a_bad_one():
    half = ("Strategy: half", "Strategy: walk")  # 120 euros are a goal score of 7.5

    def partner(conversation):
        return "[action] accept" if "120" in str(conversation) else Lamps.offer(conversation)

    task, student = Lamps(partner=partner), Tries(SOLD, half)
    records, _ = generate(task, student, normalize="dialogue")
    assert weights(records) == [(0.99, 1.0)] * 2
    records, _ = generate(task, student, normalize="group")  # 7.5 / 8.75 is .8571
    assert weights(records) == [(0.99, 1.0), (0.8486, 0.8571)]
    records, _ = generate(task, student, normalize="none")
    assert weights(records) == [(0.8662, 0.875), (0.7425, 0.75)]


def test_the_turns_that_the_judge_names_score_1():
    # scores 1 and .875: returns 1 + .99 * .875 = 1.86625 and .875
    records, _ = generate(Lamps(judge=named(1)), Tries(SOLD, WALKED))
    assert weights(records) == [(1.0, 0.4689), (0.0, 0.0)]
    records, _ = generate(Lamps(judge=named(1)), Tries(SOLD, WALKED), name_turns=False)
    assert weights(records) == [(0.99, 1.0), (0.0, 0.0)]


RELATIVE = {"normalize": "deviation", "baseline": True, "discount": 1.0, "least_deviation": 0.0}


def test_every_turn_has_the_advantage_of_its_try_in_the_group():
    # rewards .875 and 0: a mean of .4375 and a sample deviation of .875 / sqrt(2) = .6187
    records, warnings = generate(Lamps(), Tries(SOLD, WALKED), **RELATIVE)
    assert weights(records) == [(0.7071, 0.7071), (-0.7071, -0.7071)]
    assert warnings == []


def test_groups_without_difference_are_counted_and_not_learned():
    records, warnings = generate(Lamps(), Tries(SOLD, SOLD), **RELATIVE)
    assert records == []
    assert warnings == [
        "scored_tries: of 3 groups of tries, 3 are too small or have almost equal rewards; they "
        "have no record",
        "scored_tries: 6 tries gave no record",
    ]
    assert len(generate(Lamps(), Tries(SOLD, SOLD), **RELATIVE | {"least_deviation": None})[0]) == 2
    assert generate(Lamps(), Tries(SOLD, WALKED), **RELATIVE | {"least_deviation": 0.7})[0] == []


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("normalize", ["dialogue", "group", "none"])
@pytest.mark.parametrize("turns", [(1,), (2,), (1, 2)])
def test_no_turn_of_a_lost_try_is_learned_whatever_the_judge_names(baseline, normalize, turns):
    """The insult that lost the deal decided the scene, too."""
    options = {"baseline": baseline, "normalize": normalize}
    records, _ = generate(Lamps(judge=named(*turns)), Tries(SOLD, WALKED), **options)
    good, bad = weights(records)
    assert max(good) > 0
    assert max(bad) <= 0
    assert (min(bad) < 0) is baseline


def test_the_judge_reads_the_goal_the_score_and_the_numbered_dialogue():
    asked = []

    def judge(conversation):
        asked.append(conversation[-1].content)
        return json.dumps({"turns": []})

    generate(Lamps(judge=judge), Tries(SOLD, WALKED))
    assert len(asked) == 1  # not about the try that was lost
    assert "Your goal: Buy." in asked[0]
    assert "it was achieved completely): 8.75\n" in asked[0]
    assert "critically important for achieving the goal" in asked[0]
    assert "[2] assistant:\n    Strategy: wait" in asked[0]
    assert "The turns of the assistant are 2, 4." in asked[0]


def test_epo_asks_about_all_tries_in_its_published_words_with_the_final_score():
    asked = []

    def judge(conversation):
        asked.append(conversation[0].content)
        return json.dumps({"indexes": [1], "reasoning": "It decided."})

    options = {"normalize": "dialogue", "turn_prompt": "epo_turns"}
    records, warnings = generate(Lamps(judge=judge), Tries(SOLD, WALKED), **options)
    # scores 1 and .875, 1 and 0: returns 1.86625 and .875, 1 and 0
    assert weights(records) == [(1.0, 0.4689), (1.0, 0.0)]
    assert warnings == []
    assert len(asked) == 2
    assert "conversation in JSON format between Bob L and Person 1\n" in asked[0]
    assert "'value': 'Strategy: accept', 'index': 3}], 'score': 8.75}" in asked[0]
    assert "'value': 'Strategy: walk', 'index': 3}], 'score': 0}" in asked[1]


def test_a_try_that_failed_is_left_out_and_counted():
    records, warnings = generate(Lamps(), Tries(SOLD, FAILED), count=2, baseline=True, tries=1)
    assert weights(records) == [(0.0, 0.0)] * 2  # the mean is that of the tries with a score
    assert "of 4 tries, 2 failed (the last one: timed out); they are left out" in warnings[0]


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (Failure(reason="down"), "down"),
        (ValueError("down"), "ValueError: down"),
        (BudgetSpentError("spent"), "not asked: spent"),
        ("9 of 10.", "no usable"),
    ],
)
def test_a_judge_that_fails_gives_no_record_and_a_warning(says, reason):
    def judge(conversation):
        if isinstance(says, Exception):
            raise says
        return says

    records, warnings = generate(Lamps(judge=judge), Tries(SOLD, SOLD), tries=1)
    assert records == []
    assert f"4 have no verdict of the judge (the last one: {reason}" in warnings[0]
    assert warnings[1] == "scored_tries: 4 tries gave no record"
    records, warnings = generate(Lamps(judge=judge), Tries(SOLD, WALKED), count=6)
    assert weights(records) == [(0.0, 0.0)] * 3
    assert "of 6 tries, 3 have no verdict" in warnings[0]


def test_records_that_teach_nothing_are_said_to():
    records, warnings = generate(Lamps(), Tries(WALKED, WALKED))
    assert weights(records) == [(0.0, 0.0)] * 2
    assert "all weights of 2 records are 0" in warnings[0]


def test_a_problem_gives_a_record_for_each_try_and_is_played_again_later():
    task, student = Lamps(2), Tries(SOLD, WALKED)
    engine = ScoredTriesEngine(task, samples=2)
    for _ in range(2):
        assert len(engine.generate((Assignment(4),), student, np.random.default_rng(0))) == 4
    assert student.n_asked == 2 * 2 * 2 * 2  # iterations, problems, tries, turns
    once = ScoredTriesEngine(task, samples=2, repeat=False)
    counts = [
        len(once.generate((Assignment(4),), student, np.random.default_rng(0))) for _ in range(2)
    ]
    assert counts == [4, 0]


@pytest.mark.slow
def test_a_strategist_that_plays_and_is_trained_writes_the_good_strategy_more_often(
    make_student, tmp_path
):
    """A strategy is one byte: for a letter, the speaker buys; else it leaves."""

    def speaker(conversation):
        advice = conversation[-1].content.splitlines()[-1]
        is_letter = re.fullmatch(r"\(Strategy: [A-Za-z]\)", advice)
        return "[action] accept" if is_letter else "[leave]"

    sampling = SamplingParameters(temperature=1.0, max_tokens=1)
    task = Lamps(1, speaker=speaker, sampling=sampling)
    trainer = InProcessTrainer(threads=1, num_train_epochs=2, learning_rate=1e-2, cutoff_len=1024)
    folder = make_student(tmp_path / "student", context=1024)
    student = InProcessPredictor(folder, trainer, threads=1)

    def share():
        tries = task.attempt(student, samples=128)
        assert all(done.error is None for done in tries)
        return sum(done.was_correct for done in tries) / len(tries)

    before = share()
    engine = ScoredTriesEngine(task, samples=32, baseline=True)
    agent = Agent(FreePolicy(), engine, name="epo", records_per_iteration=32)
    environment = gymnasium.make(
        "dataenvgym/OpenEnded-v0", task=task, predictor=student, mode="incremental", replay=0
    )
    run_episode(environment, agent, iterations=3, progress=False)
    assert before < 0.5
    assert share() > before + 0.2

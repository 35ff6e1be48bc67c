from __future__ import annotations

import numpy as np
import pytest

from dataenvgym.agents import OpenEndedPolicy, RandomPolicy, Situation, SkillListPolicy
from dataenvgym.agents.policies.plain import apportion
from dataenvgym.errors import ConfigurationError
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import CompletedTaskInstance, TaskInstance


def completed(skill: str | None, n_right: int, n_wrong: int, n_errors: int = 0):
    outcomes = [True] * n_right + [False] * n_wrong + [None] * n_errors
    return [
        CompletedTaskInstance(
            instance=TaskInstance(
                id=f"{skill}-{i}", task="t", instruction=f"{skill} {i}", skill=skill
            ),
            transcript=(),
            reward=float(bool(right)),
            was_correct=bool(right),
            error=None if right is not None else "timeout",
        )
        for i, right in enumerate(outcomes)
    ]


def situation(completed, skills=()) -> Situation:
    return Situation(completed, skills, ScriptedPredictor(lambda conversation: ""))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_random_spreads_over_the_engines_skills_whatever_the_student_did():
    skills = ["a", "b", "c", "d"]
    plans = [
        RandomPolicy().plan(situation(seen, skills), 400, rng())
        for seen in (completed("a", 9, 0), completed("a", 0, 9))
    ]
    counts = [{a.skill: a.count for a in plan} for plan in plans]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) == 400
    assert all(70 < n < 130 for n in counts[0].values())


def test_random_needs_an_engine_with_skills():
    with pytest.raises(ConfigurationError, match="open_ended"):
        RandomPolicy().plan(situation([]), 3, rng())


def test_open_ended_models_records_on_errors_only_each_as_often_as_the_others():
    seen = completed("a", 5, 3, n_errors=4)
    plan = OpenEndedPolicy().plan(situation(seen), 7, rng())
    assert sorted(a.count for a in plan) == [2, 2, 3]
    assert {a.examples[0].instance.id for a in plan} == {"a-5", "a-6", "a-7"}


def test_open_ended_teaches_a_student_without_errors_from_all_instances():
    plan = OpenEndedPolicy().plan(situation(completed("a", 5, 0)), 5, rng())
    assert len(plan) == 5


def test_skill_list_gives_weaker_skills_more_records():
    seen = completed("weak", 1, 9) + completed("strong", 9, 1) + completed("medium", 5, 5)
    plan = SkillListPolicy().plan(situation(seen), 100, rng())
    counts = {a.skill: a.count for a in plan}
    assert sum(counts.values()) == 100
    assert counts["weak"] > counts["medium"] > counts["strong"] > 0


def test_skill_list_ignores_failed_calls():
    seen = completed("a", 5, 5) + completed("b", 5, 5, n_errors=50)
    counts = {a.skill: a.count for a in SkillListPolicy().plan(situation(seen), 10, rng())}
    assert counts == {"a": 5, "b": 5}


def test_skill_list_says_what_it_needs_where_there_are_no_skills():
    with pytest.raises(ConfigurationError, match="environment=skill_list"):
        SkillListPolicy().plan(situation(completed(None, 1, 1)), 10, rng())


def test_sharpness_zero_spreads_evenly():
    seen = completed("weak", 0, 9) + completed("strong", 9, 0)
    counts = {
        a.skill: a.count for a in SkillListPolicy(sharpness=0).plan(situation(seen), 10, rng())
    }
    assert counts == {"weak": 5, "strong": 5}


def test_apportion_rounds_by_largest_remainder_and_adds_up():
    assert apportion(np.array([1.0, 1.0, 1.0]), 10) == [4, 3, 3]
    assert apportion(np.array([0.5, 2.5, 7.0]), 10) == [1, 2, 7]
    assert apportion(np.array([0.0, 1.0]), 3) == [0, 3]


def test_weights_that_are_all_zero_share_evenly():
    assert apportion(np.zeros(2), 4) == [2, 2]


@pytest.mark.parametrize("options", [{"floor": -0.1}, {"sharpness": -1}])
def test_negative_options_are_refused(options):
    with pytest.raises(ConfigurationError):
        SkillListPolicy(**options)

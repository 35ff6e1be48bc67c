import numpy as np
import pytest

from dataenvgym.agents import OpenEndedPolicy, RandomPolicy, SkillListPolicy
from dataenvgym.agents.policies.plain import at_most, skill_plan
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import hearing_warnings
from dataenvgym.records.plans import apportion
from tests.fakes import situation, tried


def completed(skill: str | None, n_right: int, n_wrong: int, n_errors: int = 0):
    outcomes = [True] * n_right + [False] * n_wrong + [None] * n_errors
    return [tried(id=f"{skill}-{i}", skill=skill, right=r) for i, r in enumerate(outcomes)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_random_spreads_over_the_engines_skills_regardless_of_results():
    skills = ["a", "b", "c", "d"]
    plans = [
        RandomPolicy().plan(situation(seen, skills), 400, rng())
        for seen in (completed("a", 9, 0), completed("a", 0, 9))
    ]
    counts = [{a.skill: a.count for a in plan} for plan in plans]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) == 400
    assert all(70 < n < 130 for n in counts[0].values())


def test_open_ended_models_records_on_errors_only_each_as_often_as_the_others():
    seen = completed("a", 5, 3, n_errors=4)
    plan = OpenEndedPolicy().plan(situation(seen), 7, rng())
    assert sorted(a.count for a in plan) == [2, 2, 3]
    assert {a.examples[0].instance.id for a in plan} == {"a-5", "a-6", "a-7"}


def test_skill_list_gives_weaker_skills_more_records():
    seen = completed("weak", 1, 9) + completed("strong", 9, 1) + completed("medium", 5, 5)
    counts = chosen(seen, count=100)
    assert sum(counts.values()) == 100
    assert counts["weak"] > counts["medium"] > counts["strong"] > 0
    assert chosen(seen, count=9, sharpness=0) == {"weak": 3, "medium": 3, "strong": 3}
    often_failed = completed("a", 5, 5) + completed("b", 5, 5, n_errors=50)
    assert chosen(often_failed) == {"a": 5, "b": 5}


def test_apportion_rounds_by_largest_remainder_and_adds_up():
    assert apportion(np.array([1.0, 1.0, 1.0]), 10) == [4, 3, 3]
    assert apportion(np.array([0.5, 2.5, 7.0]), 10) == [1, 2, 7]
    assert apportion(np.array([0.0, 1.0]), 3) == [0, 3]
    assert apportion(np.zeros(2), 4) == [2, 2]  # as if they were all one


def chosen(seen, seed=0, count=10, **options) -> dict[str | None, int]:
    plan = SkillListPolicy(**options).plan(situation(seen), count, rng(seed))
    return {a.skill: a.count for a in plan}


THREE = completed("b", 8, 2) + completed("a", 1, 3) + completed("c", 4, 4)
COMMON, WEAKEST = {"choose": "most_common"}, {"choose": "highest_error"}
TIE = completed("b", 2, 2) + completed("a", 2, 2)
CHOSEN = [
    (THREE, COMMON, {"b": 10}),
    (TIE, COMMON, {"a": 10}),
    (THREE + completed("a", 0, 0, n_errors=20), COMMON, {"b": 10}),
    (THREE, WEAKEST, {"a": 10}),
    (TIE, WEAKEST, {"a": 10}),
    (THREE, WEAKEST | {"skills": 2, "floor": 0}, {"a": 6, "c": 4}),  # errors of .75 and .5
    (THREE, {"choose": "random_below", "below": 0.5}, {"a": 10}),  # .5 is not under .5
    (THREE, {"choose": "random_below", "below": 0.2}, {"a": 10}),  # the weakest, without any
    (THREE, {"per_skill": 4}, {"a": 4, "b": 4, "c": 4}),
    (THREE, {"per_error": 2}, {"a": 6, "b": 4, "c": 8}),
    (THREE, {"per_error": 2, "most_per_skill": 5}, {"a": 5, "b": 4, "c": 5}),
    (THREE, {"most_per_skill": 5}, {"a": 5, "b": 2, "c": 3}),  # shares are cut too
    (THREE, WEAKEST | {"per_skill": 4}, {"a": 4}),
]


@pytest.mark.parametrize(("seen", "options", "expected"), CHOSEN)
def test_the_options_say_which_skills_get_how_many_records(seen, options, expected):
    assert chosen(seen, **options) == expected


def test_two_numbers_of_records_are_refused():
    with pytest.raises(ConfigurationError, match="per_skill"):
        SkillListPolicy(per_skill=1, per_error=2)


def test_random_below_draws_among_the_skills_under_the_threshold():
    drawn = [chosen(THREE, seed, choose="random_below", below=0.6) for seed in range(60)]
    assert {skill for plan in drawn for skill in plan} == {"a", "c"}
    assert all(sum(plan.values()) == 10 and len(plan) == 1 for plan in drawn)
    assert 15 < sum("a" in plan for plan in drawn) < 45
    assert drawn == [chosen(THREE, seed, choose="random_below", below=0.6) for seed in range(60)]


def test_open_ended_gives_each_error_its_number_and_right_answers_none():
    seen = completed("a", 5, 3, n_errors=4)
    few = OpenEndedPolicy(per_error=5).plan(situation(seen), 12, rng())
    assert [a.count for a in few] == [5, 5]  # as many errors as fit, with all their records
    plan = OpenEndedPolicy(per_error=5).plan(situation(seen), 15, rng())
    assert {a.examples[0].instance.id: a.count for a in plan} == {"a-5": 5, "a-6": 5, "a-7": 5}
    assert OpenEndedPolicy(per_error=5).plan(situation(completed("a", 5, 0)), 7, rng()) == ()
    joined = OpenEndedPolicy(per_error=5, together=2).plan(situation(seen), 15, rng())
    assert [(a.count, len(a.examples)) for a in joined] == [(10, 2), (5, 1)]
    assert [e for a in joined for e in a.examples] == [e for a in plan for e in a.examples]


def test_a_plan_is_cut_in_proportion_and_both_numbers_are_said():
    plan = skill_plan({"a": [], "b": [], "c": []}, [60, 30, 1])
    warned = []
    with hearing_warnings(warned.append):
        assert [a.count for a in at_most(plan, 9)] == [6, 3]
        assert at_most(plan, 91) == plan
    (text,) = warned
    assert "asked for 91 records" in text
    assert "agent.records_per_iteration is 9" in text

"""Conditions that strategies must share."""

from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose
from dataenvgym.studies.comparison import (
    Difference,
    allowed,
    config_differences,
    result_differences,
)
from dataenvgym.studies.noise import record_budget
from dataenvgym.studies.plan import Cell
from dataenvgym.studies.results import StrategyRuns
from tests.studies.conftest import made_run


def differences(a, b, role="strategy"):
    return config_differences(
        Cell(role, name, "t", 0, compose(given), Path(name))
        for role, name, given in (("strategy", "a", a), (role, "b", b))
    )


def keys(a, b, **options):
    found = differences(["agent=random", *a], ["agent=skill_list", *b], **options)
    return list(dict.fromkeys(d.key for d in found))


def test_strategies_may_differ_in_agent_and_observation():
    assert keys([], ["environment.mode=accumulate"]) == []


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("task.n_test=10", "task.n_test"),
        ("trainer.learning_rate=0.1", "trainer.learning_rate"),
        ("environment.target_score=0.9", "environment.target_score"),
        ("agent.records_per_iteration=200", "records"),
        ("environment.max_records=200", "records"),
    ],
)
def test_they_may_not_differ_in_student_instances_trainer_or_budget(override, key):
    assert keys([], [override]) == [key]


def test_other_iterations_are_another_budget_too():
    assert keys([], ["episode.iterations=2"]) == ["episode.iterations", "records"]
    assert keys([], ["episode.iterations=2"], role="ceiling") == ["episode.iterations"]


def test_only_a_ceiling_may_have_records_without_the_pressure():
    spared = ["task.pressure_on_records=false"]
    assert keys([], spared) == ["task.pressure_on_records"]
    assert keys([], spared, role="ceiling") == []


def test_the_budget_is_the_smaller_of_plan_and_limit():
    assert record_budget(compose(["episode.iterations=3"])) == 900
    assert record_budget(compose(["environment.max_records=500"])) == 500
    assert keys(["environment.max_records=500"], ["agent.records_per_iteration=100"]) == []


def test_agents_without_any_bound_are_refused_though_they_are_equal():
    own = ["agent=custom", "agent._target_=mine.Agent"]
    (difference,) = differences(own, own)
    assert difference.key == "records"
    assert "unbounded, set environment.max_records" in str(difference)
    bound = [*own, "environment.max_records=50"]
    assert differences(bound, bound) == []


def test_a_difference_that_is_not_allowed_is_an_error_with_the_way_out():
    found = [Difference("trainer.lora_rank", {"a": 4, "b": 8, "c": 8})]
    with pytest.raises(ConfigurationError) as caught:
        allowed(found, ["task"])
    assert "trainer.lora_rank: 4 (a); 8 (b, c)" in str(caught.value)
    assert "--allow-unequal trainer.lora_rank" in str(caught.value)
    assert allowed(found, ["trainer"]) == allowed([*found, *found], ["trainer.lora_rank"]) == found


def test_runs_of_another_student_or_other_instances_are_found():
    same = [StrategyRuns(n, "strategy", {0: made_run(0, (0.5, 0.6))}) for n in "ab"]
    assert list(result_differences(same)) == []
    other = made_run(0, (0.5, 0.6), identity={"student": {"weights": "v"}, "instances": "j"})
    found = list(result_differences([*same, StrategyRuns("c", "strategy", {0: other})]))
    assert [d.key for d in found] == ["instances", "student"]
    assert allowed(found, ["predictor.batch_size", "task"])
    with pytest.raises(ConfigurationError, match="instances"):
        allowed(found, ["student"])


def test_more_records_than_the_budget_are_found():
    runs = [
        StrategyRuns(name, "strategy", {0: made_run(0, (0.5, 0.6), records=n)}, budget=100)
        for name, n in (("a", 101), ("b", 99))
    ]
    (difference,) = result_differences(runs)
    assert str(difference) == "records: 101 of 100 (a)"

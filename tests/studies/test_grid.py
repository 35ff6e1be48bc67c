"""Hydra's sweep syntax, taken apart."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.studies.grid import Choice, parse_grid


def names(choices):
    return [choice.name for choice in choices]


def test_seeds_tasks_and_strategies_are_told_apart():
    grid = parse_grid(
        ["agent=random,skill_list", "seed=range(3)", "task=pocket_math", "environment.replay=7"]
    )
    assert grid.seeds == (0, 1, 2)
    assert names(grid.tasks) == ["pocket_math"]
    assert names(grid.strategies) == ["random", "skill_list"]
    assert grid.fixed == ("environment.replay=7",)
    assert grid.overrides(grid.strategies[1], grid.tasks[0]) == [
        "environment.replay=7", "task=pocket_math", "agent=skill_list",
    ]  # fmt: skip


def test_without_any_override_the_defaults_are_a_study_of_one():
    grid = parse_grid([])
    assert grid.strategies == (Choice("skill_list"),)
    assert grid.tasks == (Choice("pocket_math"),)
    assert grid.seeds == (0,)


def test_the_labels_have_the_choices_of_an_experiment(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    grid = parse_grid(["experiment=dataenvgym_math_gemma2_2b", "agent=random"])
    assert names(grid.tasks) == ["math"]


@pytest.mark.parametrize(
    ("texts", "strategies", "tasks"),
    [
        (["agent.name=mine", "task=pocket_code"], ["mine"], ["pocket_code"]),
        (
            ["agent=random", "environment.replay=0,100", "trainer.lora_rank=choice(4,8)"],
            ["replay=0, lora_rank=4", "replay=0, lora_rank=8", "replay=100, lora_rank=4",
             "replay=100, lora_rank=8"],
            ["pocket_math"],
        ),
        (
            ["agent=random,edge", "environment.replay=0,1"],
            ["random, replay=0", "random, replay=1", "edge, replay=0", "edge, replay=1"],
            ["pocket_math"],
        ),
        (["task.seed=0,1", "agent=random"], ["random"], ["seed=0", "seed=1"]),
    ],
)  # fmt: skip
def test_strategies_and_tasks_are_combinations_named_by_the_varying_keys(texts, strategies, tasks):
    grid = parse_grid(texts)
    assert (names(grid.strategies), names(grid.tasks)) == (strategies, tasks)


def test_glob_matches_existing_options():
    assert {"skill_list", "skill_list_no_state"} <= set(
        names(parse_grid(["agent=glob(skill_list*)"]).strategies)
    )
    with pytest.raises(ConfigurationError, match=r"fits no option\. The options of agent are:"):
        parse_grid(["agent=glob(zz*)"])


def test_quoted_commas_and_lists_are_one_value():
    grid = parse_grid(["+predictor.gpus=[0,1]", "agent.name='a,b'", "agent=random"])
    assert grid.fixed == ("+predictor.gpus=[0,1]", "agent.name='a,b'")


def test_named_strategies_can_be_combined_with_a_sweep_or_used_alone():
    sharp = "sharp: agent=skill_list agent.policy.sharpness=3"
    both = parse_grid(["agent=random", "seed=4"], strategies=[sharp])
    assert both.strategies == (
        Choice("random", ("agent=random",)),
        Choice("sharp", ("agent=skill_list", "agent.policy.sharpness=3")),
    )
    assert names(parse_grid([], strategies=[sharp]).strategies) == ["sharp"]


def test_a_strategys_own_values_win():
    grid = parse_grid(["environment.replay=7"], strategies=["a: environment.replay=9"])
    assert grid.overrides(grid.strategies[0], grid.tasks[0]) == ["environment.replay=9"]


def test_seeds_are_taken_once():
    assert parse_grid(["seed=3,1,3"]).seeds == (3, 1)


@pytest.mark.parametrize(
    ("texts", "strategies", "message"),
    [
        (["seed=a,b"], [], "seed is 'a', expected a whole number"),
        (["seed=-1,2"], [], "seed is -1, expected 0 or more"),
        (["seed=interval(0,1)"], [], "has no countable values; expected a,b"),
        (["agent"], [], "'agent' is not an override, expected KEY=VALUE"),
        (["name=x"], [], "about a single run; a study has --name"),
        (["runs_dir=x"], [], "a study has --studies-dir"),
        (["agent=random,random"], [], "there are 2 strategies 'random'"),
        (["agent=random", "agent=skill_list"], [], "agent is given twice"),
        ([], ["agent=random"], '--strategy is .* expected "NAME: KEY=VALUE ..."'),
        ([], ["a: seed=3"], "sets seed, which is not part of a strategy"),
        ([], ["a: task.n_test=3"], "sets task.n_test, which is not part of a strategy"),
        ([], ["a: agent='x"], "cannot be read: No closing quotation"),
    ],
)
def test_impossible_grids_are_refused(texts, strategies, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_grid(texts, strategies=strategies)

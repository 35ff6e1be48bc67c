"""Hydra's sweep syntax, taken apart."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.studies.grid import Choice, parse_grid
from dataenvgym.studies.plan import plan_study


def names(choices):
    return [choice.name for choice in choices]


def test_seeds_tasks_and_strategies_are_told_apart():
    grid = parse_grid(
        ["agent=random,skill_list", "seed=0,1,2,1", "task=pocket_math", "environment.replay=7"]
    )
    assert grid.seeds == (0, 1, 2)
    assert names(grid.tasks) == ["pocket_math"]
    assert names(grid.strategies) == ["random", "skill_list"]
    assert grid.fixed == ("environment.replay=7",)
    assert grid.overrides(grid.strategies[1], grid.tasks[0]) == [
        "environment.replay=7", "task=pocket_math", "agent=skill_list",
    ]  # fmt: skip


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
    with pytest.raises(ConfigurationError, match="of agent"):
        parse_grid(["agent=glob(zz*)"])


def test_quoted_commas_and_lists_are_one_value():
    grid = parse_grid(
        ["+predictor.chat_template_kwargs.a=[0,1]", "agent.name='a,b'", "agent=random"]
    )
    assert grid.fixed == ("+predictor.chat_template_kwargs.a=[0,1]", "agent.name='a,b'")


def test_named_strategies_can_be_combined_with_a_sweep_or_used_alone():
    sharp = "sharp: agent=skill_list agent.policy.sharpness=3"
    both = parse_grid(["agent=random", "seed=4"], strategies=[sharp])
    assert both.strategies == (
        Choice("random", ("agent=random",)),
        Choice("sharp", ("agent=skill_list", "agent.policy.sharpness=3")),
    )
    assert names(parse_grid([], strategies=[sharp]).strategies) == ["sharp"]
    alone = parse_grid(["environment.replay=7"], strategies=["a: environment.replay=9"])
    assert alone.overrides(alone.strategies[0], alone.tasks[0]) == ["environment.replay=9"]


@pytest.mark.parametrize(
    ("texts", "strategies", "message"),
    [
        (["seed=a,b"], [], "seed is 'a', expected a whole number"),
        (["seed=interval(0,1)"], [], "has no countable values; expected a,b"),
        (["agent"], [], "'agent' is not an override, expected KEY=VALUE"),
        (["runs_dir=x"], [], "a study has --name and --studies-dir"),
        (["agent=random,random"], [], "there are 2 strategies 'random'"),
        (["agent=random", "agent=skill_list"], [], "agent is given twice"),
        ([], ["agent=random"], '--strategy is .* expected "NAME: KEY=VALUE ..."'),
        ([], ["a: seed=3"], "sets seed, which is not part of a strategy"),
        ([], ["a: agent='x"], "cannot be read: No closing quotation"),
    ],
)
def test_impossible_grids_are_refused(texts, strategies, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_grid(texts, strategies=strategies)


# --- suites ---


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of configurations with a suite of two tasks, and a class without options."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "mine.yaml").write_text(
        "# Mine\ntask: [pocket_math, pocket_code]\nagent: random,edge\nepisode.iterations: 2\n"
        "agent.records_per_iteration: 20\n"
    )
    (tmp_path / "my_plain.py").write_text("class Plain:\n    def __init__(self): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_suite_has_the_overrides_of_its_file(own):
    grid = parse_grid(["suite=mine", "seed=0,1"], config_dir=own)
    assert [task.name for task in grid.tasks] == ["pocket_math", "pocket_code"]
    assert [one.overrides for one in grid.strategies] == [
        ("agent=random", "agent.records_per_iteration=20"),
        ("agent=edge", "agent.records_per_iteration=20"),
    ]
    assert (grid.fixed, grid.seeds, grid.suite) == (("episode.iterations=2",), (0, 1), "mine")


def test_a_suite_of_evaluations_is_no_study(own):
    with pytest.raises(ConfigurationError, match="of evaluations"):
        parse_grid(["suite=math"], config_dir=own)


def test_what_is_typed_replaces_what_a_suite_has(own):
    typed = ["agent.records_per_iteration=9", "episode.iterations=1", "agent=edge,retention"]
    grid = parse_grid([*typed, "suite=mine"], config_dir=own)
    assert [one.name for one in grid.strategies] == ["edge", "retention"]
    assert sorted(grid.fixed) == ["agent.records_per_iteration=9", "episode.iterations=1"]
    other = parse_grid(["suite=mine", "task=pocket_social"], config_dir=own)
    assert ([task.name for task in other.tasks], other.suite) == (["pocket_social"], None)


def test_a_strategy_of_ones_own_joins_those_of_a_suite_and_keeps_its_own_options(own):
    grid = parse_grid(
        ["suite=mine"],
        strategies=["few: agent=edge agent.records_per_iteration=5", "plain: agent=my_plain.Plain"],
        config_dir=own,
    )
    assert [one.name for one in grid.strategies] == ["random", "edge", "few", "plain"]
    assert grid.strategies[2].overrides == ("agent=edge", "agent.records_per_iteration=5")
    assert grid.strategies[3].overrides == ("agent=my_plain.Plain",)  # which has no such option


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("agent: {name: edge}\n", "agent is .*expected overrides"),
        ("a: [\n", "mine.yaml"),
        ("{}\n", "empty"),
    ],
)
def test_a_suite_that_is_not_one_is_refused(own, content, message):
    (own / "suite" / "mine.yaml").write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        parse_grid(["suite=mine"], config_dir=own)


STUDIES = [n for n, f in options_by_group()["suite"].items() if "\nagent:" in f.read_text()]
"""The other suites are of evaluations."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_shipped_suite_compares_informed_strategies_with_random_under_equal_budgets(name):
    plan = plan_study([f"suite={name}"])
    assert plan.has_suite_score
    assert plan.baseline == "random"
    assert len(plan.grid.strategies) >= 6
    cells = plan.of_strategies()
    assert {(c.config.episode.iterations, c.config.agent.records_per_iteration) for c in cells} == {
        (3, 100)
    }
    assert {c.config.predictor.threads for c in plan.cells} == {1}
    assert plan.name.startswith(name)


def test_a_suite_composes_with_another_student():
    typed = ["suite=teach-v1", "student=smollm2", "agent=edge"]
    plan = plan_study(typed, bounds=False)
    assert {cell.config.student.path for cell in plan.cells} == {"smollm2"}
    assert len({cell.config.task.name for cell in plan.cells}) == len(plan.grid.tasks) >= 6

"""Episodes of `SkillTree-v0`, from the runner and from the configuration."""

import pytest

from dataenvgym.agents import Agent, AlternatingPolicy, PocketEngine, RandomPolicy, TreeAgent
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded, SkillTree
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.storage import read_json
from dataenvgym.students.predictors.scripted import ScriptedPredictor

AGENTS = (
    *("skill_tree", "skill_tree_fill_balanced", "skill_tree_random", "skill_tree_threshold"),
    "skill_tree_configurable",
)


class Student(ScriptedPredictor):
    """Says the more fives the more records it was trained on."""

    def __init__(self):
        super().__init__(lambda conversation: f"#### {5 if self.records else 6}")


def play(directory, *, engine=None, iterations=2, agent=None):
    environment = SkillTree(
        PocketMathTask(n_validation=20, n_test=20),
        Student(),
        engine or PocketEngine(PocketMathTask()),
        directory=directory,
    )
    agent = agent or TreeAgent(AlternatingPolicy(), name="tree", records_per_iteration=60)
    return run_episode(environment, agent, iterations=iterations)


def test_an_episode_spends_its_records_and_its_report_shows_the_forest(tmp_path):
    summary = play(tmp_path)
    assert [i.n_records for i in summary.iterations] == [0, 60, 60]
    assert summary.status == "finished"
    assert sorted(p.name for p in (tmp_path / "agent").glob("0*")) == ["001.json", "002.json"]
    text = write_report(tmp_path).read_text()
    assert f"## The forest after iteration {summary.best_iteration}" in text
    forest = read_json(tmp_path / "iterations/002/forest.json")
    assert len(forest["trees"]) == 20
    assert sum(s["generated"] for t in forest["trees"] for s in t["subskills"]) == 120


def test_more_iterations_extend_a_run_as_if_it_had_never_stopped(tmp_path):
    play(tmp_path / "whole", iterations=3)
    play(tmp_path / "parts", iterations=1)
    play(tmp_path / "parts", iterations=3)
    for name in ("action.json", "plan.json", "forest.json", "records.jsonl", "trained.jsonl"):
        one, two = (tmp_path / p / "iterations/003" / name for p in ("whole", "parts"))
        assert one.read_bytes() == two.read_bytes()


def test_a_spent_teacher_ends_the_episode_well(tmp_path):
    class Poor(PocketEngine):
        def generate(self, plan, predictor, rng):
            if all(a.count < 2 for a in plan) or predictor.records:
                raise BudgetSpentError("no money left")
            return super().generate(plan, predictor, rng)

    summary = play(tmp_path, engine=Poor(PocketMathTask()))
    assert (summary.status, summary.ended) == ("finished", "no money left")
    assert len(summary.iterations) == 2
    assert summary.test_score_after is not None


@pytest.mark.parametrize("agent", AGENTS)
def test_every_configured_agent_acts_in_its_environment_within_its_budget(agent, tmp_path):
    small = ["task.n_validation=20", "task.n_test=20", "agent.records_per_iteration=30"]
    config = compose([f"agent={agent}", *small])
    environment = build_environment(config, tmp_path, predictor=Student())
    summary = run_episode(environment, build_agent(config), iterations=3)
    counts = [i.n_records for i in summary.iterations[1:]]
    assert 0 < max(counts) <= 30
    assert counts[0] > 0


def test_the_agent_of_one_environment_is_refused_by_the_other(tmp_path):
    tree = TreeAgent(AlternatingPolicy(), name="tree")
    with pytest.raises(ConfigurationError, match="OpenEnded"):
        run_episode(OpenEnded(PocketMathTask(), Student(), directory=tmp_path), tree, iterations=1)
    writer = Agent(RandomPolicy(), PocketEngine(PocketMathTask()), name="writer")
    with pytest.raises(ConfigurationError, match="writer"):
        play(tmp_path, agent=writer)
    assert not (tmp_path / "summary.json").exists()


def test_your_own_agent_needs_your_own_engine():
    overrides = ["agent=custom", "agent._target_=x.Y", "environment=skill_tree"]
    with pytest.raises(ConfigurationError, match=r"environment\.engine"):
        build_environment(compose(overrides), predictor=Student())

"""The pocket student really learns: from right records, not from wrong ones, and not by look-up."""

import pytest

from benchmarks import learning
from dataenvgym.domains.math.pocket import PocketMathTask, operands_of
from dataenvgym.environments import IterationFiles
from dataenvgym.runs.config import build_agent, build_environment, build_task, compose
from dataenvgym.runs.episodes import run_episode

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    before, learning.RUNS = learning.RUNS, tmp_path_factory.mktemp("runs")
    yield learning.RUNS
    learning.RUNS = before


@pytest.fixture(scope="module")
def taught(runs):
    summary, _, directory = learning.episode("skill_list", 0)
    return summary, directory


def test_an_episode_lifts_validation_and_test_scores(taught):
    summary, _ = taught
    assert summary.val_score_gain >= 0.15
    assert summary.test_score_after - summary.test_score_before >= 0.1


def test_shuffled_answers_do_not_raise_the_score(runs):
    summary, *_ = learning.episode("skill_list", 0, shuffled=True)
    base = summary.iterations[0].val_score
    changes = [i.val_score - base for i in summary.iterations[1:]]
    assert sum(changes) / len(changes) <= 0.02


def test_the_student_does_better_than_a_look_up_of_its_records(taught):
    summary, directory = taught
    assert learning.look_up_score(directory, summary.best_iteration) < summary.best.val_score


def test_no_evaluation_instance_occurs_in_the_training_data(taught):
    summary, directory = taught
    task = PocketMathTask()
    evaluated = {
        operands_of(i.instruction)
        for split in ("validation", "test")
        for i in task.on(split).instances
    }
    trained = {
        operands_of(record.prompt[-1].content)
        for number in range(1, len(summary.iterations))
        for record in IterationFiles(directory / "iterations", number).read_records()
    }
    assert len(trained) > 500
    assert not trained & evaluated


def test_a_student_of_its_own_learns_to_call_tools(tmp_path):
    sizes = ["task.n_validation=100", "task.n_test=20", "agent.records_per_iteration=150"]
    config = compose(["task=pocket_tools", *sizes])
    assert config.student.path == "pocket-tools-v1"
    summary = run_episode(build_environment(config, tmp_path), build_agent(config), iterations=1)
    assert summary.iterations[0].val_score >= 0.4
    assert summary.val_score_gain >= 0.1


def test_the_orchestrator_learns_to_send_easy_requests_to_the_cheap_tier(tmp_path):
    sizes = ["task.n_validation=120", "task.n_test=6", "agent.records_per_iteration=500"]
    config = compose(["experiment=orchestrator_pocket", *sizes])
    assert config.student.path == "pocket-orchestrate-v1"
    run_episode(build_environment(config, tmp_path), build_agent(config), iterations=1)
    before, after = (
        build_task(config).generate_performance_report(
            IterationFiles(tmp_path / "iterations", number).read_completed()
        )
        for number in (0, 1)
    )
    assert before.accuracy >= 0.95
    assert after.accuracy >= before.accuracy - 0.05
    assert after.scores["cents"] <= before.scores["cents"] / 2


def test_a_student_of_its_own_learns_social_skills(tmp_path):
    sizes = ["task.n_validation=96", "task.n_test=32", "agent.records_per_iteration=150"]
    config = compose(["task=pocket_social", *sizes])
    assert config.student.path == "pocket-social-v1"
    summary = run_episode(build_environment(config, tmp_path), build_agent(config), iterations=1)
    assert summary.iterations[0].val_score >= 0.5
    assert summary.val_score_gain >= 0.1

"""The tasks and the experiment for SmolLM2, without its weights."""

import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.runs.config import build_task, compose
from dataenvgym.runs.config.groups import options_by_group

TASKS = [name for name in options_by_group()["task"] if name.startswith("smol_")]
SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module", params=TASKS)
def task(request):
    if request.param in ("smol_arithmetic", "smol_numbers"):
        pytest.importorskip("reasoning_gym", reason="needs the extra [reasoning-gym]")
    return build_task(compose([f"task={request.param}"]))


def test_the_splits_are_disjoint_and_have_the_same_skills(task):
    questions = [{i.instruction for i in task.on(split).instances} for split in SPLITS]
    assert sum(map(len, questions)) == len(set.union(*questions))
    assert [len(part) for part in questions][1:] == [100, 100]
    skills = [{i.skill for i in task.on(split).instances} for split in SPLITS]
    assert skills[0] == skills[1] == skills[2] == set(PocketEngine(task).skills)
    assert len(skills[0]) >= 5


def test_gold_answers_of_all_splits_are_right(task):
    for split in SPLITS:
        instances = task.on(split).instances[: 8 if task.name != "smol_code" else 3]
        records = gold_records(task, instances)
        assert len(records) == len(instances)
        assert not any(task.domain.judge_record(record) is False for record in records)


def test_a_reply_is_short(task):
    two_calls = 96  # tokens; answers and functions are shorter
    assert task.sampling.max_tokens <= (two_calls if task.name == "smol_tools" else 64)
    assert task.sampling.temperature == 0


def test_the_experiment_teaches_a_task_of_these_within_three_iterations():
    config = compose(["experiment=smollm2"])
    assert config.task.name in TASKS
    assert (config.student.path, config.episode.iterations) == ("smollm2", 3)
    assert config.agent.records_per_iteration == 150

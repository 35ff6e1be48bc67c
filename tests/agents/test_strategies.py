"""The strategies that come with the package, as their configuration puts them together."""

import json
from collections import Counter

import pytest

from dataenvgym.agents.compatibility import check_fit
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.config import build_agent, build_environment, build_task, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_models
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Student

SMALL = ["task.n_train=200", "task.n_validation=60", "task.n_test=20"]
STRATEGIES = [
    *("random", "open_ended", "skill_list", "open_ended_no_state", "skill_list_no_state"),
    *("bandit_ucb", "bandit_thompson", "edge", "retention"),
    *("seeded", "preference", "pool_random", "pool_uncertainty", "pool_influence"),
    *("pool_diverse", "pool_balanced"),
]
COMBINATIONS = [
    *(
        f"agent=skill_list agent.policy.choose={choice}"
        for choice in ("most_common", "highest_error", "random_below")
    ),
    "agent=bandit_ucb agent/engine=pool_uncertainty",
    "agent=retention agent/policy@agent.policy.policy=bandit_thompson agent/engine=seeded",
    "agent=edge agent/engine=preference agent/engine@agent.engine.engine=seeded",
    "agent=open_ended agent/policy=retention agent/policy@agent.policy.policy=edge",
    "agent=skill_list_no_state agent/engine=pool_influence",
    "agent=random agent/engine=pool_random",
]


def guesser(task):
    """Knows three skills, and guesses elsewhere: otherwise in every sample."""
    instances = [*task.instances, *task.on("train").instances]
    known = {i.instruction: i.answer for i in instances if i.skill in ("sum", "odds", "length")}
    return Student(lambda question, sampling: f"#### {known.get(question, sampling.seed % 3)}")


def made(overrides: str):
    """The agent, its input, the student, and a function that builds the agent again."""
    config = compose([*overrides.split(), *SMALL, "agent.records_per_iteration=40"])
    task = build_task(config)
    agent = build_agent(config, task=task)
    student = guesser(task)
    completed = task.evaluate(student)
    shows_skills = config.environment.id.startswith("dataenvgym/SkillList")
    check_fit(task, agent, shows_skills=shows_skills)
    if not shows_skills:
        hide = {"skill": None, "category": None}
        completed = [
            c.model_copy(update={"instance": c.instance.model_copy(update=hide)}) for c in completed
        ]
    return agent, completed, student, lambda: build_agent(config, task=build_task(config))


@pytest.mark.parametrize("overrides", [*(f"agent={s}" for s in STRATEGIES), *COMBINATIONS])
def test_a_strategy_continues_after_a_restart_as_without_one(overrides):
    agent, completed, student, build_again = made(overrides)
    first = agent(completed, student)
    assert 30 <= len(first) <= 40
    assert {r.provenance.agent for r in first} == {agent.name}
    questions = Counter(record.prompt[-1].content for record in first)
    assert questions.most_common(1)[0][1] == 1
    assert not set(questions) & {c.instance.instruction for c in completed}

    state = json.loads(json.dumps(agent.state_dict()))
    agent.step()
    restarted = build_again()
    restarted.load_state_dict(state)
    restarted.step()
    second = restarted(completed, student)
    assert second == agent(completed, student)
    assert second != first
    if any(part in overrides for part in ("pool", "seeded")):  # which give nothing twice
        assert not set(questions) & {record.prompt[-1].content for record in second}


@pytest.mark.parametrize("name", ["bandit_ucb", "skill_list", "retention", "edge", "preference"])
def test_an_informed_strategy_writes_few_records_for_known_skills(name):
    agent, completed, student, _ = made(f"agent={name}")
    records = agent(completed, student)
    assert {r.kind for r in records} == {"preference" if name == "preference" else "supervised"}
    assert compose([f"agent={name}"]).trainer.pref_ftx == float(name == "preference")
    skills = Counter(record.provenance.skill for record in records)
    assert skills["sum"] + skills["odds"] + skills["length"] <= 3
    assert len(skills) >= 3


@pytest.mark.parametrize(("name", "records"), [("none", [0, 0, 0]), ("gold", [0, 200, 0])])
def test_a_study_has_a_floor_and_a_ceiling(name, records, tmp_path):
    config = compose([f"agent={name}", *SMALL, "episode.iterations=2"])
    task = build_task(config)
    student = ScriptedPredictor(lambda conversation: "#### 1")
    environment = build_environment(config, tmp_path, task=task, predictor=student)
    summary = run_episode(environment, build_agent(config, task=task), iterations=2)
    assert [i.n_records for i in summary.iterations] == records
    assert student.trainings == sum(n > 0 for n in records)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preference", "edge", "pool_uncertainty"])
def test_the_pocket_student_is_taught_end_to_end(name, tmp_path):
    config = compose([f"agent={name}", *SMALL, "agent.records_per_iteration=60"])
    environment = build_environment(config, tmp_path)
    agent = build_agent(config, task=environment.unwrapped.task)
    summary = run_episode(environment, agent, iterations=1)
    assert summary.iterations[1].n_records >= 55
    folders = (tmp_path / "iterations" / f"00{n}" for n in (0, 1))
    before, after = (
        read_models(folder / "completed.jsonl", CompletedTaskInstance) for folder in folders
    )
    assert [c.response for c in before] != [c.response for c in after]
    stage = "dpo" if name == "preference" else "sft"
    assert f"stage: {stage}" in (tmp_path / "iterations/001/training.yaml").read_text()

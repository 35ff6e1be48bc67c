"""Objects from a configuration."""

import gymnasium
import pytest

from dataenvgym.agents import Agent, OpenEndedPolicy, PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.scene_log import EPISODES
from dataenvgym.environments import SkillList
from dataenvgym.records.store import open_store
from dataenvgym.runs.config import (
    build_agent,
    build_environment,
    build_predictor,
    build_task,
    compose,
    make_open_ended,
    make_skill_list,
    run_name,
)
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.tasks.base import attempts_for


def test_a_task_gets_its_other_speakers_from_predictors_and_teachers(tmp_path):
    user = ("+teacher@task.others.user=vllm", "task.others.user.model=m")
    judge = ("+predictor@task.others.judge=openai", "task.others.judge.model=n")
    config = compose(["task=pocket_tools", *user, *judge, f"runs_dir={tmp_path}"])
    others = build_task(config, tmp_path / "run").others
    assert {who: other.describe()["model"] for who, other in others.items()} == {
        "user": "m",
        "judge": "n",
    }
    assert not any(tmp_path.iterdir())


def test_task_student_and_agent_have_the_options_of_the_files():
    config = compose(["task.n_validation=30", "trainer.lora_rank=3", "predictor.threads=1"])
    task, student = build_task(config), build_predictor(config)
    assert isinstance(task, PocketMathTask)
    assert len(task.instances) == 30
    assert isinstance(student, InProcessPredictor)
    assert student.threads == student.trainer.threads == 1
    assert student.trainer.config.lora_rank == 3
    agent = build_agent(compose(["agent=random", "seed=4"]))
    assert isinstance(agent, Agent)
    assert isinstance(agent.policy, RandomPolicy)
    assert isinstance(agent.engine, PocketEngine)
    assert (agent.name, agent.seed, agent.records_per_iteration) == ("random", 4, 300)
    other = build_agent(compose(["agent=random", "agent/policy=open_ended"]))
    assert isinstance(other.policy, OpenEndedPolicy)


def test_the_environment_is_limited_to_the_iterations_and_writes_to_the_given_folder(tmp_path):
    config = compose(["episode.iterations=2", "environment.replay=7", "task.n_validation=20"])
    student = ScriptedPredictor(lambda conversation: "#### 1")
    environment = build_environment(config, tmp_path / "run", predictor=student)
    assert isinstance(environment, gymnasium.wrappers.TimeLimit)
    assert isinstance(environment.unwrapped, SkillList)
    assert environment.unwrapped.options.replay == 7
    environment.reset(seed=0)
    assert [environment.step([])[3] for _ in range(2)] == [False, True]
    assert (tmp_path / "run" / "iterations" / "002").is_dir()


@pytest.mark.parametrize("make", [make_open_ended, make_skill_list])
def test_an_environment_made_alone_takes_given_values_and_other_defaults_from_the_files(make):
    task = PocketMathTask(n_validation=20)
    student = ScriptedPredictor(lambda conversation: "#### 1")
    environment = make(task, student, replay=3)
    assert (environment.task, environment.predictor) == (task, student)
    assert (environment.options.replay, environment.options.mode) == (3, "incremental")
    assert isinstance(make().predictor, InProcessPredictor)


@pytest.mark.parametrize("kind", ["open_ended", "skill_list", "skill_tree"])
def test_an_environment_is_composed_once(kind, monkeypatch, tmp_path):
    agent = "skill_tree" if kind == "skill_tree" else "skill_list"
    config = compose([f"environment={kind}", f"agent={agent}", "environment.replay=7"])
    compose_again = "dataenvgym.runs.config.building.compose"
    monkeypatch.setattr(compose_again, lambda *texts: pytest.fail("again"))
    environment = build_environment(config, tmp_path)
    assert environment.spec is not None
    assert environment.spec.id == config.environment.id
    assert environment.unwrapped.options.replay == 7  # type: ignore[attr-defined]


def test_the_task_keeps_its_episodes_in_the_store(tmp_path):
    config = compose(["task=social", "store=files", f"store.where={tmp_path}", "model=openai/M"])
    task = build_task(config)
    with attempts_for("mine", "sample-000"):
        task.attempt(ScriptedPredictor(lambda c: "[leave]"), task.instances[:1])
    store = open_store(tmp_path)
    (episode,) = store.get_many(EPISODES, store.ids(EPISODES))
    assert (episode.tag, episode.models[0]) == ("mine", "rules")
    assert sorted(episode.models[1:]) == ["M", "fair"]
    assert len(store.events("mine")) > 2


def test_no_store_is_the_default_and_a_store_does_not_change_the_name_of_a_run(tmp_path):
    plain = compose(["task=social"])
    assert plain.store._target_ is None
    assert not build_task(plain).domain.recorder.documents
    assert run_name(plain) == run_name(compose(["task=social", "store=files"]))


def test_who_is_who():
    config = compose(
        [
            "task=social",
            "model=hf/A:b",
            "task.others.partner=openai/P",
            "task.others.judge=[openai/J,openai/K]",
        ]
    )
    assert SocialDomain.model_names(config) == {"student": "A:b", "partner": "P", "judge": "J + K"}
    assert (
        SocialDomain.model_names(compose(["task=social", "task.partner=soft"]))["partner"] == "soft"
    )
    itself = compose(["task=social", "task.others.partner=student/former"])
    assert SocialDomain.model_names(itself)["partner"] == "student/former"

"""Objects from a configuration."""

import gymnasium
import pytest

from dataenvgym.agents import Agent, OpenEndedPolicy, PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.scene_log import EPISODES
from dataenvgym.environments import SkillList
from dataenvgym.errors import ConfigurationError, UnsupportedStageError
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


def test_the_default_task_is_pocket_math_with_the_options_of_the_files():
    task = build_task(compose(["task.n_validation=30", "task.sampling.max_tokens=9"]))
    assert isinstance(task, PocketMathTask)
    assert len(task.instances) == 30
    assert task.sampling.max_tokens == 9


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


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ("gpt", "task.others is 'gpt', expected predictors or teachers by name"),
        ("{user: gpt}", "task.others is .*'gpt'.*expected predictors or teachers by name"),
        ("{user: {_target_: dataenvgym.teachers.Teacher}}", "task.others.user: .*cannot be made"),
        ("{user: {_target_: collections.Counter}}", "the speaker 'user' is a Counter"),
    ],
)
def test_objects_that_cannot_be_speakers_are_refused(others, message):
    with pytest.raises(ConfigurationError, match=message):
        build_task(compose([f"+task.others={others}"]))


def test_the_agents_name_policy_engine_and_seed_come_from_the_files():
    agent = build_agent(compose(["agent=random", "seed=4"]))
    assert isinstance(agent, Agent)
    assert isinstance(agent.policy, RandomPolicy)
    assert isinstance(agent.engine, PocketEngine)
    assert (agent.name, agent.seed, agent.records_per_iteration) == ("random", 4, 300)
    other = build_agent(compose(["agent=random", "agent/policy=open_ended"]))
    assert isinstance(other.policy, OpenEndedPolicy)


def test_the_predictor_gets_the_trainer_with_its_options():
    student = build_predictor(compose(["trainer.lora_rank=3", "predictor.threads=1"]))
    assert isinstance(student, InProcessPredictor)
    assert student.threads == student.trainer.threads == 1
    assert student.trainer.config.lora_rank == 3


def build_all(overrides: list[str]) -> None:
    config = compose(overrides)
    run_name(config)
    build_agent(config)
    build_environment(config)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task.split=tset"], "no option 'task.split'"),
        (["+task.split=test"], "task.split is 'test'"),
        (["++task.sampling=3"], "PocketMathTask cannot be made: Input should be"),
        (["++agent.policy=3"], "agent.policy is a int, which has no plan"),
        (["task=few_shot", "student.format=completion"], "task.max_turns is 2 and student.format"),
        (["task=pocket_code", "++task.max_turns=3", "student.format=completion"], "is 3 and"),
        (["++name=[1]"], "name is [1], expected text, such as name=first"),
        (["task.n_validation=-3"], "n_validation is -3"),
        (["task.student=pocket-v3"], "Did you mean 'pocket-v2'?"),
        (["task.others.user=openai/NAME", "task.others.user.api_key_variable=null"], "task.others"),
        (["task.sampling.max_tokens=0"], "task.sampling.max_tokens is 0, expected 1 or more"),
        (["task.sampling.temperature=-1"], "task.sampling.temperature is -1, expected 0"),
        (["+task.n_problems=3"], "'task.n_problems': PocketMathTask takes no 'n_problems'"),
        (["task=pocket_code", "task.limits.disk=-1"], "task.limits.disk is -1, expected 1048576"),
        (["trainer.learning_rate=-1.0"], "learning_rate"),
        (["trainer.save_strategy=epoch"], "trainer.save_strategy is 'epoch', expected 'no'"),
        (["trainer.report_to=wandb"], "trainer.report_to is 'wandb', expected 'none'"),
        (["agent.records_per_iteration=0"], "records_per_iteration is 0"),
        (["environment.mode=incrementl"], "expected 'incremental'"),
        (["environment.target_score=high"], "environment.target_score is 'high'"),
        (["environment.id=dataenvgym/OpenEnde-v0"], "OpenEnded"),
        (["environment.id='a b'"], "environment.id: Malformed environment ID: a b"),
        (["agent.policy.floor=nan"], "agent.policy.floor is nan, expected 0.0 or more"),
        (["+environment.speed=3"], "no option 'environment.speed'"),
        (["episode.iterations=0"], "episode.iterations is 0, expected 1 or more"),
        (["seed=-1"], "seed is -1, expected 0 or more"),
    ],
)
def test_values_that_cannot_be_are_configuration_errors(overrides, expected, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    with pytest.raises((ConfigurationError, UnsupportedStageError)) as caught:
        build_all(overrides)
    assert expected in str(caught.value)


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
    compose_again = "dataenvgym.runs.config.building_environments.compose"
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
    assert build_task(plain).domain.recorder is None
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


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task=pocket_math", "store=files"], "has none: leave store out"),
        (["task=social", "store=files", "store.where="], "expected a folder, a server"),
        (["task=social", "store=redis", "store.where=http://x"], "expected a folder, a server"),
    ],
)
def test_a_store_that_cannot_be_is_refused(overrides, expected):
    with pytest.raises(ConfigurationError, match=expected):
        build_task(compose(overrides))

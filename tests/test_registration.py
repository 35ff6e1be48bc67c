"""Every registered id, as gymnasium's users meet it."""

import shutil
import warnings
from dataclasses import fields

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.agents import PocketEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.records import TaskInstance
from dataenvgym.registration import (
    MAX_ITERATIONS,
    TEACHING_ENVIRONMENTS,
    register_environments,
    task_environments,
)
from dataenvgym.runs.config import build_environment, compose
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.students.trainers import InProcessTrainer

TASK_ENVIRONMENTS = task_environments()
IDS = [*TASK_ENVIRONMENTS, *TEACHING_ENVIRONMENTS]
UMLAUTS = "Größe 世界 🎉"


def test_importing_the_package_registers_every_id_and_doing_so_twice_warns_of_nothing(recwarn):
    teaching = {name: entry_point for name, (entry_point, _) in TEACHING_ENVIRONMENTS.items()}
    for name, entry_point in (TASK_ENVIRONMENTS | teaching).items():
        assert gymnasium.spec(name).entry_point == entry_point
    register_environments()
    assert not recwarn.list


def quick_student() -> InProcessPredictor:
    """The real pocket student; one step is all its training."""
    return InProcessPredictor(trainer=InProcessTrainer(threads=1, max_steps=1))


def scripted() -> dict[str, object]:
    """Few problems, and a student that is not trained."""
    student = ScriptedPredictor(lambda conversation: "#### 1")
    return {"task": PocketMathTask(n_validation=4, n_test=4), "predictor": student}


def small(name: str) -> gymnasium.Env:
    """The environment of that id, in one of three with the real pocket student."""
    if "Code" in name and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    if name in TASK_ENVIRONMENTS:
        return gymnasium.make(name)
    real = {"predictor": quick_student()} if "SkillTree" in name else {}
    return gymnasium.make(name, **(scripted() | real), render_mode="ansi")


@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_checker_passes_with_warnings_as_errors(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(small(name).unwrapped, skip_render_check=name in TASK_ENVIRONMENTS)


@pytest.mark.parametrize("name", list(TEACHING_ENVIRONMENTS))
def test_a_bare_make_is_the_environment_of_the_default_run(name):
    bare = gymnasium.make(name)
    agents = {"SkillList": "skill_list", "SkillTree": "skill_tree", "OpenEnded": "open_ended"}
    agent = agents[name.removeprefix("dataenvgym/").removesuffix("-v0")]
    default = build_environment(compose([f"agent={agent}"]))
    limits = [e.get_wrapper_attr("_max_episode_steps") for e in (bare, default)]
    assert limits == [MAX_ITERATIONS] * 2
    assert compose([]).episode.iterations == MAX_ITERATIONS
    one, two = bare.unwrapped, default.unwrapped
    assert type(one) is type(two)
    assert one.task.instances == two.task.instances
    assert one.task.sampling == two.task.sampling
    assert one.predictor.trainer.config == two.predictor.trainer.config
    objects = ("task", "predictor", "engine", "agent_name")
    for option in (f.name for f in fields(one.options) if f.name not in objects):
        assert getattr(one.options, option) == getattr(two.options, option), option


def test_a_bare_skill_tree_writes_with_the_pocket_engine_for_an_agent_it_does_not_know():
    environment = gymnasium.make("dataenvgym/SkillTree-v0").unwrapped
    assert isinstance(environment.engine, PocketEngine)
    assert environment.options.agent_name is None


def test_the_time_limit_truncates_a_teaching_episode():
    environment = gymnasium.make("dataenvgym/OpenEnded-v0", **scripted())
    environment.reset(seed=0)
    ends = [environment.step([])[2:4] for _ in range(MAX_ITERATIONS)]
    assert ends == [(False, False)] * (MAX_ITERATIONS - 1) + [(False, True)]


def make_math() -> gymnasium.Env:
    instance = TaskInstance(id="ü", task="t", instruction=UMLAUTS, answer="4")
    return gymnasium.make("dataenvgym/Math-v0", instances=[instance])


def make_teaching() -> gymnasium.Env:
    task = PocketMathTask(n_validation=4, n_test=4)
    return gymnasium.make("dataenvgym/OpenEnded-v0", task=task, predictor=quick_student())


def sync(make):
    return SyncVectorEnv([make, make])


def asynchronous(make):
    # text has no fixed size, so it cannot live in shared memory
    return AsyncVectorEnv([make, make], shared_memory=False)


@pytest.mark.parametrize("vector", [sync, asynchronous])
def test_both_vector_kinds_carry_text_that_is_not_ascii(vector):
    environments = vector(make_math)
    conversations, _ = environments.reset(seed=0)
    assert [c[-1].content for c in conversations] == [UMLAUTS, UMLAUTS]
    conversations, rewards, *_ = environments.step((f"{UMLAUTS} #### 4", "#### 5"))
    assert conversations[0][-1].content == f"{UMLAUTS} #### 4"
    assert rewards.tolist() == [1.0, 0.0]
    environments.close()


@pytest.mark.parametrize("vector", [sync, asynchronous])
def test_both_vector_kinds_teach(vector):
    environments = vector(make_teaching)
    observation, infos = environments.reset(seed=[0, 1])
    assert [len(c) for c in observation["completed"]] == [4, 4]
    record = {"instruction": UMLAUTS, "output": "世界"}
    _, rewards, _, _, infos = environments.step(([record], []))
    assert infos["n_records"].tolist() == [1.0, 0.0]
    assert rewards[1] == 0.0
    environments.close()

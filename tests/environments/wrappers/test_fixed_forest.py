from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

import dataenvgym  # noqa: F401  registers the environments
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.simulation import LearningCurves, SimulatedPredictor, read_curves
from dataenvgym.environments.simulation.environments import SimulatedSkillTree
from dataenvgym.environments.skill_tree import Exploit, Explore
from dataenvgym.environments.wrappers import FEATURES, FixedForest
from dataenvgym.errors import ConfigurationError, InvalidActionError
from dataenvgym.tasks.adapted_task import task_of
from tests.fakes import begun

CURVES = LearningCurves(
    task="made_up",
    skills=("a", "b"),
    categories=(None, None),
    base=(0.25, 0.5),
    asymptote=(1.0, 1.0),
    rate=(1.0, 1.0),
    forgetting=(0.0, 0.0),
)


def simulated(**options: Any) -> FixedForest:
    return FixedForest(TimeLimit(SimulatedSkillTree(CURVES, replay=0), 9), **options)


def real(**options: Any) -> FixedForest:
    task = PocketMathTask(n_train=20, n_validation=60, n_test=20)
    student = SimulatedPredictor(task)
    environment = gymnasium.make(
        "dataenvgym/SkillTree-v0", task=task, predictor=student, disable_env_checker=True
    )
    return FixedForest(environment, **options)


def rows(observation: np.ndarray) -> list[dict[str, float]]:
    table = observation.reshape(-1, len(FEATURES)).tolist()
    return [dict(zip(FEATURES, row, strict=True)) for row in table]


def test_the_observation_is_arranged_by_skill():
    environment = simulated(records_per_iteration=40, iterations=4)
    first, _ = environment.reset(seed=0)
    assert [row["accuracy"] for row in rows(first)] == [0.25, 0.5]
    assert [row["steps_left"] for row in rows(first)] == [1, 1]
    assert not any(row["opened"] or row["change"] for row in rows(first))
    second, reward, *_ = environment.step(np.array([1.0, 0, -1, 0]))
    a, b = rows(second)
    assert (a["opened"], a["allocation"]) == (1, pytest.approx(39 / 40))  # 3 times 13
    assert a["generated"] == pytest.approx(39 * 2 / 160)
    assert a["change"] == pytest.approx(a["accuracy"] - 0.25)
    assert a["change"] == pytest.approx(2 * reward)
    assert (b["opened"], b["allocation"], b["change"]) == (0, 0, 0)
    assert a["steps_left"] == 0.75


def test_weights_share_the_budget_out_and_exploring_opens_subskills():
    environment = begun(simulated(records_per_iteration=100))
    even = np.array([0.0, -1, 0, -1])
    assert environment.moves(np.full(4, -1.0)) == environment.moves(even)  # no weight at all
    assert environment.moves(even) == (
        Explore(skill="a", subskills=3, records_each=16),
        Explore(skill="b", subskills=3, records_each=16),
    )
    environment.step(even)
    aimed = environment.moves(np.array([1.0, -1, 0, -1]))  # weights 1 and 1/4
    assert aimed == (
        Exploit(skill="a", changes={"part 1": 11, "part 2": 11, "part 3": 10}),
        Exploit(skill="b", changes={"part 1": -9, "part 2": -9, "part 3": -10}),
    )
    explored = environment.moves(np.array([1.0, 1, 0, 1]))
    assert explored[0] == Explore(skill="a", subskills=3, records_each=10)
    assert isinstance(explored[1], Exploit)  # its share is smaller than before


def test_a_skill_that_has_no_more_subskills_is_exploited():
    environment = begun(simulated(records_per_iteration=100, subskills=4))
    explore = np.array([1.0, 1, -1, 1])
    environment.step(explore)  # asked for 4, there are 3
    assert isinstance(environment.moves(explore)[0], Exploit)
    *_, info = environment.step(explore)
    assert info["n_records"] == 100


def test_trees_of_other_skills_get_nothing_and_missing_ones_are_empty_rows():
    environment = FixedForest(
        SimulatedSkillTree(CURVES), skills=("z", "a"), records_per_iteration=30
    )
    observation, _ = environment.reset(seed=0)
    assert [row["accuracy"] for row in rows(observation)] == [0, 0.25]
    assert environment.moves(np.ones(4)) == (Explore(skill="a", subskills=3, records_each=10),)


@pytest.mark.parametrize("action", [np.zeros(3), np.array([0, 0, 0, np.inf]), "left"])
def test_a_bad_action_is_refused(action):
    environment = begun(simulated())
    with pytest.raises((InvalidActionError, ValueError)):
        environment.step(action)


def test_an_environment_without_skills_needs_their_names():
    bare = gymnasium.Env()
    bare.task = task_of(SimpleNamespace(name="nameless", instances=()))  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="FixedForest"):
        FixedForest(bare)


@pytest.mark.parametrize("make", [simulated, real])
def test_gymnasium_finds_nothing_wrong_with_it(make):
    environment = make(records_per_iteration=40)
    check_env(environment, skip_render_check=True)
    environment.close()


@pytest.mark.parametrize("make", [simulated, real])
def test_stable_baselines_finds_nothing_wrong_with_it(make, recwarn):
    checker = pytest.importorskip(
        "stable_baselines3.common.env_checker", reason="needs the extra [rl]"
    )
    environment = make(records_per_iteration=40)
    recwarn.clear()
    checker.check_env(environment, warn=True)
    assert not [w for w in recwarn if "stable_baselines3" in str(w.filename)]
    environment.close()


def test_it_teaches_in_the_real_environment_within_its_budget():
    environment = real(records_per_iteration=100, iterations=2)
    assert len(environment.skills) == 20
    observation, before = environment.reset(seed=0)
    base = [row["accuracy"] for row in rows(observation)]
    assert np.mean(base) == pytest.approx(before["score"])
    action = np.tile([0.0, -1.0], 20)
    action[::2] = 1 - 2 * np.array(base)
    for _ in range(2):
        observation, *_, info = environment.step(action)
        assert 60 <= info["n_records"] <= 100
    assert info["score"] > before["score"] + 0.05
    # the skills keep the order in which a policy was trained
    assert environment.skills == read_curves("pocket_math").skills
    environment.close()

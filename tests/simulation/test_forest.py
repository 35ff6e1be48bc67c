import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from dataenvgym.errors import ConfigurationError, InvalidActionError
from dataenvgym.simulation.curves import read_curves
from dataenvgym.simulation.forest import SimulatedForest
from dataenvgym.simulation.skill_tree import SimulatedSkillTree
from dataenvgym.wrappers import FixedForest


@pytest.mark.parametrize("records", [300, 37, 5])
def test_it_is_the_wrapped_simulated_skill_tree_number_by_number(records):
    fast = SimulatedForest(n_instances=20, records_per_iteration=records)
    slow = FixedForest(SimulatedSkillTree(n_instances=20), records_per_iteration=records)
    fast.action_space.seed(records)
    for episode in range(4):
        seen = [e.reset(seed=episode)[0] for e in (fast, slow)]
        assert seen[0] == pytest.approx(seen[1])
        for _ in range(5):
            action = fast.action_space.sample()
            action[::2] = np.where(np.abs(action[::2]) < 0.4, -1, action[::2])  # zero shares too
            a, b = fast.step(action), slow.step(action)
            assert a[0] == pytest.approx(b[0])
            assert a[1] == pytest.approx(b[1])
            assert a[4] == pytest.approx(b[4])


def test_gymnasium_finds_nothing_wrong_with_it():
    check_env(SimulatedForest(), skip_render_check=True)


def test_stable_baselines_finds_nothing_wrong_with_it(recwarn):
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker", reason="needs the extra [rl]")
    sb3.check_env(SimulatedForest(), warn=True)
    assert not [w for w in recwarn if "stable_baselines3" in str(w.filename)]


def test_an_episode_ends_after_its_iterations_and_spends_no_more_than_its_budget():
    environment = SimulatedForest(iterations=3, records_per_iteration=50)
    environment.reset(seed=0)
    environment.action_space.seed(0)
    ends = []
    for _ in range(3):
        *_, truncated, info = environment.step(environment.action_space.sample())
        assert info["n_records"] <= 50
        ends.append(truncated)
    assert ends == [False, False, True]


def test_even_weights_spend_the_budget_and_teach():
    environment = SimulatedForest()
    _, before = environment.reset(seed=0)
    even = np.tile([0.0, -1.0], 20).astype(np.float32)
    rewards = [environment.step(even)[1] for _ in range(5)]
    *_, info = environment.step(even)
    assert info["n_records_total"] == 6 * 300
    assert sum(rewards) > 0.1
    assert info["score"] > before["score"] + 0.1


def test_aiming_at_weak_skills_beats_spreading_evenly():
    even = np.tile([0.0, -1.0], 20)
    scores = []
    for aimed in (False, True):
        environment = SimulatedForest(
            read_curves("pocket_math").model_copy(update={"training_noise": 0.0})
        )
        observation, _ = environment.reset(seed=0)
        for _ in range(5):
            action = even.copy()
            if aimed:
                action[::2] = 1 - 2 * observation.reshape(20, -1)[:, 0]
            observation, *_, info = environment.step(action)
        scores.append(info["score"])
    assert scores[1] > scores[0]


def test_bad_actions_and_options_are_refused():
    environment = SimulatedForest()
    with pytest.raises(ResetNeeded):
        environment.step(np.zeros(40))
    environment.reset(seed=0)
    for action in (np.zeros(39), np.full(40, np.nan)):
        with pytest.raises(InvalidActionError, match="expected \\(40,\\) finite numbers"):
            environment.step(action)
    with pytest.raises(ConfigurationError, match="subskills is 0"):
        SimulatedForest(subskills=0)
    with pytest.raises(ConfigurationError, match="iterations is 0"):
        SimulatedForest(iterations=0)

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.simulation.curves import read_curves
from dataenvgym.environments.simulation.environments import SimulatedSkillTree
from dataenvgym.environments.skill_tree import Exploit, Explore, SkillTree
from dataenvgym.environments.wrappers import FixedForest
from dataenvgym.errors import InvalidActionError
from dataenvgym.students.predictors import ScriptedPredictor


@pytest.fixture
def environment(curves):
    environment = SimulatedSkillTree(curves, replay=0)
    environment.reset(seed=0)
    return environment


def test_gymnasium_finds_nothing_wrong_with_it():
    check_env(SimulatedSkillTree(), skip_render_check=True)


def test_it_has_the_spaces_of_the_real_one():
    task = PocketMathTask()
    real = SkillTree(task, ScriptedPredictor(lambda c: "?"), PocketEngine(task))
    simulated = SimulatedSkillTree()
    assert simulated.observation_space == real.observation_space
    assert simulated.action_space == real.action_space
    real.close()


def test_explored_subskills_are_opened_taught_and_counted(environment):
    explore = Explore(skill="a", subskills=2, records_each=10)
    observation, reward, *_, info = environment.step((explore,))
    tree = observation["forest"].tree("a")
    assert [(s.allocation, s.generated) for s in tree.subskills] == [(10, 10)] * 2
    assert info["n_records"] == 20
    assert tree.val_accuracy > 0.1
    assert reward == pytest.approx(observation["report"].score - 0.425)
    (observation, *_, info) = environment.step(())  # the allocation stays
    assert observation["forest"].tree("a").generated == 40
    assert info["n_records_total"] == 40


def test_exploiting_moves_the_allocation_and_there_are_no_more_subskills_than_it_has(environment):
    environment.step([Explore(skill="a", subskills=2, records_each=10)])
    changes = {"part 1": -10, "part 2": 5}
    observation, *_, info = environment.step([Exploit(skill="a", changes=changes)])
    assert [s.allocation for s in observation["forest"].tree("a").subskills] == [0, 15]
    assert info["n_records"] == 15
    observation, *_ = environment.step([Explore(skill="a", subskills=5, records_each=1)])
    tree = observation["forest"].tree("a")
    assert len(tree.subskills) == 3
    assert tree.is_complete


def test_a_bad_action_is_refused_and_changes_nothing(environment):
    before = environment.student.accuracies.copy()
    with pytest.raises(InvalidActionError, match="no skill 'z'"):
        environment.step([Explore(skill="z", subskills=1, records_each=1)])
    assert (environment.student.accuracies == before).all()
    _, _, _, _, info = environment.step(())
    assert info["iteration"] == 1


# --- arrays ---


def forest(curves="pocket_math", iterations=5, **options):
    return FixedForest(SimulatedSkillTree(curves), iterations=iterations, **options)


def test_even_weights_spend_the_budget_and_teach_and_aiming_at_weak_skills_teaches_more():
    even = np.tile([0.0, -1.0], 20)
    scores = []
    for aimed in (False, True):
        curves = read_curves("pocket_math").model_copy(update={"training_noise": 0.0})
        environment = forest(curves)
        observation, before = environment.reset(seed=0)
        rewards = []
        for _ in range(5):
            action = even.copy()
            if aimed:
                action[::2] = 1 - 2 * observation.reshape(20, -1)[:, 0]
            observation, reward, *_, info = environment.step(action)
            rewards.append(reward)
        scores.append(info["score"])
        assert info["score"] == pytest.approx(before["score"] + sum(rewards))
        assert aimed or info["n_records_total"] == 5 * 300
    assert before["score"] + 0.1 < scores[0] < scores[1]

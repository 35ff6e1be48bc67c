"""Train a teaching policy by reinforcement learning in simulation, and test it on a real student.

PPO learns how to spend 300 records per iteration on a simulated student, in the fixed boxes of a
skill tree. Then it is compared with random actions: in simulation, and on the pocket student. A
gain in simulation does not guarantee a gain on the real student.

    pip install 'dataenvgym[rl]'
    python examples/rl_policy.py [STEPS EPISODES EPISODES_OF_THE_POCKET_STUDENT]
"""

import sys
from functools import partial

import gymnasium
import numpy as np
from scipy.stats import sem, t
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from dataenvgym.environments.simulation import read_curves
from dataenvgym.environments.simulation.environments import SimulatedSkillTree
from dataenvgym.environments.wrappers import FixedForest

CURVES = read_curves("pocket_math")
quiet = CURVES.model_copy(update={"training_noise": 0.0})  # noise hides what an action is worth
training = make_vec_env(lambda: FixedForest(SimulatedSkillTree(quiet)), n_envs=32, seed=0)
ppo = PPO(
    "MlpPolicy", VecNormalize(training, norm_obs=False, gamma=1.0), n_steps=160, batch_size=512,
    learning_rate=lambda left: 1e-3 * max(left, 0), gamma=1.0, gae_lambda=1.0, device="cpu",
    policy_kwargs={"net_arch": [64, 64], "log_std_init": -0.7}, seed=0,
)  # fmt: skip


def by_ppo(observation, rng):
    return ppo.predict(observation, deterministic=True)[0]


def at_random(observation, rng):
    return rng.uniform(-1, 1, 2 * len(CURVES.skills)).astype(np.float32)


def gain(environment, policy, seed):
    """The gain in score of one episode."""
    rng, done = np.random.default_rng(seed), False
    observation, first = environment.reset(seed=seed)
    while not done:
        observation, _, _, done, last = environment.step(policy(observation, rng))
    environment.close()
    return last["score"] - first["score"]


def compare(where, make, n):
    """Print the gain of PPO, and the 95% interval of its paired difference to random actions."""
    ours, theirs = ([gain(make(), p, 1000 + k) for k in range(n)] for p in (by_ppo, at_random))
    low, high = t.interval(0.95, n - 1, np.mean(d := np.subtract(ours, theirs)), sem(d))
    print(f"{where}: gains {np.mean(ours):+.3f}, {low:+.4f} to {high:+.4f} more than random")


steps, *episodes = map(int, sys.argv[1:] or (120_000, 200, 3))
ppo.learn(steps)
compare("Simulated student", lambda: FixedForest(SimulatedSkillTree(CURVES)), episodes[0])
if episodes[1]:
    tree = partial(gymnasium.make, "dataenvgym/SkillTree-v0", max_episode_steps=5)
    compare("Pocket student", lambda: FixedForest(tree(), skills=CURVES.skills), episodes[1])

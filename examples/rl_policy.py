"""Train a teaching policy by reinforcement learning in simulation, and test it on a real student.

PPO of stable-baselines3 learns how to spend 300 records per iteration on a simulated student, in
the fixed boxes of a skill tree. Then it is compared with three policies that need no training
(random actions, even shares, and shares by error): in the simulation, over many episodes, and on
the pocket student itself. A gain in simulation does not guarantee a gain on the real student.

    pip install 'dataenvgym[rl]'
    python examples/rl_policy.py [--steps N] [--episodes N] [--seeds N] [--iterations N] [--seed N]

It takes some minutes; `--seeds 0` leaves the pocket student out.
"""

import argparse

import gymnasium
import numpy as np

import dataenvgym  # noqa: F401  registers the environments
from dataenvgym.environments.simulation import read_curves
from dataenvgym.environments.simulation.environments import SimulatedForest
from dataenvgym.environments.wrappers import FEATURES, FixedForest

CURVES = read_curves("pocket_math")
N = len(CURVES.skills)


def train(steps, iterations, seed):
    """A policy; it trains without noise, which would hide what an action is worth."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)  # the network is small
    options = {
        "curves": CURVES.model_copy(update={"training_noise": 0.0}),
        "iterations": iterations,
    }
    environments = make_vec_env(SimulatedForest, n_envs=32, seed=seed, env_kwargs=options)
    environments = VecNormalize(environments, norm_obs=False, gamma=1.0)
    model = PPO(
        "MlpPolicy", environments, n_steps=160, batch_size=512,
        learning_rate=lambda left: 1e-3 * max(left, 0),  # down to 0; the last rollout runs over
        gamma=1.0, gae_lambda=1.0, seed=seed, device="cpu",
        policy_kwargs={"net_arch": [64, 64], "log_std_init": -0.7},
    )  # fmt: skip
    model.learn(steps)
    return lambda observation, rng: model.predict(observation, deterministic=True)[0]


def at_random(observation, rng):
    return rng.uniform(-1, 1, 2 * N).astype(np.float32)


def evenly(observation, rng):
    return np.tile(np.array([0, -1], np.float32), N)


def by_error(observation, rng):
    """Shares in proportion to (1 - accuracy): a weight w is asked for as 2 * sqrt(w) - 1."""
    accuracy = observation.reshape(N, len(FEATURES))[:, FEATURES.index("accuracy")]
    action = evenly(observation, rng)
    action[::2] = 2 * np.sqrt(1 - accuracy) - 1
    return action


def gain(environment, policy, seed):
    """The gain in score of one episode."""
    rng = np.random.default_rng(seed)
    observation, first = environment.reset(seed=seed)
    done = False
    while not done:
        action = policy(observation, rng)
        observation, _, terminated, truncated, last = environment.step(action)
        done = terminated or truncated
    return last["score"] - first["score"]


def interval(values):
    """The mean and half of its 95% interval (t distribution)."""
    from scipy.stats import t

    n = len(values)
    half = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return np.mean(values), half


def compare(title, make, policies, seeds):
    """Print the gains of all policies on the same seeds, and their difference to random."""
    print(f"\n{title}, {len(seeds)} episodes: gain in score, and paired difference to random")
    gains: dict[str, list[float]] = {}
    for name, policy in policies.items():
        gains[name] = []
        for seed in seeds:
            environment = make(seed)
            gains[name].append(gain(environment, policy, seed))
            environment.close()
        mean, half = interval(gains[name])
        shown = f"{name:12}{mean:+.3f} ± {half:.3f}"
        if name != "random":
            mean, half = interval(np.subtract(gains[name], gains["random"]))
            shown += f"   {mean:+.4f} ± {half:.4f}"
        print(shown, flush=True)
    return interval(np.subtract(gains["ppo"], gains["random"]))


def verdict(where, difference):
    mean, half = difference
    if mean - half > 0:
        return f"PPO beats random {where}."
    return f"PPO does {'worse than' if mean + half < 0 else 'not clearly beat'} random {where}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120_000, help="of training, in simulation")
    parser.add_argument("--episodes", type=int, default=200, help="of evaluation, in simulation")
    parser.add_argument("--seeds", type=int, default=3, help="episodes of the pocket student")
    parser.add_argument("--iterations", type=int, default=5, help="of an episode")
    parser.add_argument("--seed", type=int, default=0, help="of the training")
    options = parser.parse_args()

    policies = {
        "random": at_random,
        "even": evenly,
        "by error": by_error,
        "ppo": train(options.steps, options.iterations, options.seed),
    }

    def simulated(seed):
        return SimulatedForest(CURVES, iterations=options.iterations)

    def pocket(seed):
        environment = gymnasium.make(
            "dataenvgym/SkillTree-v0", max_episode_steps=options.iterations
        )
        return FixedForest(environment, skills=CURVES.skills, iterations=options.iterations)

    seeds = range(1000, 1000 + options.episodes)
    difference = compare("Simulated student", simulated, policies, seeds)
    print(verdict("in simulation", difference))
    if options.seeds:
        compared = {name: policies[name] for name in ("random", "by error", "ppo")}
        seeds = range(options.seeds)
        difference = compare("Pocket student", pocket, compared, seeds)
        print(verdict("on the pocket student", difference))

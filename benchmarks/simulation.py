"""Speed of teaching a simulated student, alone and in its environment.

    python -m benchmarks.simulation

Teaching steps are calls of `SimulatedStudent.teach`, including noise of training and evaluation;
the target is 10,000 per second. `SimulatedSkillTree` has the forest of records of `SkillTree-v0`;
RL libraries train on it inside `FixedForest`. Seconds are processor time of the single thread,
because other programs may run on the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from benchmarks.common import print_table, write_results
from dataenvgym.environments.simulation import SimulatedStudent, read_curves
from dataenvgym.environments.simulation.environments import SimulatedSkillTree
from dataenvgym.environments.wrappers import FixedForest

REPEATS = 7
AIM = 10_000
EPISODE = 5


def teaching(n: int) -> None:
    """`n` teaching steps, in episodes of five."""
    rng = np.random.default_rng(0)
    student = SimulatedStudent(read_curves("pocket_math"), replay=100, n_instances=20)
    counts = rng.multinomial(300, np.full(20, 1 / 20), size=EPISODE)
    for _ in range(n // EPISODE):
        student.reset(rng)
        for row in counts:
            student.teach(row)


def boxes(environment: gymnasium.Env[Any, Any], n: int) -> None:
    """`n` steps of the environment, random actions."""
    environment.action_space.seed(0)
    for episode in range(n // EPISODE):
        environment.reset(seed=episode)
        for _ in range(EPISODE):
            environment.step(environment.action_space.sample())


def bare_forest(n: int) -> None:
    """`n` steps of the environment that repeat the allocation they began with."""
    environment = SimulatedSkillTree(n_instances=20)
    opening = tuple(
        {"kind": "explore", "skill": skill, "subskills": 3, "records_each": 5}
        for skill in environment.skills
    )
    for episode in range(n // EPISODE):
        environment.reset(seed=episode)
        for step in range(EPISODE):
            environment.step(() if step else opening)  # type: ignore[arg-type]


def main(argv: Sequence[str] | None = None) -> None:
    """Median and smallest number of steps per second."""
    wrapped = FixedForest(SimulatedSkillTree(n_instances=20))
    works: list[tuple[str, Callable[[int], None], int]] = [
        ("SimulatedStudent.teach", teaching, 20_000),
        ("SimulatedSkillTree.step", bare_forest, 500),
        ("FixedForest(SimulatedSkillTree).step", partial(boxes, wrapped), 500),
    ]
    rows: list[dict[str, Any]] = []
    for name, work, n in works:
        rates = []
        for _ in range(REPEATS):
            began = time.process_time()
            work(n)
            rates.append(n / (time.process_time() - began))
        rows.append({"steps": name, "per_s": statistics.median(rates), "worst": min(rates)})
    print_table(rows)
    write_results("simulation", {"aim_per_s": AIM, "rates": rows})


if __name__ == "__main__":
    main()

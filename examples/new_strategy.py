"""Is a strategy of your own better? It runs beside two reference policies, on a task of a suite.

The same on the command line, on all ten tasks of the suite, with its six strategies:

    cd examples
    dataenvgym study suite=teach-v1 "seed=range(10)" \\
        --strategy "weakest: agent=skill_list agent/policy=new_strategy.WeakestPolicy"

Options: seeds, iterations.
"""

import sys
from collections import defaultdict
from pathlib import Path

from dataenvgym import run_study
from dataenvgym.records.plans import Assignment


class WeakestPolicy:
    """The same number of records for each of the five skills with the lowest rewards."""

    def plan(self, situation, count, rng):
        rewards = defaultdict(list)
        for one in situation.completed:
            if one.error is None and one.instance.skill in situation.skills:
                rewards[one.instance.skill].append(one.reward)
        ranked = sorted(rewards, key=lambda skill: sum(rewards[skill]) / len(rewards[skill]))
        return tuple(Assignment(count // 5, skill=skill) for skill in ranked[:5])


def main():
    seeds = sys.argv[1] if len(sys.argv) > 1 else "0,1,2"
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    results = run_study(
        [
            "suite=teach-v1",
            "task=teach/plateau",
            "agent=random,skill_list",
            f"seed={seeds}",
            f"episode.iterations={iterations}",
        ],
        name="new_strategy",
        strategies=[f"weakest: agent=skill_list agent/policy={Path(__file__).stem}.WeakestPolicy"],
        bounds=False,
    )
    for one in results.tasks[0].strategies:
        gain, area = one.measures["test_gain"].mean, one.measures["area"].mean
        print(f"{one.name}: test gain {gain:+.3f}, area {area:+.3f}")


if __name__ == "__main__":
    main()

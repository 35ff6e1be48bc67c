"""A skill-list agent on math: it sees the report by skill and aims at the weak ones.

The same as `dataenvgym run agent=skill_list`, in Python. Options: iterations, seed.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(["agent=skill_list", f"episode.iterations={iterations}", f"seed={seed}"])
summary = run_episode(
    build_environment(config), build_agent(config), iterations=iterations, seed=seed
)
print(f"validation {summary.iterations[0].val_score:.3f} -> {summary.best.val_score:.3f}")
print(f"test       {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

"""A skill-tree agent on math: it explores subskills, then exploits the weak ones.

The same as `dataenvgym run agent=skill_tree`, in Python; then the forest that it grew. Options:
iterations, seed.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(["agent=skill_tree", f"episode.iterations={iterations}", f"seed={seed}"])
environment = build_environment(config)
summary = run_episode(environment, build_agent(config), iterations=iterations, seed=seed)
print(f"validation {summary.iterations[0].val_score:.3f} -> {summary.best.val_score:.3f}")
print(f"test       {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")
for tree in environment.get_wrapper_attr("forest").trees:
    print(f"{tree.skill}: accuracy {tree.val_accuracy:.2f}, {tree.generated} records")
    for subskill in tree.subskills:
        accuracy = "?" if subskill.val_accuracy is None else f"{subskill.val_accuracy:.2f}"
        print(f"  {subskill.name:45} {accuracy:>4} {subskill.generated:4} records")

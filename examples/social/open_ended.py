"""An open-ended agent on social life: it sees the scenes that went wrong, and no skills.

The student haggles, trades, shares and keeps secrets with scripted characters, and is scored by how
far it reached its goal. The same as `dataenvgym run task=pocket_social agent=open_ended`, in
Python. Options: iterations, seed.
"""

import sys

from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(
    ["task=pocket_social", "agent=open_ended", f"episode.iterations={iterations}", f"seed={seed}"]
)
summary = run_episode(
    build_environment(config), build_agent(config), iterations=iterations, seed=seed
)
# scores are rewards: goal scores (0 to 10) divided by 10
print(f"validation {summary.iterations[0].val_score:.3f} -> {summary.best.val_score:.3f}")
print(f"test       {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

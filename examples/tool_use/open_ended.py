"""An open-ended agent on tool use: it sees the conversations that went wrong, and no skills.

The student fulfills small requests by calling the tools of a village, and is scored by the final
state of the village. The same as `dataenvgym run task=pocket_tools agent=open_ended`, in Python.
Options: iterations, seed.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(
    ["task=pocket_tools", "agent=open_ended", f"episode.iterations={iterations}", f"seed={seed}"]
)
summary = run_episode(
    build_environment(config), build_agent(config), iterations=iterations, seed=seed
)
print(f"validation {summary.iterations[0].val_score:.3f} -> {summary.best.val_score:.3f}")
print(f"test       {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

"""The student teaches itself: its own answers to new problems become its records.

It answers each problem eight times. `rejection_sampling` keeps an answer that the task's scorer
calls right; `self_consistency` keeps what it says in three of four answers, right or not. The
pocket student is often sure of what is wrong: in three iterations the first one took the test score
from .578 to .765, the second one to .588, and its validation score down from .630 to .603.
Options: the engine, iterations. The same as `dataenvgym run agent/engine=rejection_sampling`.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.config import build_agent, build_environment, compose

engine = sys.argv[1] if len(sys.argv) > 1 else "rejection_sampling"
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 3
config = compose([f"agent/engine={engine}", f"episode.iterations={iterations}"])
summary = run_episode(build_environment(config), build_agent(config), iterations=iterations)

for i in summary.iterations:
    print(f"{i.iteration}: {i.n_records} records of its own, validation {i.val_score:.3f}")
print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

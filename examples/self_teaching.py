"""The student teaches itself: its own answers to new problems become its records.

It answers each problem eight times. `rejection_sampling` keeps an answer that the task's scorer
accepts; `self_consistency` keeps an answer that it gives in three of four cases, right or wrong.
The pocket student often repeats a wrong answer. In three iterations, `rejection_sampling` raised
the test score from .578 to .765; `self_consistency` raised it to .588 and lowered the validation
score from .630 to .603.
Options: the engine, iterations. The same as `dataenvgym run agent/engine=rejection_sampling`.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose

engine = sys.argv[1] if len(sys.argv) > 1 else "rejection_sampling"
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 3
config = compose([f"agent/engine={engine}", f"episode.iterations={iterations}"])
summary = run_episode(build_environment(config), build_agent(config), iterations=iterations)

for i in summary.iterations:
    print(f"{i.iteration}: {i.n_records} records of its own, validation {i.val_score:.3f}")
print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

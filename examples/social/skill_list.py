"""A skill-list agent on social life: it sees the goal score by skill and aims at the weak ones.

The student haggles, trades, shares and keeps secrets with scripted characters, and is scored by how
far it reached its goal. The same as `dataenvgym run task=pocket_social agent=skill_list`, in
Python; then one of its scenes, before and after. Options: iterations, seed.
"""

import sys
from typing import Any

from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(
    ["task=pocket_social", "agent=skill_list", f"episode.iterations={iterations}", f"seed={seed}"]
)
environment = build_environment(config)
teaching: Any = environment.unwrapped
task, student = teaching.task, teaching.predictor
before = task.evaluate(student)
summary = run_episode(environment, build_agent(config), iterations=iterations, seed=seed)
after = task.evaluate(student)

skills = [{s.skill: 10 * s.score for s in task.generate_performance_report(c).skills}
          for c in (before, after)]  # fmt: skip
for skill, score in skills[0].items():
    print(f"{skill:12} {score:4.1f} -> {skills[1][skill]:4.1f}")
print(f"goal score   {10 * summary.iterations[0].val_score:4.1f}", end=" ")
print(f"-> {10 * summary.best.val_score:4.1f}")

learned = [i for i, done in enumerate(after) if done.reward > before[i].reward]
for name, completed in (("before", before), ("after", after)):
    for one in (completed[i] for i in learned[:1]):
        print(f"\n{name} (goal score {10 * one.reward:.0f}):")
        for message in one.transcript:
            print("  you: " if message.role == "assistant" else "  ", message.content, sep="")

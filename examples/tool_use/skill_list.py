"""A skill-list agent on tool use: it sees the report by skill and aims at the weak ones.

The student fulfills small requests by calling the tools of a village, and is scored by the final
state of the village. The same as `dataenvgym run task=pocket_tools agent=skill_list`, in Python;
then one of its conversations, before and after.
Options: iterations, seed.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.texts import conversation

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 5
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(
    ["task=pocket_tools", "agent=skill_list", f"episode.iterations={iterations}", f"seed={seed}"]
)
environment = build_environment(config)
task, student = map(environment.get_wrapper_attr, ("task", "predictor"))
before = task.evaluate(student)
summary = run_episode(environment, build_agent(config), iterations=iterations, seed=seed)
print(f"validation {summary.iterations[0].val_score:.3f} -> {summary.best.val_score:.3f}")
print(f"test       {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

after = task.evaluate(student)
learned = [i for i, instance in enumerate(after) if instance.was_correct > before[i].was_correct]
for name, completed in (("before", before), ("after", after)):
    for one in (completed[i] for i in learned[:1]):
        turns = conversation(one.transcript[len(task.prompt(one.instance)) :])
        print(f"\n{name}: {one.instance.instruction}\n{turns}\n(reward {one.reward:.0f})")

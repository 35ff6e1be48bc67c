"""The smallest episode: one agent teaches the pocket student math for two iterations."""

from dataenvgym import (
    Agent,
    InProcessPredictor,
    OpenEnded,
    OpenEndedPolicy,
    PocketEngine,
    PocketMathTask,
    run_episode,
)

task = PocketMathTask()
environment = OpenEnded(task, InProcessPredictor())
agent = Agent(OpenEndedPolicy(), PocketEngine(task), name="open_ended")
summary = run_episode(environment, agent, iterations=2)

for iteration in summary.iterations:
    print(f"iteration {iteration.iteration}: validation score {iteration.val_score:.3f}")
print(f"test score {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

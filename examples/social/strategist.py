"""A strategist learns to advise a speaker that is not trained (EPO).

Both are the pocket student of social life: as a speaker it follows advice in plain words; as an
untrained strategist it writes one of its known strategies at random. The engine `scored_tries`
plays scenes and gives each strategy a weight by the result of the scene. The strategist is trained
on these weights. Options: iterations, seed.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.runs.config import build_agent, build_environment, compose

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 2
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
config = compose(
    [
        *("task=pocket_social", "task.role=strategist", "task.sampling.temperature=0.7"),
        *("task.n_validation=48", "task.n_test=48", "+predictor@task.others.speaker=in_process"),
        "task.others.speaker.student=pocket-social-v1",
        *("agent=open_ended", "agent/policy=free", "agent/engine=scored_tries"),
        *("agent.records_per_iteration=320", "trainer.num_train_epochs=3"),
        *("environment.mode=incremental", "environment.replay=0"),
        *(f"episode.iterations={iterations}", f"seed={seed}"),
    ]
)
summary = run_episode(
    build_environment(config), build_agent(config), iterations=iterations, seed=seed
)
# scores are rewards: goal scores (0 to 10) of the advised speaker, divided by 10
for i in summary.iterations:
    print(f"iteration {i.iteration}: validation {i.val_score:.3f}")
print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

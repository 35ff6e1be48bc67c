"""A data-generation agent of one's own: no base class, two methods, one screen.

It looks for lists that the student failed to reverse, and writes records about reversing.
"""

import random

from dataenvgym.environments import OpenEnded
from dataenvgym.episodes import run_episode
from dataenvgym.predictors import InProcessPredictor
from dataenvgym.records import SupervisedDatum
from dataenvgym.tasks.math.pocket import PocketMathTask


class ReversingAgent:
    """Teaches the one thing it knows, as much as the student needs it."""

    name = "reversing"

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def __call__(self, completed, predictor):
        wrong = [
            c for c in completed
            if "backwards" in c.instance.instruction and not c.was_correct and c.error is None
        ]  # fmt: skip
        return [self.record() for _ in range(10 * len(wrong))]

    def record(self):
        digits = [str(self.rng.randint(0, 9)) for _ in range(self.rng.randint(4, 6))]
        verb = self.rng.choice(["Write", "Read", "Give"])
        return SupervisedDatum(
            instruction=f"{verb} {' '.join(digits)} backwards.",
            output=f"#### {' '.join(reversed(digits))}",
        )

    def step(self):
        pass


if __name__ == "__main__":
    environment = OpenEnded(PocketMathTask(), InProcessPredictor())
    summary = run_episode(environment, ReversingAgent(seed=0), iterations=2)
    for iteration in summary.iterations:
        skill = iteration.val_score_by_skill["reversed"]
        print(f"{iteration.n_records_total:4} records: reversed {skill:.2f}, "
              f"all {iteration.val_score:.3f}, dropped {iteration.dropped}")  # fmt: skip

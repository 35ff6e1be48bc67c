"""Your own data-generation agent: no base class, two methods, one screen.

It rewrites each problem with other digits and solves it by a rule. Problems that the student got
wrong give more records; solved problems give a few, so that the student does not forget them.
"""

import random
import re

from dataenvgym import InProcessPredictor, OpenEnded, PocketMathTask, SupervisedDatum, run_episode

RULES = {  # a word of a problem, and the answer that its digits have
    "backwards": lambda digits: digits[::-1],
    "falling": lambda digits: sorted(digits, reverse=True),
    "smallest": lambda digits: min(digits),
    "second": lambda digits: digits[1],
    "middle": lambda digits: digits[2],
    "outer": lambda digits: [digits[-1], *digits[1:-1], digits[0]],
    "total": lambda digits: [str(sum(map(int, digits)))],
    "halved": lambda digits: [str(sum(d in "02468" for d in digits))],
}


class RewritingAgent:
    """Teaches problems with a known rule: four records for a wrong answer, one for a right one."""

    name = "rewriting"

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def __call__(self, completed, predictor):
        return [
            self.record(c.instance.instruction, rule)
            for c in completed
            for word, rule in RULES.items()
            if word in c.instance.instruction and c.error is None
            for _ in range(1 if c.was_correct else 4)
        ]

    def record(self, question, rule):
        question = re.sub(r"\d", lambda _: str(self.rng.randint(0, 9)), question)
        answer = " ".join(rule(re.findall(r"\d", question)))
        return SupervisedDatum(instruction=question, output=f"#### {answer}")

    def step(self):
        pass


if __name__ == "__main__":
    environment = OpenEnded(PocketMathTask(), InProcessPredictor())
    summary = run_episode(environment, RewritingAgent(seed=0), iterations=2)
    for iteration in summary.iterations:
        print(f"{iteration.n_records_total:4} records: validation {iteration.val_score:.3f}, "
              f"dropped {iteration.dropped}")  # fmt: skip
    print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")

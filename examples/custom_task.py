"""Your own task: problems and a scorer. The whole loop works with it.

The student has to say the last digit of a number; the agent writes records about other numbers.
"""

import random

from dataenvgym import InProcessPredictor, OpenEnded, SupervisedDatum, TaskInstance, run_episode
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks import Outcome, Task, TaskEnvironment

NUMBERS = random.Random(0).sample(range(10, 100), 90)
SPLITS = {"train": NUMBERS[:60], "validation": NUMBERS[60:75], "test": NUMBERS[75:]}


def question(number):
    return f"Which digit is last in {number}?"


class LastDigitEnvironment(TaskEnvironment):
    """One message; it is right if it is the digit."""

    def respond(self, instance, conversation):
        was_correct = conversation[-1].content.strip() == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


class LastDigitTask(Task):
    """Say the last digit of a number."""

    name = "last_digit"

    def load(self, split):
        return [
            TaskInstance(id=str(n), task=self.name, instruction=question(n), answer=str(n % 10))
            for n in SPLITS[split]
        ]

    def make_environment(self):
        return LastDigitEnvironment(self.instances)


class DigitAgent:
    """Writes one record for each training number."""

    name = "digits"

    def __call__(self, completed, predictor):
        return [
            SupervisedDatum(instruction=question(n), output=str(n % 10)) for n in SPLITS["train"]
        ]

    def step(self):
        pass


if __name__ == "__main__":
    student = InProcessPredictor(trainer=InProcessTrainer(num_train_epochs=20))
    environment = OpenEnded(LastDigitTask(), student, mode="accumulate")
    summary = run_episode(environment, DigitAgent(), iterations=1)
    print(f"validation {summary.iterations[0].val_score:.2f} -> {summary.best.val_score:.2f}")

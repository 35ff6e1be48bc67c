"""Your own task: problems and a scorer. The whole loop works with it.

The student has to say a word's first letter; the agent writes records about other words.
"""

from dataenvgym import (
    InProcessPredictor,
    OpenEnded,
    Outcome,
    SupervisedDatum,
    Task,
    TaskEnvironment,
    TaskInstance,
    run_episode,
)

WORDS = {
    "train": ["largest", "order", "digits", "total", "even", "numbers", "first", "middle"],
    "validation": ["list", "end", "outer", "name", "down", "frequent"],
    "test": ["lowest", "each", "odd", "none", "delete", "find"],
}


class FirstLetterEnvironment(TaskEnvironment):
    """One message; it is right if it is the letter."""

    def respond(self, instance, conversation):
        was_correct = conversation[-1].content.strip() == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


class FirstLetterTask(Task):
    """Say the first letter of a word."""

    name = "first_letter"

    def load(self, split):
        return [
            TaskInstance(id=w, task=self.name, instruction=f"First letter of {w}?", answer=w[0])
            for w in WORDS[split]
        ]

    def make_environment(self):
        return FirstLetterEnvironment(self.instances)


class LetterAgent:
    """Writes one record for each training word."""

    name = "letters"

    def __call__(self, completed, predictor):
        return [
            SupervisedDatum(instruction=f"First letter of {w}?", output=w[0])
            for w in WORDS["train"]
        ]

    def step(self):
        pass


if __name__ == "__main__":
    environment = OpenEnded(FirstLetterTask(), InProcessPredictor(), mode="accumulate")
    summary = run_episode(environment, LetterAgent(), iterations=1)
    print(f"validation {summary.iterations[0].val_score:.2f} -> {summary.best.val_score:.2f}")

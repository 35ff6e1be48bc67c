"""A small task, a student that gets better with every record, an agent that can be resumed.

Also summaries.
"""

from dataenvgym.records import TaskInstance
from dataenvgym.runs.episodes.summary import IterationSummary, Summary
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from dataenvgym.tasks import Outcome, Task, TaskEnvironment

SKILLS = {"[red]shout": "loud", "whisper": "quiet", "hum": "quiet"}


class EchoEnvironment(TaskEnvironment):
    def respond(self, instance, conversation):
        was_correct = conversation[-1].content == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


class EchoTask(Task):
    """Say a number; 12 instances in each split."""

    name = "echo"

    def load(self, split):
        offset = {"train": 0, "validation": 100, "test": 200}[split]
        skills = list(SKILLS)
        return [
            TaskInstance(
                id=f"echo-{n}",
                task=self.name,
                instruction=f"Say {n}, [bold]please[/bold] \x1b[31m.",
                answer=str(n),
                skill=skills[n % 3],
                category=SKILLS[skills[n % 3]],
            )
            for n in range(offset, offset + 12)
        ]

    def make_environment(self):
        return EchoEnvironment()


class Student(ScriptedPredictor):
    """Answers the first `2 + records` of the 12 numbers rightly, except the first after 5."""

    def __init__(self):
        super().__init__(self._reply)

    def _reply(self, conversation):
        number = int(conversation[-1].content.split()[1].strip(","))
        position = number % 100
        forgotten = position == 0 and self.records >= 5
        return str(number) if position < 2 + self.records and not forgotten else "no [red]idea"

    def describe(self):
        return {"name": "Student"}  # the same for students that fail, made by deriving


class Writer:
    """Writes `size` records a call, and one duplicate from the second call on."""

    name = "writer"

    def __init__(self, size=3):
        self.size = size
        self.calls = 0
        self.steps = 0

    def __call__(self, completed, predictor):
        self.calls += 1
        records = [
            {
                "instruction": f"Say item {self.calls * 1000 + i} [/oops] `x`",
                "output": f"{self.calls * 1000 + i}",
                "provenance": {"skill": "hum", "agent": self.name},
            }
            for i in range(self.size)
        ]
        return records if self.calls == 1 else [*records, records[0]]

    def step(self):
        self.steps += 1

    def state_dict(self):
        return {"calls": self.calls, "steps": self.steps}

    def load_state_dict(self, state):
        self.calls, self.steps = state["calls"], state["steps"]


def iteration(number, score=0.5, records=0, **more):
    """The summary of an iteration."""
    values = {"n_val": 10, "n_errors": 0, "n_records": records, "n_records_total": records,
              "dropped": {}, "seconds": {}, "val_score_by_skill": {}, **more}  # fmt: skip
    return IterationSummary(iteration=number, val_score=score, **values)


def summary(*iterations, **more):
    """The summary of an episode; by default its last iteration is the best."""
    values = {"task": "t", "agent": "a", "seed": 0, "status": "finished",
              "best_iteration": len(iterations) - 1, **more}  # fmt: skip
    return Summary(iterations=iterations, **values)

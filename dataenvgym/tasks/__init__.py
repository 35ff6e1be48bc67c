"""Tasks: problems, the environments in which a student works on them, and their scoring.

A `Task` combines a source of problems (`source.py`: rows of files and data sets in `row_source.py`,
generated ones, too) with a domain (`domain.py`: how problems are posed, judged,
compared and taught). Each domain is a package in
`dataenvgym.domains` with the same layout: `environment.py` (one
problem, turn by turn, with its score), `domain.py`, `task.py` (rows become problems, and the two
are combined) and `pocket.py` (its small procedural family).

To add a domain, write two classes:

    from dataenvgym.records import TaskInstance
    from dataenvgym.tasks import Outcome, Task, TaskEnvironment

    class EchoEnvironment(TaskEnvironment):
        '''The student repeats what it reads.'''

        def respond(self, instance, conversation):
            was_correct = conversation[-1].content == instance.answer
            return Outcome(reward=float(was_correct), was_correct=was_correct)

    class EchoTask(Task):
        name = "echo"

        def load(self, split):
            words = {"train": "ab", "validation": "cd", "test": "ef"}[split]
            return [
                TaskInstance(id=w, task=self.name, instruction=f"Say {w}.", answer=w) for w in words
            ]

        def make_environment(self):
            return EchoEnvironment(self.instances)

`EchoTask().evaluate(predictor)` then runs any predictor on many problems at once, and
`gymnasium.utils.env_checker.check_env` passes for the environment. Beyond that:

- `TaskEnvironment.begin(instance)` returns the conversation that the student sees first (default:
  the instruction in the environment's `prompt_template`); override it for tools or personas. If
  its first message declares `tools`, the student's calls are in `conversation[-1].tool_calls`
  (see docs/tool_use_benchmarks.md).
  Engines write training records with the same prompts (see `prompt_template`).
- `respond` may return `Outcome(messages=..., done=False)`: the next message of a user or tool. The
  conversation continues, for at most `max_turns` of the student's messages.
- `respond` may ask other models, such as a user or a judge, with `yield Ask(...)`; they are the
  task's `others` (docs/write_your_own.md).
- `Outcome(scores={"kind": 0.5})` adds further scores by name. Reports, `summary.json`, `report.md`
  and the table of `dataenvgym eval` show their means, overall and by skill. Code problems have
  `tests_passed`, the share of the tests that passed. Return a score that is not a mean over
  problems, such as a macro F1, from the domain's `corpus_scores(completed)`.
- An exception in `begin` or `respond` means that the infrastructure failed: the instance gets an
  `error` and counts neither as right nor as wrong. A bad answer is an `Outcome`, not an exception.
- `load` refuses gold answers that no scorer can read, naming the instance.
- A `Domain` of your own (`super().__init__(domain=EchoDomain())`, or the class attribute `domain`)
  has the method `make_environment` in place of the task, and says more about its problems: when two
  are the same, when two answers are equal, whether a training record is right, how to write a gold
  answer as a reply (docs/add_a_domain.md).
- A gold record of a problem with several turns is made by holding the conversation:
  `DialogueDomain` (`dialogue.py`) does so with the messages of `gold_replies`.
- Give the environment an id: `gymnasium.register("me/Echo-v0", entry_point="my_module:make_echo")`.
"""

from dataenvgym.interfaces import Ask
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, report_on
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.record_conversion import record_of
from dataenvgym.tasks.source import Source, Split

__all__ = [
    "Ask",
    "Domain",
    "Outcome",
    "Source",
    "Split",
    "Task",
    "TaskEnvironment",
    "record_of",
    "report_on",
]

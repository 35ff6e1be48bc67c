"""Tasks: problems, the environments in which a student works on them, and how it is scored.

Each domain is a package here, laid out alike: `environment.py` (one problem, turn by turn, with
its score), `loaders.py` (problems from files and data sets), `task.py` (the problems by split,
put to a predictor) and `pocket.py` (its small procedural family). `base.py`, `environment.py`,
`prompt_template.py` and `reports.py` hold what they share.

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

`EchoTask().evaluate(predictor)` then rolls any predictor out, many problems at once, and
`gymnasium.utils.env_checker.check_env` passes for the environment. Beyond that:

- `TaskEnvironment.begin(instance)` returns the conversation that the student sees first (default:
  the instruction in the environment's `prompt_template`); override it for tools or personas.
  Engines write training records in the same prompts (see `prompt_template`).
- `respond` may return `Outcome(messages=..., done=False)`: what the user or a tool says next. The
  conversation goes on, for at most `max_turns` of the student's messages.
- `respond` may ask other models, such as a user or a judge, with `yield Ask(...)`; they are the
  task's `others` (docs/speakers.md).
- `Outcome(scores={"kind": 0.5})` names further scores. Reports have their means, overall and by
  skill, and so have `summary.json`, `report.md` and the table of `dataenvgym eval`; those of code
  problems have `tests_passed`, the share of the tests that passed.
- An exception in `begin` or `respond` means that the infrastructure failed: the instance gets an
  `error` and counts neither as right nor as wrong. A bad answer is an `Outcome`, no exception.
- Gold answers that no scorer can read are refused in `load`, naming the instance.
- `Task.overlap_key(text)` says when two problems are the same; training records with the key of
  an evaluation instance are dropped. Override it where wording is not what tells problems apart.
- An id of its own: `gymnasium.register("me/Echo-v0", entry_point="my_module:make_echo")`.
"""

from dataenvgym.interfaces import Ask
from dataenvgym.tasks.base import Split, Task
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.reports import report_on

__all__ = ["Ask", "Outcome", "Split", "Task", "TaskEnvironment", "report_on"]

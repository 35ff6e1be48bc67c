"""Tasks: problems, the environments in which a student works on them, and how it is scored.

A `Task` is a source of problems (`source.py`: rows of files and data sets in `row_source.py`,
drawn ones in `procedural.py`) and a domain (`domain.py`: how they are put, judged, compared and
taught). Each domain is a package here, laid out alike: `environment.py` (one problem, turn by turn,
with its score), `domain.py`, `loaders.py` (from rows to problems), `task.py` (the two composed) and
`pocket.py` (its small procedural family).

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
  the instruction in the environment's `prompt_template`); override it for tools or personas. If
  its first message declares `tools`, the student's calls are in `conversation[-1].tool_calls`
  (see docs/tool_use_formats.md).
  Engines write training records in the same prompts (see `prompt_template`).
- `respond` may return `Outcome(messages=..., done=False)`: the next message of a user or tool. The
  conversation continues, for at most `max_turns` of the student's messages.
- `respond` may ask other models, such as a user or a judge, with `yield Ask(...)`; they are the
  task's `others` (docs/speakers.md).
- `Outcome(scores={"kind": 0.5})` names further scores. Reports have their means, overall and by
  skill, and so have `summary.json`, `report.md` and the table of `dataenvgym eval`; those of code
  problems have `tests_passed`, the share of the tests that passed. What is no mean over problems,
  such as a macro F1, comes from the domain's `corpus_scores(completed)` and is beside them.
- An exception in `begin` or `respond` means that the infrastructure failed: the instance gets an
  `error` and counts neither as right nor as wrong. A bad answer is an `Outcome`, no exception.
- Gold answers that no scorer can read are refused in `load`, naming the instance.
- A `Domain` of one's own (`super().__init__(domain=EchoDomain())`, or the attribute `domain` of the
  class) has `make_environment` in place of the task, and may have more. `overlap_key(text)` says
  when two problems are the same, where wording is not what tells them apart: training records with
  the key of an evaluation instance are dropped. `answer_class` and `same_answer` say which replies
  are equal, for majorities, and `answer_form` tells a teacher to write answers that it can read;
  `judge_record` says whether a training record is right; `ways_to_answer` how a gold answer is
  written. Where an instruction is not all that the student is given, such as with tools, `text_of`
  puts the whole problem for a teacher, and `frame` makes a chat record of what the teacher writes
  in this form (docs/tool_use_calls.md).
- Problems that take several turns have their gold record made by holding the conversation:
  `DialogueDomain` (`dialogue.py`) does it with the replies of `gold_replies`.
- An id of its own: `gymnasium.register("me/Echo-v0", entry_point="my_module:make_echo")`.
"""

from dataenvgym.interfaces import Ask
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.lessons import record_of
from dataenvgym.tasks.reports import report_on
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

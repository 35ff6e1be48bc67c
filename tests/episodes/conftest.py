"""A small task, a student that gets better with every record, an agent that can be resumed."""

from pathlib import Path

import pytest

from dataenvgym.environments import SkillList
from dataenvgym.episodes import run_episode
from dataenvgym.predictors.scripted import ScriptedPredictor
from dataenvgym.records import TaskInstance
from dataenvgym.tasks import Outcome, Task, TaskEnvironment

from .killing import FilesLeft, Killed

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


class Agent:
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


@pytest.fixture
def play():
    """Runs an episode in a directory, with fresh objects as after a restart."""

    def run(directory, *, iterations=3, agent=None, student=None, seed=0, task=None, **options):
        callbacks = options.pop("callbacks", ())
        test_task = options.pop("test_task", None)
        progress = options.pop("progress", None)
        lock = options.pop("lock", True)
        environment = SkillList(
            task or EchoTask(), student or Student(), directory=directory, replay=2, **options
        )
        return run_episode(
            environment,
            agent or Agent(),
            iterations=iterations,
            seed=seed,
            callbacks=callbacks,
            test_task=test_task,
            progress=progress,
            lock=lock,
        )

    return run


@pytest.fixture
def finished_run(play, tmp_path):
    """The directory of a finished run of three iterations."""
    play(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def echo_task():
    return EchoTask


@pytest.fixture
def make_agent():
    return Agent


@pytest.fixture
def make_student_of_echo():
    return Student


@pytest.fixture
def files(monkeypatch):
    """Says how many files may still appear; the writer of the next one is killed."""
    files, replace = FilesLeft(), Path.replace

    def dying(self, target):
        files.left -= 1
        if files.left < 0:
            raise Killed
        files.seen.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    return files

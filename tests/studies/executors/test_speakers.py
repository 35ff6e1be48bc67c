"""Runs in which the task's environments ask other models."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from dataenvgym.errors import InvalidRecordError, RunDirectoryError
from dataenvgym.runs.evaluation import run_evaluation
from dataenvgym.storage import read_json
from dataenvgym.studies.executors.in_process import InProcessExecutor

TALK = '''
from pathlib import Path

from dataenvgym.interfaces import Reply
from dataenvgym.records import Message
from dataenvgym.tasks import Ask, Outcome, TaskEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask


class Talk(TaskEnvironment):
    def respond(self, instance, conversation):
        said = (yield Ask("user", (Message(role="user", content=instance.answer),))).text
        good = conversation[-1].content == f"#### {said}"
        return Outcome(reward=float(good), was_correct=good)


class TalkTask(PocketMathTask):
    def make_environment(self):
        return Talk(self.instances, others=self.others)


class User:
    """A teacher that repeats what it hears, and keeps count in its folder."""

    def __init__(self, directory, tone="calm"):
        self.directory, self.tone = Path(directory), tone

    def ask(self, conversations, sampling, *, purpose):
        self.note("asked")
        return [Reply(text=c[-1].content) for c in conversations]

    def describe(self):
        return {"tone": self.tone}

    def close(self):
        self.note("closed")

    def note(self, what):
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / what).touch()
'''
USER = "+task.others.user._target_=talk.User"


@pytest.fixture
def talking(scripted, folder):
    """Makes an episode whose environments ask `talk.User`."""
    (folder / "talk.py").write_text(TALK)

    def make(*overrides: str):
        options = ("task._target_=talk.TalkTask", USER, "name=a", "episode.iterations=1")
        return scripted(*options, *overrides)

    return make


def run(episode):
    (outcome,) = InProcessExecutor().run([episode])
    return outcome.result()


def test_a_speaker_is_described_in_the_run_keeps_its_files_there_and_is_closed(talking, folder):
    assert run(talking()).test_score_before > 0
    identity = folder / "runs/a/environment.json"
    assert read_json(identity)["others"] == {"user": {"tone": "calm"}}
    files = sorted(path.name for path in Path("runs/a/others/user").iterdir())
    assert files == ["asked", "closed"]
    identity.write_text(identity.read_text().replace("calm", "rude"))
    with pytest.raises(RunDirectoryError, match="with others"):
        run(talking("episode.iterations=2"))


def test_a_speaker_is_closed_when_the_run_fails(talking, folder):
    with pytest.raises(InvalidRecordError):
        run(talking("agent._target_=my_students.Clumsy"))
    assert (folder / "runs/a/others/user/closed").exists()


@pytest.mark.parametrize("fails", [False, True])
def test_the_speakers_of_an_evaluation_are_closed_with_it(talking, folder, monkeypatch, fails):
    talking()
    if fails:
        draw = "dataenvgym.runs.evaluation.running.draw_samples"
        monkeypatch.setattr(draw, lambda *_, **__: 1 / 0)
    small = ("student=simulated", "task.n_train=4", "task.n_validation=4", "task.n_test=4")
    speaker = ("task._target_=talk.TalkTask", USER, "+task.others.user.directory=heard")
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        run_evaluation([*small, *speaker])
    assert (folder / "heard/asked").exists() != fails
    assert (folder / "heard/closed").exists()

"""A student that is taught against itself, and against what it was before."""

import pytest

from dataenvgym.environments import OpenEnded
from dataenvgym.errors import RunDirectoryError
from dataenvgym.interfaces import Ask
from dataenvgym.records import Message, TaskInstance
from dataenvgym.students.predictors import InProcessPredictor, RemembersFormer, ScriptedPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.rollouts import StudentSpeaker


class Talk(TaskEnvironment):
    def respond(self, instance, conversation):
        said = (yield Ask("partner", (Message(role="user", content=instance.instruction),))).text
        return Outcome(messages=(Message(role="user", content=said),), reward=0.5)


class TalkTask(Task):
    name = "talk"

    def load(self, split):
        return [TaskInstance(id=f"{split}-1", task="talk", instruction="Who are you?", answer="x")]

    def make_environment(self):
        return Talk(self.instances)


class Learner(RemembersFormer, ScriptedPredictor):
    """Says how often it was trained."""

    def __init__(self):
        super().__init__(lambda conversation: str(self.trainings))

    def with_adapter(self, folder):
        other = Learner()
        if folder is not None:
            other.load(folder)
        return other


def batch(iteration, size=2):
    numbers = [1000 * iteration + 7 * n for n in range(size)]
    return [{"instruction": f"word{n} {n}?", "output": f"#### {n}"} for n in numbers]


def taught(folder, adapter="former"):
    task = TalkTask(others={"partner": StudentSpeaker(adapter)})
    return OpenEnded(task, Learner(), directory=folder)


def said(observation):
    """The messages of the student and its partner."""
    (completed,) = observation["completed"]
    return tuple(message.content for message in completed.transcript[-2:])


def test_in_each_iteration_the_former_student_is_the_one_before_the_training(tmp_path):
    environment = taught(tmp_path)
    observation, _ = environment.reset(seed=0)
    assert said(observation) == ("0", "0")
    heard = [said(environment.step(batch(n))[0]) for n in (1, 2)]
    heard.append(said(environment.step([])[0]))
    heard.append(said(environment.step(batch(3))[0]))
    assert heard == [("1", "0"), ("2", "1"), ("2", "1"), ("3", "2")]


def test_a_resumed_episode_and_a_trial_know_the_former_student(tmp_path):
    environment = taught(tmp_path)
    environment.reset(seed=0)
    for n in (1, 2):
        environment.step(batch(n))
    resumed = taught(tmp_path)
    observation, _ = resumed.reset(seed=0, options={"resume": True})
    assert said(observation) == ("2", "1")
    (again,) = resumed.task.attempt(resumed.predictor)
    assert again.transcript[-1].content == "1"
    resumed.trial(batch(3))
    (again,) = resumed.task.attempt(resumed.predictor)
    assert [m.content for m in again.transcript[-2:]] == ["2", "1"]
    assert said(resumed.step(batch(3))[0]) == ("3", "2")


def test_a_real_students_former_version_replies_as_it_did_one_iteration_before(
    tiny_student, tmp_path
):
    trainer = InProcessTrainer(threads=1, num_train_epochs=2, lora_rank=4, learning_rate=1e-2)
    task = TalkTask(others={"partner": StudentSpeaker("former")})
    student = InProcessPredictor(tiny_student, trainer, threads=1)
    environment = OpenEnded(task, student, directory=tmp_path)
    observation, _ = environment.reset(seed=0)
    heard = [said(observation), *(said(environment.step(batch(n, 6))[0]) for n in (1, 2))]
    students, partners = zip(*heard, strict=True)
    assert len(set(students)) == 3
    assert partners == (students[0], students[0], students[1])


def test_against_itself_both_seats_learn_and_the_episode_does_not_change_its_self(tmp_path):
    environment = taught(tmp_path, "current")
    environment.reset(seed=0)
    assert said(environment.step(batch(1))[0]) == ("1", "1")
    with pytest.raises(RunDirectoryError, match=r"others = .*'current'"):
        taught(tmp_path).reset(seed=0, options={"resume": True})

"""Environments that ask other models, stepped by themselves."""

import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from dataenvgym.errors import ConfigurationError, ServerError, SpeakerError
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Message, TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Ask, Outcome, Task, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from tests.fakes import Student

INSTANCES = [TaskInstance(id="t", task="talk", instruction="Hi", answer="ja")]
DRAWN = SamplingParameters(temperature=1.0)


def message(text):
    return Message(role="user", content=text)


class Talk(TaskEnvironment):
    """A user speaks first and answers once; then the problem is over."""

    def begin(self, instance):
        said = (yield Ask("user", (message(instance.instruction),))).text
        return (message(said),)

    def respond(self, instance, conversation):
        said = (yield Ask("user", conversation[-1:])).text
        done = len(conversation) > 3
        return Outcome(messages=(message(said),), done=done, was_correct=said == "JA")


SEEDS = Student(lambda text, sampling: str(sampling.seed))


class SeededTalk(TaskEnvironment):
    def begin(self, instance):
        return (message((yield Ask("user", (message("?"),), DRAWN)).text),)

    def respond(self, instance, conversation):
        one = (yield Ask("user", (message("?"),), DRAWN)).text
        other = (yield Ask("user", (message("?"),), DRAWN)).text
        return Outcome(messages=(message(one), message(other)), done=len(conversation) > 3)


SHOUT = ScriptedPredictor(lambda conversation: conversation[-1].content.upper())


def test_step_and_reset_answer_asks_through_others():
    environment = Talk(INSTANCES, others={"user": SHOUT})
    conversation, _ = environment.reset(seed=0)
    assert conversation == (message("HI"),)
    conversation, _, terminated, *_ = environment.step("so")
    assert [m.content for m in conversation] == ["HI", "so", "SO"]
    assert not terminated
    *_, terminated, _, info = environment.step("ja")
    assert (terminated, info["was_correct"]) == (True, 1.0)


def test_the_checker_of_gymnasium_finds_nothing_to_warn_about_where_others_are_asked():
    gymnasium.register(
        "test/Talk-v0", entry_point=lambda **options: Talk(INSTANCES, others={"user": SHOUT})
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(gymnasium.make("test/Talk-v0").unwrapped)
    finally:
        del gymnasium.registry["test/Talk-v0"]


def test_a_speaker_that_is_not_there_is_named_with_the_way_out():
    environment = Talk(INSTANCES, others={"users": SHOUT})
    with pytest.raises(ConfigurationError, match="mean 'users'"):
        environment.reset(seed=0)


def broken(conversation):
    raise ValueError("too long")


def gone(conversation):
    raise ServerError("gone")


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda c: Failure(reason="HTTP 503"), SpeakerError, "user: HTTP 503"),
        (broken, SpeakerError, "user: ValueError: too long"),
        (gone, ServerError, "gone"),
    ],
)
def test_after_a_failure_of_another_speaker_the_environment_is_as_before(answer, error, text):
    user = ScriptedPredictor(SHOUT.answer)
    environment = Talk(INSTANCES, others={"user": user})
    environment.reset(seed=0)
    user.answer = answer
    with pytest.raises(error, match=text):
        environment.step("so")
    user.answer = SHOUT.answer
    assert [m.content for m in environment.step("so")[0]] == ["HI", "so", "SO"]


@pytest.mark.parametrize(
    "asked", [None, ("user", ()), Ask("predictor", (message("?"),)), Ask("user", ("?",))], ids=str
)
def test_yielding_anything_but_an_ask_of_another_speaker_is_a_fault_of_the_environment(asked):
    class Odd(Talk):
        def respond(self, instance, conversation):
            yield asked
            return Outcome()

    others = {"user": SHOUT}
    (completed,) = rollout(SHOUT, INSTANCES, Odd, sampling=SamplingParameters(), others=others)
    assert completed.fault == "environment"


def said_by_seeds(environment, *, seed=None):
    environment.reset(seed=seed)
    environment.step("a")
    return [m.content for m in environment.step("b")[0] if m.role == "user"]


def test_seeds_are_those_of_a_rollout_whose_episode_has_the_same_seed():
    reset_with = []

    class Watched(SeededTalk):
        def reset_asking(self, *, seed=None, options=None):
            reset_with.append(seed)
            return super().reset_asking(seed=seed, options=options)

    (completed,) = rollout(
        SHOUT, INSTANCES, Watched, sampling=SamplingParameters(), others={"user": SEEDS}
    )
    said = [m.content for m in completed.transcript if m.role == "user"]
    environment = SeededTalk(INSTANCES, others={"user": SEEDS})
    assert said_by_seeds(environment, seed=reset_with[0]) == said
    assert len(set(said)) == len(said) == 5


def test_without_a_seed_each_episode_draws_others_of_the_same_generator():
    def episodes():
        environment = SeededTalk(INSTANCES, others={"user": SEEDS})
        return [said_by_seeds(environment, seed=3), *(said_by_seeds(environment) for _ in "ab")]

    drawn = episodes()
    assert len({tuple(said) for said in drawn}) == 3
    assert episodes() == drawn


class TalkTask(Task):
    name = "talk"

    def load(self, split):
        return INSTANCES

    def make_environment(self):
        return Talk(self.instances, others=self.others)


def test_a_task_passes_its_others_to_rollouts_and_environments():
    task = TalkTask(others={"user": SHOUT})
    (completed,) = task.evaluate(ScriptedPredictor(lambda c: "ja"))
    assert (completed.was_correct, completed.error) == (True, None)
    assert task.make_environment().reset()[0] == (message("HI"),)
    assert task.on("test").others is task.others
    assert TalkTask().others == {}

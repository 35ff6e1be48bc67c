"""The base of all task environments: one problem, solved turn by turn.

    reset(options={"instance": ...}) -> the conversation so far
    step("the student's message")    -> the conversation, the reward (at the end), ...

The machinery here keeps the conversation and implements gymnasium's interface. A domain overrides
`begin` (how a problem is posed) and `respond` (the response to the student's message). Both may ask
other models by yielding an `Ask` and receiving the reply (see `asks`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
    InvalidActionError,
    check_one_of,
)
from dataenvgym.interfaces import Ask, PredictorInterface, Reply, TeacherInterface
from dataenvgym.records import Conversation, Message, TaskInstance, checked_scores
from dataenvgym.records.spaces import ConversationSpace, TextSpace
from dataenvgym.records.tool_formats import read_reply
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.asks import SEEDS, answered, asks_of
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.rollouts import speakers_of

OPTIONS = ("instance", "instance_id")
"""Options of `reset`: a TaskInstance, or the id of one."""


def chosen_instance(
    instances: Sequence[TaskInstance], options: Mapping[str, Any], rng: np.random.Generator
) -> TaskInstance:
    """The problem named in the options, or one that `rng` picks.

    Raises:
        KeyError: if there is no problem of that id.
        ValueError: if there are none to pick from.
    """
    if "instance" in options:
        found: TaskInstance = options["instance"]
        return found
    if "instance_id" in options:
        return {instance.id: instance for instance in instances}[options["instance_id"]]
    return instances[int(rng.integers(len(instances)))]


Begun = tuple[Conversation, dict[str, Any]]
Stepped = tuple[Conversation, float, bool, bool, dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """The environment's response to a message of the student.

    Attributes:
        messages: the environment's next messages, e.g. a tool's result.
        reward: the score of the finished problem; used only if `done`.
        done: whether the problem is finished.
        was_correct: whether the problem counts as solved; used only if `done`.
        info: further information, e.g. why a reply could not be judged.
        scores: further scores by name, e.g. the share of tests passed. The scores after the last
            message count, even if the problem is truncated.
    """

    messages: tuple[Message, ...] = ()
    reward: float = 0.0
    done: bool = True
    was_correct: bool = False
    info: Mapping[str, float | str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)


class TaskEnvironment(gymnasium.Env[Conversation, str], ABC):
    """One problem at a time; the action is the student's message, the observation all messages.

    `reset` takes `options={"instance": TaskInstance}` or `{"instance_id": id}`; without them the
    environment picks one of its instances. The reward comes with the last step. `info` always has
    `instance_id` (str) and `was_correct` (1.0 or 0.0), and `scores` if there are any. A problem
    that is not finished after `max_turns` of the student's messages is truncated, with reward 0.

    Args:
        instances: the problems for `instance_id` and for `reset` to pick from.
        max_turns: largest number of the student's messages; None uses the number of the class,
            which is also the upper limit.
        system_prompt: a system message before the problem, or "" for none.
        template: the user message, in which `{instruction}` stands for the problem (see
            `PromptTemplate`).
        others: the models that `begin` and `respond` ask, by name; `rollout` has its own.
        render_mode: "ansi" (`render` returns the transcript as text) or None.

    Attributes:
        prompt_template: made of the two; set another one to have turns before the problem.
        max_asks: largest number of asks of other models in one turn.
        worst_scores: the scores of a problem that ends because a model refuses the student's words
            (see `dataenvgym.tasks.rollouts.instance_rollout`).
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}
    max_turns: int = 32
    max_asks: int = 32
    worst_scores: Mapping[str, float] = {}

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        max_turns: int | None = None,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        others: Mapping[str, PredictorInterface | TeacherInterface] | None = None,
        render_mode: str | None = None,
    ):
        self.observation_space = ConversationSpace()
        self.action_space = TextSpace()
        self.render_mode = render_mode
        self.instances = instances
        self.others = speakers_of(others)
        self.prompt_template = PromptTemplate(system_prompt, template)
        if max_turns is not None:
            if not 1 <= max_turns <= type(self).max_turns:
                most = type(self).max_turns
                raise ConfigurationError(f"max_turns is {max_turns}, expected 1 to {most}")
            self.max_turns = max_turns
        self._instance: TaskInstance | None = None
        self._conversation: Conversation = ()
        self._without_thoughts: Conversation = ()
        self._turns = 0
        self._episode_seed: int | None = None

    # --- what a domain overrides ---

    def begin(self, instance: TaskInstance) -> Conversation | Generator[Ask, Reply, Conversation]:
        """The conversation that the student sees first; it ends with the message to answer.

        If its first message declares tools, the student's messages reach `respond` with their
        parsed calls (`Message.tool_calls`).

        Raise an exception only if the infrastructure failed. Use `self.np_random` for random
        choices. It may ask other models, like `respond`.
        """
        return self.prompt_template.conversation(instance.instruction)

    @abstractmethod
    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Outcome | Generator[Ask, Reply, Outcome]:
        """The response to the student's message, the last one of `conversation`.

        The student's messages there are without its thoughts (see `ParsedReply`).

        Raise an exception only if the infrastructure failed; a bad answer is an `Outcome`. It may
        be a generator that yields an `Ask`, receives the `Reply`, and returns the outcome. If no
        reply comes, the problem ends there with an error.
        """

    # --- gymnasium's side ---

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Begun:
        """Begin a problem: the one that `options` name, or one picked with `np_random`.

        Raises:
            KeyError, ValueError: if the instance does not exist, or there are none at all.
            ConfigurationError: for an option that does not exist, or if a model is asked that is
                not among `others`.
            SpeakerError: if one of them does not answer.
            EvaluationError: if `begin` does not return messages.
        """
        return answered(self.reset_asking(seed=seed, options=options), self.others, self)

    def step(self, action: str) -> Stepped:
        """Take the student's message `action`.

        Raises:
            InvalidActionError: if it is not text; the environment is unchanged.
            gymnasium.error.ResetNeeded: before `reset`, and after the end.
            ConfigurationError: if a model is asked that is not among `others`.
            SpeakerError: if one of them does not answer; the environment is unchanged.
            EvaluationError: if `respond` does not return an `Outcome`, if its scores are not finite
                numbers, or if it asks too often.
        """
        return answered(self.step_asking(action), self.others, self)

    def reset_asking(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Generator[Ask, Reply, Begun]:
        """`reset` for a caller that answers the asks itself, as `rollout` does."""
        super().reset(seed=seed)
        self._instance = None
        check_one_of(OPTIONS, **{f"option {name!r} of reset": name for name in options or {}})
        instance = chosen_instance(self.instances, options or {}, self.np_random)
        self._episode_seed = seed
        self._turns = 0
        begun: Any = self.begin(instance)
        if isinstance(begun, GeneratorType):
            begun = yield from self._asks_of(begun, "begin")
        self._conversation = self._without_thoughts = _checked_messages(self, "begin", begun)
        self._instance = instance
        return self._conversation, self._info(was_correct=False)

    def step_asking(self, action: str) -> Generator[Ask, Reply, Stepped]:
        """`step` for a caller that answers the asks itself, as `rollout` does."""
        if self._instance is None:
            raise ResetNeeded("step() needs a problem in progress: call reset() first")
        if not self.action_space.contains(action):
            raise InvalidActionError(f"the action is {action!r}, expected Unicode text (str)")
        instance = self._instance
        reply, said = read_reply(self._conversation, action)
        heard = (*self._without_thoughts, said)
        response: Any = self.respond(instance, heard)
        if isinstance(response, GeneratorType):
            response = yield from self._asks_of(response, "respond")
        if not isinstance(response, Outcome) or not math.isfinite(response.reward):
            raise EvaluationError(
                f"{type(self).__name__}.respond() returned {response!r}, expected an Outcome with "
                "a finite reward"
            )
        outcome = response
        _checked_messages(self, "respond", outcome.messages)
        scores = checked_scores(outcome.scores, f"{type(self).__name__}.respond()")
        self._conversation = (*self._conversation, reply, *outcome.messages)
        self._without_thoughts = (*heard, *outcome.messages)
        self._turns += 1
        truncated = not outcome.done and self._turns >= self.max_turns
        info = self._info(was_correct=outcome.done and outcome.was_correct) | dict(outcome.info)
        if scores:
            info["scores"] = scores
        if outcome.done or truncated:
            self._instance = None
        reward = float(outcome.reward) if outcome.done else 0.0
        return self._conversation, reward, bool(outcome.done), truncated, info

    def render(self) -> str | None:
        """The transcript as text in render mode "ansi", otherwise None."""
        if self.render_mode is None:
            return None
        return "\n".join(f"[{message.role}] {message.content}" for message in self._conversation)

    def _asks_of(
        self, turn: GeneratorType[Any, Any, Any], method: str
    ) -> Generator[Ask, Reply, Any]:
        where = f"{type(self).__name__}.{method}()"

        def seed(number: int) -> int:
            if self._episode_seed is None:  # drawn only if needed, so that nothing else changes
                self._episode_seed = int(self.np_random.integers(2**63))
            return derive_seed(self._episode_seed, method, self._turns, "ask", number) % SEEDS

        return asks_of(turn, where, seeds=seed, most=self.max_asks)

    def _info(self, *, was_correct: bool) -> dict[str, Any]:
        instance = self._instance
        assert instance is not None
        return {"instance_id": instance.id, "was_correct": float(was_correct)}


def _checked_messages(environment: TaskEnvironment, method: str, messages: Any) -> Conversation:
    """Check that `begin` or `respond` returned messages."""
    for number, message in enumerate(messages):  # a loop: every step runs this
        if not isinstance(message, Message) or (message.tools and (number or method != "begin")):
            raise EvaluationError(
                f"{type(environment).__name__}.{method}() returned {messages!r}, expected "
                "messages, with tools only on the first one of begin()"
            )
    return tuple(messages)

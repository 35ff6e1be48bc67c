"""One problem in a world of text, action by action: `dataenvgym/TextWorld-v0`."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dataenvgym.domains.textworld.flowbench import (
    Call,
    Flow,
    FlowOptions,
    call_of,
    flow_of,
    split_at_turn,
    turn_scores,
)
from dataenvgym.domains.textworld.household import HouseProblem
from dataenvgym.domains.textworld.shop import ShopProblem
from dataenvgym.domains.textworld.worlds import MalformedReply, Problem, World, action_in
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.tasks.environment import Begun, Outcome, TaskEnvironment
from dataenvgym.tasks.prompt_template import PromptTemplate

Role = Literal["actor", "strategist"]
SPEAKER = "speaker"
PROBLEMS: Mapping[str, type[Problem]] = {"house": HouseProblem, "shop": ShopProblem}
_FORM = "In each turn, write one thought and one action:\nThought: ...\nAction: ...\n"
PROMPTS: Mapping[str, str] = {
    "house": f"You act in a house. {_FORM}Actions: go to X, open X, close X, take X from Y, "
    "put X in/on Y, clean X with Y, heat X with Y, cool X with Y, use X, examine X, look, "
    "inventory.",
    "shop": f"You buy in a shop. {_FORM}Actions: search[words], and click[button] for a button in "
    "brackets. Choose each option that is asked for before you click [Buy Now].",
    "game": f"You play a text game. {_FORM}An action is a short command, such as: look, inventory, "
    "go north, open X, take X from Y.",
}
ACTOR = PromptTemplate(PROMPTS["house"])
STRATEGIST = (
    "You advise a player of a text game, who acts after each of your messages. Write only a short "
    "strategy for the next action.\nStrategy: ..."
)


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """How problems are played.

    Attributes:
        role: the student's role: an `actor` acts; a `strategist` writes a strategy before each
            action, and the speaker "speaker" acts.
        max_turns: the most messages of the student; the problem is not solved after that.
    """

    role: Role = "actor"
    max_turns: int = 40


PLAY = PlayOptions()
PLAIN_FORM = FlowOptions()


class TextWorldEnvironment(TaskEnvironment):
    """Reward 1.0 or 0.0 in a house; 0.0 to 1.0 for a purchase (see `purchases`).

    A reply without exactly one action, or with an impossible one, takes a turn, changes nothing,
    and the observation says so. `info["actions"]` has the possible actions, one a line. Scores
    have the number of `invalid_actions`, and the parts of a purchase's reward.

    Args:
        problem: the class of the problems.
        options: see `PlayOptions`.
        actor: the prompt of the actor, whatever the student's role is.
        flow: the form of the problems (see `FlowOptions`).
        more: others and render_mode, see `TaskEnvironment`.

    Raises (in `reset`):
        InvalidInstanceError: for damaged data, and for a problem that cannot be solved as stated.
    """

    max_turns = 100

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        problem: type[Problem] = HouseProblem,
        options: PlayOptions = PLAY,
        actor: PromptTemplate = ACTOR,
        flow: FlowOptions = PLAIN_FORM,
        **more: Any,
    ) -> None:
        super().__init__(instances, **{"max_turns": options.max_turns, **more})
        if flow.level == "turn" and options.role != "actor":
            raise ConfigurationError(
                f"level is 'turn' and role is {options.role!r}: single turns are those of an actor"
            )
        self.problem = problem
        self.flow = flow
        self.advises = options.role == "strategist"
        self.actor = actor
        strategist = PromptTemplate(STRATEGIST, actor.template)
        self.prompt_template = strategist if self.advises else actor
        self._world: World | None = None
        self._acting: Conversation = ()
        self._invalid = 0
        self._flow: Flow | None = None
        self._wanted: Call | None = None  # of the one turn
        self._calls: list[Call] = []  # that were possible

    def begin(self, instance: TaskInstance) -> Conversation:
        problem = instance.data_as(self.problem)
        if (fault := problem.fault()) is not None:
            raise InvalidInstanceError(
                f"instance {instance.id!r} cannot be solved as stated: {fault}"
            )
        self._world, self._invalid = problem.world(), 0
        instruction = instance.instruction
        if self.flow.workflow != "none":
            self._flow, self._calls = flow_of(problem), []
            instruction = f"{self._flow.written(self.flow.workflow)}\n\n{instruction}"
        self._acting = self.actor.conversation(instruction)
        begun = self.prompt_template.conversation(instruction)
        if self.flow.level == "turn":
            earlier, step = split_at_turn(problem, instance.id)
            self._wanted = call_of(step.action)
            for before in earlier:
                seen = self._world.act(before.action)
                begun += (
                    Message(role="assistant", content=before.reply),
                    Message(role="user", content=seen.text),
                )
        return begun

    def reset_asking(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Generator[Ask, Reply, Begun]:
        """See `TaskEnvironment`; `info` has the possible actions, too."""
        conversation, info = yield from super().reset_asking(seed=seed, options=options)
        return conversation, {**info, "actions": self._possible}

    @property
    def _possible(self) -> str:
        assert self._world is not None
        return "\n".join(self._world.actions)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Outcome | Generator[Ask, Reply, Outcome]:
        said = conversation[-1].content
        if self._wanted is not None:
            return self._one_turn(self._wanted, said)
        return self._advised(said) if self.advises else self._acted(said)

    def _acted(self, reply: str, *, told: str = "") -> Outcome:
        """Take the action of a reply; `told` comes before what is seen."""
        assert self._world is not None
        scores: Mapping[str, float] = {}
        try:
            action = action_in(reply)
            seen = self._world.act(action)
            text, reward, done, scores = seen.text, seen.reward, seen.done, seen.scores
            self._invalid += not seen.is_valid
            self._calls += [call_of(action)] if self._flow and seen.is_valid else []
        except MalformedReply as error:
            text, reward, done = f"Invalid action: {error}", 0.0, False
            self._invalid += 1
        if self._flow is not None:
            scores = {**scores, "progress": self._flow.progress(self._calls)}
        return Outcome(
            messages=(Message(role="user", content=told + text),),
            reward=reward,
            done=done,
            was_correct=reward >= 1,
            info={"actions": self._possible},
            scores={**scores, "invalid_actions": self._invalid},
        )

    def _one_turn(self, wanted: Call, reply: str) -> Outcome:
        """Compare one reply with the turn of the reference solution."""
        try:
            made = call_of(action_in(reply))
        except MalformedReply:
            made = None
        is_right = made == wanted
        scores = turn_scores(wanted, made)
        return Outcome(reward=float(is_right), was_correct=is_right, scores=scores)

    def _advised(self, said: str) -> Generator[Ask, Reply, Outcome]:
        """Let the speaker act, who reads the strategy below the last observation."""
        words = " ".join(re.sub(r"(?i)^\s*strategy:", "", said).split())
        *before, last = self._acting
        note = f"{last.content}\n(Strategy: {words})" if words else last.content
        asked = (*before, last.model_copy(update={"content": note}))
        reply = yield Ask(SPEAKER, asked, SamplingParameters(max_tokens=256))
        outcome = self._acted(reply.text, told=f"{reply.text.strip()}\n\n")
        observed = outcome.messages[0].content.removeprefix(f"{reply.text.strip()}\n\n")
        self._acting = (
            *asked,
            Message(role="assistant", content=reply.text),
            Message(role="user", content=observed),
        )
        return outcome

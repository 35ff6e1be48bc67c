"""One conversation in which the student calls tools of a world, and may speak to a user.

This is `dataenvgym/ToolUse-v0`; bare `gymnasium.make` works on the validation problems of the shop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import PositiveInt

from dataenvgym.domains.tool_use.components import (
    COMPONENTS,
    Components,
    Ending,
    judged,
    said_by_judge,
    score,
)
from dataenvgym.domains.tool_use.problem import Prepared
from dataenvgym.domains.tool_use.user_seat import MOST_WORDS, ModelSeat, ScriptSeat, UserSeat
from dataenvgym.domains.tool_use.users import ModelUser, ScriptedUser
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, TaskInstance, ToolCall
from dataenvgym.records.tool_formats import malformed_call
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions
from dataenvgym.tasks.worlds.world import World

CountErrors = Literal["in_a_row", "total"]
MOST_CALLS = 100
"""Largest number of calls in one message that are run; later ones fail."""


@dataclass
class Progress:
    """The events of one conversation so far.

    Attributes:
        unheard: the student's words in messages with calls that the user has not answered yet.
        n_words: number of messages to the user since the last call.
    """

    prepared: Prepared
    world: World[Any]
    seat: UserSeat | None
    calls: tuple[ToolCall, ...] = ()
    said: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()
    n_errors: int = 0
    n_words: int = 0

    def say(self, words: str) -> str:
        """The text for the user: the unheard words, then these words."""
        self.said += (words,)
        self.n_words += 1
        heard = "\n".join((*self.unheard, words))
        self.unheard = ()
        return heard


@dataclass(frozen=True, kw_only=True)
class ToolLimits(PromptOptions):
    """When a conversation with tools ends early, and who plays its users.

    Attributes:
        system_prompt: is added after the world's policy.
        max_errors: how many failed calls end the conversation with reward 0.
        count_errors: "in_a_row", or "total", as in tau2-bench (which ends at 10 errors or after
            200 messages).
        user_sampling: how a model that plays the user, task.others.user, draws its replies.
    """

    max_errors: PositiveInt = 5
    count_errors: CountErrors = "in_a_row"
    user_sampling: SamplingParameters = SamplingParameters(max_tokens=256)


@dataclass(frozen=True, kw_only=True)
class ToolUseOptions(ToolLimits):
    """Options of tasks in a world with tools.

    Attributes:
        max_turns: largest number of the student's messages.
    """

    max_turns: PositiveInt = 30


class ToolUseEnvironment(TaskEnvironment):
    """Reward: the product of the problem's components (see `components`), at the end.

    A message with calls runs them in order; their results come next. A message without calls is
    for the user, who answers or leaves; without a user, it is the final answer.

    The conversation also ends when `max_errors` calls have failed, or after `max_turns` messages of
    the student. The reward is then 0, whatever the components: `scores` has their values.

    A user that breaks its role (see `user_seat`) raises `SpeakerError`: nothing is scored.

    Args:
        prepare: returns an instance's problem with its world, like `ToolUseDomain.prepared`.
        limits: when the conversation ends early.
        judge_users: whether to ask the speaker "judge" who is at fault if a conversation with such
            a user is not solved; None asks if `others` has a judge.
        more: max_turns, others and render_mode, see `TaskEnvironment`.
    """

    max_turns = 200
    components: Components = COMPONENTS

    def close(self) -> None:
        """Release the resources of the last conversation's world."""
        if (progress := getattr(self, "_progress", None)) is not None:
            progress.world.close()
        super().close()

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        limits: ToolLimits = ToolLimits(),
        *,
        prepare: Callable[[TaskInstance], Prepared],
        judge_users: bool | None = None,
        **more: Any,
    ):
        super().__init__(
            instances, system_prompt=limits.system_prompt, template=limits.template, **more
        )
        self._prepare = prepare
        self._max_errors = limits.max_errors
        self._in_a_row = limits.count_errors == "in_a_row"
        self._user_sampling = SamplingParameters.model_validate(limits.user_sampling)
        self._judge_users = "judge" in self.others if judge_users is None else judge_users

    # --- the beginning ---

    def begin(self, instance: TaskInstance) -> Conversation | Generator[Ask, Reply, Conversation]:
        prepared = self._prepare(instance)
        world = prepared.world.at(prepared.state.fork())
        seat = self._seat(prepared, world, instance.instruction)
        self._progress = Progress(prepared, world, seat)
        if instance.instruction or seat is None:
            return self.opening(prepared, instance.instruction)
        return self._user_begins(prepared, seat)

    def opening(self, prepared: Prepared, words: str) -> Conversation:
        """The messages that the student sees first, if the user begins with these words."""
        *before, request = self.prompt_template.conversation(words)
        first, *rest = (*before, *prepared.problem.earlier, request)
        return (first.model_copy(update={"tools": prepared.tools}), *rest)

    def _seat(self, prepared: Prepared, world: World[Any], opening: str) -> UserSeat | None:
        user = prepared.problem.user
        if isinstance(user, ScriptedUser):
            return ScriptSeat(user, world)
        if isinstance(user, ModelUser):
            return ModelSeat(user, world, opening, self._user_sampling)
        return None

    def _user_begins(
        self, prepared: Prepared, seat: UserSeat
    ) -> Generator[Ask, Reply, Conversation]:
        spoken = yield from seat.answer("")
        if not spoken.text or spoken.stops:
            raise SpeakerError("user: it left, or said nothing, before the conversation began")
        return self.opening(prepared, spoken.text)

    # --- a turn ---

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        """Run the calls, or let the user answer; if that fails, all is as it was before."""
        before = replace(self._progress)
        state = before.world.state
        memory: Any = before.seat and before.seat.memory
        try:
            return (yield from self._turn(conversation[-1]))
        except BaseException:
            self._progress = before
            before.world.state = state
            if before.seat is not None:
                before.seat.memory = memory
            raise

    def _turn(self, said: Message) -> Generator[Ask, Reply, Outcome]:
        if (results := self._called(said)) is not None:
            return (yield from self._continued(results))
        seat, heard = self._progress.seat, self._progress.say(said.content)
        if seat is None:
            return (yield from self._ended())
        spoken = yield from seat.answer(heard)
        messages = (Message(role="user", content=spoken.text),) if spoken.text else ()
        return (yield from self._ended(messages) if spoken.stops else self._continued(messages))

    def _called(self, said: Message) -> tuple[Message, ...] | None:
        """The results of the message's calls, malformed ones included; None without calls."""
        malformed = malformed_call(said.content) if said.content else None
        if not said.tool_calls and malformed is None:
            return None
        results = self._run(said.tool_calls)
        if malformed is not None and not self._is_over:
            results.append(self._failed(malformed))
        elif said.content:
            self._progress.said += (said.content,)
            self._progress.unheard += (said.content.strip(),)
        self._progress.n_words = 0
        return tuple(results)

    def _run(self, calls: Sequence[ToolCall]) -> list[Message]:
        """The results of the calls, up to the last error that is allowed."""
        progress = self._progress
        results: list[Message] = []
        for number, call in enumerate(calls):
            if self._is_over:
                break
            if number >= MOST_CALLS:
                results.append(self._failed(f"not run: a message has {MOST_CALLS} calls at most"))
                continue
            result = progress.prepared.call(progress.world, call)
            results.append(Message(role="tool", content=result.content))
            if result.error is not None:
                progress.n_errors += 1
                continue
            progress.calls += (call,)
            if self._in_a_row:
                progress.n_errors = 0
        return results

    def _failed(self, reason: str) -> Message:
        self._progress.n_errors += 1
        return Message(role="tool", content=f"Error: {reason}")

    @property
    def _is_over(self) -> bool:
        return self._progress.n_errors >= self._max_errors

    # --- the end ---

    def _continued(self, messages: tuple[Message, ...]) -> Generator[Ask, Reply, Outcome]:
        """The student's next turn, unless it has no turns left."""
        if self._is_over:
            which = "in a row" if self._in_a_row else "in all"
            note = f"ended after {self._progress.n_errors} errors {which}"
            return (yield from self._ended(messages, note))
        if self._turns + 1 >= self.max_turns:
            note = f"cut off after {self.max_turns} messages"
            return (yield from self._ended(messages, note, cut=True))
        return Outcome(messages=messages, done=False)

    def _ended(
        self, messages: tuple[Message, ...] = (), note: str | None = None, *, cut: bool = False
    ) -> Generator[Ask, Reply, Outcome]:
        """The outcome; `note` is set for a conversation that ended too early.

        Raises:
            SpeakerError: if the user is at fault.
        """
        progress = self._progress
        problem, seat = progress.prepared.problem, progress.seat
        ending = Ending(progress.world, progress.prepared.gold_state, progress.said, progress.calls)
        if problem.asks_judge:
            ending = yield from self.judged_ending(ending, messages)
        reward, parts = self.score_of(ending)
        if note is None and reward == 1.0:
            return Outcome(messages, reward, was_correct=True, scores=parts)
        if seat is not None and cut and reward == 1.0 and progress.n_words >= MOST_WORDS:
            raise SpeakerError("user: it did not leave although its problem was solved")
        notes = [] if note is None else [note]
        if isinstance(seat, ModelSeat):
            if not self._is_over and (withheld := seat.conduct.withheld()):
                raise SpeakerError(f"user: it was asked for {withheld[0]!r} and never told it")
            if self._judge_users:
                assert isinstance(problem.user, ModelUser)
                reason = yield from judged(problem, seat.memory, problem.user.instructions)
                notes.append(f"judge: {reason}")
        info = {"note": "; ".join(notes)} if notes else {}
        return Outcome(messages, 0.0 if note else reward, done=not cut, info=info, scores=parts)

    def judged_ending(
        self, ending: Ending, messages: tuple[Message, ...]
    ) -> Generator[Ask, Reply, Ending]:
        """The ending with the judge's decision; `messages` come after the student's last one."""
        wanted = self._progress.prepared.problem.said
        found = yield from said_by_judge(wanted, ending.said)
        return replace(ending, judged_said=found)

    def score_of(self, ending: Ending) -> tuple[float, dict[str, float]]:
        """The reward and its components."""
        return score(self._progress.prepared.problem, ending, self.components)

"""One conversation in which the student calls tools of a world, and may speak to a user.

This is `dataenvgym/ToolUse-v0`; bare `gymnasium.make` works on the validation problems of the shop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dataenvgym.errors import ConfigurationError, SpeakerError
from dataenvgym.interfaces import Ask
from dataenvgym.records import Conversation, Message, TaskInstance, ToolCall
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.tool_use.components import Ending, score
from dataenvgym.tasks.tool_use.prepared import Prepared
from dataenvgym.tasks.tool_use.users import STOP, ModelUser, ScriptedUser, seen_by_user
from dataenvgym.tasks.tool_use.world import World

CountErrors = Literal["in_a_row", "total"]


@dataclass
class _Progress:
    """What has happened so far in one conversation."""

    prepared: Prepared
    world: World[Any]
    calls: list[ToolCall] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    n_errors: int = 0
    user_state: str | None = None


class ToolUseEnvironment(TaskEnvironment):
    """Reward: the product of the problem's components (see `components`), at the end.

    A message with calls runs them in order; their results come next. A message without any is for
    the user, who answers or leaves; without a user it is the final answer. The conversation also
    ends, with reward 0, when `max_errors` calls have failed.

    Args:
        prepare: gives an instance's problem with its world, as `ToolUseDomain.prepared` does.
        max_errors: how many failed calls end the conversation.
        count_errors: "in_a_row", or "total" as tau2-bench counts them (it ends at 10).
        options: those of `TaskEnvironment`.
    """

    max_turns = 200

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        prepare: Callable[[TaskInstance], Prepared],
        max_errors: int = 5,
        count_errors: CountErrors = "in_a_row",
        **options: Any,
    ):
        super().__init__(instances, **options)
        if max_errors < 1:
            raise ConfigurationError(f"max_errors is {max_errors}, expected 1 or more")
        if count_errors not in ("in_a_row", "total"):
            raise ConfigurationError(
                f"count_errors is {count_errors!r}, expected 'in_a_row' or 'total'"
            )
        self._prepare = prepare
        self._max_errors = max_errors
        self._in_a_row = count_errors == "in_a_row"

    def begin(self, instance: TaskInstance) -> Conversation:
        prepared = self._prepare(instance)
        self._progress = _Progress(prepared, prepared.world.at(prepared.state.fork()))
        first, *rest = self.prompt_template.conversation(instance.instruction)
        return (first.model_copy(update={"tools": prepared.world.tools()}), *rest)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Outcome | Generator[Ask, str, Outcome]:
        said = conversation[-1]
        if said.tool_calls:
            return self._run(said.tool_calls)
        self._progress.said.append(said.content)
        user = self._progress.prepared.problem.user
        if user is None:
            return self._finished()
        if isinstance(user, ScriptedUser):
            line, self._progress.user_state = user.line(self._progress.user_state, said.content)
            return self._heard(line.say, stops=line.stop)
        return self._asked(user, conversation)

    def _asked(self, user: ModelUser, conversation: Conversation) -> Generator[Ask, str, Outcome]:
        text = yield Ask("user", seen_by_user(user, conversation))
        text, stop, _ = text.partition(STOP)
        if not (text := text.strip()) and not stop:
            raise SpeakerError("user: the reply is empty, expected words or " + STOP)
        return self._heard(text, stops=bool(stop))

    def _heard(self, text: str, *, stops: bool) -> Outcome:
        messages = (Message(role="user", content=text),) if text else ()
        return self._finished(messages) if stops else Outcome(messages=messages, done=False)

    def _run(self, calls: Sequence[ToolCall]) -> Outcome:
        progress = self._progress
        results: list[Message] = []
        for call in calls:
            result = progress.world.call(call)
            results.append(Message(role="tool", content=result.content))
            if result.error is None:
                progress.calls.append(call)
                if self._in_a_row:
                    progress.n_errors = 0
                continue
            progress.n_errors += 1
            if progress.n_errors >= self._max_errors:
                note = f"ended after {progress.n_errors} failed calls"
                return Outcome(messages=tuple(results), info={"note": note})
        return Outcome(messages=tuple(results), done=False)

    def _finished(self, messages: tuple[Message, ...] = ()) -> Outcome:
        progress = self._progress
        ending = Ending(progress.world, progress.prepared.gold_state, progress.said, progress.calls)
        reward, parts = score(progress.prepared.problem, ending)
        return Outcome(messages, reward, was_correct=reward == 1.0, scores=parts)


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> ToolUseEnvironment:
    """What `gymnasium.make("dataenvgym/ToolUse-v0")` makes: by default, the shop (validation).

    Args:
        options: those of `ToolUseEnvironment`.
    """
    from dataenvgym.tasks.tool_use.domain import ToolUseDomain
    from dataenvgym.tasks.tool_use.task import ToolUseTask
    from dataenvgym.tasks.tool_use.worlds import find_world

    domain = ToolUseDomain(find_world("shop"))
    return ToolUseEnvironment(
        ToolUseTask("shop").instances if instances is None else instances,
        prepare=domain.prepared,
        **{"system_prompt": domain.prompt_template.system, **options},
    )

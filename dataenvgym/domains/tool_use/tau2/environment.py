"""One conversation in a domain of tau2, scored like tau2-bench.

state       both databases have the same hashes as after the gold calls
assertions  the environment's assertions hold; one that raises counts as false, unless it also
            raises in the gold state
said        each piece of information is contained in one of the student's messages, in any case,
            after removing commas from the message: "10" is in "100", as in tau2
calls       for each gold call there is a call of the same tool, by either seat, with equal
            arguments; only the arguments in the gold call's `compare_args` count or, if that is
            not given, those that the call has
judged      the assertions in natural language hold, as the speaker "judge" decides
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import prod
from typing import Any

from dataenvgym.domains.tool_use.components import COMPONENTS as HOUSE_COMPONENTS
from dataenvgym.domains.tool_use.components import Components, Ending, all_hold
from dataenvgym.domains.tool_use.environment import ToolUseEnvironment
from dataenvgym.domains.tool_use.problem import Assertion, Prepared, ToolUseProblem
from dataenvgym.domains.tool_use.tau2.problem import Tau2Problem
from dataenvgym.domains.tool_use.tau2.task_file import Action
from dataenvgym.domains.tool_use.tau2.world import past_messages
from dataenvgym.domains.tool_use.user_seat import ModelSeat, UserSeat
from dataenvgym.domains.tool_use.users import ModelUser
from dataenvgym.errors import EvaluationError
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Conversation, Message, TaskInstance, ToolCall
from dataenvgym.tasks.environment import Outcome
from dataenvgym.tasks.worlds.world import World

MAX_STEPS = 200


def _holds(assertion: Assertion, ending: Ending) -> bool:
    """Whether it holds; False if it raises, e.g. about a row that was not made.

    Raises:
        EvaluationError: if it also raises in the gold state.
    """
    try:
        return ending.world.holds(assertion.check, assertion.arguments) == assertion.expected
    except EvaluationError:
        ending.world.at(ending.gold).holds(assertion.check, assertion.arguments)
        return False


def _calls(problem: ToolUseProblem, ending: Ending) -> bool | None:
    assert isinstance(problem, Tau2Problem)
    made = [made.call for made in ending.world.state.made]
    return all(any(_compares(call, action) for call in made) for action in problem.gold_actions)


def _compares(call: ToolCall, action: Action) -> bool:
    if call.name != action.name:
        return False
    counts = call.arguments.keys() if action.compare_args is None else action.compare_args
    given, wanted = (
        {name: value for name, value in arguments.items() if name in counts}
        for arguments in (call.arguments, action.arguments)
    )
    return given == wanted


COMPONENTS: Components = {
    **HOUSE_COMPONENTS,
    "assertions": lambda problem, ending: all(_holds(a, ending) for a in problem.assertions),
    "said": lambda problem, ending: all(
        any(wanted.lower() in text.lower().replace(",", "") for text in ending.said)
        for wanted in problem.said
    ),
    "calls": _calls,
}


class Tau2Environment(ToolUseEnvironment):
    """A conversation that may have a history, and that ends after a number of tau2's steps.

    Each message is a step, and so is each round of tool results. The user's first message is one
    step, each message of the student with its answer two, each reply in which the user calls tools
    two.

    Args:
        max_steps: after this number, the conversation ends with reward 0.
        options: those of `ToolUseEnvironment`, except `max_turns`.
    """

    components = COMPONENTS

    def __init__(
        self, instances: Sequence[TaskInstance] = (), *, max_steps: int = MAX_STEPS, **options: Any
    ) -> None:
        super().__init__(instances, **{**options, "max_turns": max_steps // 2})
        self._max_steps = max_steps
        self._judged_well: bool | None = None

    # --- the past ---

    def begin(self, instance: TaskInstance) -> Conversation | Generator[Ask, Reply, Conversation]:
        self._judged_well = None
        begun = super().begin(instance)
        past = _past(self._progress.prepared)
        said = (m.content for m in past if m.role == "assistant" and m.content)
        self._progress.said = (*self._progress.said, *said)
        return begun

    def opening(self, prepared: Prepared, words: str) -> Conversation:
        *before, said = super().opening(prepared, words)
        past = _past(prepared)
        if past and past[-1].role == "user":
            past = [*past[:-1], past[-1].model_copy(update={"content": words})]
            return (*before, *past)
        return (*before, *past, said)

    def _seat(self, prepared: Prepared, world: World[Any], opening: str) -> UserSeat | None:
        user = prepared.problem.user
        if not isinstance(user, ModelUser):
            return super()._seat(prepared, world, opening)
        flipped = [
            Message(role="assistant" if m.role == "user" else "user", content=m.content)
            for m in _past(prepared)
            if m.content and m.role != "tool"
        ]
        return ModelSeat(user, world, opening, self._user_sampling, before=flipped)

    def _user_begins(
        self, prepared: Prepared, seat: UserSeat
    ) -> Generator[Ask, Reply, Conversation]:
        past = _past(prepared)
        if past and past[-1].role == "user":  # it has just spoken
            return self.opening(prepared, past[-1].content)
        return (yield from super()._user_begins(prepared, seat))

    # --- the end ---

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        self._heard_so_far = conversation
        return super().respond(instance, conversation)

    def _continued(self, messages: tuple[Message, ...]) -> Generator[Ask, Reply, Outcome]:
        if (
            not self._is_over
            and self._turns + 1 < self.max_turns
            and self._steps >= self._max_steps
        ):
            return self._ended(messages, f"ended after {self._max_steps} steps")
        return super()._continued(messages)

    @property
    def _steps(self) -> int:
        """Steps up to the answer to the student's last message."""
        seat = self._progress.seat
        calling = sum(bool(m.tool_calls) for m in seat.memory) if isinstance(seat, ModelSeat) else 0
        return 1 + 2 * (self._turns + 1) + 2 * calling

    def judged_ending(
        self, ending: Ending, messages: tuple[Message, ...]
    ) -> Generator[Ask, Reply, Ending]:
        problem = self._progress.prepared.problem
        assert isinstance(problem, Tau2Problem)
        self._judged_well = yield from all_hold(problem.judged, (*self._heard_so_far, *messages))
        return ending

    def score_of(self, ending: Ending) -> tuple[float, dict[str, float]]:
        parts = super().score_of(ending)[1] if self._progress.prepared.problem.basis else {}
        if self._judged_well is not None:
            parts["judged"] = float(self._judged_well)
        return prod(parts.values()), parts


def _past(prepared: Prepared) -> list[Message]:
    problem = prepared.problem
    return past_messages(problem.initial_state) if isinstance(problem, Tau2Problem) else []

"""The domain of tool use: a conversation is judged by its effects on the world and its words.

A teacher writes a request; its output is the calls that fulfill it, followed by the last words:

    <tool_call>
    {"name": "cancel_order", "arguments": {"order_id": "order_1"}}
    </tool_call>
    It is canceled.

The world runs the calls in its initial state, so the results in a record are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from dataenvgym.domains.tool_use.environment import ToolLimits, ToolUseEnvironment, ToolUseOptions
from dataenvgym.domains.tool_use.problem import Prepared, ToolUseProblem, faults_in
from dataenvgym.domains.tool_use.users import ModelUser
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    Json,
    Message,
    Provenance,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.tool_formats import HERMES, as_reply, to_json
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.worlds.state import State, digest_of
from dataenvgym.tasks.worlds.world import World

_MOST_KEPT = 20_000  # prepared problems
_MOST_WORDS = 5  # messages of the gold conversation after its calls, until the user leaves


class ToolUseDomain(DialogueDomain):
    """Problems of one world.

    Args:
        world: the student has its tools and reads its policy.
        options: when a conversation ends early, and the prompt.
        more: of the environment, such as `judge_users`.

    Attributes:
        problem_class, environment_class: the types of its problems and environments.
    """

    record_forms = ("tool",)
    problem_class: ClassVar[type[ToolUseProblem]] = ToolUseProblem
    environment_class: ClassVar[type[ToolUseEnvironment]] = ToolUseEnvironment

    def __init__(
        self, world: World[Any], options: ToolLimits = ToolUseOptions(), **more: Any
    ) -> None:
        if isinstance(options, ToolUseOptions):
            more["max_turns"] = options.max_turns
        system = "\n\n".join(text for text in (world.policy, options.system_prompt) if text)
        limits = replace(options, system_prompt=system)
        self.world = world
        self.prompt_template = limits.prompt
        self._prepared: dict[str, tuple[TaskInstance, Prepared]] = {}
        self._environment: Callable[..., ToolUseEnvironment] = partial(
            self.environment_class, limits=limits, prepare=self.prepared, **more
        )
        self.make_environment()  # raises here if an option is invalid

    def prepared(self, instance: TaskInstance) -> Prepared:
        """The instance's problem with its world; each is prepared once.

        Raises:
            InvalidInstanceError: if it is malformed, or the world cannot pose it.
        """
        known = self._prepared.get(instance.id)
        if known is not None and known[0] is instance:
            return known[1]
        problem, world = instance.data_as(self.problem_class), self.world
        if fault := next(faults_in(problem, world), None):
            raise InvalidInstanceError(f"instance {instance.id!r}: {fault}")
        state = world.state.patched(problem.state) if problem.state else world.state.fork()
        prepared = Prepared(problem, world.at(state))
        if len(self._prepared) >= _MOST_KEPT:
            self._prepared.clear()
        self._prepared[instance.id] = instance, prepared
        return prepared

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """The state after the student's calls, and its last words.

        If the world does not show its state, the calls themselves represent it. They are not made
        again, because they would change the server behind the world.
        """
        if completed.response is None:
            return None
        words = self.answer_class(completed.instance, completed.response) or ""
        calls = [call for message in _tried(completed) for call in message.tool_calls]
        if not self.world.shows_state:
            return f"{digest_of([[call.name, call.arguments] for call in calls])[:16]} {words}"
        prepared = self.prepared(completed.instance)
        world = prepared.world.at(prepared.state.fork())
        for call in calls:
            prepared.call(world, call)
        return f"{world.state.digest()[:16]} {words}"

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> ToolUseEnvironment:
        return self._environment(instances)

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first.

        It does not contain the first words of a user that a model plays.
        """
        prepared = self.prepared(instance)
        if instance.instruction or not isinstance(prepared.problem.user, ModelUser):
            return super().prompt(instance)
        with closing(self.make_environment()) as environment:
            return environment.opening(prepared, "")[:-1]

    def text_of(self, instance: TaskInstance) -> str:
        """The instruction, followed by the user's script or description."""
        user = instance.data_as(self.problem_class).user
        if user is None:
            return instance.instruction
        if isinstance(user, ModelUser):
            more = [user.instructions]
        else:
            more = [line.say for lines in user.states.values() for line in lines]
        return "\n".join(filter(None, (instance.instruction, *more)))

    @property
    def teacher_context(self) -> str:
        """The policy, the tools and the initial `State` of the world as JSON."""
        tools = "\n".join(to_json(tool.model_dump(mode="json")) for tool in self.world.tools())
        parts = [self.prompt_template.system, f"Tools:\n{tools}"]
        if isinstance(self.world.state, State):
            state = to_json(self.world.state.model_dump(mode="json"))
            parts.append(f"The state at the beginning:\n{state}")
        return "\n\n".join(filter(None, parts))

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The conversation from the student's first message on; None if it never answered."""
        turns = _tried(completed)
        if not turns:
            return None
        return "\n".join(
            as_reply(message)
            if message.role == "assistant"
            else f"{'Result' if message.role == 'tool' else 'User'}: {message.content}"
            for message in turns
        )

    def gold_text(self, instance: TaskInstance) -> str | None:
        """The gold calls and words, as a teacher writes them; None if there are none."""
        problem = instance.data_as(self.problem_class)
        words = instance.answer or ", ".join(problem.said)
        calls = as_reply(Message(role="assistant", content="", tool_calls=problem.gold))
        return "\n".join(filter(None, (calls, words))) or None

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Run the calls in the record's output, and return the conversation.

        A record without calls, or with calls that fail, is put into the task's prompt unchanged.
        """
        framed = self.prompt_template.frame(record)
        if record.system or record.history:
            return framed
        request = self.prompt_template.instruction_in(record.prompt[-1].content)
        problem = self._solved_by(HERMES.parse(record.output), request, record.provenance)
        chat = None if problem is None else self.gold_record(problem)
        return chat.model_copy(update={"provenance": record.provenance}) if chat else framed

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The problem that a conversation solves in the initial state of the world, or None.

        None if a user speaks more than once, no calls are made, or their results differ from the
        record's.
        """
        if not isinstance(record, ChatDatum):
            return None
        if sum(message.role == "user" for message in record.messages) > 1:
            return None
        request = self.prompt_template.instruction_in(record.messages[0].content)
        calls = tuple(call for message in record.messages for call in message.tool_calls)
        said = record.messages[-1].model_copy(update={"tool_calls": calls})
        problem = self._solved_by(said, request, record.provenance)
        solved = None if problem is None else self.gold_record(problem)
        return problem if solved and _heard(solved) == _heard(record) else None

    def _solved_by(self, said: Message, request: str, source: Provenance) -> TaskInstance | None:
        """The problem of that request whose gold calls a message makes; None without calls."""
        if not said.tool_calls:
            return None
        gold: list[Json] = [call.model_dump(mode="json") for call in said.tool_calls]
        changed = self.world.at(self.world.state.fork())
        for call in said.tool_calls:
            changed.call(call)
        basis = "calls" if changed.state.digest() == self.world.state.digest() else "state"
        return TaskInstance(
            id=source.id or "record",
            task="records",
            instruction=request,
            answer=said.content.strip() or None,
            skill=source.skill,
            data={"world": self.world.name, "gold": gold, "basis": [basis]},
        )

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """Messages of the student that solve the problem: one gold call each, then words.

        The words are the instance's answer, or the required facts.
        """
        problem = self.prepared(instance).problem
        for call in problem.gold:
            yield as_reply(Message(role="assistant", content="", tool_calls=(call,)))
        words = instance.answer or ", ".join(problem.said) or "Done."
        for _ in range(_MOST_WORDS):
            yield words

    def asks_model(self, instance: TaskInstance) -> bool:
        """Whether a model plays its user, or judges."""
        problem = self.prepared(instance).problem
        return isinstance(problem.user, ModelUser) or problem.asks_judge

    def close(self) -> None:
        self.world.close()


def _tried(completed: CompletedTaskInstance) -> Conversation:
    """The transcript from the student's first message on; earlier turns are not its own."""
    turns, earlier = completed.transcript, completed.instance.data.get("earlier")
    n_earlier = len(earlier) if isinstance(earlier, list) else 0
    own = (i for i, message in enumerate(turns) if message.role == "assistant" and i > n_earlier)
    return turns[next(own, len(turns)) :]


def _heard(record: SupervisedDatum | ChatDatum) -> list[str]:
    """The results of the calls in a record."""
    return [message.content for message in record.conversation if message.role == "tool"]

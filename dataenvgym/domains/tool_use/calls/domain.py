"""The domain of problems whose answer is tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from pydantic import ValidationError

from dataenvgym.domains.tool_use.calls.environment import CallOptions, CallsEnvironment
from dataenvgym.domains.tool_use.calls.problem import (
    CallsProblem,
    as_text,
    canonical,
    declaring,
    from_text,
)
from dataenvgym.domains.tool_use.calls.search import (
    TOOL_SEARCHER,
    are_searches,
    searching,
    was_found,
)
from dataenvgym.domains.tool_use.matching import KINDS, GoldCall, calls_match, kind_of
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    Message,
    PerformanceReport,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    Tool,
    ToolCall,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import as_reply, read_reply
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import report_on, solves
from dataenvgym.tasks.record_conversion import chat_record

_WHOLE = ["integer", "number"]  # a whole number is a number


class CallsDomain(DialogueDomain):
    """Problems with tools of their own; the student's calls are compared with gold calls.

    Teachers read and write a problem as one text, followed by its tools (see `texts`). Students are
    trained on chat records that declare the tools.

    Args:
        known: returns problems, such as those of a training split; their gold calls judge records
            that ask the same question. Called when the first record is judged.
        catalog: returns the tools that the student must search; () declares a problem's own tools.
        options, more: see `CallsEnvironment`.
    """

    asks_others = False
    record_forms = ("call", "")

    def __init__(
        self,
        known: Callable[[], Iterable[TaskInstance]] = tuple,
        options: CallOptions = CallOptions(),
        *,
        catalog: Callable[[], Sequence[Tool]] = tuple,
        **more: Any,
    ) -> None:
        self.prompt_template = options.prompt
        self.lenient = options.matching == "lenient"
        self._known = known
        self._catalog_of = catalog
        make: Callable[..., CallsEnvironment] = partial(CallsEnvironment, options=options, **more)
        self._environment = make
        self._environment()  # raises here if an option is invalid

    @cached_property
    def _catalog(self) -> tuple[Tool, ...]:
        """The tools that the student can find; searching is not one of them."""
        return tuple(tool for tool in self._catalog_of() if tool.name != TOOL_SEARCHER.name)

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> CallsEnvironment:
        return self._environment(instances, catalog=self._catalog)

    # --- comparing ---

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The calls of the reply in canonical form; "[]" if it makes none.

        If the gold answer is a reply to the user, a reply without calls is represented by its text.
        """
        problem = instance.data_as(CallsProblem)
        said = read_reply(declaring(problem.messages, problem.tools), reply).said
        if problem.reply and not problem.gold and not said.tool_calls:
            return said.content.strip() or None
        return canonical(said.tool_calls)

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report; to call nothing is an answer."""
        return report_on(task, completed)

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        """Whether two answers are the same calls, compared like the gold calls."""
        if one == other:
            return True
        calls = [_calls_in(answer) for answer in (one, other)]
        if calls[0] is None or calls[1] is None:
            return False
        tools = instance.data_as(CallsProblem).tools
        gold = [GoldCall.of(call) for call in calls[0]]
        return calls_match(calls[1], gold, lenient=self.lenient, tools=tools)

    # --- records ---

    def text_of(self, instance: TaskInstance) -> str:
        """The conversation so far, with the problem's tools."""
        problem = instance.data_as(CallsProblem)
        return self._text(problem.messages, problem.tools)

    def gold_record(self, instance: TaskInstance) -> ChatDatum | None:
        """A record with the gold calls, or the gold reply; None if any call is right."""
        problem = instance.data_as(CallsProblem)
        if problem.answer is None:
            return None
        said = read_reply(declaring(problem.messages, problem.tools), problem.answer).message
        if said.tool_calls and problem.reply:
            said = said.model_copy(update={"content": problem.reply})
        prompt = self.prompt(instance)
        if self._catalog and said.tool_calls and not are_searches(said.tool_calls):
            unknown = [call for call in said.tool_calls if not was_found(call, problem.messages)]
            if unknown:
                prompt = (*prompt, *searching(unknown, self._catalog))
        return chat_record((*prompt, said), Provenance(skill=instance.skill, task=instance.task))

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        if answer := instance.data_as(CallsProblem).answer:
            yield answer

    def asks_model(self, instance: TaskInstance) -> bool:
        return False

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Declare the tools in the record's text, and parse the calls in its output.

        A record without tools is put into the task's prompt unchanged.
        """
        read = from_text(self.prompt_template.instruction_in(record.prompt[-1].content))
        tools = (TOOL_SEARCHER,) if self._catalog else read[1] if read else ()
        if read is None or not tools or record.system or record.history:
            return self.prompt_template.frame(record)
        prompt = self.make_environment().prompt(read[0], tools)
        said = read_reply(prompt, record.output).message
        framed = chat_record((*prompt, said), record.provenance)
        return framed or self.prompt_template.frame(record)

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        """Turn a chat record with tools into an instruction and an output (see `texts`)."""
        plain = self.prompt_template.unframe(record)
        if not isinstance(plain, ChatDatum) or not plain.tools:
            return plain
        *before, last = plain.messages
        if not (output := as_reply(last)):
            return plain
        own = plain.system.removeprefix(f"{self.prompt_template.system}\n\n")
        if own:
            before.insert(0, Message(role="system", content=own))
        return SupervisedDatum(
            instruction=self._text(tuple(before), plain.tools),
            output=output,
            provenance=record.provenance,
        )

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether the last answer of a record makes the right calls.

        Gold calls decide if the problem is in the training split. Otherwise, calls of undeclared
        tools, or with arguments that the tool does not accept, are wrong; all else is unknown
        (None), also an answer without calls.
        """
        if (read := self._read(record)) is None:
            return None
        messages, tools, said = read
        if known := self._known_problems.get(self._text(messages, tools)):
            return any(solves(self, problem, as_reply(said)) for problem in known)
        declared = {tool.name: tool for tool in tools}
        calls = () if self._catalog else said.tool_calls
        fit = all(c.name in declared and _accepts(declared[c.name], c) for c in calls)
        return None if fit else False

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a problem, with the calls of its last answer as the gold calls.

        None if the record has no tools, or if its answer makes no calls and the problem is unknown.
        """
        if (read := self._read(record)) is None:
            return None
        messages, tools, said = read
        source = record.provenance
        if known := self._known_problems.get(self._text(messages, tools)):
            right = next((one for one in known if solves(self, one, as_reply(said))), None)
            named = {"id": source.id or "record", "task": "records"}
            return right and right.model_copy(update=named)
        if not said.tool_calls:
            return None
        try:
            gold = tuple(GoldCall.of(call) for call in said.tool_calls)
            problem = CallsProblem(tools=tools, messages=messages, gold=gold)
        except ValidationError:
            return None
        return problem.instance(id=source.id or "record", task="records", skill=source.skill)

    @cached_property
    def _known_problems(self) -> dict[str, list[TaskInstance]]:
        """The known problems by their texts; some share a text and differ in the gold answer."""
        found: dict[str, list[TaskInstance]] = {}
        for known in self._known():
            found.setdefault(self.text_of(known), []).append(known)
        return found

    def _text(self, messages: Conversation, tools: Sequence[Tool]) -> str:
        return as_text(messages, () if self._catalog else tools)

    def _read(self, record: TrainingDatum) -> tuple[Conversation, tuple[Tool, ...], Message] | None:
        """The messages before the record's last answer, the tools, and the answer."""
        plain = self.unframe(record)
        if not isinstance(plain, SupervisedDatum) or plain.system or plain.history:
            return None
        if (read := from_text(plain.prompt[-1].content)) is None:
            return None
        messages, tools = read
        if self._catalog:
            tools = self._catalog
        if not tools:
            return None
        return messages, tools, read_reply(declaring(messages, tools), plain.output).message


def _accepts(tool: Tool, call: ToolCall) -> bool:
    """Whether the names, the required arguments and the types of a call are those of the tool.

    The contents of containers are not checked.
    """
    properties, required = (tool.parameters.get(name) for name in ("properties", "required"))
    properties = properties if isinstance(properties, dict) else {}
    if not call.arguments.keys() <= properties.keys():
        return False
    if isinstance(required, list) and not all(name in call.arguments for name in required):
        return False
    for name, value in call.arguments.items():
        schema = properties[name]
        declared = schema.get("type") if isinstance(schema, dict) else None
        found = kind_of(value)
        if found != declared and declared in KINDS.values() and [found, declared] != _WHOLE:
            return False
    return True


def _calls_in(answer: str) -> list[ToolCall] | None:
    """The calls of an `answer_class`; None if it is a reply to the user."""
    try:
        found = [json.loads(call) for call in json.loads(answer)]
        return [ToolCall(name=name, arguments=arguments) for name, arguments in found]
    except (ValueError, TypeError):
        return None

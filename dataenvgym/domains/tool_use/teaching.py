"""Describes a world to teachers, and turns their records into problems of it.

A teacher writes a request; its output is the calls that fulfill it, followed by the last words:

    <tool_call>
    {"name": "cancel_order", "arguments": {"order_id": "order_1"}}
    </tool_call>
    It is canceled.

The world runs the calls in its initial state, so the results in a record are true.
"""

from __future__ import annotations

from typing import Any

from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Json,
    Message,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.tasks.worlds import State, World
from dataenvgym.tool_formats import HERMES, as_reply
from dataenvgym.tool_formats.json_objects import to_json


def shown_world(system: str, world: World[Any]) -> str:
    """The system message, the tools that the student may call, and the initial `State` as JSON."""
    tools = "\n".join(to_json(tool.model_dump(mode="json")) for tool in world.tools())
    parts = [system, f"Tools:\n{tools}"]
    if isinstance(world.state, State):
        state = to_json(world.state.model_dump(mode="json"))
        parts.append(f"The state at the beginning:\n{state}")
    return "\n\n".join(filter(None, parts))


def shown_try(completed: CompletedTaskInstance) -> str | None:
    """The conversation from the student's first message on; None if it never answered."""
    turns = completed.transcript
    at = next((i for i, message in enumerate(turns) if message.role == "assistant"), None)
    if at is None:
        return None
    return "\n".join(
        as_reply(message)
        if message.role == "assistant"
        else f"{'Result' if message.role == 'tool' else 'User'}: {message.content}"
        for message in turns[at:]
    )


def gold_output(instance: TaskInstance, problem: ToolUseProblem) -> str | None:
    """The gold calls and words of a problem, in a teacher's form; None if there are none."""
    words = instance.answer or ", ".join(problem.said)
    calls = as_reply(Message(role="assistant", content="", tool_calls=problem.gold))
    return "\n".join(filter(None, (calls, words))) or None


def written_problem(
    request: str, record: SupervisedDatum, world: World[Any]
) -> TaskInstance | None:
    """The problem in a teacher's record; None if its output makes no calls."""
    said = HERMES.parse(record.output)
    return _problem(request, record, said, world)


def taught_problem(request: str, record: ChatDatum, world: World[Any]) -> TaskInstance | None:
    """The problem that a conversation solves, starting from the world's initial state.

    None if a user speaks more than once, or no calls are made.
    """
    if sum(message.role == "user" for message in record.messages) > 1:
        return None
    calls = tuple(call for message in record.messages for call in message.tool_calls)
    said = record.messages[-1].model_copy(update={"tool_calls": calls})
    return _problem(request, record, said, world)


def _problem(
    request: str, record: SupervisedDatum | ChatDatum, said: Message, world: World[Any]
) -> TaskInstance | None:
    if not said.tool_calls:
        return None
    gold: list[Json] = [call.model_dump(mode="json") for call in said.tool_calls]
    changed = world.at(world.state.fork())
    for call in said.tool_calls:
        changed.call(call)
    basis = "calls" if changed.state.digest() == world.state.digest() else "state"
    return TaskInstance(
        id=record.provenance.id or "record",
        task="records",
        instruction=request,
        answer=said.content.strip() or None,
        skill=record.provenance.skill,
        data={"world": world.name, "gold": gold, "basis": [basis]},
    )

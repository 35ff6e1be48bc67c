"""A transcript as a training record: the student learns what was said in its place."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Message,
    Provenance,
    SupervisedDatum,
)
from dataenvgym.tasks.prompt_template import prompt_fields


def record_of(
    completed: CompletedTaskInstance, prompt: Sequence[Message] = ()
) -> SupervisedDatum | ChatDatum | None:
    """The record that teaches what the student said, with the skill of the problem.

    One turn becomes a supervised record; several turns, or calls of tools, a chat record.

    Args:
        prompt: what the student saw first: its turns are not the student's. Without it, all turns
            are.

    Returns:
        None if there is nothing to learn (the student did not answer last, or said nothing), or
        if the conversation does not have the form of a record.
    """
    *before, last = completed.transcript or (None,)
    if last is None or last.role != "assistant" or not (last.content or last.tool_calls):
        return None
    provenance = Provenance(skill=completed.instance.skill)
    said = sum(m.role == "assistant" for m in completed.transcript[len(prompt) :])
    fields = prompt_fields(tuple(m for m in before if m is not None))
    if said == 1 and fields is not None and not last.tool_calls:
        return SupervisedDatum(**fields, output=last.content, provenance=provenance)
    system = completed.transcript[0].role == "system"
    try:
        return ChatDatum(
            messages=completed.transcript[system:],
            system=completed.transcript[0].content if system else "",
            provenance=provenance,
        )
    except ValidationError:  # turns that do not alternate
        return None
